"""The values of a vector: four profiles per layout, made to fit its invariants.

``typical``: something in every field. ``least``: smallest numbers, no elements. ``most``:
largest numbers, every bit set. ``bare``: what empty and missing frames mean.
"""

from __future__ import annotations

from dataclasses import dataclass

from pdwire.reading import Value
from pdwire_codegen.emit_vectors.values import value_of
from pdwire_codegen.model import REQUIRED, Field, Invariant, Layout, Meaning, Message, Repeat
from pdwire_codegen.texts import parse_text

PROFILES = ("typical", "least", "most", "bare")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A field that a layout carries: its type there, and what its lack means."""

    field: Field
    type: str
    low: int | None
    high: int | None
    empty: Meaning = REQUIRED
    absent: Meaning = REQUIRED


def case_values(message: Message, layout: Layout, profile: str) -> dict[str, Value]:
    """Values of the fields that the layout carries; the rest follows from the spec."""
    places = places_of(message, layout)
    values = {
        name: _value(place, profile, index) for index, (name, place) in enumerate(places.items())
    }
    for invariant in layout.invariants:
        if all(name in places for name in invariant.fields):
            _settle(invariant, places, values)
    return values


def places_of(message: Message, layout: Layout) -> dict[str, Place]:
    """Every field that a layout carries, in the order of its places."""
    fields = {field.name: field for field in message.fields}
    if layout.text is not None:
        template = parse_text(layout.text)
        return {
            name: _from_field(fields[name], optional=name in template.optional)
            for name in template.fields
        }
    if layout.keys:
        return {
            key.field: _from_field(fields[key.field], optional=key.optional) for key in layout.keys
        }
    return {
        frame.field: Place(
            field=fields[frame.field],
            type=frame.type,
            low=frame.min,
            high=frame.max,
            empty=frame.empty,
            absent=frame.absent,
        )
        for frame in layout.frames
        if frame.field is not None
    }


def _from_field(field: Field, *, optional: bool) -> Place:
    return Place(
        field=field,
        type=field.type,
        low=field.min,
        high=field.max,
        absent=field.absent if optional else REQUIRED,
    )


def _value(place: Place, profile: str, index: int) -> Value:
    if profile == "bare":
        for meaning in (place.absent, place.empty):
            if meaning is not REQUIRED and not isinstance(meaning, Repeat):
                return _plain(meaning)
        profile = "typical"
    return value_of(place.type, place.field, (place.low, place.high), profile, index)


def _plain(meaning: Meaning) -> Value:
    """A literal meaning as a value."""
    if isinstance(meaning, tuple):
        return []
    assert meaning is None or isinstance(meaning, int | str | bytes)
    return meaning


def _settle(invariant: Invariant, places: dict[str, Place], values: dict[str, Value]) -> None:
    """Change values so that an invariant holds, where that takes one step."""
    first, second, *_ = invariant.fields
    if invariant.kind == "needs" and not _is_empty(values[first]) and _is_empty(values[second]):
        values[second] = _value(places[second], "typical", 1)
    if invariant.kind == "less":
        _separate(first, second, places, values)
    if invariant.kind in ("same_length", "same_count"):
        lists = [values[name] for name in invariant.fields]
        if not all(lists) and any(name in invariant.optional for name in invariant.fields):
            return
        if not all(lists):
            values.update((name, []) for name in invariant.fields)


def _separate(first: str, second: str, places: dict[str, Place], values: dict[str, Value]) -> None:
    """Make the first number smaller than the second, within both ranges."""
    low, high = values[first], values[second]
    if not isinstance(low, int) or not isinstance(high, int) or low < high:
        return
    least = places[first].low or 0
    values[first] = max(least, high - 1)
    if high <= least:
        values[second] = least + 1


def _is_empty(value: Value) -> bool:
    """Empty as ``needs`` has it: nothing in it, none, or a negative number."""
    if isinstance(value, int):
        return value < 0
    return not value
