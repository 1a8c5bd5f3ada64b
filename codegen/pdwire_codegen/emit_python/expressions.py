"""Expressions of one field: how a codec reads it, writes it and compares it.

Everything is chosen here, while generating: a decoder that the runtime would have to
choose again for every frame is a slower and less readable decoder.
"""

from __future__ import annotations

import ast

from pdwire_codegen.emit_python.fitting import operands
from pdwire_codegen.emit_python.message import may_be_none
from pdwire_codegen.emit_python.types import wire_type
from pdwire_codegen.emit_python.writing import literal
from pdwire_codegen.kinds import kind_of
from pdwire_codegen.model import (
    REQUIRED,
    Condition,
    Derivation,
    Field,
    Frame,
    Layout,
    Meaning,
    Message,
    Repeat,
)
from pdwire_codegen.texts import parse_text

__all__ = [
    "cheapest_first",
    "differs",
    "holds",
    "is_empty",
    "is_filled",
    "is_natural",
    "meaning",
    "names_in",
    "read",
    "table",
    "write",
]

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
    plain = f"{'leading' if _tells(frame, message) else row.read}({source}, {place})"
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


def _tells(frame: Frame, message: Message) -> bool:
    """Whether the frame tells the message by being a decimal."""
    rule = message.recognise
    told = rule is not None and rule.is_ == "decimal" and rule.frame == frame.position
    return told and frame.type == "dec"


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
    if is_natural(frame):
        return plain
    if isinstance(frame.empty, Repeat):
        like = f"len({value.rpartition('.')[0]}.{frame.empty.like})"
        return f"{plain} if has_items({value}) else put_repeat({like}, {value}, {place})"
    if wire_type(frame.type).shape != "scalar" or frame.type == "bytes":
        plain = f"filled({plain}, {value}, {place})"
    if not frame.writes_empty:
        return plain
    return f'b"" if {_is_meant(frame.empty, value)} else {plain}'


def is_natural(frame: Frame) -> bool:
    """Whether an empty frame is an error, or what the type itself makes of no bytes."""
    natural = frame.empty is REQUIRED or frame.empty == ()
    return natural or (frame.type == "bytes" and frame.empty == b"")


def _is_meant(what: Meaning, value: str) -> str:
    """Whether a value is exactly a literal."""
    if what is None or isinstance(what, bool):
        return f"{value} is {literal(what)}"
    return f"means({value}, {literal(what)})"


def _is_flattened(frame: Frame, message: Message) -> bool:
    """Whether the frame is flat where its field is nested."""
    field = message.field_named(frame.field or "")
    return field.type.endswith("[][]") and not frame.type.endswith("[][]")


def meaning(what: Meaning, field: Field, owner: str) -> str:
    """The value that an empty or missing frame stands for."""
    row = wire_type(field.type)
    if isinstance(what, Repeat):
        one = f"{owner}.{what.from_field}" if what.from_field else literal(what.word)
        count = f"len({owner}.{what.like})"
        return f"array_of([{one}] * {count}, {row.dtype})" if row.dtype else f"({one},) * {count}"
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


def holds(
    rule: Derivation, message: Message, layout: Layout, owner: str, held: set[str]
) -> list[str]:
    """The rule of a derived field as an expression, one condition a part.

    A field that the layout does not carry (those in ``held`` it does) has one value: what
    its conditions come to is worked out here. So it is for ``None`` in a draft (``m``) whose
    layout never gives it.
    """
    tests: list[str] = []
    for name, condition in rule.when:
        field = message.field_named(name)
        none = may_be_none(field, message)
        if owner == "m" and none and name in held:
            none = _is_none_here(field, layout)
        if name not in held and not isinstance(field.absent, Repeat):
            if not _comes_to(field.absent, condition):
                return ["False"]
        elif condition == "none" and not none:
            return ["False"]
        else:
            tests.append(_condition(field, condition, f"{owner}.{name}", none=none))
    if len(tests) <= 1:
        return tests or ["True"]
    joined = [f"({test})" if " or " in test else test for test in cheapest_first(tests)]
    first, *rest = [part for test in joined for part in operands(test, "and")]
    return [first, *(f"and {test}" for test in rest)]


def _is_none_here(field: Field, layout: Layout) -> bool:
    """Whether a layout that carries the field may give it ``None``."""
    if layout.text is not None:
        return field.absent is None and field.name in parse_text(layout.text).optional
    told: list[object] = [
        what for f in layout.frames if f.field == field.name for what in (f.empty, f.absent)
    ]
    told += [key.absent for key in layout.keys if key.field == field.name and key.optional]
    return field.type.endswith("?") or any(what is None for what in told)


def _comes_to(value: Meaning, condition: Condition) -> bool:
    """Whether a condition holds for what a field's absence means."""
    if value is None:
        return condition != "negative"
    if condition == "negative":
        return isinstance(value, int) and value < 0
    return condition != "none" and not value


def is_empty(field: Field, message: Message, value: str, *, none: bool) -> str | None:
    """Whether a field, which may be ``None``, has nothing: no bytes, no elements, negative.

    ``None`` where that cannot be.
    """
    kind = kind_of(field.type)
    assert kind is not None
    if kind.is_int and _may_be_negative(field, message):
        return f"{value} is None or {value} < 0" if none else f"{value} < 0"
    if kind.is_int or kind.value == "bool":
        return f"{value} is None" if none else None
    return _is_bare(field, value, none=none)


def _is_bare(field: Field, value: str, *, none: bool) -> str:
    """Whether a value that has a length has none of it."""
    if none and wire_type(field.type).shape == "flat":
        return f"{value} is None or not len({value})"
    return f"not {value}" if none else f"not len({value})"


def is_filled(field: Field, message: Message, value: str, *, none: bool) -> str | None:
    """The opposite of :func:`is_empty`; ``None`` where it always holds."""
    kind = kind_of(field.type)
    assert kind is not None
    if kind.is_int and _may_be_negative(field, message):
        return f"{value} is not None and {value} >= 0" if none else f"{value} >= 0"
    if kind.is_int or kind.value == "bool":
        return f"{value} is not None" if none else None
    if none and wire_type(field.type).shape == "flat":
        return f"{value} is not None and len({value})"
    return value if none else f"len({value})"


def _may_be_negative(field: Field, message: Message) -> bool:
    """Whether any frame, empty or not, or its lack can give an integer field less than 0."""
    frames = [f for layout in message.layouts for f in layout.frames if f.field == field.name]
    keys = [k for layout in message.layouts for k in layout.keys if k.field == field.name]
    told: list[object] = [field.min, field.empty, field.absent, *(key.absent for key in keys)]
    told += [one for frame in frames for one in (frame.min, frame.empty, frame.absent)]
    return any(isinstance(one, int) and one < 0 for one in told)


def _condition(field: Field, condition: Condition, value: str, *, none: bool) -> str:
    if condition == "empty":
        return _is_bare(field, value, none=none)
    if condition == "none":
        return f"{value} is None"
    if condition == "falsy":
        return f"not {value}"
    return f"{value} is not None and {value} < 0" if none else f"{value} < 0"


def names_in(code: str, known: frozenset[str]) -> set[str]:
    """Which names of ``pdwire.frames`` a module's code uses."""
    used = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    return set(known) & used
