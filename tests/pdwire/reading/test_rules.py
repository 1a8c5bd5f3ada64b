from __future__ import annotations

import pytest

from pdwire.reading.rules import broken, derived, is_empty, repeated
from pdwire.reading.spec import Derivation, Invariant, Repeat, Value


def rule(kind: str, *, optional: tuple[str, ...] = ()) -> Invariant:
    return Invariant(id="r", kind=kind, fields=("a", "b"), optional=optional)


@pytest.mark.parametrize(
    ("kind", "a", "b"),
    [
        ("same_length", [1, 2], [3, 4]),
        ("same_length", [], []),
        ("same_length", [[1], [2, 3]], [[4], [5, 6]]),
        ("same_count", [[1], [2, 3]], [[], [5]]),
        ("less", 0, 1),
        ("less", None, 1),
        ("needs", [1], 0),
        ("needs", [], None),
        ("needs", None, -1),
        ("needs", b"x", "y"),
    ],
)
def test_an_invariant_that_holds(kind: str, a: Value, b: Value) -> None:
    assert broken(rule(kind), {"a": a, "b": b}) is None


@pytest.mark.parametrize(
    ("kind", "a", "b", "came"),
    [
        ("same_length", [1, 2], [3], "a 2, b 1"),
        ("same_length", [1], None, "a 1, b 0"),
        ("same_length", [[1], [2, 3]], [[4], [5]], "a [1, 2], b [1, 1]"),
        ("same_length", [[1], [2]], [], "a [1, 1], b 0"),
        ("same_count", [[1], [2, 3]], [[5]], "a 2, b 1"),
        ("less", 1, 1, "1 and 1"),
        ("needs", [1], None, "a without b"),
        ("needs", 0, -1, "a without b"),
        ("needs", b"x", [], "a without b"),
    ],
)
def test_an_invariant_that_does_not(kind: str, a: Value, b: Value, came: str) -> None:
    found = broken(rule(kind), {"a": a, "b": b})
    assert found is not None
    assert found.came == came


def test_an_optional_list_may_be_left_empty() -> None:
    optional = rule("same_length", optional=("b",))
    assert broken(optional, {"a": [1], "b": []}) is None
    assert broken(optional, {"a": [1], "b": [1, 2]}) is not None
    assert broken(optional, {"a": [], "b": [1]}) is not None


def test_an_unread_field_is_not_judged() -> None:
    assert broken(rule("less"), {"a": 5}) is None


@pytest.mark.parametrize(
    ("value", "empty"),
    [(b"", True), ([], True), (None, True), (-1, True), (0, False), (False, False), ("", True)],
)
def test_what_empty_means(value: Value, *, empty: bool) -> None:
    assert is_empty(value) is empty


@pytest.mark.parametrize(
    ("condition", "true", "false"),
    [
        ("empty", [[], b"", None], [[0], b"x", 0]),
        ("none", [None], [0, [], -1]),
        ("negative", [-1], [0, None, False]),
        ("falsy", [None, 0], [1, -1]),
    ],
)
def test_conditions(condition: str, true: list[Value], false: list[Value]) -> None:
    rule = Derivation(field="d", when=(("a", condition),))
    assert [derived(rule, {"a": value}) for value in true] == [True] * len(true)
    assert [derived(rule, {"a": value}) for value in false] == [False] * len(false)


def test_all_conditions_must_hold_and_be_known() -> None:
    rule = Derivation(field="d", when=(("a", "empty"), ("b", "none")))
    assert derived(rule, {"a": [], "b": None}) is True
    assert derived(rule, {"a": [], "b": 0}) is False
    assert derived(rule, {"a": []}) is None


def test_repeats() -> None:
    assert repeated(Repeat(like="a", word="VRAM"), {"a": [1, 2]}) == ["VRAM", "VRAM"]
    assert repeated(Repeat(like="a", from_field="b"), {"a": [[1, 2], []], "b": 9}) == [9, 9]
