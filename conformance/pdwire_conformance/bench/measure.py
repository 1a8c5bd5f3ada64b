"""Measuring in turns: A B C D, A B C D, …, so that what disturbs one disturbs all.

Rules: a side says how long it took for a number of calls, wherever it runs; what measuring
itself costs is measured in the same way and taken off; a ratio is taken within a turn,
where both sides saw the same machine, and the median of those is told with the lowest and
the highest, and with the ratio of both sides' best turns, which a busy machine disturbs
least. Turns are short, so that most of them are not interrupted.

The garbage collector is off while anything is measured, and the allocator keeps what was
freed: whether a block of half a megabyte comes with 128 page faults must not depend on
what else a process has done.
"""

from __future__ import annotations

import ctypes
import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

__all__ = [
    "Plan",
    "Side",
    "Spread",
    "Timing",
    "in_turns",
    "keep_freed_memory",
    "quiet",
    "ratio",
    "repeat",
]

_TRIM_THRESHOLD: Final = -1  # as in malloc.h
_MMAP_THRESHOLD: Final = -3
_PLENTY: Final = 32 << 20  # the most that glibc takes for the second

_MOST_CALLS: Final = 1 << 20
_TRIES: Final = 5
_SLOW_TURNS: Final = 5  # enough for a side that takes ten times its time

Run = Callable[[int], float]
"""Seconds for that many calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How long to measure: turns, and seconds that a side gets in each."""

    turns: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One contender; ``empty`` runs the same loop around nothing but what measuring needs."""

    name: str
    run: Run
    empty: Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Median, lowest and highest."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        """The spread of values, at least one."""
        return cls(median=median(values), low=min(values), high=max(values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Nanoseconds a call, one value a turn, without ``overhead``."""

    name: str
    calls: int
    overhead: float
    turns: tuple[float, ...]

    @property
    def spread(self) -> Spread:
        """Over the turns."""
        return Spread.of(list(self.turns))

    @property
    def best(self) -> float:
        """The least disturbed turn, never quite nothing."""
        return max(min(self.turns), 0.1)


def repeat(call: Callable[[], Any]) -> Run:
    """A side that is called in this process, once before the clock starts, as at the peer."""

    def run(number: int) -> float:
        call()
        started = time.perf_counter()
        for _ in range(number):
            call()
        return time.perf_counter() - started

    return run


def keep_freed_memory() -> None:
    """Tell glibc's allocator to give nothing back and to map nothing apart; elsewhere nothing."""
    setting = getattr(ctypes.CDLL(None), "mallopt", None)
    if setting is not None:
        setting(_TRIM_THRESHOLD, _PLENTY)
        setting(_MMAP_THRESHOLD, _PLENTY)


@contextmanager
def quiet() -> Iterator[None]:
    """Without the garbage collector, and without garbage from before."""
    keep_freed_memory()
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def in_turns(sides: Mapping[str, Side], plan: Plan) -> dict[str, Timing]:
    """Measure every side once a turn; one that takes very long sits out the later turns."""
    calls = {name: _calls(side.run, plan.seconds) for name, side in sides.items()}
    raw: dict[str, list[float]] = {name: [] for name in sides}
    overhead: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(plan.turns):
        for name, side in sides.items():
            number = calls[name]
            if turn >= _SLOW_TURNS and min(raw[name]) * number > 1e10 * plan.seconds:
                continue
            raw[name].append(side.run(number) / number * 1e9)
            overhead[name].append(side.empty(number) / number * 1e9)
    return {name: _timing(name, calls[name], raw[name], overhead[name]) for name in sides}


def _timing(name: str, calls: int, raw: list[float], overhead: list[float]) -> Timing:
    off = min(median(overhead), *raw)
    return Timing(name=name, calls=calls, overhead=off, turns=tuple(each - off for each in raw))


def _calls(run: Run, seconds: float) -> int:
    """How many calls fill the time, found by doubling; at least one.

    The best of some tries counts: one that was interrupted would say far too few.
    """
    number = 1
    while (took := _shortest(run, number, seconds)) < seconds / 4 and number < _MOST_CALLS:
        number *= 2
    return max(1, min(_MOST_CALLS, round(number * seconds / max(took, 1e-9))))


def _shortest(run: Run, number: int, enough: float) -> float:
    """The best of a few tries; one is enough of what takes long by itself."""
    best = run(number)
    for _ in range(_TRIES if best < 4 * enough else 1):
        best = min(best, run(number))
    return best


def ratio(of: Timing, to: Timing) -> Spread:
    """How many times as long the first takes, turn by turn, in the turns that both took."""
    pairs = zip(of.turns, to.turns, strict=False)
    return Spread.of([a / max(b, 0.1) for a, b in pairs])
