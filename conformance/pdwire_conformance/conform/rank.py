"""Live cases: one running rank (role, backend, release), kept for case after case.

Rules:

* Whoever starts and drives the rank is :mod:`pdwire_conformance.live`; here is what becomes
  of a case when it cannot be run: a target that has no such role, or whose engine is not
  installed, skips it and says why; one that does not start, or breaks, is an error.
* A rank of one make (what the cases need of it) that twice did not start is not tried again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import groupby
from types import TracebackType
from typing import Final, Self

from pdwire.engines import EngineError
from pdwire_conformance.live.driven import LiveTarget
from pdwire_conformance.live.run import run_script
from pdwire_conformance.live.scene import BROKEN
from pdwire_conformance.live.script import StepError
from pdwire_conformance.live.targets import open_live
from pdwire_conformance.suite.case import Live
from pdwire_conformance.testees.protocol import TesteeError

from .known import Known
from .lanes import Lane
from .outcome import End, Outcome, judged, worst
from .plan import Plan
from .select import Item

__all__ = ["Key", "Rank", "Ranks", "key_of", "lanes_of"]

Key = tuple[str, str, str]
"""Role, backend, release."""
_TRIES: Final = 2


def key_of(item: Item) -> Key:
    """The rank that an item runs against."""
    return (item.case.role, item.case.backend, item.release)


class Rank:
    """The rank, opened when it is first needed; use as a context manager."""

    def __init__(self, target: str, key: Key) -> None:
        self._words = target
        self._key = key
        self._target: LiveTarget | None = None
        self._stack = ExitStack()
        self._failures = Counter[frozenset[str]]()
        self._why = ""
        """Why no case can be run; empty while some may."""

    def __enter__(self) -> Self:
        _, backend, _ = self._key
        try:
            target = open_live(self._words, *self._key)
        except TesteeError as fault:
            self._why = str(fault)
            return self
        if find_spec(backend) is None:  # the suite's own end needs one, whoever the target is
            self._why = f"the engine is not installed: pip install 'pdwire[{backend}]'"
        else:
            self._target = self._stack.enter_context(target)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def run(self, item: Item, known: Known, repeat: int = 1) -> Outcome:
        """How the case ended: the worst of ``repeat`` times, or as its flaky entry allows."""
        outcome = worst([self._once(item) for _ in range(repeat)])
        listed = known.find(item)
        for attempt in range(2, (listed.repetitions if listed else 0) + 1):
            if outcome.is_good:
                break
            outcome = replace(self._once(item), attempts=attempt)
        return outcome

    def _once(self, item: Item) -> Outcome:
        if self._target is None:
            return Outcome(end=End.SKIPPED, reason=self._why)
        assert isinstance(item.case.check, Live)
        make = frozenset(item.case.check.needs)
        if self._failures[make] >= _TRIES:
            return Outcome(end=End.BROKEN, reason=f"not run: {self._why}")
        begin = time.monotonic()
        try:
            judgement, trace = run_script(item.case, self._target)
        except StepError as fault:
            return self._broken(f"the case itself is wrong: {fault}", begin)
        except (TesteeError, EngineError, *BROKEN) as fault:
            self._failures[make] += 1
            said = isinstance(fault, TesteeError)
            self._why = str(fault) if said else f"{type(fault).__name__}: {fault}"
            self._target.stale = True
            return self._broken(self._why, begin)
        del self._failures[make]
        return judged(judgement, seconds=time.monotonic() - begin, trace=trace)

    def _broken(self, why: str, begin: float) -> Outcome:
        return Outcome(end=End.BROKEN, reason=why, seconds=time.monotonic() - begin)


class Ranks:
    """Ranks that are all kept, for cases in any order; use as a context manager."""

    def __init__(self, target: str) -> None:
        self._words = target
        self._open: dict[Key, Rank] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def run(self, item: Item, known: Known, repeat: int = 1) -> Outcome:
        """How the case ended on its rank."""
        key = key_of(item)
        if key not in self._open:
            self._open[key] = self._stack.enter_context(Rank(self._words, key))
        return self._open[key].run(item, known, repeat)


def lanes_of(plan: Plan, known: Known, items: Sequence[Item]) -> list[Lane[tuple[Item, Outcome]]]:
    """A lane for each stretch of items that share a rank; they come sorted by it."""
    return [partial(_lane, plan, known, key, [*group]) for key, group in groupby(items, key_of)]


def _lane(
    plan: Plan, known: Known, key: Key, items: list[Item]
) -> Generator[tuple[Item, Outcome], None, None]:
    with Rank(plan.target, key) as rank:
        for item in items:
            yield item, rank.run(item, known, plan.repeat)
