"""Rules of what an empty and a missing frame mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pdwire_codegen.diagnostics import did_you_mean
from pdwire_codegen.draft import MISSING, DraftField, DraftFrame, DraftMessage
from pdwire_codegen.facts import (
    derivation_of,
    is_readable,
    may_be_none,
    meaning_of,
    placed,
    range_of,
    raw_meanings,
    template_of,
)
from pdwire_codegen.kinds import ELEMENTS, Kind, kind_of
from pdwire_codegen.meanings import MeaningError, read_meaning
from pdwire_codegen.model import Repeat
from pdwire_codegen.rules.rule import Finding, Path, Rule, at, each_message


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """A meaning that is written down, with the type and range it must fit."""

    raw: object
    kind: Kind
    field: DraftField
    low: int | None
    high: int | None
    path: Path


def _written(message: DraftMessage) -> Iterator[_Written]:
    """Every ``empty`` and ``absent`` of fields, frames and keys."""
    fields = message.everything()
    for field in message.fields:
        yield from _of(field, None, field.path, empty=field.empty, absent=field.absent)
    for layout in message.layouts:
        for frame in layout.frames:
            if (owner := fields.get(frame.field or "")) is not None:
                yield from _of(owner, frame, frame.path, empty=frame.empty, absent=frame.absent)
        for key in layout.keys:
            if (owner := fields.get(key.field or "")) is not None:
                yield from _of(owner, None, key.path, empty=MISSING, absent=key.absent)


def _of(
    field: DraftField, frame: DraftFrame | None, path: Path, *, empty: object, absent: object
) -> Iterator[_Written]:
    """Meanings written at ``path``, with the frame's own type and range if it has one."""
    kind = kind_of((frame.type if frame else None) or field.type)
    if kind is None:
        return
    low = field.min if frame is None or frame.min is None else frame.min
    high = field.max if frame is None or frame.max is None else frame.max
    least, most = range_of(kind, low, high)
    for key, raw in (("empty", empty), ("absent", absent)):
        if raw is not MISSING:
            place = (*path, key)
            yield _Written(raw=raw, kind=kind, field=field, low=least, high=most, path=place)


def meaning_type(message: DraftMessage) -> Iterator[Finding]:
    """A meaning is a value of the field's type, "none", [] or a repetition."""
    for item in _written(message):
        try:
            read_meaning(item.raw, item.kind)
        except MeaningError as error:
            hint = 'a literal of the value type, "none", [] for lists, or { repeat = …, like = … }'
            yield at(message.document, item.path, str(error), hint)


def meaning_range(message: DraftMessage) -> Iterator[Finding]:
    """A meaning lies in the field's own range, or among its words."""
    for item in _written(message):
        meaning = meaning_of(item.raw, item.kind)
        name = item.field.name
        if isinstance(meaning, int) and item.kind.is_int:
            # -1 is the language's own "nothing": a number that no filled frame may have.
            below = item.low is not None and meaning < item.low and meaning != -1
            above = item.high is not None and meaning > item.high
            if below or above:
                text = f"{meaning} is outside the range {item.low}..{item.high} of {name}"
                yield at(message.document, item.path, text, "widen the range or correct the value")
        words = item.field.allowed or ()
        if isinstance(meaning, str) and meaning and words and meaning not in words:
            hint = did_you_mean(meaning, words)
            yield at(message.document, item.path, f"{name} does not allow {meaning!r}", hint)


def repeat_form(message: DraftMessage) -> Iterator[Finding]:
    """A repetition fills a list, once per element of another list of the message."""
    for item in _written(message):
        meaning = meaning_of(item.raw, item.kind)
        if not isinstance(meaning, Repeat):
            continue
        if (wrong := _wrong_repeat(message, item, meaning)) is not None:
            yield at(message.document, item.path, wrong[0], wrong[1])


def _wrong_repeat(message: DraftMessage, item: _Written, meaning: Repeat) -> tuple[str, str] | None:
    """What is wrong with a repetition, and a hint."""
    if not item.kind.is_list or item.kind.is_nested:
        return f"{item.field.name} is {item.kind.name}, not a flat list", "only lists repeat"
    fields = message.everything()
    for name in filter(None, (meaning.like, meaning.from_field)):
        if name not in fields:
            return f"a repetition names the unknown field {name!r}", did_you_mean(name, fields)
        if (wrong := _unsteady(message, fields[name])) is not None:
            return wrong
    like = fields[meaning.like]
    like_kind = kind_of(like.type)
    if like_kind is not None and not like_kind.is_list:
        return f"`like` names {like.name}, which has no elements", "name a list"
    if meaning.from_field is not None:
        return _wrong_source(message, item, fields[meaning.from_field])
    return _wrong_word(item, meaning)


def _unsteady(message: DraftMessage, field: DraftField) -> tuple[str, str] | None:
    """A repetition counts on fields that always have a value of their own."""
    if field.ignorable:
        return f"{field.name} may be dropped, and a repetition counts on it", "drop ignorable"
    if may_be_none(message, field):
        return f"{field.name} may be none, and a repetition counts on it", "give it a value"
    if any(isinstance(raw, dict) for raw in raw_meanings(message, field)):
        return f"{field.name} is a repetition itself", "a repetition counts on what was sent"
    return None


def _wrong_source(
    message: DraftMessage, item: _Written, source: DraftField
) -> tuple[str, str] | None:
    """What keeps a list from having any value of ``source`` as its elements."""
    kind, element = kind_of(source.type), item.kind.value.removesuffix("[]")
    if kind is None:
        return None
    if kind.value != element:
        return f"{source.name} is {kind.value}, not {element}", "repeat a scalar"
    low, high = range_of(kind, source.min, source.max)
    if low is not None and high is not None and not (_holds(item, low) and _holds(item, high)):
        return f"{source.name} in {low}..{high} does not fit {item.kind.name}", "narrow its range"
    raws = raw_meanings(message, source) if kind.is_int else []
    odd = next((raw for raw in raws if isinstance(raw, int) and not _holds(item, raw)), None)
    if odd is not None:
        return f"{source.name} may be {odd}, which does not fit {item.kind.name}", "say another"
    return None


def _wrong_word(item: _Written, meaning: Repeat) -> tuple[str, str] | None:
    word, element = meaning.word, item.kind.value.removesuffix("[]")
    if item.kind.is_word and word not in (item.field.allowed or (word,)):
        hint = did_you_mean(str(word), item.field.allowed or ())
        return f"{item.field.name} does not allow {word!r}", hint
    if type(word).__name__ != element or (isinstance(word, int) and not _holds(item, word)):
        return f"{word!r} is not an element of {item.kind.name}", ""
    return None


def _holds(item: _Written, number: int) -> bool:
    """Whether the list can have a number in it."""
    low, high = ELEMENTS.get(item.kind.name, (item.low, item.high))
    return low is None or high is None or low <= number <= high


def absent_missing(message: DraftMessage) -> Iterator[Finding]:
    """A field that some layout lacks says what its absence means."""
    layouts = [layout for layout in message.layouts if is_readable(layout)]
    carried = {layout.id: {name for name, _ in placed(layout)} for layout in layouts}
    for field in message.fields:
        if field.absent is not MISSING or not any(field.name in have for have in carried.values()):
            continue
        lacking = [
            layout.id
            for layout in layouts
            if field.name not in carried[layout.id]
            and derivation_of(message, layout, field.name) is None
        ]
        if lacking:
            shown = ", ".join(lacking)
            text = f"field {field.name} is not in {shown} and does not say what that means"
            yield at(message.document, field.path, text, "add absent = …")


def required_after_optional(message: DraftMessage) -> Iterator[Finding]:
    """What may be missing (trailing frames, a text's tail, optional keys) has `absent`."""
    fields = message.everything()
    for layout in message.layouts:
        for name, own, path in _may_lack(message, layout.id):
            field = fields.get(name)
            if field is None or kind_of(field.type) is None:
                continue
            told = own is not MISSING or field.absent is not MISSING
            if not told and derivation_of(message, layout, name) is None:
                text = f"{name} may be missing in {layout.id} and does not say what that means"
                hint = "add absent = …, or do not let it be missing"
                yield at(message.document, path, text, hint)


def _may_lack(message: DraftMessage, layout_id: str) -> Iterator[tuple[str, object, Path]]:
    """Fields that a message of the layout may come without: name, own `absent`, place."""
    layout = next(item for item in message.layouts if item.id == layout_id)
    for frame in layout.frames:
        if frame.field and frame.position is not None and frame.position >= layout.least:
            yield frame.field, frame.absent, frame.path
    for key in layout.keys:
        if key.field and key.optional:
            yield key.field, key.absent, key.path
    template = template_of(layout)
    for name in template.optional if template else ():
        yield name, MISSING, (*layout.path, "text")


def writes_empty(message: DraftMessage) -> Iterator[Finding]:
    """`writes_empty` needs something that an empty frame means."""
    for field in message.fields:
        if field.writes_empty and field.empty is MISSING and _is_scalar(field.type):
            path = (*field.path, "writes_empty")
            text = f"{field.name} is written as an empty frame that means nothing"
            yield at(message.document, path, text, "add empty = …")
    fields = message.everything()
    for layout in message.layouts:
        for frame in layout.frames:
            owner = fields.get(frame.field or "")
            if owner is None or not frame.writes_empty or not _is_scalar(frame.type or owner.type):
                continue
            if frame.empty is MISSING and owner.empty is MISSING:
                path = (*frame.path, "writes_empty")
                text = f"{owner.name} is written as an empty frame that means nothing"
                yield at(message.document, path, text, "add empty = …")


def _is_scalar(name: str | None) -> bool:
    kind = kind_of(name)
    return kind is not None and not kind.is_list


RULES = (
    Rule(
        id="meaning-type",
        holds="`empty` and `absent` are values of the field's type.",
        check=each_message(meaning_type),
    ),
    Rule(
        id="meaning-range",
        holds="`empty` and `absent` lie in the field's range (or are -1) and words.",
        check=each_message(meaning_range),
    ),
    Rule(
        id="repeat-form",
        holds="A repetition fills a flat list, once per element of another list.",
        check=each_message(repeat_form),
    ),
    Rule(
        id="absent-missing",
        holds="A field that a layout lacks has `absent`, or a derived rule there.",
        check=each_message(absent_missing),
    ),
    Rule(
        id="required-after-optional",
        holds="Whatever may be missing within a layout has `absent`.",
        check=each_message(required_after_optional),
    ),
    Rule(
        id="writes-empty",
        holds="`writes_empty` goes with an `empty`.",
        check=each_message(writes_empty),
    ),
)
