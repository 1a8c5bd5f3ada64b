"""Expressions of one field: how a codec reads it, writes it and compares it.

Everything is chosen here, while generating: a decoder that the runtime would have to
choose again for every frame is a slower and less readable decoder.
"""

from __future__ import annotations

import ast

from pdwire_codegen.emit_python.message import may_be_none
from pdwire_codegen.emit_python.types import wire_type
from pdwire_codegen.emit_python.writing import literal
from pdwire_codegen.model import (
    REQUIRED,
    Condition,
    Derivation,
    Field,
    Frame,
    Meaning,
    Message,
    Repeat,
)

__all__ = ["differs", "holds", "is_empty", "is_filled", "meaning", "names_in", "read", "write"]

_INTEGERS = {"dec", "u32", "u64", "u32be"}
_SMALL_LIMIT = 1024  # as in pdwire.frames.scalars


def read(frame: Frame, message: Message, source: str, place: str) -> str:
    """The value of a frame that is there and not empty."""
    row = wire_type(frame.type)
    if _is_flattened(frame, message):
        if row.dtype:
            return f"one_list({source}, {row.dtype}, {place})"
        return f"one_{row.read}({source}, {place})"
    if row.dtype:
        return f"{row.read}({source}, {row.dtype}, {place})"
    if frame.type == "dec" and _takes_small(frame):
        return f"SMALL[{source}] if {source} in SMALL else dec({source}, {place})"
    return f"{row.read}({source}, {place})"


def write(frame: Frame, message: Message, value: str, place: str) -> str:
    """The bytes of a field, canonical."""
    row = wire_type(frame.type)
    if _is_flattened(frame, message):
        dtype = f"{row.dtype}, " if row.dtype else ""
        plain = f"put_one_{'list' if row.dtype else row.read}({value}, {dtype}{place})"
    elif row.dtype:
        plain = f"{row.write}({value}, {row.dtype}, {place})"
    else:
        plain = f"{row.write}({value}, {place})"
    natural = frame.empty is REQUIRED or frame.empty == () or frame.type == "bytes"
    if natural or isinstance(frame.empty, Repeat):
        return plain
    if frame.empty is None:
        return f'b"" if {value} is None else {plain}'
    if frame.writes_empty or frame.empty == "":
        return f'b"" if means({value}, {literal(frame.empty)}) else {plain}'
    return plain


def _is_flattened(frame: Frame, message: Message) -> bool:
    """Whether the frame is flat where its field is nested."""
    field = message.field_named(frame.field or "")
    return field.type.endswith("[][]") and not frame.type.endswith("[][]")


def _takes_small(frame: Frame) -> bool:
    return (
        frame.min is not None
        and frame.max is not None
        and frame.min <= 0
        and frame.max >= _SMALL_LIMIT - 1
    )


def meaning(what: Meaning, field: Field, owner: str) -> str:
    """The value that an empty or missing frame stands for."""
    row = wire_type(field.type)
    if isinstance(what, Repeat):
        if what.from_field is not None:
            inner = f"[{owner}.{what.from_field}] * len({owner}.{what.like})"
            return f"array_of({inner}, {row.dtype})" if row.dtype else f"tuple({inner})"
        return f"({literal(what.word)},) * len({owner}.{what.like})"
    if what == ():
        return f"NO_{row.dtype}" if row.shape == "flat" else "()"
    return literal(what)


def differs(what: Meaning, value: str, owner: str) -> str:
    """Whether a value differs from what its absence means."""
    if what == ():
        return f"has_items({value})"
    if isinstance(what, Repeat):
        one = f"{owner}.{what.from_field}" if what.from_field else literal(what.word)
        return f"not is_repeat({value}, {one}, {owner}.{what.like})"
    if what is None or isinstance(what, bool):
        return f"{value} is not {literal(what)}"
    return f"not means({value}, {literal(what)})"


def holds(rule: Derivation, message: Message, owner: str) -> list[str]:
    """The rule of a derived field as an expression, one condition a part."""
    tests = [
        _condition(message.field_named(name), message, condition, f"{owner}.{name}")
        for name, condition in rule.when
    ]
    return [tests[0], *(f"and {test}" for test in tests[1:])]


def is_empty(field: Field, value: str, *, none: bool) -> str:
    """Whether a field has nothing: no bytes, no elements, ``None``, negative."""
    if field.type in _INTEGERS:
        return f"{value} is None" if none else f"{value} < 0"
    return f"not {value}" if none else f"not len({value})"


def is_filled(field: Field, value: str, *, none: bool) -> str:
    """The opposite of :func:`is_empty`."""
    if field.type in _INTEGERS:
        return f"{value} is not None" if none else f"{value} >= 0"
    return value if none else f"len({value})"


def _condition(field: Field, message: Message, condition: Condition, value: str) -> str:
    if condition == "empty":
        return is_empty(field, value, none=may_be_none(field, message))
    if condition == "none":
        return f"{value} is None"
    return f"{value} < 0" if condition == "negative" else f"not {value}"


def names_in(code: str, known: frozenset[str]) -> set[str]:
    """Which names of ``pdwire.frames`` a module's code uses."""
    used = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    return set(known) & used
