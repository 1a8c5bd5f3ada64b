"""Rules of positions: no gap, no overlap, every field somewhere, counts that fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pdwire_codegen.diagnostics import did_you_mean
from pdwire_codegen.draft import DraftFrame, DraftLayout, DraftMessage
from pdwire_codegen.facts import is_readable, placed
from pdwire_codegen.kinds import LENGTH_TYPES, kind_of
from pdwire_codegen.rules.rule import Finding, Path, Rule, at, each_message


def bad_position(message: DraftMessage) -> Iterator[Finding]:
    """A frame's key is a position."""
    for layout in message.layouts:
        for frame in layout.frames:
            if frame.position is None:
                text = f"{frame.key!r} is not a position in {layout.id}"
                yield at(message.document, frame.path, text, "positions are 0, 1, 2 …")


def gap(message: DraftMessage) -> Iterator[Finding]:
    """Positions run from 0 without a hole."""
    for layout in message.layouts:
        expected = 0
        for frame in layout.frames:
            if frame.position is None:
                continue
            if frame.position > expected:
                missing = ", ".join(str(place) for place in range(expected, frame.position)[:5])
                text = f"layout {layout.id} has no frame {missing} before {frame.position}"
                hint = "say what travels there, or close the gap"
                yield at(message.document, frame.path, text, hint)
            expected = max(expected, frame.position + 1)


def overlap(message: DraftMessage) -> Iterator[Finding]:
    """A position is written once."""
    for layout in message.layouts:
        seen: dict[int, str] = {}
        for frame in layout.frames:
            if frame.position is None:
                continue
            if (other := seen.setdefault(frame.position, frame.key)) != frame.key:
                text = f"frame {frame.key} of {layout.id} is the same position as {other}"
                yield at(message.document, frame.path, text, "one thing travels in a position")


def field_twice(message: DraftMessage) -> Iterator[Finding]:
    """A layout carries a field once."""
    for layout in message.layouts:
        seen: set[str] = set()
        for name, path in placed(layout):
            if name in seen:
                text = f"layout {layout.id} carries {name} twice"
                yield at(message.document, path, text, "give one of them another field")
            seen.add(name)


def frame_form(message: DraftMessage) -> Iterator[Finding]:
    """A frame is a field, a constant or a length, with the keys of its sort."""
    sorts = {
        "field": {"type", "min", "max", "empty", "absent", "writes_empty", "unread"},
        "const": {"name", "unread"},
        "length_of": {"name", "type", "min", "max", "unread"},
    }
    for layout in message.layouts:
        for frame in layout.frames:
            chosen = [sort for sort in sorts if sort in frame.given]
            if not frame.given:
                continue
            if len(chosen) != 1:
                text = f"frame {frame.key} of {layout.id} must have one of field, const, length_of"
                yield at(message.document, frame.path, text, "a bare string names a field")
                continue
            for key in sorted(set(frame.given) - sorts[chosen[0]] - {chosen[0]}):
                if not any(key in keys for keys in sorts.values()) and key not in sorts:
                    continue
                text = f"frame {frame.key} of {layout.id}: {key} does not go with {chosen[0]}"
                yield at(message.document, (*frame.path, key), text, "drop it")
            yield from _nameless(message, layout, frame, chosen[0])


def _nameless(
    message: DraftMessage, layout: DraftLayout, frame: DraftFrame, sort: str
) -> Iterator[Finding]:
    if sort != "field" and frame.name is None:
        text = f"frame {frame.key} of {layout.id} has no name"
        yield at(message.document, frame.path, text, 'add name = "…"')
    if frame.const is not None and not frame.const.isascii():
        path = (*frame.path, "const")
        yield at(message.document, path, "a constant is ASCII", "write its exact characters")


def duplicate_frame_name(message: DraftMessage) -> Iterator[Finding]:
    """Frames of a layout have names of their own."""
    for layout in message.layouts:
        carried = {name for name, _ in placed(layout)}
        names = Counter(frame.name for frame in layout.frames if frame.name is not None)
        for frame in layout.frames:
            if frame.name is None:
                continue
            if frame.name in carried or names[frame.name] > 1:
                text = f"layout {layout.id} has two frames called {frame.name}"
                yield at(message.document, (*frame.path, "name"), text, "rename one")
                names[frame.name] = 1


def length_of(message: DraftMessage) -> Iterator[Finding]:
    """A length frame counts the bytes of a field of the same layout."""
    for layout in message.layouts:
        carried = {name for name, _ in placed(layout)}
        for frame in layout.frames:
            if frame.length_of is None:
                continue
            if frame.length_of not in carried:
                text = f"layout {layout.id} does not carry {frame.length_of!r}"
                hint = did_you_mean(frame.length_of, carried)
                yield at(message.document, (*frame.path, "length_of"), text, hint)
            if kind_of(frame.type) is not None and frame.type not in LENGTH_TYPES:
                text = f"a length is not of type {frame.type}"
                hint = f"use one of {', '.join(LENGTH_TYPES)}"
                yield at(message.document, (*frame.path, "type"), text, hint)
            if frame.type is None and "type" not in frame.given:
                text = f"frame {frame.key} of {layout.id} has no type"
                yield at(message.document, frame.path, text, 'add type = "u32" or another integer')
            if _parted(layout, frame):
                text = f"{frame.length_of} or its length may come without the other"
                yield at(message.document, frame.path, text, "no count may lie between the two")


def _parted(layout: DraftLayout, frame: DraftFrame) -> bool:
    """Whether some frame count has a length frame or what it counts, and not both."""
    counted = [one.position for one in layout.frames if one.field == frame.length_of]
    pairs = [sorted((place or 0, frame.position or 0)) for place in counted]
    return any(low < count <= high for low, high in pairs for count in layout.counts or ())


def unknown_field(message: DraftMessage) -> Iterator[Finding]:
    """A position, key or placeholder is that of a declared field."""
    fields = message.everything()
    for layout in message.layouts:
        for name, path in placed(layout):
            if name not in fields:
                text = f"layout {layout.id} places {name!r}, which is no field"
                yield at(message.document, path, text, did_you_mean(name, fields))


def field_unplaced(message: DraftMessage) -> Iterator[Finding]:
    """Every field is in some layout."""
    carried = {name for layout in message.layouts for name, _ in placed(layout)}
    if not message.layouts or not all(is_readable(layout) for layout in message.layouts):
        return
    for field in message.fields:
        if field.name not in carried:
            text = f"field {field.name} has no position in any layout"
            yield at(message.document, field.path, text, "place it, or drop the field")


def counts(message: DraftMessage) -> Iterator[Finding]:
    """Counts are ascending, between 1 and the frames listed, and reach the last frame."""
    for layout in message.layouts:
        if layout.counts is None or not layout.frames:
            continue
        total = len({frame.position for frame in layout.frames})
        if (wrong := _wrong_counts(layout.counts, total)) is not None:
            path: Path = (*layout.path, "counts")
            text = f"layout {layout.id} lists {total} frames, and counts {wrong}"
            hint = "counts are ascending frame counts without the guard; the last is all frames"
            yield at(message.document, path, text, hint)


def _wrong_counts(found: tuple[int, ...], total: int) -> str | None:
    if not found:
        return "is empty"
    if any(count < 1 or count > total for count in found):
        return f"{list(found)} go beyond them"
    if list(found) != sorted(set(found)):
        return f"{list(found)} are not ascending"
    return None if found[-1] == total else f"{list(found)} never reach the last one"


def no_layout(message: DraftMessage) -> Iterator[Finding]:
    """A message has a layout."""
    if not message.layouts:
        text = f"message {message.shown} has no layout"
        yield at(message.document, ("message",), text, "add [layout.r1]")


RULES = (
    Rule(
        id="bad-position",
        holds="The keys of a layout's frames are positions.",
        check=each_message(bad_position),
    ),
    Rule(id="gap", holds="Positions run from 0 without a hole.", check=each_message(gap)),
    Rule(id="overlap", holds="A position is written once.", check=each_message(overlap)),
    Rule(
        id="field-twice",
        holds="A layout carries a field once.",
        check=each_message(field_twice),
    ),
    Rule(
        id="frame-form",
        holds="A frame is a field, a constant or a length, with the keys of its sort.",
        check=each_message(frame_form),
    ),
    Rule(
        id="duplicate-frame-name",
        holds="Two frames of a layout have two names.",
        check=each_message(duplicate_frame_name),
    ),
    Rule(
        id="length-of",
        holds="A length frame is an integer that counts the bytes of a field of the layout.",
        check=each_message(length_of),
    ),
    Rule(
        id="unknown-field",
        holds="Positions, keys and placeholders are those of declared fields.",
        check=each_message(unknown_field),
    ),
    Rule(
        id="field-unplaced",
        holds="Every field is in a layout.",
        check=each_message(field_unplaced),
    ),
    Rule(
        id="counts",
        holds="Frame counts are ascending, at least 1, and end at the frames listed.",
        check=each_message(counts),
    ),
    Rule(id="no-layout", holds="A message has a layout.", check=each_message(no_layout)),
)
