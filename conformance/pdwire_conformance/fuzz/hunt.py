"""One property on one layout for so many examples, and the simplest sample that breaks it.

Rules:

* Hypothesis draws and shrinks; the same seed draws the same samples.
* Of several faults the one found first is kept while shrinking, so that a finding does not
  slip into another; faults that are known already are passed over.
* Shrinking ends when its time is up: then only the best sample so far still counts as one.
* What is timed is the property alone; drawing and shrinking are Hypothesis' own.
* KeyboardInterrupt ends either way of trying and loses nothing: what was tried and caught
  until then is given back, and the tally says that it was cut.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Final

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis.errors import HypothesisException
from hypothesis.strategies import SearchStrategy

from .samples import Problem, Sample

__all__ = ["Caught", "Tally", "hunt", "sweep"]

Check = Callable[[Sample], None]
_PHASES: Final = (Phase.generate, Phase.shrink)


@dataclass(slots=True, kw_only=True)
class Tally:
    """What was tried: examples, and seconds within the property."""

    examples: int = 0
    seconds: float = 0.0
    wall_s: float = 0.0
    cut: bool = False
    """KeyboardInterrupt ended it."""

    def add(self, other: Tally) -> None:
        """Add another's."""
        self.examples += other.examples
        self.seconds += other.seconds
        self.wall_s += other.wall_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Caught:
    """The simplest sample of one fault, and what it breaks."""

    sample: Sample
    problem: Problem
    first: Sample
    """The sample that showed it, before it was made simpler."""


@dataclass(slots=True, kw_only=True)
class _Watch:
    """A check under Hypothesis: counts, times, and keeps the simplest failure."""

    check: Check
    known: AbstractSet[str]
    tally: Tally
    shrink_s: float
    clock: Callable[[], float]
    timer: Callable[[], float]
    best: Caught | None = None
    until: float = 0.0
    ignored: int = field(default=0)

    def __call__(self, sample: Sample) -> None:
        late = self.best is not None and self.clock() > self.until
        if late and self.best is not None and sample != self.best.sample:
            return
        begun = self.timer()
        try:
            self.check(sample)
        except Problem as problem:
            self._caught(sample, problem)
        finally:
            self.tally.examples += 1
            self.tally.seconds += self.timer() - begun

    def _caught(self, sample: Sample, problem: Problem) -> None:
        if problem.cause in self.known:
            self.ignored += 1
            return
        if self.best is None:
            self.best = Caught(sample=sample, problem=problem, first=sample)
            self.until = self.clock() + self.shrink_s
        elif problem.cause != self.best.problem.cause:
            return
        self.best = Caught(sample=sample, problem=problem, first=self.best.first)
        raise problem


def hunt(
    samples: SearchStrategy[Sample],
    check: Check,
    *,
    seed: int,
    examples: int,
    known: AbstractSet[str] = frozenset(),
    shrink_s: float = 15.0,
    clock: Callable[[], float] = time.perf_counter,
    timer: Callable[[], float] = time.perf_counter,
) -> tuple[Tally, Caught | None]:
    """Try ``examples`` samples; the simplest one that breaks the property, if any.

    ``known`` are causes that are passed over. ``shrink_s``: seconds for shrinking. ``timer``
    times the property: a thread's CPU time, where it is all in this thread.
    """
    tally = Tally()
    watch = _Watch(
        check=check, known=known, tally=tally, shrink_s=shrink_s, clock=clock, timer=timer
    )
    begun = clock()
    try:
        _under_hypothesis(samples, watch, seed, examples)
    except Problem:
        pass  # the best sample is kept
    except KeyboardInterrupt:
        tally.cut = True
    except HypothesisException:
        if watch.best is None:
            raise  # flaky ones have a sample; anything else is a fault of ours
    tally.wall_s = clock() - begun
    return tally, watch.best


def sweep(
    samples: Iterable[Sample],
    check: Check,
    *,
    known: AbstractSet[str] = frozenset(),
    clock: Callable[[], float] = time.perf_counter,
    timer: Callable[[], float] = time.perf_counter,
) -> tuple[Tally, list[Caught]]:
    """Try listed samples; of each cause that is not known the first sample that shows it."""
    tally, found = Tally(), dict[str, Caught]()
    begun = clock()
    try:
        for sample in samples:
            at = timer()
            try:
                check(sample)
            except Problem as problem:
                if problem.cause not in known:
                    caught = Caught(sample=sample, problem=problem, first=sample)
                    found.setdefault(problem.cause, caught)
            tally.seconds += timer() - at
            tally.examples += 1
    except KeyboardInterrupt:
        tally.cut = True
    tally.wall_s = clock() - begun
    return tally, list(found.values())


def _under_hypothesis(
    samples: SearchStrategy[Sample], watch: _Watch, seed: int, examples: int
) -> None:
    quiet = settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=False,
        phases=_PHASES,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )

    def over(sample: Any) -> None:  # noqa: ANN401 - Hypothesis reads the signature
        watch(sample)

    hypothesis.seed(seed)(quiet(given(samples)(over)))()
