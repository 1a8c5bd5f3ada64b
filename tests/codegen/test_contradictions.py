"""Whether invariants can hold together is decided exactly: as trying every number says."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.codegen.strategies.toml import document

from pdwire_codegen.diagnostics import SpecError
from pdwire_codegen.load import load

SMALL = Path(__file__).parent / "fixtures" / "unlocked-layout" / "good" / "protocol"
NAMES = ("a", "b", "c", "d")


def spec(fields: dict[str, dict[str, Any]], rules: list[tuple[str, str]]) -> dict[str, Any]:
    """A message file of one layout: numbers with ranges, and which is below which."""
    frames: dict[str, Any] = {"0": {"const": "T", "name": "tag"}}
    frames |= {str(place): name for place, name in enumerate(fields, start=1)}
    return {
        "message": {
            "name": "NUMBERS", "class": "Numbers", "backends": ["alpha"], "doc": "Numbers.",
            "direction": "prefill -> decode", "recognise": {"frame": 0, "equals": "T"},
        },
        "field": {
            name: {"type": "dec", "unit": "count", "concept": "room", "doc": "One.", **table}
            for name, table in fields.items()
        },
        "layout": {"r1": {"releases": ["1.0..1.2"], "frames": frames}},
        "invariant": [
            {"id": f"rule-{place}", "kind": "less", "fields": [*pair], "doc": "In order."}
            for place, pair in enumerate(rules)
        ],
    }  # fmt: skip


def rules_broken(data: dict[str, Any]) -> list[str]:
    """The ids of the rules that a message file breaks."""
    with tempfile.TemporaryDirectory() as folder:
        protocol = Path(folder) / "protocol"
        shutil.copytree(SMALL, protocol)
        (protocol / "common" / "ping.toml").unlink()
        (protocol / "released.lock").unlink()
        (protocol / "common" / "numbers.toml").write_text(document(data), encoding="utf-8")
        (protocol / "concepts.toml").write_text('[concept]\nroom = "A."\n', encoding="utf-8")
        try:
            load(protocol, allow_unlocked=True)
        except SpecError as error:
            return [fault.rule for fault in error.faults]
        return []


@st.composite
def ranges(draw: st.DrawFn) -> dict[str, Any]:
    low = draw(st.integers(0, 4))
    table: dict[str, Any] = {"min": low, "max": draw(st.integers(low, 4))}
    nothing = draw(st.sampled_from([None, None, -1]))
    return table if nothing is None else {**table, "empty": nothing}


def values(table: dict[str, Any]) -> list[int]:
    extra = [table["empty"]] if "empty" in table else []
    return [*extra, *range(table["min"], table["max"] + 1)]


@given(
    tables=st.lists(ranges(), min_size=4, max_size=4),
    rules=st.lists(
        st.permutations(NAMES).map(lambda names: (names[0], names[1])),
        unique=True,
        min_size=1,
        max_size=5,
    ),
)
def test_rules_of_order_are_refused_where_no_numbers_keep_them(
    tables: list[dict[str, Any]], rules: list[tuple[str, str]]
) -> None:
    fields = dict(zip(NAMES, tables, strict=True))
    kept = any(
        all(numbers[low] < numbers[high] for low, high in rules)
        for chosen in itertools.product(*map(values, tables))
        for numbers in [dict(zip(NAMES, chosen, strict=True))]
    )
    broken = rules_broken(spec(fields, rules))
    assert set(broken) <= {"invariant-contradiction", "invariant-range"}
    assert (not broken) == kept


def test_every_rule_that_closes_a_circle_is_told() -> None:
    rules = [("a", "b"), ("b", "c"), ("c", "a"), ("b", "a"), ("a", "d")]
    fields: dict[str, dict[str, Any]] = {name: {} for name in NAMES}
    assert rules_broken(spec(fields, rules)) == ["invariant-contradiction"] * 2


@pytest.mark.parametrize("layouts", [["r1"], ["r2"]])
def test_rules_of_different_layouts_do_not_meet(layouts: list[str]) -> None:
    data = spec({"a": {}, "b": {}}, [("a", "b"), ("b", "a")])
    data["layout"]["r1"]["releases"] = ["1.0"]
    frames = {"0": {"const": "T", "name": "tag"}, "1": "b", "2": "a"}
    data["layout"]["r2"] = {"releases": ["1.1..1.2"], "doc": "Turned.", "frames": frames}
    data["invariant"][0]["layouts"] = ["r1"]
    data["invariant"][1]["layouts"] = layouts
    assert rules_broken(data) == ["invariant-contradiction"] * (layouts == ["r1"])


def test_a_narrower_range_of_a_layout_counts() -> None:
    data = spec({"a": {"min": 3}, "b": {}}, [("a", "b")])
    data["layout"]["r1"]["frames"]["2"] = {"field": "b", "max": 3}
    assert rules_broken(data) == ["invariant-range"]
    data["layout"]["r1"]["frames"]["2"] = {"field": "b", "max": 4}
    assert rules_broken(data) == []


def test_an_excused_field_is_compared_where_it_is_filled() -> None:
    """A rule that holds only where nobody looks is none."""
    data = spec({"a": {"min": 5, "empty": -1}, "b": {"max": 3}}, [("a", "b")])
    assert rules_broken(data) == []  # -1 is below 0
    data["invariant"][0]["optional"] = ["a"]
    assert rules_broken(data) == ["invariant-range"]


def test_needs_asks_for_no_number_that_is_never_filled() -> None:
    data = spec({"a": {}, "b": {"min": -5, "max": -1}}, [("a", "b")])
    data["invariant"][0]["kind"] = "needs"
    assert rules_broken(data) == ["invariant-range"]
    data["field"]["b"]["max"] = 0
    assert rules_broken(data) == []
