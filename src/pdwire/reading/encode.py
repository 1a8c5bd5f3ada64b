"""Values as frames: every way that a layout allows, the one that says least first.

Rules: trailing frames are left out where the layout has a shorter count and each has the
value that its lack means, as a text's tail and a body's optional keys are. Whether the
values come back is for the caller to see; nothing here decides what is lossy beyond what
a type cannot carry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pdwire.reading import bodies, texts
from pdwire.reading.errors import Kind, ReadingError, Refused, shorten_value
from pdwire.reading.rules import derived, meant
from pdwire.reading.spec import Layout, Meaning, Message, Slot, Value
from pdwire.reading.types import build, same, slot_construct, write_slot

Values = Mapping[str, Value]


def problem(
    message: Message,
    layout: Layout,
    *,
    kind: Kind,
    expected: str,
    came: str,
    field: str | None = None,
    position: int | None = None,
) -> ReadingError:
    """The error of one value of one layout."""
    return ReadingError(
        kind=kind,
        message=message.key,
        layout=layout.id,
        position=position,
        field=field,
        expected=expected,
        came=came,
    )


def complete(message: Message, layout: Layout, values: Values) -> dict[str, Value]:
    """``values`` with those that follow from others or from a missing frame filled in.

    Raises:
        ReadingError: a name is no field's, or a value is missing.
    """
    for name in values:
        if message.field(name) is None:
            raise problem(
                message, layout, kind="unknown", field=name, expected="a field", came="none such"
            )
    told = {name: _lists(value) for name, value in values.items()}
    meanings = {slot.field: slot.absent for slot in layout.frames if slot.field is not None}
    for field in message.fields:
        if field.name not in told:
            _fill(told, field.name, meanings.get(field.name, field.absent))
    for derivation in layout.derivations:
        verdict = derived(derivation, told)
        if derivation.field not in told and verdict is not None:
            told[derivation.field] = verdict
    for field in message.fields:
        if field.name not in told:
            raise problem(
                message, layout, kind="unknown", field=field.name, expected="a value", came="none"
            )
    return told


def _lists(value: object) -> Value:
    """Tuples at any depth as the lists that this reading speaks in."""
    if isinstance(value, list | tuple):
        return [_lists(item) for item in value]
    return value  # type: ignore[return-value] # what it is, the type's construct will say


def _fill(told: dict[str, Value], name: str, meaning: Meaning) -> None:
    value = meant(meaning, told)
    if value is not None:
        told[name] = value.value


def encodings(
    message: Message, layout: Layout, values: Values
) -> Iterator[list[bytes] | ReadingError]:
    """Frames of every count that the layout allows, fewest first, or what stands against it."""
    if message.transport == "zmq":
        for count in layout.counts:
            yield _attempt(message, layout, count, values)
        return
    try:
        write = bodies.write if message.transport == "http" else texts.write
        yield [write(message, layout, values)]
    except Refused as refusal:
        yield problem(
            message,
            layout,
            kind="lossy",
            expected=refusal.expected,
            came=refusal.came or shorten_value(dict(values)),
        )


def _attempt(
    message: Message, layout: Layout, count: int, values: Values
) -> list[bytes] | ReadingError:
    ruled = {derivation.field for derivation in layout.derivations}
    for slot in layout.frames[count:]:
        # A derived field's frame may be left out: the rule speaks, and if it says something
        # else the value does not come back.
        if slot.field is None or slot.field in ruled:
            continue
        lack = meant(slot.absent, values)
        if lack is None or not same(lack.value, values[slot.field]):
            came = shorten_value(values[slot.field])
            return _lossy(message, layout, slot, "the value that no frame means", came)
    guard = [] if message.guard is None else [message.guard.encode("ascii")]
    frames: list[bytes] = []
    for slot in layout.frames[:count]:
        try:
            frames.append(_frame(message, slot, values, ruled=slot.field in ruled))
        except Refused as refusal:
            came = refusal.came or "what was given"
            return _lossy(message, layout, slot, refusal.expected, came)
    return guard + _with_lengths(layout, frames)


def _lossy(message: Message, layout: Layout, slot: Slot, expected: str, came: str) -> ReadingError:
    return problem(
        message,
        layout,
        kind="lossy",
        position=slot.position,
        field=slot.name,
        expected=expected,
        came=came,
    )


def _frame(message: Message, slot: Slot, values: Values, *, ruled: bool) -> bytes:
    """One frame; a length is written when the others are known.

    An empty frame of a ``ruled`` field would leave it to the rule, so none is written.
    """
    if slot.field is None:
        return build(slot_construct(slot), None) if slot.const is not None else b""
    field = message.field(slot.field)
    kind = slot.type if field is None else field.type
    empty = None if ruled else meant(slot.empty, values)
    return write_slot(slot, values[slot.field], kind, empty)


def _with_lengths(layout: Layout, frames: list[bytes]) -> list[bytes]:
    sizes = {slot.field: len(frame) for slot, frame in zip(layout.frames, frames, strict=False)}
    return [
        frame if slot.length_of is None else build(slot_construct(slot), sizes[slot.length_of])
        for slot, frame in zip(layout.frames, frames, strict=False)
    ]
