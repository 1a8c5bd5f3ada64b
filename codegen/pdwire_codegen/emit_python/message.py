"""One module per message: the frozen dataclass, and the draft that decoders fill."""

from __future__ import annotations

from pdwire_codegen.emit_python.names import speakers
from pdwire_codegen.emit_python.places import number_of, strangers_of
from pdwire_codegen.emit_python.types import shape_of, wire_type
from pdwire_codegen.emit_python.writing import (
    Module,
    docstring,
    import_order,
    literal,
    natural,
    prose,
    spans,
)
from pdwire_codegen.model import REQUIRED, Field, Message, Repeat, Spec

__all__ = ["annotation", "default_of", "emit_message", "may_be_none"]


def may_be_none(field: Field, message: Message) -> bool:
    """Whether the field's type or any layout gives it the value ``None``."""
    if field.type.endswith("?"):
        return True
    meanings: list[object] = [field.empty, field.absent]
    for layout in message.layouts:
        for frame in layout.frames:
            if frame.field == field.name:
                meanings += [frame.empty, frame.absent]
        meanings += [key.absent for key in layout.keys if key.field == field.name]
    return any(meaning is None for meaning in meanings)


def annotation(field: Field, message: Message) -> str:
    """The dataclass annotation of a field."""
    text = wire_type(field.type).annotation
    if may_be_none(field, message) and "| None" not in text.rsplit("]", 1)[-1]:
        text += " | None"
    return text


def default_of(field: Field) -> str | None:
    """The dataclass default (an expression), or ``None`` for a required field."""
    if field.derived and field.absent is REQUIRED:
        return "False"
    if field.absent is REQUIRED:
        return None
    shape = shape_of(field.type)
    if isinstance(field.absent, Repeat) or field.absent == ():
        if shape == "flat":
            return f"field(default_factory=no_{wire_type(field.type).dtype.lower()})"
        return "()"
    return literal(field.absent)


def emit_message(message: Message, spec: Spec) -> str:
    """The text of ``message.py``."""
    module = Module(f"The message {message.name}: {', '.join(message.directions)}.", message.source)
    module.need("pdwire.codec", "Message")
    module.need("dataclasses", "dataclass")
    annotations = {field.name: annotation(field, message) for field in message.fields}
    for field in message.fields:
        module.need("pdwire.frames", *wire_type(field.type).imports)
        default = default_of(field)
        if default and "field(" in default:
            module.need("dataclasses", "field")
            module.need("pdwire.frames", f"no_{wire_type(field.type).dtype.lower()}")
        if "Any" in annotations[field.name]:
            module.need("typing", "Any")
    if not module.has("pdwire.frames"):
        module.drop("pdwire.frames")
    module.need("typing", "Final")
    module.add(*spans("__all__ = [", _exports(message), "]"), "")
    module.add(*_counts(message, spec), *_strangers(message, spec), "")
    module.add("", *_dataclass(message, annotations), "", "", *_draft(message, annotations))
    return module.render()


def _exports(message: Message) -> list[str]:
    names = ["COUNTS", "Draft", message.class_name]
    if number_of(message) is not None:
        names.append("STRANGERS")
    return [literal(name) for name in sorted(names, key=import_order)]


def _counts(message: Message, spec: Spec) -> list[str]:
    """Frame counts and who sends them, for errors about a wrong count."""
    found: dict[int, list[str]] = {}
    for layout in message.layouts if message.transport == "zmq" else ():
        for count in layout.counts:
            found.setdefault(count, []).append(speakers(layout, spec))
    items = [f"{count}: {literal(', '.join(told))}" for count, told in sorted(found.items())]
    return spans("COUNTS: Final[dict[int, str]] = {", items, "}")


def _strangers(message: Message, spec: Spec) -> list[str]:
    """What other messages have where this one has its telling decimal."""
    if number_of(message) is None:
        return []
    found = sorted(strangers_of(message, spec).items())
    items = [f"{literal(value)}: {literal(whose)}" for value, whose in found]
    return spans("STRANGERS: Final[dict[bytes, str]] = {", items, "}")


def _dataclass(message: Message, annotations: dict[str, str]) -> list[str]:
    lines = ["@dataclass(frozen=True, slots=True, kw_only=True, eq=False)"]
    lines.append(f"class {message.class_name}(Message):")
    ways = ", ".join(message.directions)
    brief = f"The message {message.name}."
    rest = [f"Travels {ways}.", *message.notes]
    lines += docstring(message.doc, "    ", rest=rest, brief=brief)
    for field in message.fields:
        default = default_of(field)
        tail = f" = {default}" if default is not None else ""
        lines += ["", f"    {field.name}: {annotations[field.name]}{tail}"]
        lines += prose(_field_doc(field), "    ")
    return lines


def _field_doc(field: Field) -> str:
    unit = f" Unit: {field.unit}." if field.unit else ""
    return f"{field.doc}{unit}"


def _draft(message: Message, annotations: dict[str, str]) -> list[str]:
    lines = ["class Draft(Message):"]
    lines += docstring(f"A {message.class_name} that is still being filled.", "    ")
    ordered = sorted((field.name for field in message.fields), key=natural)
    names = [literal(name) for name in ordered]
    lines += ["", *spans("__slots__ = (", names, ",)" if len(names) == 1 else ")", "    "), ""]
    lines += [f"    {field.name}: {annotations[field.name]}" for field in message.fields]
    return lines
