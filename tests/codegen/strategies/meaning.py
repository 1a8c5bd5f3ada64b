"""What empty and missing frames of a message's fields mean."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from tests.codegen.strategies.fields import Drawn, meanings, repetitions

Table = dict[str, Any]


@st.composite
def with_meanings(
    draw: st.DrawFn, fields: tuple[Drawn, ...], *, empties: bool
) -> tuple[Drawn, ...]:
    """The fields with what empty frames mean, some with what missing ones do.

    ``empties`` is false where there are no frames that could be empty.
    """
    fields = tuple(draw(_literal(field, empties=empties)) for field in fields)
    for place in range(len(fields)):
        field = fields[place]  # as it is by now: others may count on it
        steady = not field.bound and not field.nullable
        options = repetitions(field, fields) if steady else []
        wanted = draw(st.booleans())
        if options and wanted:
            scalars = [option for option in options if "repeat_field" in option]
            chosen = draw(st.sampled_from([*options, *scalars, *scalars]))
            fields = _repeating(fields, field, chosen, both=empties and draw(st.booleans()))
    return fields


@st.composite
def _literal(draw: st.DrawFn, field: Drawn, *, empties: bool) -> Drawn:
    if empties and draw(st.integers(0, 2)) == 0:
        field = field.with_(empty=draw(meanings(field)))
        if draw(st.booleans()):
            field = field.with_(writes_empty=draw(st.booleans()))
    if draw(st.integers(0, 2)) == 0:
        field = field.with_(absent=draw(meanings(field)))
    return field


def _repeating(
    fields: tuple[Drawn, ...], field: Drawn, chosen: Table, *, both: bool
) -> tuple[Drawn, ...]:
    """One field means a repetition; those that it counts on are never ``None``."""
    table = {"absent": chosen, "empty": chosen} if both else {"absent": chosen}
    needed = {chosen["like"], chosen.get("repeat_field")}
    return tuple(
        replace(other.with_(**table), bound=True, repeats=True)
        if other.name == field.name
        else replace(other, bound=True, solid=True)
        if other.name in needed
        else other
        for other in fields
    )


@st.composite
def with_absences(
    draw: st.DrawFn, fields: tuple[Drawn, ...], missing: set[str]
) -> tuple[Drawn, ...]:
    """The fields, those that some message may come without with what that means."""
    return tuple(
        field.with_(absent=draw(meanings(field)))
        if field.name in missing and "absent" not in field.table
        else field
        for field in fields
    )
