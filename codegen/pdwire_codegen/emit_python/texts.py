"""Codecs of notification texts: a template with an optional tail to a regular expression.

The fields' own decoders check what the pattern caught, so the pattern only has to cut
the text at the right places.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pdwire_codegen.emit_python import expressions as ex
from pdwire_codegen.emit_python import lacking
from pdwire_codegen.emit_python.encoder import INNER, encoder
from pdwire_codegen.emit_python.invariants import ending
from pdwire_codegen.emit_python.places import field_place, place_of
from pdwire_codegen.emit_python.types import wire_type
from pdwire_codegen.emit_python.writing import (
    Module,
    call,
    choice,
    condition,
    docstring,
    literal,
    spans,
)
from pdwire_codegen.model import Layout, Message
from pdwire_codegen.texts import parse_text

__all__ = ["text_codec"]

_BODY = " " * 8
_PATTERNS = {"dec": "-?[0-9]+", "flag": "[01]", "text": "[!-~]+"}


@dataclass(frozen=True, slots=True)
class _Piece:
    """A word or a field of a template, and whether it is in the optional tail."""

    word: str
    is_field: bool
    in_tail: bool


def _pieces(text: str) -> list[_Piece]:
    template = parse_text(text)
    return [
        _Piece(part.field or part.literal or "", part.field is not None, in_tail)
        for in_tail, parts in ((False, template.head), (True, template.tail))
        for part in parts
    ]


def _pattern(message: Message, pieces: list[_Piece]) -> str:
    head, rest = "", ""
    for piece in pieces:
        one = re.escape(piece.word)
        if piece.is_field:
            one = f"(?P<{piece.word}>{_PATTERNS[message.field_named(piece.word).type]})"
        head, rest = (head, rest + one) if piece.in_tail else (head + one, rest)
    return head + (f"(?:{rest})?" if rest else "")


def _raw(pattern: str) -> str:
    """A literal of the pattern's bytes, raw where that can be."""
    if '"' not in pattern:
        return f'rb"{pattern}"'
    return literal(pattern.encode()) if "'" in pattern else f"rb'{pattern}'"


def text_codec(message: Message, layout: Layout, module: Module) -> list[str]:
    """``decode`` and ``encode`` of a notification text; places go to the module."""
    assert layout.text is not None
    module.need_module("re")
    pieces = _pieces(layout.text)
    held = {piece.word for piece in pieces if piece.is_field}
    for piece in pieces:
        if piece.is_field:
            module.add(*field_place(message.field_named(piece.word)))
    module.add(*lacking.places(message, layout, held))
    module.add(*call("_PATTERN = re.compile", [_raw(_pattern(message, pieces))]))
    decoder = _decoder(message, layout, pieces, held)
    return [*decoder, "", "", *_encoder(message, layout, pieces, held)]


def _decoder(message: Message, layout: Layout, pieces: list[_Piece], held: set[str]) -> list[str]:
    name = message.class_name
    lines = [f"def decode(frames: Frames) -> {name}:"]
    rest = [layout.doc] if layout.doc else []
    lines += docstring(f"The text of layout {layout.id} to a {name}.", "    ", rest=rest)
    lines.append("    try:")
    lines += call("found = matched", ["frames", "_PATTERN", literal(layout.text), "_L"], _BODY)
    lines.append(f"{_BODY}m = Draft()")
    for piece in pieces:
        if piece.is_field:
            lines += _assignment(message, piece)
    alone, repeated, derived = lacking.assignments(message, layout, held)
    return [*lines, *alone, *repeated, *derived, *ending(message, layout)]


def _assignment(message: Message, piece: _Piece) -> list[str]:
    field = message.field_named(piece.word)
    caught = f"found[{literal(piece.word)}]"
    value = f"{wire_type(field.type).read}({caught}, {place_of(piece.word)})"
    head = f"{_BODY}m.{piece.word} = "
    if not piece.in_tail:
        return [head + value]
    absent = ex.meaning(field.absent, field, "m")
    return choice(head, [absent, f"if {caught} is None", f"else {value}"])


def _encoder(message: Message, layout: Layout, pieces: list[_Piece], held: set[str]) -> list[str]:
    head = [_written(message, piece) for piece in pieces if not piece.in_tail]
    tail = [piece for piece in pieces if piece.in_tail]
    lines = spans("parts = [", head, "]", INNER)
    tests = [
        ex.differs(message.field_named(p.word).absent, f"message.{p.word}", "message")
        for p in tail
        if p.is_field
    ]
    if tests:  # a tail of words alone says nothing
        lines += condition(tests, "or", INNER)
        written = [_written(message, piece) for piece in tail]
        lines += spans("parts += [", written, "]", f"{INNER}    ")
    lines += lacking.losses(message, layout, held)
    brief = f"A {message.class_name} to the text of layout {layout.id}."
    return encoder(message, layout, brief=brief, body=lines, result='[b"".join(parts)]')


def _written(message: Message, piece: _Piece) -> str:
    if not piece.is_field:
        return literal(piece.word.encode())
    row = wire_type(message.field_named(piece.word).type)
    return f"{row.write}(message.{piece.word}, {place_of(piece.word)})"
