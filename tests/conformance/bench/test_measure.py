"""Turns alternate, overhead comes off, and nothing of it depends on how fast a machine is."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

from pdwire_conformance.bench.measure import (
    Plan,
    Side,
    Spread,
    Timing,
    in_turns,
    quiet,
    ratio,
    repeat,
)


def taking(seconds_a_call: float, told: list[int] | None = None) -> Callable[[int], float]:
    """A side that says it takes so long, and tells how many calls it was asked for."""

    def run(number: int) -> float:
        if told is not None:
            told.append(number)
        return number * seconds_a_call

    return run


def timing(*turns: float) -> Timing:
    return Timing(name="any", calls=1, overhead=0.0, turns=turns)


def test_sides_take_turns_and_each_is_measured_with_its_overhead() -> None:
    order: list[str] = []

    def side(name: str) -> Side:
        def note(what: str) -> Callable[[int], float]:
            def run(number: int) -> float:
                order.append(what)
                return number * 1e-6

            return run

        return Side(name=name, run=note(name), empty=note(f"{name} empty"))

    in_turns({"a": side("a"), "b": side("b")}, Plan(turns=2, seconds=1e-6))
    one_turn = ["a", "a empty", "b", "b empty"]
    assert order[-8:] == one_turn * 2


def test_overhead_is_taken_off_and_told() -> None:
    sides = {"a": Side(name="a", run=taking(5e-6), empty=taking(2e-6))}
    found = in_turns(sides, Plan(turns=3, seconds=1e-3))["a"]
    assert found.overhead == pytest.approx(2_000)
    assert found.turns == pytest.approx((3_000,) * 3)


def test_overhead_never_makes_a_time_negative() -> None:
    sides = {"a": Side(name="a", run=taking(1e-6), empty=taking(2e-6))}
    assert in_turns(sides, Plan(turns=2, seconds=1e-5))["a"].spread.low == 0


@pytest.mark.parametrize(("seconds_a_call", "calls"), [(1e-6, 1_000), (2e-4, 5), (10.0, 1)])
def test_a_turn_is_filled_with_calls(seconds_a_call: float, calls: int) -> None:
    asked: list[int] = []
    sides = {"a": Side(name="a", run=taking(seconds_a_call, asked), empty=taking(0))}
    assert in_turns(sides, Plan(turns=1, seconds=1e-3))["a"].calls == calls
    assert asked[-1] == calls


def test_a_ratio_is_taken_turn_by_turn() -> None:
    # The second turn was disturbed on both sides: that is no reason to change the ratio.
    assert ratio(timing(20, 400, 30), timing(10, 200, 10)) == Spread(median=2, low=2, high=3)


def test_no_ratio_of_nothing_is_infinite() -> None:
    assert ratio(timing(5.0), timing(0.0)).median == pytest.approx(50)


def test_the_collector_rests_while_it_is_quiet() -> None:
    assert gc.isenabled()
    with quiet():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_call_is_repeated_as_often_as_asked() -> None:
    called: list[None] = []
    assert repeat(lambda: called.append(None))(7) > 0
    assert len(called) == 1 + 7  # the first is not timed


def test_a_very_slow_side_sits_out_the_later_turns() -> None:
    sides = {
        "slow": Side(name="slow", run=taking(1.0), empty=taking(0)),
        "fast": Side(name="fast", run=taking(1e-6), empty=taking(0)),
    }
    found = in_turns(sides, Plan(turns=9, seconds=1e-3))
    assert (len(found["slow"].turns), len(found["fast"].turns)) == (5, 9)
    assert ratio(found["slow"], found["fast"]).median == pytest.approx(1e6)


def test_an_interrupted_try_does_not_make_turns_short() -> None:
    asked: list[int] = []

    def run(number: int) -> float:
        asked.append(number)
        return 1e-3 if len(asked) == 1 else number * 1e-6

    sides = {"a": Side(name="a", run=run, empty=taking(0))}
    assert in_turns(sides, Plan(turns=1, seconds=1e-3))["a"].calls == 1_000
