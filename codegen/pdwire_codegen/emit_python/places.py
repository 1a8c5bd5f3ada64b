"""The module-level lines of a codec: its layout and the place of each frame."""

from __future__ import annotations

from pdwire import frames as runtime
from pdwire_codegen.emit_python.types import expected
from pdwire_codegen.emit_python.writing import call, literal
from pdwire_codegen.model import Field, Frame, Layout, Message, Spec

__all__ = [
    "KNOWN",
    "field_place",
    "layout_line",
    "lead_of",
    "number_of",
    "place_line",
    "place_of",
    "strangers_of",
    "tag_of",
]

KNOWN: frozenset[str] = frozenset(runtime.__all__)
"""Names that generated code may import from ``pdwire.frames``."""


def layout_line(message: Message, layout: Layout, spoken: str) -> list[str]:
    """``_L = Layout(…)``."""
    name = f"{message.group} {message.name}"
    args = [literal(name), literal(layout.id), literal(spoken), literal(layout.counts), "COUNTS"]
    tag = tag_of(message)
    if message.guard is not None or tag:
        args.append(literal(message.guard.encode()) if message.guard is not None else "None")
    if tag:
        args.append(literal(tag))
    number = number_of(message)
    if number is not None:
        args += [f"number={number}", "strangers=STRANGERS"]
    return call("_L = Layout", args)


def tag_of(message: Message) -> tuple[tuple[int, bytes], ...]:
    """The recognised constant as ``((index in the multipart, bytes),)``."""
    rule = message.recognise
    if rule is None or rule.equals is None:
        return ()
    return ((rule.frame + (message.guard is not None), rule.equals.encode()),)


def lead_of(message: Message) -> tuple[tuple[int, bytes], ...]:
    """Every constant that a message begins with: guard and tag."""
    guard = ((0, message.guard.encode()),) if message.guard is not None else ()
    return guard + tag_of(message)


def number_of(message: Message) -> int | None:
    """Index in the multipart of the decimal that tells the message, or ``None``."""
    rule = message.recognise
    if rule is None or rule.is_ != "decimal":
        return None
    return rule.frame + (message.guard is not None)


def strangers_of(message: Message, spec: Spec) -> dict[bytes, str]:
    """Constants of other messages where this one has its telling decimal, and whose they are."""
    found: dict[bytes, str] = {}
    for other in spec.messages:
        if number_of(message) == 0 and other.guard is not None:
            found[other.guard.encode()] = f"{' or '.join(other.backends)}, by its guard"
        if other.guard == message.guard:
            found |= {
                value: other.name for index, value in tag_of(other) if index == number_of(message)
            }
    return found


def place_of(field: str) -> str:
    """The name of the place of a field that sits under a key or in a text."""
    return f"_AT_{field.upper()}"


def field_place(field: Field, *, key: str | None = None) -> list[str]:
    """``_AT_X = Place(…)`` of a field that sits under a key or in a text."""
    args = ["_L", "None", literal(field.name if key is None else key), literal(expected(field))]
    if field.min is not None and field.max is not None:
        args += [str(field.min), str(field.max)]
    if field.allowed:
        args.append(f"allowed={literal(field.allowed)}")
    return call(f"{place_of(field.name)} = Place", args)


def place_line(frame: Frame, variable: str) -> list[str]:
    """``_F7 = Place(…)`` of one frame."""
    if frame.const is not None:
        says = f"the constant {frame.const!r}" if frame.const else "an empty frame"
        return call(
            f"{variable} = Place", ["_L", str(frame.position), literal(frame.name), literal(says)]
        )
    args = ["_L", str(frame.position), literal(frame.name), literal(expected(frame))]
    if frame.min is not None and frame.max is not None:
        args += [str(frame.min), str(frame.max)]
    if frame.allowed:
        args.append(f"allowed={literal(frame.allowed)}")
    return call(f"{variable} = Place", args)
