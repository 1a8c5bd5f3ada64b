"""Index and pointer arrays: flat frames and nested lists, as read-only numpy views.

A flat frame is the little-endian items, nothing else. A nested frame is a ``u32`` count,
that many ``u32`` byte lengths and the bodies, all little-endian (SGLang 0.5.12 and
later, ``pack_int_lists``); no components at all is the empty frame. Nothing is copied
and nothing is allocated before the bytes that it describes were seen, so a count of
2^32-1 costs nothing (field report F4).
"""

from __future__ import annotations

from operator import index
from struct import Struct, error, pack
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pdwire.frames.place import Place, as_bytes, lossy, refuse

__all__ = [
    "I32",
    "NO_I32",
    "NO_U32",
    "NO_U64",
    "U32",
    "U64",
    "I32Array",
    "U32Array",
    "U64Array",
    "array",
    "array_of",
    "components",
    "filled",
    "has_items",
    "is_repeat",
    "items",
    "lists",
    "no_i32",
    "no_u32",
    "no_u64",
    "one_list",
    "put_array",
    "put_lists",
    "put_one_list",
    "put_repeat",
    "same_lengths",
]

I32Array: TypeAlias = NDArray[np.int32]
U32Array: TypeAlias = NDArray[np.uint32]
U64Array: TypeAlias = NDArray[np.uint64]

I32: Final = np.dtype("<i4")
U32: Final = np.dtype("<u4")
U64: Final = np.dtype("<u8")

_WORDS: Final = tuple(Struct(f"<{n}I") for n in range(9))
_CODES: Final = {"<i4": "i", "<u4": "I", "<u8": "Q"}
_frombuffer: Final = np.frombuffer
_ndarray: Final = np.ndarray

NO_I32: Final[I32Array] = np.frombuffer(b"", I32)
NO_U32: Final[U32Array] = np.frombuffer(b"", U32)
NO_U64: Final[U64Array] = np.frombuffer(b"", U64)
_NOTHING: Final[dict[str, NDArray[Any]]] = {
    I32.str: NO_I32,
    U32.str: NO_U32,
    U64.str: NO_U64,
}


def no_i32() -> I32Array:
    """The empty index array, as a dataclass default."""
    return NO_I32


def no_u32() -> U32Array:
    """The empty ``u32`` array, as a dataclass default."""
    return NO_U32


def no_u64() -> U64Array:
    """The empty pointer array, as a dataclass default."""
    return NO_U64


def array(raw: Any, dtype: np.dtype[Any], at: Place) -> Any:
    """A read-only view of the frame, shape ``(len(frame) / itemsize,)``."""
    try:
        if raw.__class__ is bytes:
            return _frombuffer(raw, dtype)
    except ValueError:
        pass  # a broken item at the end; said below
    return _odd_array(raw, dtype, at)


def _odd_array(raw: Any, dtype: np.dtype[Any], at: Place) -> Any:
    """Other buffers (still not copied when contiguous), or a wrong length."""
    came = raw if raw.__class__ is bytes else _view(raw, at)
    if len(came) % dtype.itemsize:
        refuse(at, came, f"not a multiple of {dtype.itemsize} bytes")
    return _frombuffer(came, dtype)


def _view(raw: Any, at: Place) -> memoryview | bytes:
    """A buffer's bytes, read-only; copied only where they do not lie together."""
    try:
        return memoryview(raw).cast("B").toreadonly()
    except (TypeError, ValueError, BufferError):
        return as_bytes(raw, at)


def lists(raw: Any, dtype: np.dtype[Any], at: Place) -> tuple[Any, ...]:
    """A nested frame as one view per component; ``()`` for the empty frame."""
    if raw.__class__ is not bytes:
        raw = _view(raw, at)
    if not raw:
        return ()
    whole, width = len(raw), dtype.itemsize
    count = _WORDS[1].unpack_from(raw)[0] if whole >= 4 else refuse(at, raw, "no whole header")
    start = 4 + 4 * count
    if not count or start > whole:
        refuse(at, raw, f"{count} components" + ("" if count else ": the empty frame says that"))
    parts: list[Any] = []
    form = _WORDS[count] if count < len(_WORDS) else Struct(f"<{count}I")
    for size in form.unpack_from(raw, 4):
        end = start + size
        if size % width or end > whole:
            refuse(at, raw, f"component {len(parts)} claims {size} bytes")
        # One empty array serves all: a frame may hold nothing but a million empty components.
        some = _frombuffer(raw, dtype, size // width, start) if size else _NOTHING[dtype.str]
        parts.append(some)
        start = end
    if start != whole:
        refuse(at, raw, f"{whole - start} bytes left over")
    return tuple(parts)


def one_list(raw: Any, dtype: np.dtype[Any], at: Place) -> tuple[Any, ...]:
    """A flat frame of a nested field: one component, or none for no bytes."""
    only = array(raw, dtype, at)
    return (only,) if len(only) else ()


def _items(value: Any, dtype: np.dtype[Any], at: Place) -> NDArray[Any]:
    """The value as a flat array of ``dtype``, exactly, or a LossyEncodeError."""
    made = value if isinstance(value, np.ndarray) else _listed(value, dtype, at)
    if made.ndim != 1:
        lossy(at, value, "not one-dimensional")
    if made.dtype == dtype:
        return made
    if not made.size:
        return made.astype(dtype)
    limits = np.iinfo(dtype)
    if made.dtype.kind not in "iu" or int(made.min()) < limits.min or int(made.max()) > limits.max:
        lossy(at, value, f"not {dtype.name} items")
    return made.astype(dtype)


def _listed(value: Any, dtype: np.dtype[Any], at: Place) -> NDArray[Any]:
    """A list or tuple of whole numbers; numpy alone would make floats of wide ones."""
    limits = np.iinfo(dtype)
    if not isinstance(value, list | tuple):
        lossy(at, value, f"not {dtype.name} items")
    try:
        items = [index(item) for item in value]
    except TypeError:
        lossy(at, value, f"not {dtype.name} items")
    if items and (min(items) < limits.min or max(items) > limits.max):
        lossy(at, value, f"not {dtype.name} items")
    return np.array(items, dtype)


def put_array(value: Any, dtype: np.dtype[Any], at: Place) -> bytes:
    """The little-endian items."""
    kind = value.__class__
    if kind is _ndarray and value.dtype == dtype and value.ndim == 1:
        raw: bytes = value.tobytes()
        return raw
    if kind is list or kind is tuple:
        try:
            return pack(f"<{len(value)}{_CODES[dtype.str]}", *value)
        except (error, OverflowError, TypeError):
            pass  # some item is not one of the dtype: which, is said below
    return _items(value, dtype, at).tobytes()


def put_lists(value: Any, dtype: np.dtype[Any], at: Place) -> bytes:
    """Count, byte lengths, bodies; no bytes for no components."""
    if value.__class__ is tuple and not value:
        return b""
    bodies = [put_array(part, dtype, at) for part in components(value, at)]
    if not bodies:
        return b""
    try:
        header = pack(f"<{len(bodies) + 1}I", len(bodies), *map(len, bodies))
    except error:
        lossy(at, value, "a component of 4 GiB or more")
    return header + b"".join(bodies)


def put_one_list(value: Any, dtype: np.dtype[Any], at: Place) -> bytes:
    """The only component's items; this layout cannot say that there are several."""
    parts = components(value, at)
    if not parts:
        return b""
    if len(parts) == 1 and (raw := put_array(parts[0], dtype, at)):
        return raw
    lossy(at, value, "a flat frame carries one component that is not empty")


def components(value: Any, at: Place) -> list[Any] | tuple[Any, ...]:
    """The value, if it is a list or tuple of components.

    Raises:
        LossyEncodeError: it is something else.
    """
    if not isinstance(value, tuple | list):
        lossy(at, value, "not a tuple of components")
    return value


def array_of(items: list[int], dtype: np.dtype[Any]) -> Any:
    """A read-only array of items that a rule of the layout made."""
    made = np.array(items, dtype)
    made.flags.writeable = False
    return made


def has_items(value: Any) -> bool:
    """Whether a value is something else than an array, list or tuple without elements."""
    if isinstance(value, np.ndarray):
        return bool(value.shape != (0,))
    return not isinstance(value, tuple | list) or len(value) > 0


def items(values: Any) -> Any:
    """The values, or an empty tuple where there are none."""
    return () if values is None else values


def filled(raw: bytes, value: object, at: Place) -> bytes:
    """The bytes of a frame that says something else where it has none.

    Raises:
        LossyEncodeError: there are no bytes.
    """
    if not raw:
        lossy(at, value, "an empty frame means something else here")
    return raw


def put_repeat(count: int, value: object, at: Place) -> bytes:
    """No bytes for no items, where the repetition that they mean has none either.

    Raises:
        LossyEncodeError: the repetition has ``count`` items, or the value is no list.
    """
    if count or value is None:
        lossy(at, value, f"an empty frame means {count} items here")
    return b""


def is_repeat(values: Any, value: object, like: Any) -> bool:
    """Whether ``values`` is ``value`` once per element of ``like``."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if not isinstance(values, tuple | list):
        return False
    return bool(len(values) == len(like) and all(v == value for v in values))


def same_lengths(first: tuple[Any, ...], second: tuple[Any, ...]) -> bool:
    """Whether two nested lists have the same shape."""
    return len(first) == len(second) and all(
        len(a) == len(b) for a, b in zip(first, second, strict=True)
    )
