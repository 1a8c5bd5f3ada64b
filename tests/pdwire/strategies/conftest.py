"""What every test of the strategies stands on: each layout once, and both its readings."""

# ruff: noqa: ANN401 - examples of every type are drawn here

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis.strategies import SearchStrategy

from pdwire.reading import Reading, packaged_spec
from pdwire.strategies.subjects import Subject, subjects


@cache
def layouts() -> tuple[Subject, ...]:
    """Every layout of the spec once, whatever backends speak it."""
    found = {(each.message.key, each.layout.id): each for each in reversed(subjects())}
    return tuple(found.values())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "subject" in metafunc.fixturenames:
        metafunc.parametrize("subject", layouts(), ids=lambda each: each.name)


Find = Callable[[SearchStrategy[Any], Callable[[Any], bool]], Any]


def _find(phases: tuple[Phase, ...]) -> Find:
    quiet = settings(max_examples=2000, database=None, derandomize=True, phases=phases)
    return lambda strategy, wanted: find(strategy, wanted, settings=quiet)


@pytest.fixture(scope="session")
def reach() -> Find:
    """An example that satisfies, found within 2,000 tries: an edge is no matter of luck."""
    return _find((Phase.generate,))


@pytest.fixture(scope="session")
def least() -> Find:
    """The simplest such example that Hypothesis shrinks to."""
    return _find((Phase.generate, Phase.shrink))


@pytest.fixture(scope="session")
def reading() -> Reading:
    return Reading(packaged_spec())


@pytest.fixture
def each() -> Callable[[SearchStrategy[Any], Callable[[Any], None], int], None]:
    """Run a check over so many examples of a strategy that is only known at run time."""

    def run(strategy: SearchStrategy[Any], check: Callable[[Any], None], count: int) -> None:
        quiet = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]

        @settings(max_examples=count, database=None, suppress_health_check=quiet)
        @given(strategy)
        def over(example: Any) -> None:
            check(example)

        over()

    return run
