"""The spec as ``show`` tells it: plain data, ready for JSON.

Rules: every key is always there; ``null`` for ``empty`` or ``absent`` means that an empty
or a missing frame is an error. ``docs/schema/`` describes the shapes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pdwire.reading.spec import (
    Given,
    Key,
    Layout,
    Meaning,
    Message,
    Required,
    Slot,
    Spec,
    Value,
)


@dataclass(frozen=True, slots=True)
class Spoken:
    """One layout of one message as one backend speaks it."""

    backend: str
    message: Message
    layout: Layout
    releases: tuple[str, ...]


def spoken(messages: Iterable[Message], backends: Iterable[str]) -> Iterator[Spoken]:
    """Every layout of the messages, backend by backend, oldest layout first."""
    wanted = list(messages)
    for backend in backends:
        for message in wanted:
            for layout in message.layouts:
                releases = layout.speakers.get(backend, ())
                if releases:
                    yield Spoken(backend, message, layout, releases)


def json_value(value: Value) -> Any:  # noqa: ANN401 - JSON
    """A value as JSON: bytes as ``{"hex": …}``, all else as it is."""
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, list):
        return [json_value(item) for item in value]
    if isinstance(value, dict):
        return {key: json_value(item) for key, item in value.items()}
    return value


def json_meaning(meaning: Meaning) -> dict[str, Any] | None:
    """What an empty or a missing frame means; ``None`` where it is an error."""
    if isinstance(meaning, Required):
        return None
    if isinstance(meaning, Given):
        return {"value": json_value(meaning.value)}
    word = {"from_field": meaning.from_field} if meaning.from_field else {"word": meaning.word}
    return {"repeat": {"like": meaning.like, **word}}


def layout_json(one: Spoken) -> dict[str, Any]:
    """One layout with all its frames."""
    message, layout = one.message, one.layout
    return {
        "backend": one.backend,
        "message": message.name,
        "class": message.class_name,
        "layout": layout.id,
        "releases": list(one.releases),
        "direction": ", ".join(message.directions),
        "directions": list(message.directions),
        "transport": message.transport,
        "counts_guard": False,
        "guard": message.guard,
        "counts": list(layout.counts),
        "fingerprint": layout.fingerprint,
        "unverified": layout.unverified,
        "doc": layout.doc,
        "notes": list(layout.notes),
        "frames": [_frame_json(message, slot) for slot in layout.frames],
        "text": layout.text,
        "keys": [_key_json(message, key) for key in layout.keys],
        "derived": [{"field": each.field, "when": dict(each.when)} for each in layout.derivations],
        "invariants": [
            {
                "id": each.id,
                "kind": each.kind,
                "fields": list(each.fields),
                "optional": list(each.optional),
                "doc": each.doc,
            }
            for each in layout.invariants
        ],
    }


def _told(message: Message, name: str | None) -> dict[str, str | None]:
    field = message.field(name) if name is not None else None
    return {
        "unit": field.unit if field else None,
        "concept": field.concept if field else None,
        "doc": field.doc if field else None,
    }


def _frame_json(message: Message, slot: Slot) -> dict[str, Any]:
    return {
        "position": slot.position,
        "name": slot.name,
        "kind": slot.kind,
        "type": slot.type,
        "field": slot.field,
        "const": slot.const,
        "length_of": slot.length_of,
        "min": slot.min,
        "max": slot.max,
        "allowed": list(slot.allowed),
        "empty": json_meaning(slot.empty),
        "writes_empty": slot.writes_empty,
        "absent": json_meaning(slot.absent),
        "unread": slot.unread,
        **_told(message, slot.field),
    }


def _key_json(message: Message, key: Key) -> dict[str, Any]:
    field = message.field(key.field)
    return {
        "key": key.key,
        "field": key.field,
        "type": key.type,
        "optional": key.optional,
        "absent": json_meaning(key.absent),
        "min": field.min if field else None,
        "max": field.max if field else None,
        "allowed": list(field.allowed) if field else [],
        **_told(message, key.field),
    }


def messages_json(spec: Spec, told: Iterable[Spoken]) -> list[dict[str, Any]]:
    """One object per backend and message."""
    order = {release: place for place, release in enumerate(spec.releases)}
    grouped: dict[tuple[str, str], list[Spoken]] = {}
    for one in told:
        grouped.setdefault((one.backend, one.message.key), []).append(one)
    return [_message_json(group, order) for group in grouped.values()]


def _message_json(group: list[Spoken], order: dict[str, int]) -> dict[str, Any]:
    first = group[0]
    releases = {release for one in group for release in one.releases}
    return {
        "backend": first.backend,
        "message": first.message.name,
        "class": first.message.class_name,
        "direction": ", ".join(first.message.directions),
        "directions": list(first.message.directions),
        "transport": first.message.transport,
        "guard": first.message.guard,
        "layouts": [one.layout.id for one in group],
        "releases": sorted(releases, key=lambda each: order.get(each, -1)),
        "doc": first.message.doc,
    }
