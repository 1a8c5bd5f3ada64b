"""Rules of fields and of what a layout makes of them: types, ranges, words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from pdwire import frames
from pdwire.errors import LossyEncodeError
from pdwire.frames import Layout, Place
from pdwire_codegen.diagnostics import did_you_mean
from pdwire_codegen.draft import DraftFrame, DraftMessage
from pdwire_codegen.emit_python.types import TYPES
from pdwire_codegen.kinds import KINDS, NOTIFICATION_TYPES, QUERY_TYPES, kind_of, may_stand_for
from pdwire_codegen.rules.rule import Finding, Path, Rule, at, each_message

_WORD = re.compile(r"[!-+\--~]+")  # printable ASCII without blanks and commas
_NOWHERE = Place(Layout("spec", "", "", (1,), {}), 0, "word", "a word")
_FAMILY = "json:int json:str json:bool json:object, with [] {} and ?"


def _typed(message: DraftMessage) -> Iterator[tuple[str, str, Path]]:
    """Every type that is written down: its owner, the type, its place."""
    for field in (*message.fields, *message.derived):
        if field.type is not None:
            yield f"field {field.name}", field.type, (*field.path, "type")
    for layout in message.layouts:
        for frame in layout.frames:
            if frame.type is not None:
                yield f"frame {frame.key} of {layout.id}", frame.type, (*frame.path, "type")


def unknown_type(message: DraftMessage) -> Iterator[Finding]:
    """Types are those of the language."""
    for owner, name, path in _typed(message):
        if kind_of(name) is None:
            hint = _FAMILY if name.startswith("json") else did_you_mean(name, KINDS)
            yield at(message.document, path, f"{owner} has the unknown type {name!r}", hint)


def type_transport(message: DraftMessage) -> Iterator[Finding]:
    """JSON types are for HTTP bodies; notifications and queries are text."""
    for field in message.fields:
        kind = kind_of(field.type)
        if kind is None or (hint := _misplaced(message, kind.name, json=kind.json)) is None:
            continue
        text = f"type {kind.name} cannot travel by {message.transport}"
        yield at(message.document, (*field.path, "type"), text, hint)


def _misplaced(message: DraftMessage, name: str, *, json: bool) -> str | None:
    """What to use instead, or ``None`` when the type is in its place."""
    if message.transport == "zmq" and json:
        return "json: types are for HTTP bodies"
    if message.transport == "notification" and name not in NOTIFICATION_TYPES:
        return f"a notification has {', '.join(NOTIFICATION_TYPES)}"
    if message.transport == "http" and message.body == "json" and not json:
        return "a JSON body has json: types"
    if message.transport == "http" and message.body == "query" and name not in QUERY_TYPES:
        return f"a query has {', '.join(QUERY_TYPES)}"
    return None


def _ranges(
    message: DraftMessage,
) -> Iterator[tuple[str, str | None, int | None, int | None, Path]]:
    """Every place with ``min`` or ``max``: owner, type, both bounds, place."""
    fields = message.everything()
    for field in message.fields:
        if field.min is not None or field.max is not None:
            yield f"field {field.name}", field.type, field.min, field.max, field.path
    for layout in message.layouts:
        for frame in layout.frames:
            if frame.min is None and frame.max is None:
                continue
            carried = fields.get(frame.field or "")
            owner = f"frame {frame.key} of {layout.id}"
            if carried is None:
                yield owner, frame.type, frame.min, frame.max, frame.path
                continue
            low = carried.min if frame.min is None else frame.min
            high = carried.max if frame.max is None else frame.max
            yield owner, frame.type or carried.type, low, high, frame.path


def range_type(message: DraftMessage) -> Iterator[Finding]:
    """Only integers have a range."""
    for owner, name, low, _high, path in _ranges(message):
        kind = kind_of(name)
        if kind is not None and not kind.has_range:
            key = "max" if low is None else "min"
            text = f"{owner} is {kind.name}, which has no range"
            yield at(message.document, (*path, key), text, "min and max are for integers")


def range_order(message: DraftMessage) -> Iterator[Finding]:
    """The range is not empty, type defaults counted in."""
    for owner, name, low, high, path in _ranges(message):
        kind = kind_of(name)
        if kind is None or not kind.has_range:
            continue
        least = kind.first if low is None else low
        most = kind.last if high is None else high
        if least is not None and most is not None and least > most:
            key = "max" if high is not None else "min"
            text = f"{owner} has min {least} above max {most}"
            yield at(message.document, (*path, key), text, "the other bound may be the type's own")


def range_width(message: DraftMessage) -> Iterator[Finding]:
    """The range fits the bytes of the type."""
    for owner, name, low, high, path in _ranges(message):
        kind = kind_of(name)
        if kind is None or kind.low is None or kind.high is None:
            continue
        for key, bound in (("min", low), ("max", high)):
            if bound is not None and not kind.low <= bound <= kind.high:
                text = f"{owner}: {key} {bound} does not fit {kind.name}"
                hint = f"{kind.name} holds {kind.low}..{kind.high}"
                yield at(message.document, (*path, key), text, hint)


def allowed_type(message: DraftMessage) -> Iterator[Finding]:
    """Only names and texts choose from words."""
    for field in message.fields:
        kind = kind_of(field.type)
        if field.allowed is not None and kind is not None and not kind.is_word:
            text = f"field {field.name} is {kind.name}, which has no `allowed`"
            hint = "allowed is for names and texts; integers have min and max"
            yield at(message.document, (*field.path, "allowed"), text, hint)


def allowed_empty(message: DraftMessage) -> Iterator[Finding]:
    """A list of words has some: with none, no value would be right."""
    for field in message.fields:
        path = (*field.path, "allowed")
        if field.allowed == ():
            text = f"field {field.name} allows nothing at all"
            yield at(message.document, path, text, "list the words that may come, or drop allowed")


def allowed_words(message: DraftMessage) -> Iterator[Finding]:
    """Words are printable, without blanks or commas, once each; names have some."""
    for field in message.fields:
        path = (*field.path, "allowed")
        if field.type == "names" and path not in message.document.lines:
            text = f"field {field.name} is names without `allowed`"
            yield at(message.document, path, text, "list the words that may come")
        words = field.allowed or ()
        for index, word in enumerate(words):
            if _WORD.fullmatch(word) is None or word in words[:index]:
                text = f"field {field.name}: {word!r} is not a word, or is listed twice"
                yield at(message.document, path, text, "printable ASCII without blanks and commas")
            elif not _is_spelled(field.type, word):
                text = f"field {field.name}: {word!r} is no {field.type}, so it can never come"
                yield at(message.document, path, text, f"words are values of type {field.type}")


def _is_spelled(name: str | None, word: str) -> bool:
    """Whether the codecs can write a word as a value of the type."""
    kind = kind_of(name)
    if kind is None or kind.json or kind.value != "str":
        return True
    write: Callable[[object, Place], bytes] = getattr(frames, TYPES[kind.name].write)
    try:
        write(word, _NOWHERE)
    except LossyEncodeError:
        return False
    return True


def _overrides(message: DraftMessage) -> Iterator[tuple[DraftFrame, str, str]]:
    """Frames with a type of their own: frame, field's type, frame's type."""
    fields = message.everything()
    for layout in message.layouts:
        for frame in layout.frames:
            field = fields.get(frame.field or "")
            if frame.type is not None and field is not None and field.type is not None:
                yield frame, field.type, frame.type


def flat_override(message: DraftMessage) -> Iterator[Finding]:
    """A flat array stands for one component of a nested field, never the other way."""
    for frame, field_name, frame_name in _overrides(message):
        field, own = kind_of(field_name), kind_of(frame_name)
        if field is None or own is None or may_stand_for(own, field):
            continue
        if own.value.rstrip("[]") == field.value.rstrip("[]"):
            text = f"{own.name} cannot stand for {frame.field}, which is {field.name}"
            hint = "give the field the nested type; a layout may flatten it"
            yield at(message.document, (*frame.path, "type"), text, hint)


def type_override(message: DraftMessage) -> Iterator[Finding]:
    """A layout's own encoding carries the same kind of value."""
    for frame, field_name, frame_name in _overrides(message):
        field, own = kind_of(field_name), kind_of(frame_name)
        if field is None or own is None:
            continue
        if own.value.rstrip("[]") != field.value.rstrip("[]"):
            text = f"{frame.field} is {field.name} ({field.value}), not {own.name} ({own.value})"
            hint = "another encoding must carry the same kind of value"
            yield at(message.document, (*frame.path, "type"), text, hint)


RULES = (
    Rule(
        id="unknown-type",
        holds="Types are those of the language.",
        check=each_message(unknown_type),
    ),
    Rule(
        id="type-transport",
        holds="A type fits the transport that carries it.",
        check=each_message(type_transport),
    ),
    Rule(id="range-type", holds="Only integers have a range.", check=each_message(range_type)),
    Rule(id="range-order", holds="min is not above max.", check=each_message(range_order)),
    Rule(
        id="range-width",
        holds="min and max fit the bytes of the type.",
        check=each_message(range_width),
    ),
    Rule(
        id="allowed-type",
        holds="Only names and texts have `allowed`.",
        check=each_message(allowed_type),
    ),
    Rule(
        id="allowed-empty",
        holds="A list of words is not empty.",
        check=each_message(allowed_empty),
    ),
    Rule(
        id="allowed-words",
        holds="Words are values of the type: printable, blank-free, comma-free, listed once.",
        check=each_message(allowed_words),
    ),
    Rule(
        id="flat-override",
        holds="Only a nested field may be a flat array in a layout.",
        check=each_message(flat_override),
    ),
    Rule(
        id="type-override",
        holds="A layout's own type of a field carries the same kind of value.",
        check=each_message(type_override),
    ),
)
