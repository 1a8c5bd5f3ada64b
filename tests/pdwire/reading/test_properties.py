"""What holds of every layout, of the small spec and of the one that pdwire ships."""

# ruff: noqa: ANN401 - values of every type are drawn here

from __future__ import annotations

import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdwire.reading import Reading, ReadingError, Value, load_spec, packaged_spec
from pdwire.reading.spec import Given, Invariant, Layout, Message, Slot
from pdwire.reading.texts import fields as text_fields
from pdwire.reading.texts import parts

SMALL = Reading(load_spec(Path(__file__).with_name("small_spec.json")))
SHIPPED = Reading(packaged_spec())
CASES = [
    pytest.param(reading, message, layout, id=f"{message.key}-{layout.id}")
    for reading in (SMALL, SHIPPED)
    for message in reading.spec.messages
    for layout in message.layouts
]
few = settings(max_examples=max(5, settings().max_examples // 5))  # there are many layouts
layouts = pytest.mark.parametrize(("reading", "message", "layout"), CASES)

WORDS = st.text(string.ascii_letters + string.digits + "-.:", min_size=1, max_size=9)
HOSTS = st.sampled_from(["10.0.0.2", "::1", "[::1]", "fe80::1%eth0", "node_1.local"])
TEXTS: dict[str, st.SearchStrategy[Any]] = {
    "text": WORDS,
    "utf8": st.text(min_size=1, max_size=9),
    "host": HOSTS,
    "hostport": st.sampled_from(["10.0.0.2:17000", "[::1]:1", "h:65535"]),
    "bytes": st.binary(max_size=9),
    "flag": st.booleans(),
}
ELEMENTS: dict[str, st.SearchStrategy[Any]] = {
    "i32": st.integers(-(2**31), 2**31 - 1),
    "u32": st.integers(0, 2**32 - 1),
    "u64": st.integers(0, 2**64 - 1) | st.just(2**63),
    "bin": st.binary(max_size=5),
}
JSON: dict[str, st.SearchStrategy[Any]] = {
    "str": st.text(max_size=9),
    "bool": st.booleans(),
    "object": st.dictionaries(st.text(max_size=3), st.none() | st.integers(0, 9), max_size=2),
}

Shape = list[int] | int


class Place:
    """How a field is carried by one layout: type, range, words, and what may stand for it."""

    def __init__(self, message: Message, layout: Layout, name: str) -> None:
        field = message.field(name)
        assert field is not None
        slot = next((each for each in layout.frames if each.field == name), None)
        key = next((each for each in layout.keys if each.field == name), None)
        carrier = slot or field
        self.type = key.type if key else carrier.type
        self.nested = field.type.endswith("[][]")
        self.flat = self.nested and not self.type.endswith("[][]")
        self.low, self.high = carrier.min, carrier.max
        self.allowed = carrier.allowed

    def json(self, draw: st.DrawFn, kind: str) -> Any:
        if kind.endswith("?"):
            return None if draw(st.booleans()) else self.json(draw, kind[:-1])
        if kind.endswith("[]"):
            return [self.json(draw, kind[:-2]) for _ in range(draw(st.integers(0, 3)))]
        if kind.endswith("{}"):
            keys = draw(st.lists(st.text(max_size=3), unique=True, max_size=3))
            return {key: self.json(draw, kind[:-2]) for key in keys}
        if kind == "int":
            return draw(st.integers(self.low, self.high))
        return draw(st.sampled_from(self.allowed) if self.allowed else JSON[kind])

    def element(self, draw: st.DrawFn) -> Any:
        kind = self.type.split("[")[0]
        values = ELEMENTS[kind.removesuffix("?")]
        return draw(st.none() | values if kind.endswith("?") else values)

    def list(self, draw: st.DrawFn, shape: Shape) -> Any:
        if isinstance(shape, int):
            return [self.element(draw) for _ in range(shape)]
        return [self.list(draw, length) for length in shape]

    def shape(self, draw: st.DrawFn) -> Shape:
        if self.flat:
            length = draw(st.integers(0, 4))
            return [length] if length else []
        if self.nested:
            return draw(st.lists(st.integers(0, 3), max_size=3))
        return draw(st.integers(0, 5))

    def draw(self, draw: st.DrawFn, shape: Shape | None) -> Any:
        """A value, of ``shape`` if it is a list and that is given."""
        if self.type.startswith("json:"):
            return self.json(draw, self.type.removeprefix("json:"))
        if self.type == "names":
            length = shape if isinstance(shape, int) else draw(st.integers(0, 3))
            return [draw(st.sampled_from(self.allowed)) for _ in range(length)]
        if self.type.endswith("[]"):
            return self.list(draw, self.shape(draw) if shape is None else shape)
        if self.type in TEXTS:
            return draw(st.sampled_from(self.allowed) if self.allowed else TEXTS[self.type])
        return draw(st.integers(self.low, self.high) | st.sampled_from([self.low, self.high]))


def shape_of(value: Any) -> Shape:
    return [len(each) for each in value] if value and isinstance(value[0], list) else len(value)


def carried(layout: Layout) -> list[str]:
    slots = [slot.field for slot in layout.frames if slot.field is not None]
    return slots + [key.field for key in layout.keys] + text_fields(layout)


@st.composite
def values(draw: st.DrawFn, message: Message, layout: Layout) -> dict[str, Value]:
    """Values that the layout carries and whose invariants hold, by construction."""
    told: dict[str, Any] = {}
    for name in carried(layout):
        told[name] = _one(draw, message, layout, name, told)
    for slot in layout.frames:
        if slot.field is not None and _may_be_none(layout, slot, told) and draw(st.booleans()):
            told[slot.field] = None
    if draw(st.booleans()):
        told |= _without_tail(message, layout)
    return told


def _may_be_none(layout: Layout, slot: Slot, told: dict[str, Any]) -> bool:
    needed = {rule.fields[1] for rule in layout.invariants if rule.kind == "needs"}
    needing = [rule.fields[0] for rule in layout.invariants if rule.kind == "needs"]
    if slot.field in needed and any(told[name] for name in needing):
        return False
    return slot.empty == Given(value=None)


def _without_tail(message: Message, layout: Layout) -> dict[str, Any]:
    tail = [part.field for part in parts(layout.text or "") if part.tail and part.field]
    fields = [message.field(name) for name in tail]
    return {
        field.name: field.absent.value
        for field in fields
        if field is not None and isinstance(field.absent, Given)
    }


def _one(draw: st.DrawFn, message: Message, layout: Layout, name: str, told: dict[str, Any]) -> Any:
    place = Place(message, layout, name)
    shape: Shape | None = None
    for rule in layout.invariants:
        first = rule.fields[0]
        if name not in rule.fields or name == first or first not in told:
            continue
        if rule.kind == "less":
            place.low = max(place.low or 0, told[first] + 1)
        elif rule.kind == "same_length":
            shape = shape_of(told[first])
            shape = [] if shape == 0 and place.nested else shape
        elif rule.kind == "same_count":
            shape = [draw(st.integers(0, 2)) for _ in told[first]]
        elif rule.kind == "needs" and told[first] and not shape:
            shape = draw(st.integers(1, 3))
    for rule in layout.invariants:
        if rule.kind == "less" and rule.fields[0] == name:
            top = told.get(rule.fields[1], _top(message, layout, rule))
            place.high = min(place.high or 0, top - 1)
        if rule.kind == "needs" and rule.fields[0] == name and rule.fields[1] in told:
            shape = None if told[rule.fields[1]] else 0
    return place.draw(draw, shape)


def _top(message: Message, layout: Layout, rule: Invariant) -> int:
    return Place(message, layout, rule.fields[1]).high or 0


def outcome(read: Callable[[], dict[str, Value]]) -> dict[str, Value] | None:
    """The values, or ``None`` for a refusal; anything else is a failure."""
    try:
        return read()
    except ReadingError:
        return None


@layouts
@few
@given(data=st.data())
def test_what_is_encoded_is_decoded(
    reading: Reading, message: Message, layout: Layout, data: st.DataObject
) -> None:
    told = data.draw(values(message, layout))
    frames = reading.encode(message, layout.id, told)
    back = reading.decode(message, layout.id, frames)
    assert {name: back[name] for name in told} == told
    assert set(back) == {field.name for field in message.fields}
    assert reading.encode(message, layout.id, back) == frames


@layouts
@few
@given(data=st.data())
def test_a_mutation_is_refused_or_means_something_else(
    reading: Reading, message: Message, layout: Layout, data: st.DataObject
) -> None:
    frames = reading.encode(message, layout.id, data.draw(values(message, layout)))
    back = reading.decode(message, layout.id, frames)
    place = data.draw(st.integers(0, len(frames) - 1))
    frame = frames[place]
    mutations = [
        frames[:place],
        frames[:place] + frames[place + 1 :],
        [*frames[: place + 1], *frames[place:]],
        [*frames[:place], *frames[place + 1 : place + 2], frame, *frames[place + 2 :]],
        [*frames[:place], frame[:-1], *frames[place + 1 :]],
        [*frames[:place], frame + b"\0", *frames[place + 1 :]],
    ]
    for mutated in mutations:
        moved = len(mutated) != len(frames)
        if mutated != frames and not _spells_the_same(message, layout, back, place, moved):
            assert outcome(lambda f=mutated: reading.decode(message, layout.id, f)) != back  # type: ignore[misc]


def _spells_the_same(
    message: Message, layout: Layout, back: dict[str, Value], place: int, moved: bool
) -> bool:
    """Whether the frame's value has another spelling: an empty frame, or none."""
    index = place - (message.guard is not None)
    if message.transport != "zmq":
        return message.transport == "http"
    # A frame that is lost moves all behind it: each of them may be one with another spelling.
    slots = layout.frames[max(index, 0) :] if moved else layout.frames[index : index + 1]
    return any(_has_spellings(layout, back, slot) for slot in slots)


def _has_spellings(layout: Layout, back: dict[str, Value], slot: Slot) -> bool:
    return slot.field is not None and (
        any(rule.field == slot.field for rule in layout.derivations)
        or getattr(slot.empty, "value", ...) == back[slot.field]
        or getattr(slot.absent, "value", ...) == back[slot.field]
        or hasattr(slot.empty, "like")
    )


@layouts
@few
@given(frames=st.lists(st.binary(max_size=12) | st.sampled_from([b"None", b"0", b"7", b""])))
def test_random_frames_raise_nothing_else(
    reading: Reading, message: Message, layout: Layout, frames: list[bytes]
) -> None:
    outcome(lambda: reading.decode(message, layout.id, frames))
    counted = [*frames, *[b""] * 40][: max(layout.counts) + (message.guard is not None)]
    if message.guard is not None:
        counted[0] = message.guard.encode()
    annotation = reading.annotate(message, layout.id, counted)
    assert len([row for row in annotation.rows if row.sent is not None]) >= len(counted) * (
        message.transport == "zmq"
    )
