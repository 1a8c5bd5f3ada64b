"""Numbers: ASCII decimals, flags and fixed-width integers, both ways.

Canonical decimals only (field report F5): digits, no sign unless the field may be
negative, no leading zero, no blanks. ``SMALL`` answers the common small numbers from a
table; it holds canonical spellings alone, so a hit needs no further check.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, Final

from pdwire.frames.place import Place, as_bytes, lossy, refuse

__all__ = [
    "SMALL",
    "SMALL_LIMIT",
    "dec",
    "flag",
    "means",
    "put_dec",
    "put_flag",
    "put_u32",
    "put_u32be",
    "put_u64",
    "u32",
    "u32be",
    "u64",
]

SMALL_LIMIT: Final = 1024
SMALL: Final[dict[bytes, int]] = {b"%d" % n: n for n in range(SMALL_LIMIT)}
_MOST_DIGITS: Final = 20  # 2^64-1 has 20; more is out of every range, and int() is not asked


def dec(raw: Any, at: Place) -> int:
    """A canonical ASCII decimal within ``at.lo..at.hi``."""
    if raw.__class__ is bytes and len(raw) <= _MOST_DIGITS and raw.isdigit():
        value = int(raw)
        if at.lo <= value <= at.hi and (raw[0] != 48 or len(raw) == 1):
            return value
    return _odd_dec(as_bytes(raw, at), at)


def _odd_dec(raw: bytes, at: Place) -> int:
    """What is not plain digits: a permitted negative, other buffers, or an error."""
    digits = raw[1:] if raw[:1] == b"-" and at.lo < 0 else raw
    if not (digits.isdigit() and len(digits) <= _MOST_DIGITS):
        hint = "the peer spelled None as text" if raw == b"None" else ""
        refuse(at, raw, hint)
    value = int(raw)
    if b"%d" % value != raw:
        refuse(at, raw, "not the canonical spelling")
    if not at.lo <= value <= at.hi:
        refuse(at, raw, "out of range")
    return value


def put_dec(value: Any, at: Place) -> bytes:
    """The canonical decimal of an integer in range."""
    if value.__class__ is not int:
        value = _whole(value, at)
    if at.lo <= value <= at.hi:
        return b"%d" % value
    lossy(at, value)


def _whole(value: Any, at: Place) -> int:
    """Any whole number, numpy's included; an array of one is no number."""
    if isinstance(value, Integral):
        return int(value)
    lossy(at, value, "not an integer")


def means(value: Any, lack: int | str) -> bool:
    """Whether a value is exactly what a frame without bytes, or no frame, means.

    A float that happens to be equal is not, and neither is an array of one.
    """
    if value.__class__ is lack.__class__:
        return bool(value == lack)
    return isinstance(value, Integral) and value == lack


def flag(raw: Any, at: Place) -> bool:
    """``0`` or ``1``."""
    came = as_bytes(raw, at)
    if came == b"1":
        return True
    if came == b"0":
        return False
    refuse(at, came)


def put_flag(value: Any, at: Place) -> bytes:
    """``0`` or ``1`` of a boolean (0 and 1 pass for one)."""
    if value is True or value is False:
        return b"1" if value else b"0"
    if _whole(value, at) in (0, 1):
        return b"1" if value else b"0"
    lossy(at, value, "not a boolean")


def _fixed(raw: Any, at: Place, width: int, order: str) -> int:
    came = as_bytes(raw, at)
    if len(came) != width:
        refuse(at, came, f"{width} bytes wide")
    value = int.from_bytes(came, "little" if order == "<" else "big")
    if not at.lo <= value <= at.hi:
        refuse(at, came, f"{value} is out of range")
    return value


def u32(raw: Any, at: Place) -> int:
    """Four bytes, little-endian."""
    return _fixed(raw, at, 4, "<")


def u64(raw: Any, at: Place) -> int:
    """Eight bytes, little-endian."""
    return _fixed(raw, at, 8, "<")


def u32be(raw: Any, at: Place) -> int:
    """Four bytes, big-endian."""
    return _fixed(raw, at, 4, ">")


def _put_fixed(value: Any, at: Place, width: int, order: str) -> bytes:
    whole = _whole(value, at)
    if not at.lo <= whole <= at.hi:
        lossy(at, value)
    return whole.to_bytes(width, "little" if order == "<" else "big")


def put_u32(value: Any, at: Place) -> bytes:
    """Four bytes, little-endian."""
    return _put_fixed(value, at, 4, "<")


def put_u64(value: Any, at: Place) -> bytes:
    """Eight bytes, little-endian."""
    return _put_fixed(value, at, 8, "<")


def put_u32be(value: Any, at: Place) -> bytes:
    """Four bytes, big-endian."""
    return _put_fixed(value, at, 4, ">")
