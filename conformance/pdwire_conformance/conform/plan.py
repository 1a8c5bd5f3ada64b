"""What one run is: everything that was chosen, before anything is started."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Final

from pdwire_conformance.suite.case import Case, Role
from pdwire_conformance.testees.find import DEADLINE_S
from pdwire_conformance.testees.protocol import Testee

from .known_file import Entry
from .select import Filters, Item

__all__ = ["BATCH", "RESTARTS", "Plan", "today"]

BATCH: Final = 64
"""Requests that are asked ahead of their answers."""
RESTARTS: Final = 100


def today() -> date:
    """The date that entries expire against: UTC, the same for everyone."""
    return datetime.now(tz=UTC).date()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One testee, one selection.

    ``make`` gives a testee that is not started yet: it is called once for each job, and
    again after each break. ``cases`` is the whole suite; the filters select from it.
    """

    target: str
    make: Callable[[], Testee]
    cases: tuple[Case, ...]
    filters: Filters = field(default_factory=Filters)
    known: tuple[Entry, ...] = ()
    jobs: int = 1
    repeat: int = 1
    fail_fast: bool = False
    deadline_s: float = DEADLINE_S
    restarts: int = RESTARTS
    batch: int = BATCH
    traces: bool = False
    """Tell the wire trace of passed cases, too."""
    today: date = field(default_factory=today)

    def rerun(self, item: Item) -> str:
        """A command line that runs only this case at this release."""
        words = ["pdwire", "conform", self.target, "--case", item.case.slug]
        words += ["--release", item.release]
        if item.case.role is not Role.CODEC:
            words += ["--role", item.case.role]
        if self.deadline_s != DEADLINE_S:
            words += ["--deadline", f"{self.deadline_s:g}"]
        return shlex.join(words)
