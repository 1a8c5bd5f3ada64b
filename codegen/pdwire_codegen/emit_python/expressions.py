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

__all__ = [
    "cheapest_first",
    "differs",
    "holds",
    "is_empty",
    "is_filled",
    "meaning",
    "names_in",
    "read",
    "table",
    "write",
]

_INTEGERS = {"dec", "u32", "u64", "u32be"}
_TEXTS_SEEN = {"host": "HOSTS", "hostport": "HOSTPORTS", "text": "WORDS"}
_PORT_RANGE = (1, 65535)
_SELDOM_SMALL = {"id", "bytes", "address"}  # units whose numbers a table would mostly miss


def read(frame: Frame, message: Message, source: str, place: str) -> list[str]:
    """The value of a frame that is there, as the parts of a choice.

    Where a table of values seen often exists it is asked first: a call costs more than
    looking a number up. Tables that may be emptied at any time are asked with ``get``.
    """
    row = wire_type(frame.type)
    if _is_flattened(frame, message):
        if row.dtype:
            return [f"one_list({source}, {row.dtype}, {place})"]
        return [f"one_{row.read}({source}, {place})"]
    if row.dtype:
        return [f"{row.read}({source}, {row.dtype}, {place})"]
    plain = f"{row.read}({source}, {place})"
    if frame.type in _TEXTS_SEEN and not frame.allowed:
        return [f"{_TEXTS_SEEN[frame.type]}.get({source}) or {plain}"]
    if frame.type == "dec" and _is_port(frame):
        return [f"PORTS.get({source}) or port({source}, {place})"]
    if frame.type == "flag":
        return [f"FLAGS[{source}]", f"if {source} in FLAGS", f"else {plain}"]
    if table(frame, message):
        return _from_table(frame, f"_T{frame.position}", source, plain)
    return [plain]


def table(frame: Frame, message: Message) -> str:
    """The table of a decimal's small values, where most values are small."""
    if frame.type != "dec" or frame.field is None or _is_port(frame):
        return ""
    seldom = message.field_named(frame.field).unit in _SELDOM_SMALL
    return "" if seldom else f"small({frame.min}, {frame.max})"


def _is_port(frame: Frame) -> bool:
    return (frame.min, frame.max) == _PORT_RANGE


def _from_table(frame: Frame, name: str, source: str, plain: str) -> list[str]:
    """One look where no value is false, else two."""
    if frame.min is not None and frame.min > 0:
        return [f"{name}.get({source}) or {plain}"]
    return [f"{name}[{source}]", f"if {source} in {name}", f"else {plain}"]


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


def cheapest_first(tests: list[str]) -> list[str]:
    """Tests of which all must hold, those for ``None`` first: nothing costs less."""
    return sorted(tests, key=lambda test: not test.endswith(" None"))


def holds(rule: Derivation, message: Message, owner: str) -> list[str]:
    """The rule of a derived field as an expression, one condition a part."""
    tests = [
        _condition(message.field_named(name), message, condition, f"{owner}.{name}")
        for name, condition in rule.when
    ]
    first, *rest = cheapest_first(tests)
    return [first, *(f"and {test}" for test in rest)]


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
