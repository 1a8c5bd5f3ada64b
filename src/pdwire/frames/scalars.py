"""Numbers: ASCII decimals, flags and fixed-width integers, both ways.

Canonical decimals only (field report F5): digits, no sign unless the field may be
negative, no leading zero, no blanks. Tables answer what comes often: :func:`small` the
small numbers of a range, ``PORTS`` the ports seen lately, ``FLAGS`` both flags. They hold
nothing but canonical spellings of values in range, so a hit needs no further check.
"""

from __future__ import annotations

from functools import cache
from numbers import Integral
from struct import Struct
from typing import Any, Final

from pdwire.errors import FrameValueError
from pdwire.frames.place import Place, as_bytes, lossy, refuse, refuse_stranger

__all__ = [
    "FLAGS",
    "PORTS",
    "dec",
    "flag",
    "leading",
    "means",
    "port",
    "put_dec",
    "put_flag",
    "put_u32",
    "put_u32be",
    "put_u64",
    "small",
    "u32",
    "u32be",
    "u64",
]

_SMALL_LIMIT: Final = 1024
_MOST_DIGITS: Final = 20  # 2^64-1 has 20; more is out of every range, and int() is not asked
_MOST_PORTS: Final = 4096
_U32: Final = Struct("<I")
_U64: Final = Struct("<Q")
_U32BE: Final = Struct(">I")

FLAGS: Final[dict[bytes, bool]] = {b"0": False, b"1": True}
PORTS: Final[dict[bytes, int]] = {}
"""Ports seen lately, by their spelling. Ask with ``get``: another thread may empty it."""


@cache
def small(lo: int, hi: int) -> dict[bytes, int]:
    """The numbers of ``lo..hi`` below 1024, by their spelling: one table a range, read only."""
    return {b"%d" % number: number for number in range(max(lo, 0), min(hi + 1, _SMALL_LIMIT))}


def dec(raw: Any, at: Place) -> int:
    """A canonical ASCII decimal within ``at.lo..at.hi``."""
    try:
        # Digits that do not begin with 0 are those from b"1" on.
        if raw.isdigit() and raw >= b"1" and len(raw) <= _MOST_DIGITS:
            value = int(raw)
            if at.lo <= value <= at.hi:
                return value
    except (AttributeError, TypeError):
        pass  # not bytes; said below, if it is no buffer either
    return _odd_dec(as_bytes(raw, at), at)


def _odd_dec(raw: bytes, at: Place) -> int:
    """Zero, a permitted negative, what came in other buffers, or an error."""
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


def leading(raw: Any, at: Place) -> int:
    """The decimal that tells the message: :func:`dec`, but a tag or guard is another message.

    Raises:
        UnknownMessageError: the frame is what other messages begin with.
        FrameValueError: it is no canonical decimal in range.
    """
    try:
        return dec(raw, at)
    except FrameValueError:
        refuse_stranger(raw, at.layout)
        raise


def port(raw: Any, at: Place) -> int:
    """A canonical ASCII decimal in 1..65535; remembered, for ports come again and again."""
    value = dec(raw, at)
    if len(PORTS) >= _MOST_PORTS:
        PORTS.clear()
    PORTS[b"%d" % value] = value
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


def means(value: Any, lack: int | str | bytes) -> bool:
    """Whether a value is exactly what a frame without bytes, or no frame, means.

    A float that happens to be equal is not, and neither is an array of one.
    """
    if value.__class__ is lack.__class__:
        same: bool = value == lack
        return same
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


def _fixed(raw: Any, at: Place, form: Struct) -> int:
    came = as_bytes(raw, at)
    if len(came) != form.size:
        refuse(at, came, f"{form.size} bytes wide")
    value: int = form.unpack(came)[0]
    if not at.lo <= value <= at.hi:
        refuse(at, came, f"{value} is out of range")
    return value


def u32(raw: Any, at: Place) -> int:
    """Four bytes, little-endian."""
    return _fixed(raw, at, _U32)


def u64(raw: Any, at: Place) -> int:
    """Eight bytes, little-endian."""
    return _fixed(raw, at, _U64)


def u32be(raw: Any, at: Place) -> int:
    """Four bytes, big-endian."""
    return _fixed(raw, at, _U32BE)


def _put_fixed(value: Any, at: Place, form: Struct) -> bytes:
    whole = value if value.__class__ is int else _whole(value, at)
    if not at.lo <= whole <= at.hi:
        lossy(at, value)
    return form.pack(whole)


def put_u32(value: Any, at: Place) -> bytes:
    """Four bytes, little-endian."""
    return _put_fixed(value, at, _U32)


def put_u64(value: Any, at: Place) -> bytes:
    """Eight bytes, little-endian."""
    return _put_fixed(value, at, _U64)


def put_u32be(value: Any, at: Place) -> bytes:
    """Four bytes, big-endian."""
    return _put_fixed(value, at, _U32BE)
