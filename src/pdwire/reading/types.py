"""The table of frame types: which construct reads a slot, and the two steps around it.

Rules: an empty frame means what the slot says, or no elements where the type is a list
or bytes; a nested field whose slot is flat carries one component, or none as no bytes.
Constructs are built once per distinct slot and kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import construct as c

from pdwire.reading import arrays, msgpack, scalars
from pdwire.reading.errors import Refused, shorten, shorten_value
from pdwire.reading.spec import Given, Repeat, Slot, Value

_TEXTS: dict[str, tuple[str, scalars.Check]] = {
    "text": ("ascii", scalars.printable),
    "utf8": ("utf-8", scalars.anything),
    "host": ("ascii", scalars.host),
    "hostport": ("ascii", scalars.hostport),
}
_PLAIN: dict[str, Callable[[], Any]] = {
    "flag": scalars.flag,
    "bytes": scalars.opaque,
    "bin[]": lambda: msgpack.bins(deep=False),
    "bin[][]": lambda: msgpack.bins(deep=True),
    "bin?[][]": lambda: msgpack.bins(deep=True, nil=True),
}
_FIXED = frozenset({"u32", "u64", "u32be"})


def is_nested(kind: str) -> bool:
    """Whether values of type ``kind`` are lists of lists."""
    return kind.endswith("[][]")


@lru_cache(maxsize=1024)
def construct_for(kind: str, low: int | None, high: int | None, allowed: tuple[str, ...]) -> Any:  # noqa: ANN401
    """The construct of a frame of type ``kind``; ``ValueError`` for an unknown type."""
    if kind in _PLAIN:
        return _PLAIN[kind]()
    if kind == "dec":
        return scalars.decimal(low, high)
    if kind in _FIXED:
        return scalars.fixed(kind, low, high)
    if kind in _TEXTS:
        return scalars.text(*_TEXTS[kind], allowed)
    if kind == "names":
        return scalars.names(allowed)
    if is_nested(kind):
        return arrays.nested(kind.removesuffix("[][]"))
    if kind.endswith("[]"):
        return arrays.flat(kind.removesuffix("[]"))
    raise ValueError(f"no frame type {kind!r}")


def parse(construct: Any, raw: bytes) -> Any:  # noqa: ANN401
    """``raw`` as ``construct`` reads it; :class:`Refused` whatever is wrong with it."""
    try:
        return construct.parse(raw)
    except Refused as refusal:
        raise Refused(refusal.expected, refusal.came or shorten(raw)) from refusal
    except c.ConstructError as error:
        raise Refused("a value that does not end early", shorten(raw)) from error


def build(construct: Any, value: Value) -> bytes:  # noqa: ANN401
    """The bytes of ``value``; :class:`Refused` when the type cannot carry it."""
    try:
        built: bytes = construct.build(value)
    except Refused as refusal:
        raise Refused(refusal.expected, refusal.came or shorten_value(value)) from refusal
    except c.ConstructError as error:
        raise Refused("a value that fits the type", shorten_value(value)) from error
    return built


def same(one: Value, other: Value) -> bool:
    """Equality that does not take ``True`` for 1."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def slot_construct(slot: Slot) -> Any:  # noqa: ANN401
    """The construct that reads and writes a slot's filled frames."""
    if slot.const is not None:
        return scalars.constant(slot.const)
    return construct_for(slot.type, slot.min, slot.max, slot.allowed)


def read_slot(slot: Slot, raw: bytes, field_type: str) -> Given | Repeat:
    """What ``raw`` means at ``slot``: a value of ``field_type``, or a repeat to be filled in."""
    if not raw and isinstance(slot.empty, Given | Repeat):
        return slot.empty
    value: Value = parse(slot_construct(slot), raw)
    if is_nested(field_type) and not is_nested(slot.type):
        return Given(value=[value] if raw else [])
    return Given(value=value)


def write_slot(slot: Slot, value: Value, field_type: str, empty: Given | None) -> bytes:
    """``value`` as ``slot`` writes it; ``empty`` is the slot's own meaning, repeats filled in.

    A value is written as an empty frame when the slot says so, when it is ``None``, and
    when there is no other way to write it.
    """
    means_empty = empty is not None and same(value, empty.value)
    if means_empty and (slot.writes_empty or value is None):
        return b""
    try:
        plain = _component(value) if is_nested(field_type) and not is_nested(slot.type) else value
        return build(slot_construct(slot), plain)
    except Refused:
        if means_empty:
            return b""
        raise


def _component(value: Value) -> Value:
    """The one component that a flat slot carries of a nested value."""
    if not isinstance(value, list) or len(value) > 1:
        raise Refused("at most one component", shorten_value(value))
    return value[0] if value else []
