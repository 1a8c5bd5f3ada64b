"""A testee that is held open for a test session, and asked one case at a time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

import pytest

from pdwire_conformance.suite.case import Live
from pdwire_conformance.testees.protocol import TesteeError

from .codec import ask
from .events import Verdict
from .known import Known
from .outcome import Outcome
from .plan import Plan
from .run import case_event
from .seat import Budget, Seat
from .select import Item, selection
from .telling import tell

__all__ = ["Held"]


class Held:
    """The testee of a plan; raises ``TesteeError`` when it does not start."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.known = Known(plan.known, plan.target, plan.cases)
        self._stack = ExitStack()
        self._play: Callable[[Item, Known, int], Outcome] | None = None
        self._seat = self._stack.enter_context(Seat(plan.make, Budget(plan.restarts)))
        try:
            self._hello = self._seat.hello()
        except TesteeError:
            self.close()
            raise
        chosen = selection(plan.cases, self._hello, plan.filters)
        self.items, self.unclaimed = chosen.items, chosen.unclaimed

    def problems(self) -> list[str]:
        """What is wrong with the lists of known failures."""
        return self.known.problems(self._hello.releases, self.plan.today)

    def expected_to_fail(self, item: Item) -> str:
        """Why a case is known to fail; empty for all others."""
        entry = self.known.find(item)
        return entry.reason if entry is not None and not entry.repetitions else ""

    def test(self, item: Item, rerun: str = "") -> None:
        """Ask one case, and end the test as the case ends; ``rerun`` is told where it fails."""
        __tracebackhide__ = True
        event = case_event(self.plan, self.known, item, self._outcome(item))
        if event.verdict is Verdict.SKIPPED:
            pytest.skip(event.reason)
        if event.verdict in {Verdict.FAILED, Verdict.ERROR, Verdict.KNOWN}:
            pytest.fail(tell(replace(event, rerun=rerun or event.rerun)), pytrace=False)

    def _outcome(self, item: Item) -> Outcome:
        if isinstance(item.case.check, Live):
            return self._played(item)
        steps = ask([item], self._seat, self._hello, known=self.known, repeat=self.plan.repeat)
        ((_, outcome),) = steps
        return outcome

    def _played(self, item: Item) -> Outcome:
        if self._play is None:
            # Engines and managers are optional, and loading them takes a second.
            from .rank import Ranks  # noqa: PLC0415

            self._play = self._stack.enter_context(Ranks(self.plan.target)).run
        return self._play(item, self.known, self.plan.repeat)

    def close(self) -> None:
        """End the testee."""
        self._stack.close()
