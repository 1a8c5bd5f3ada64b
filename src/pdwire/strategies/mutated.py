"""What may arrive instead of a message: frames lost, doubled, swapped, cut, bent, spliced.

Rules: nothing here knows whether the outcome is still a message. A mutation with nothing
to work on leaves the frames as they are; shrinking goes towards that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

__all__ = ["ODD", "mutations"]

Frames = list[bytes]

ODD: Final = (
    b"", b"0", b"1", b"-1", b"-0", b"00", b"007", b" 7", b"None", b"2147483648",
    b"9223372036854775808", b"18446744073709551616", b"9" * 30, b"\xff\xfe", b"\x80\x05", b"a b",
    b"h:0", b"::1", b"[::1]:5000", b"fe80::1%eth0", b"10.0.0.256", b"VRAM", b"VRAM,", b"\x00" * 3,
    b"\x00" * 4, b"\x00" * 8, b"\xff" * 4, b"\xff" * 8, b"\x01\0\0\0\x04\0\0\0\x07\0\0\0",
    b"\x90", b"\x91\xc4\x00", b"\x91\x91\xc0", b"\xdd\xff\xff\xff\xff", b"\x91\xc6\xff\xff\xff\xff",
    b"ABORT", b"ABORT_ACK", b"AUX_DATA", b"NixlMsgGuard", b"MoriMsgGuard", b"{", b"{}",
)  # fmt: skip
"""Frames that are right for some field, and frames that look as if they were."""


def _place(draw: DrawFn, frames: Sequence[bytes]) -> int:
    return draw(st.integers(0, max(len(frames) - 1, 0)))


def _dropped(draw: DrawFn, frames: Frames) -> Frames:
    at = _place(draw, frames)
    return frames[:at] + frames[at + 1 :]


def _doubled(draw: DrawFn, frames: Frames) -> Frames:
    at = _place(draw, frames)
    return frames[: at + 1] + frames[at:]


def _cut(draw: DrawFn, frames: Frames) -> Frames:
    return frames[: _place(draw, frames)]


def _extended(draw: DrawFn, frames: Frames) -> Frames:
    return [*frames, draw(st.sampled_from(ODD))]


def _swapped(draw: DrawFn, frames: Frames) -> Frames:
    one, other = sorted((_place(draw, frames), _place(draw, frames)))
    if one == other:
        return frames
    return [
        *frames[:one],
        frames[other],
        *frames[one + 1 : other],
        frames[one],
        *frames[other + 1 :],
    ]


def _odd(draw: DrawFn, frames: Frames) -> Frames:
    return _with(frames, _place(draw, frames), draw(st.sampled_from(ODD)))


def _random(draw: DrawFn, frames: Frames) -> Frames:
    return _with(frames, _place(draw, frames), draw(st.binary(max_size=24)))


def _with(frames: Frames, at: int, raw: bytes) -> Frames:
    return [*frames[:at], raw, *frames[at + 1 :]]


def _flipped(draw: DrawFn, frames: Frames) -> Frames:
    at = _place(draw, frames)
    if not frames or not frames[at]:
        return frames
    raw = bytearray(frames[at])
    raw[draw(st.integers(0, min(len(raw), 64) - 1))] ^= 1 << draw(st.integers(0, 7))
    return _with(frames, at, bytes(raw))


def _truncated(draw: DrawFn, frames: Frames) -> Frames:
    at = _place(draw, frames)
    if not frames:
        return frames
    return _with(frames, at, frames[at][: draw(st.integers(0, len(frames[at])))])


def _lengthened(draw: DrawFn, frames: Frames) -> Frames:
    at = _place(draw, frames)
    if not frames:
        return frames
    more = draw(st.sampled_from((b"\0", b"0", b" ", b"\n", b"\0" * 4, b"\0" * 8)))
    return _with(frames, at, frames[at] + more)


_MUTATIONS: Final[tuple[Callable[[DrawFn, Frames], Frames], ...]] = (
    _dropped, _doubled, _cut, _extended, _swapped, _odd, _random, _flipped, _truncated, _lengthened
)  # fmt: skip


@st.composite
def mutations(
    draw: DrawFn,
    valid: SearchStrategy[Sequence[bytes]],
    other: SearchStrategy[Sequence[bytes]] | None = None,
) -> list[bytes]:
    """Frames of ``valid`` after one to three mutations.

    ``other``: frames of which a tail may take the place of a tail, two messages in one.
    """
    frames = list(draw(valid))
    if other is not None and draw(st.integers(0, 3)) == 3:
        tail = list(draw(other))
        frames = frames[: _place(draw, frames)] + tail[_place(draw, tail) :]
    for _ in range(draw(st.integers(1, 3))):
        frames = draw(st.sampled_from(_MUTATIONS))(draw, frames)
    return frames
