"""Which of many waiting chunks a thread waits for."""

from __future__ import annotations

import pytest

from pdwire.managers.turns import Turns


def test_the_oldest_is_waited_for_and_the_others_are_passed_by() -> None:
    turns = Turns()
    assert turns.patience("a", 5, now=0.0) == 0.001
    assert [turns.patience("a", n, now=0.002) for n in (6, 7, 8)] == [0, 0, 0]
    assert turns.patience("a", 4, now=0.003) == 0.001  # older still
    assert turns.patience("a", 5, now=0.004) == 0


def test_it_is_waited_for_as_long_as_the_others_take() -> None:
    turns = Turns()
    turns.patience("a", 5, now=0.0)
    assert turns.patience("a", 5, now=0.011) == pytest.approx(0.010)
    turns.over("a")
    assert turns.patience("a", 6, now=0.012) == pytest.approx(0.010)  # how many wait is as true
    assert turns.patience("a", 7, now=0.012) == 0


def test_nothing_is_waited_for_longer_than_a_limit() -> None:
    turns = Turns()
    turns.patience("a", 5, now=0.0)
    assert turns.patience("a", 5, now=0.040) == pytest.approx(0.039)
    assert turns.patience("a", 5, now=0.200) == 0.05


def test_one_that_does_not_come_again_is_replaced() -> None:
    turns = Turns()
    turns.patience("a", 5, now=0.0)
    assert turns.patience("a", 6, now=0.050) == 0
    assert turns.patience("a", 6, now=0.052) == 0.001


def test_peers_have_turns_of_their_own() -> None:
    turns = Turns()
    assert turns.patience("a", 5, now=0.0) == 0.001
    assert turns.patience("b", 6, now=0.0) == 0.001
