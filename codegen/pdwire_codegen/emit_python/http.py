"""Codecs of HTTP bodies: a JSON object or a query string, key by key."""

from __future__ import annotations

from itertools import takewhile

from pdwire_codegen.emit_python import expressions as ex
from pdwire_codegen.emit_python import lacking
from pdwire_codegen.emit_python.encoder import INNER, encoder
from pdwire_codegen.emit_python.invariants import ending
from pdwire_codegen.emit_python.places import field_place, place_of
from pdwire_codegen.emit_python.types import wire_type
from pdwire_codegen.emit_python.writing import Module, choice, docstring, literal, spans
from pdwire_codegen.model import REQUIRED, Key, Layout, Meaning, Message, Repeat

__all__ = ["http_codec"]

_BODY = " " * 8
WHOLE = "*"
"""The key of a body whose keys are data: the whole body is one field."""


def http_codec(message: Message, layout: Layout, module: Module) -> list[str]:
    """``decode`` and ``encode`` of a body; places go to the module."""
    held = {key.field for key in layout.keys}
    if message.body == "json" and layout.keys[0].key != WHOLE:
        module.need("typing", "Any")
    for key in layout.keys:
        module.add(*field_place(message.field_named(key.field), key=key.key))
    module.add(*lacking.places(message, layout, held))
    return [*_decoder(message, layout, held), "", "", *_encoder(message, layout, held)]


def _decoder(message: Message, layout: Layout, held: set[str]) -> list[str]:
    name = message.class_name
    lines = [f"def decode(frames: Frames) -> {name}:"]
    rest = [layout.doc] if layout.doc else []
    lines += docstring(f"The body of layout {layout.id} to a {name}.", "    ", rest=rest)
    lines += ["    try:", f"{_BODY}body = {message.body}_body(frames, _L)", f"{_BODY}m = Draft()"]
    repeated: list[str] = []
    for key in layout.keys:
        waits = key.optional and isinstance(_absent(key, message), Repeat)
        (repeated if waits else lines).extend(_assignment(key, message))
    alone, more, derived = lacking.assignments(message, layout, held)
    return [*lines, *alone, *repeated, *more, *derived, *ending(message, layout)]


def _assignment(key: Key, message: Message) -> list[str]:
    """``m.x = …`` of one key, with what its lack means."""
    parts = [_read(key, message)]
    if key.optional:
        absent = ex.meaning(_absent(key, message), message.field_named(key.field), "m")
        parts += [f"if {literal(key.key)} in body", f"else {absent}"]
    return choice(f"{_BODY}m.{key.field} = ", parts)


def _absent(key: Key, message: Message) -> Meaning:
    return key.absent if key.absent is not REQUIRED else message.field_named(key.field).absent


def _read(key: Key, message: Message) -> str:
    place = place_of(key.field)
    kind = message.field_named(key.field).type
    if key.key == WHOLE:
        return f"json_whole(body, {literal(kind.removeprefix('json:'))}, {place})"
    if message.body == "json":
        return f"json_key(body, {literal(key.key)}, {literal(kind.removeprefix('json:'))}, {place})"
    return f"{wire_type(kind).read}(query_key(body, {literal(key.key)}, {place}), {place})"


def _encoder(message: Message, layout: Layout, held: set[str]) -> list[str]:
    lines = _whole(message, layout) if layout.keys[0].key == WHOLE else _pairs(message, layout)
    lines += lacking.losses(message, layout, held)
    brief = f"A {message.class_name} to a body of layout {layout.id}."
    return encoder(message, layout, brief=brief, body=lines, result="frames")


def _whole(message: Message, layout: Layout) -> list[str]:
    return [f"{INNER}frames = put_json({_write(layout.keys[0], message)})"]


def _pairs(message: Message, layout: Layout) -> list[str]:
    """The keys in the layout's order: those up to the first optional one at once."""
    kind = "Any" if message.body == "json" else "bytes"
    first = list(takewhile(lambda key: not key.optional, layout.keys))
    pairs = [f"{literal(key.key)}: {_write(key, message)}" for key in first]
    lines = spans(f"body: dict[str, {kind}] = {{", pairs, "}", INNER)
    for key in layout.keys[len(first) :]:
        indent = INNER
        if key.optional:
            test = ex.differs(_absent(key, message), f"message.{key.field}", "message")
            lines.append(f"{INNER}if {test}:")
            indent = f"{INNER}    "
        lines.append(f"{indent}body[{literal(key.key)}] = {_write(key, message)}")
    return [*lines, f"{INNER}frames = put_{message.body}(body)"]


def _write(key: Key, message: Message) -> str:
    place = place_of(key.field)
    kind = message.field_named(key.field).type
    if message.body == "json":
        return f"put_json_key(message.{key.field}, {literal(kind.removeprefix('json:'))}, {place})"
    return f"{wire_type(kind).write}(message.{key.field}, {place})"
