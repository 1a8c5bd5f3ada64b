from __future__ import annotations

import threading
from collections.abc import Generator
from functools import partial

import pytest

from pdwire_conformance.conform.lanes import Lane, in_order


def count(first: int, seen: list[str] | None = None) -> Generator[int, None, None]:
    for number in range(first, first + 3):
        if seen is not None:
            seen.append(threading.current_thread().name)
        yield number


@pytest.mark.parametrize("jobs", [1, 2, 7])
def test_the_order_is_that_of_the_lanes(jobs: int) -> None:
    lanes: list[Lane[int]] = [partial(count, 10 * n) for n in range(5)]
    assert list(in_order(lanes, jobs)) == [10 * n + m for n in range(5) for m in range(3)]


def test_lanes_really_run_side_by_side() -> None:
    both = threading.Barrier(2)

    def lane() -> Generator[int, None, None]:
        both.wait(10)  # one lane after the other would break the barrier
        yield 1

    assert list(in_order([lane, lane], 2)) == [1, 1]


def test_one_job_needs_no_thread() -> None:
    seen: list[str] = []
    list(in_order([partial(count, 0, seen), partial(count, 5, seen)], 1))
    assert {*seen} == {threading.current_thread().name}


def test_what_a_lane_raises_is_raised_in_its_turn() -> None:
    def broken() -> Generator[int, None, None]:
        yield 7
        raise LookupError("here")

    lanes: list[Lane[int]] = [partial(count, 0), broken]
    told = in_order(lanes, 2)
    assert [next(told) for _ in range(4)] == [0, 1, 2, 7]
    with pytest.raises(LookupError, match="here"):
        next(told)


def test_a_reader_that_stops_early_leaves_no_thread_and_no_open_lane() -> None:
    closed = threading.Event()

    def endless() -> Generator[int, None, None]:
        try:
            while True:
                yield 1
        finally:
            closed.set()

    told = in_order([endless, endless], 2)
    assert next(told) == 1
    told.close()
    assert closed.is_set()
    assert not [each for each in threading.enumerate() if each.name.startswith("conform")]
