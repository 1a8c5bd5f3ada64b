"""Codec of ABORT_ACK, layout r4: 0.5.22–0.5.23.

GENERATED from protocol/common/abort_ack.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from pdwire.codec import seal, unfit
from pdwire.errors import WireError
from pdwire.frames import (
    Frames,
    Layout,
    Place,
    broken,
    const,
    dec,
    plain,
    put_dec,
    small,
    wrong_count,
)
from pdwire.wire.common.abort_ack.message import COUNTS, AbortAck, Draft

__all__ = ["decode", "encode"]

_L = Layout(
    "common ABORT_ACK",
    "r4",
    "0.5.22–0.5.23",
    (2, 3, 4),
    COUNTS,
    None,
    ((0, b"ABORT_ACK"),),
)
_F0 = Place(_L, 0, "tag", "the constant 'ABORT_ACK'")
_F1 = Place(_L, 1, "room", "a canonical decimal in 0..9223372036854775807", 0, 9223372036854775807)
_F2 = Place(_L, 2, "prefill_rank", "a canonical decimal in 0..2147483647", 0, 2147483647)
_T2 = small(0, 2147483647)
_F3 = Place(
    _L,
    3,
    "generation",
    "a canonical decimal in 0..9223372036854775807",
    0,
    9223372036854775807,
)
_T3 = small(0, 9223372036854775807)


def _check(m: AbortAck) -> None:
    """Raise InvariantError where fields contradict each other."""
    if m.generation is not None and m.prefill_rank is None:
        came = f"generation {m.generation}, prefill_rank {m.prefill_rank}"
        broken(_L, "prefill_rank where there is generation", came, "prefill_rank")


def decode(frames: Frames) -> AbortAck:
    """Frames of layout r4 to a AbortAck.

    The generation of the abort follows the rank; older forms stay readable and release nothing.
    """
    try:
        n = len(frames)
        if n not in {2, 3, 4}:
            wrong_count(_L, frames)
        f0, f1 = frames[:2]
        m = Draft()
        if f0 != b"ABORT_ACK":
            const(f0, b"ABORT_ACK", _F0)
        m.room = dec(f1, _F1)
        if n > 2:
            f2 = frames[2]
            m.prefill_rank = _T2[f2] if f2 in _T2 else dec(f2, _F2)
        else:
            m.prefill_rank = None
        if n > 3:
            f3 = frames[3]
            m.generation = _T3[f3] if f3 in _T3 else dec(f3, _F3)
        else:
            m.generation = None
        done = seal(m, AbortAck)
        _check(done)
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return done


def encode(message: AbortAck) -> list[bytes]:
    """A AbortAck to frames of layout r4."""
    try:
        frames = [b"ABORT_ACK", put_dec(message.room, _F1)]
        if message.prefill_rank is not None or message.generation is not None:
            frames += [put_dec(message.prefill_rank, _F2)]
        if message.generation is not None:
            frames += [put_dec(message.generation, _F3)]
        _check(message)
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, AbortAck, _L, fault)
    return frames
