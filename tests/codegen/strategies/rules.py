"""Invariants and derived fields of a drawn message.

Rules: an invariant can be kept whatever the other values are: its fields stand in no
other one, nothing narrows them, and ranges leave room; a derived field looks at fields
that come from frames.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from tests.codegen.strategies.fields import Drawn

Table = dict[str, Any]

_SUITED: dict[str, Callable[[Drawn], bool]] = {
    "same_length": lambda field: field.kind.is_list and not field.kind.is_nested,
    "same_shape": lambda field: field.kind.is_nested,
    "same_count": lambda field: field.kind.is_list,
    "less": lambda field: field.kind.is_int,
    "needs": lambda field: not field.kind.is_int or field.high >= 0,
}


@st.composite
def invariants(
    draw: st.DrawFn, fields: tuple[Drawn, ...], docs: st.SearchStrategy[str]
) -> tuple[tuple[Drawn, ...], list[Table]]:
    """Some invariants, and the fields with those in them marked and fitted."""
    found: list[Table] = []
    for number in range(draw(st.sampled_from([0, 1, 2, 2]))):
        kind = draw(st.sampled_from(sorted(_SUITED)))
        suited = [field for field in fields if not field.bound and _SUITED[kind](field)]
        most = 2 if kind in ("less", "needs") else 3
        if len(suited) < 2:
            continue
        chosen = draw(st.permutations(suited))
        if kind == "needs":  # numbers first: they are the fewest, and empty in their own way
            chosen = sorted(chosen, key=lambda field: field.type != "dec")
        chosen = chosen[: draw(st.sampled_from([2, most]))]
        names = [field.name for field in chosen]
        table: Table = {"id": f"rule-{number}", "kind": kind.replace("shape", "length")}
        table |= {"fields": names, "doc": draw(docs)}
        if draw(st.booleans()):
            table["optional"] = draw(st.lists(st.sampled_from(names), unique=True, min_size=1))
        found.append(table)
        fields = tuple(_bound(field, kind) if field.name in names else field for field in fields)
    return fields, found


def _bound(field: Drawn, kind: str) -> Drawn:
    if kind == "less":
        field = field.with_(min=0, max=2**20)
    if kind == "needs" and field.type == "dec":
        field = field.with_(min=-2, max=9)  # a negative number is as good as none
    return replace(field, bound=True)


@st.composite
def derived_fields(
    draw: st.DrawFn, fields: tuple[Drawn, ...], docs: st.SearchStrategy[str]
) -> dict[str, Table]:
    """Derived fields with their rules; one may be the twin of a flag that has frames."""
    found: dict[str, Table] = {}
    taken = {field.name for field in fields}
    names = [name for name in ("is_dummy", "derived", "has_state") if name not in taken]
    twins = [field.name for field in fields if field.derived]
    for name in [*twins, *names[: draw(st.sampled_from([0, 0, 1, 2]))]]:
        conditions = draw(conditions_of(fields))
        if conditions:
            twin = next((field.table for field in fields if field.name == name), None)
            concept = "bool.none" if twin is None else twin["concept"]
            found[name] = {
                **({} if twin is None else {"unit": twin["unit"]}),
                "type": "flag",
                "concept": concept,
                "doc": draw(docs),
                "when": conditions,
            }
    return found


@st.composite
def conditions_of(draw: st.DrawFn, fields: tuple[Drawn, ...]) -> dict[str, str]:
    """One or two conditions that can hold."""
    options = [
        (field.name, condition)
        for field in fields
        if not field.derived and "ignorable" not in field.table
        for condition in _conditions(field)
    ]
    if not options:
        return {}
    return dict(draw(st.lists(st.sampled_from(options), min_size=1, max_size=2)))


def _conditions(field: Drawn) -> list[str]:
    kind = field.kind
    found = ["none"] if field.nullable else []
    if kind.is_list or kind.value in ("bytes", "str"):
        found.append("empty")
    if kind.is_int:
        found += ["negative", "falsy"]
    return [*found, "falsy"] if kind.value == "bool" else found
