"""Testees that read lists of numbers wrongly: widths, byte order, sign, nested lists."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from pdwire_conformance.proof.spec import layout_of
from pdwire_conformance.testees.ours import Generated

Values = dict[str, Any]
_WIDTHS = {"i32[]": 4, "u32[]": 4, "u64[]": 8, "u32": 4, "u64": 8, "u32be": 4}


def _rewritten(
    place: tuple[str, str, str],
    frames: list[bytes],
    kinds: tuple[str, ...],
    how: Callable[[bytes, int], bytes],
) -> list[bytes]:
    """Frames whose type ends in one of ``kinds``, rewritten; ``how`` is given the item's width."""
    backend, release, message = place
    whole, layout = layout_of(backend, message, release)
    guard = 1 if whole["guard"] else 0
    told = list(frames)
    for frame in layout["frames"]:
        at = frame["position"] + guard
        if frame["type"] in kinds and at < len(told):
            told[at] = how(told[at], _WIDTHS[frame["type"].replace("[][]", "[]")])
    return told


class LenientWidth(Generated):
    """Half an item at the end is cut off, as the peers do."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        told = _rewritten(
            (backend, release, message),
            frames,
            ("i32[]", "u32[]", "u64[]"),
            lambda raw, width: raw[: len(raw) // width * width],
        )
        return super().decode(backend, release, message, told)


class AnyWidth(Generated):
    """A fixed-width number may have more bytes; the first eight count."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        told = _rewritten(
            (backend, release, message),
            frames,
            ("u64", "u32", "u32be"),
            lambda raw, width: raw[:width].ljust(width if raw else 0, b"\0"),
        )
        return super().decode(backend, release, message, told)


class BigEndian(Generated):
    """Network byte order, everywhere."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        told = _rewritten(
            (backend, release, message), frames, ("i32[]", "u32[]", "u64[]", "u64"), _turned
        )
        return super().decode(backend, release, message, told)


class LittleEndianLength(Generated):
    """Little-endian everywhere, also where one length is not."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        told = _rewritten((backend, release, message), frames, ("u32be",), _turned)
        return super().decode(backend, release, message, told)


def _turned(raw: bytes, width: int) -> bytes:
    if len(raw) % width:
        return raw
    return b"".join(raw[n : n + width][::-1] for n in range(0, len(raw), width))


class Unsigned(Generated):
    """Page indices are unsigned, are they not?"""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        told = super().decode(backend, release, message, frames)
        if isinstance(told.get("dst_kv_indices"), list):
            told["dst_kv_indices"] = [number % 2**32 for number in told["dst_kv_indices"]]
        return told


class SignedPointers(Generated):
    """Addresses are signed, as in Java."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        told = super().decode(backend, release, message, frames)
        for name in {"dst_kv_ptrs", "dst_aux_ptrs"} & set(told):
            told[name] = [number - 2**64 * (number >= 2**63) for number in told[name]]
        return told


def _lists(raw: bytes) -> tuple[list[int], int]:
    """The lengths that a nested frame announces, and where its bodies begin."""
    if len(raw) < 4:
        return [], 0
    (count,) = struct.unpack_from("<I", raw)
    start = 4 + 4 * count
    if start > len(raw):
        return [], 0
    return list(struct.unpack_from(f"<{count}I", raw, 4)), start


class NestedTrailing(Generated):
    """Reads the lists that are announced and not what stands behind them."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        told = _rewritten((backend, release, message), frames, _NESTED, _used)
        return super().decode(backend, release, message, told)


def _used(raw: bytes, width: int) -> bytes:
    del width
    lengths, start = _lists(raw)
    return raw[: start + sum(lengths)] if lengths else raw


class NestedShort(Generated):
    """A list that runs past the end ends with the frame."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        told = _rewritten((backend, release, message), frames, _NESTED, _filled)
        return super().decode(backend, release, message, told)


def _filled(raw: bytes, width: int) -> bytes:
    del width
    lengths, start = _lists(raw)
    whole = start + sum(lengths)
    return raw.ljust(whole, b"\0") if lengths and whole < 4096 else raw


class NestedZero(Generated):
    """A count of zero is one more way to say that there are no lists."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        told = _rewritten(
            (backend, release, message),
            frames,
            _NESTED,
            lambda raw, _: b"" if raw == bytes(4) else raw,
        )
        return super().decode(backend, release, message, told)


class Flat(Generated):
    """Takes a nested frame for a flat one where it cannot be nested (field report V2)."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        told = _rewritten((backend, release, message), frames, _NESTED, _nested)
        return super().decode(backend, release, message, told)


def _nested(raw: bytes, width: int) -> bytes:
    lengths, start = _lists(raw)
    if not raw or len(raw) % width or (lengths and start + sum(lengths) == len(raw)):
        return raw
    return struct.pack("<II", 1, len(raw)) + raw


_NESTED = ("i32[][]", "u32[][]", "u64[][]")
