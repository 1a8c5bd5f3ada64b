"""Engine descriptors in msgpack: arrays of opaque byte strings (Mori's memory descs).

Read by msgspec with a declared type, which refuses every other msgpack value and
trailing bytes. A header that announces more elements than there are bytes left is
refused before msgspec sees it, so ``dd ff ff ff ff`` allocates nothing (field report
F10). No descriptors at all is the empty frame.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from pdwire.frames.arrays import components
from pdwire.frames.place import Place, as_bytes, lossy, refuse

__all__ = [
    "bin_lists",
    "bin_or_nil_lists",
    "bins",
    "one_bins",
    "put_bin_lists",
    "put_bin_or_nil_lists",
    "put_bins",
    "put_one_bins",
]

_BINS: Final = msgspec.msgpack.Decoder(tuple[bytes, ...])
_BIN_LISTS: Final = msgspec.msgpack.Decoder(tuple[tuple[bytes, ...], ...])
_BIN_OR_NIL_LISTS: Final = msgspec.msgpack.Decoder(tuple[tuple[bytes | None, ...], ...])
_ENCODER: Final = msgspec.msgpack.Encoder()


def _announced(raw: bytes) -> int:
    """How many elements the leading array header claims; 0 if it is no array."""
    kind = raw[0]
    if kind == 0xDD:
        return int.from_bytes(raw[1:5], "big")
    if kind == 0xDC:
        return int.from_bytes(raw[1:3], "big")
    return kind & 0x0F if kind & 0xF0 == 0x90 else 0


def _decode(raw: Any, decoder: Any, encode: Any, at: Place) -> Any:
    came = as_bytes(raw, at)
    if not came:
        return ()
    if _announced(came) >= len(came):
        refuse(at, came, f"announces {_announced(came)} elements")
    try:
        value = decoder.decode(came)
    except (msgspec.DecodeError, RecursionError) as fault:
        refuse(at, came, str(fault))
    if not value or encode(value) != came:
        refuse(at, came, "not the canonical msgpack spelling")
    return value


def bins(raw: Any, at: Place) -> tuple[bytes, ...]:
    """One opaque descriptor per memory region."""
    value: tuple[bytes, ...] = _decode(raw, _BINS, _ENCODER.encode, at)
    return value


def bin_lists(raw: Any, at: Place) -> tuple[tuple[bytes, ...], ...]:
    """Descriptors per state component."""
    value: tuple[tuple[bytes, ...], ...] = _decode(raw, _BIN_LISTS, _ENCODER.encode, at)
    return value


def bin_or_nil_lists(raw: Any, at: Place) -> tuple[tuple[bytes | None, ...], ...]:
    """Descriptors per state component; nil where the sender does not hold a region."""
    value: tuple[tuple[bytes | None, ...], ...] = _decode(
        raw, _BIN_OR_NIL_LISTS, _ENCODER.encode, at
    )
    return value


def _bins(value: Any, at: Place) -> list[bytes]:
    """The descriptors of one list."""
    listed = list(components(value, at))
    if not all(isinstance(item, bytes) for item in listed):
        lossy(at, value, "not byte strings")
    return listed


def _bins_or_nil(value: Any, at: Place) -> list[bytes | None]:
    """The same where nil may stand for a descriptor."""
    listed = list(components(value, at))
    if not all(item is None or isinstance(item, bytes) for item in listed):
        lossy(at, value, "not byte strings or None")
    return listed


def put_bins(value: Any, at: Place) -> bytes:
    """A msgpack array of bin; no bytes for none."""
    items = _bins(value, at)
    return _ENCODER.encode(items) if items else b""


def put_bin_lists(value: Any, at: Place) -> bytes:
    """A msgpack array of arrays of bin; no bytes for none."""
    parts = [_bins(part, at) for part in components(value, at)]
    return _ENCODER.encode(parts) if parts else b""


def put_bin_or_nil_lists(value: Any, at: Place) -> bytes:
    """A msgpack array of arrays of bin or nil; no bytes for none."""
    parts = [_bins_or_nil(part, at) for part in components(value, at)]
    return _ENCODER.encode(parts) if parts else b""


def one_bins(raw: Any, at: Place) -> tuple[tuple[Any, ...], ...]:
    """A flat array of a nested field: one component, or none for no bytes."""
    value = bins(raw, at)
    return (value,) if value else ()


def put_one_bins(value: Any, at: Place) -> bytes:
    """The only component's descriptors; this layout cannot say that there are several."""
    parts = components(value, at)
    if not parts:
        return b""
    if len(parts) == 1 and (raw := put_bins(parts[0], at)):
        return raw
    lossy(at, value, "a flat frame carries one component that is not empty")
