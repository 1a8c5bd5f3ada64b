"""Layouts of frames: fields that move, come, go and change their encoding.

Rules: positions are dense; the frame that tells the message is always there; only
trailing frames may be missing; a length comes and goes with what it counts.
"""

# ruff: noqa: ANN401 - a frame is a name or a table

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from tests.codegen.strategies import words
from tests.codegen.strategies.fields import INTEGERS, TEXTS, Drawn, meanings

Table = dict[str, Any]

_FLATTENED = {
    "i32[][]": ("i32[]", "u32[]", "u64[]"),
    "u32[][]": ("u32[]", "i32[]", "u64[]"),
    "u64[][]": ("u64[]", "u32[]"),
    "bin[][]": ("bin[]",),
    "bin?[][]": ("bin[]",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """How a message is told: the ``recognise`` table and the frame that it looks at."""

    table: Table
    guard: str | None
    place: int | None = None
    const: str | None = None
    number: str | None = None


@st.composite
def signs(draw: st.DrawFn, index: int, number: str | None) -> Sign:
    """A sign that no other message has; ``number`` is a decimal field, if there is one."""
    guard = draw(st.sampled_from([None, None, f"Guard{index}"]))
    kinds = ["equals"] + ["decimal"] * 3 * (number is not None) + ["guard"] * (guard is not None)
    match draw(st.sampled_from(kinds)):
        case "guard":
            return Sign(table={"frame": 0, "is": "guard"}, guard=guard)
        case "decimal":
            return Sign(table={"frame": 0, "is": "decimal"}, guard=guard, place=0, number=number)
        case _:
            place = draw(st.integers(0, 1))
            const = f"TAG_{index}"
            table = {"frame": place, "equals": const}
            return Sign(table=table, guard=guard, place=place, const=const)


@st.composite
def frame_layouts(draw: st.DrawFn, chosen: list[Drawn], sign: Sign) -> Table:
    """``frames`` and ``counts`` of one layout that carries the chosen fields."""
    if draw(st.booleans()):
        chosen = draw(st.permutations(chosen))
    entries: list[Any] = [draw(_entry(field)) for field in chosen if field.name != sign.number]
    entries = draw(_with_constants(entries))
    if sign.place is not None:
        told: Any = sign.number if sign.const is None else {"const": sign.const, "name": "sign"}
        while len(entries) < sign.place:
            entries.append({"const": "-", "name": "filler"})
        entries.insert(sign.place, told)
    layout: Table = {"frames": {str(place): entry for place, entry in enumerate(entries)}}
    counts = draw(_counts(entries, (sign.place or 0) + 1))
    if counts != [len(entries)] or draw(st.booleans()):
        layout["counts"] = counts
    return layout


@st.composite
def _entry(draw: st.DrawFn, field: Drawn) -> Any:
    """A field's frame: its name, or a table with encodings and meanings of its own."""
    entry: Table = {"field": field.name}
    if not field.bound and draw(st.integers(0, 2)) == 0:
        entry |= draw(_own_type(field))
    if not field.bound and not {"min", "max"} & set(entry) and draw(st.integers(0, 4)) == 0:
        entry["empty"] = draw(meanings(field))
        if draw(st.booleans()):
            entry["writes_empty"] = True
    if draw(st.integers(0, 5)) == 0:
        entry["unread"] = True
    return field.name if len(entry) == 1 else entry


@st.composite
def _own_type(draw: st.DrawFn, field: Drawn) -> Table:
    """Another encoding of the same values, or a narrower range."""
    if field.type in _FLATTENED:
        return {"type": draw(st.sampled_from(_FLATTENED[field.type]))}
    if field.type in TEXTS and not field.words:
        return {"type": draw(st.sampled_from([field.type, "utf8"]))}
    if field.type in INTEGERS:
        fitting = [
            kind
            for kind in INTEGERS
            if kind == "dec" or (0 <= field.low <= field.high < 2 ** (64 if kind == "u64" else 32))
        ]
        middle = (field.low + field.high) // 2
        narrow = draw(st.sampled_from([{}, {"min": field.low, "max": middle}]))
        return {"type": draw(st.sampled_from(fitting)), **narrow}
    return {}


@st.composite
def _with_constants(draw: st.DrawFn, entries: list[Any]) -> list[Any]:
    """Constants and lengths put in between."""
    for number in range(draw(st.sampled_from([0, 0, 1, 2]))):
        constant = {"const": draw(words.constants), "name": f"const_{number}"}
        entries.insert(draw(st.integers(0, len(entries))), constant)
    named = [name for entry in entries if (name := field_of(entry)) is not None]
    for number in range(draw(st.sampled_from([0, 0, 1])) if named else 0):
        counted = draw(st.sampled_from(named))
        kind = draw(st.sampled_from(INTEGERS))
        length = {"length_of": counted, "type": kind, "name": f"length_{number}"}
        beside = [field_of(entry) for entry in entries].index(counted)
        anywhere = draw(st.integers(0, len(entries)))
        entries.insert(draw(st.sampled_from([beside, beside + 1, anywhere])), length)
    return entries


def field_of(entry: Any) -> str | None:
    """The field that a frame carries."""
    return entry if isinstance(entry, str) else entry.get("field")


@st.composite
def _counts(draw: st.DrawFn, entries: list[Any], least: int) -> list[int]:
    """Frame counts that end at all frames and never part a length from what it counts."""
    total = len(entries)
    shorter = [count for count in range(least, total) if not _parts(entries, count)]
    if not shorter or draw(st.booleans()):
        return [total]
    return sorted({total, *draw(st.lists(st.sampled_from(shorter), max_size=2))})


def _parts(entries: list[Any], count: int) -> bool:
    names = [field_of(entry) for entry in entries]
    return any(
        (place < count) != (names.index(entry["length_of"]) < count)
        for place, entry in enumerate(entries)
        if isinstance(entry, dict) and "length_of" in entry
    )
