"""One testee that is kept going: asked in batches, and started anew when it breaks.

Rules:

* A batch in which the testee breaks is asked again one request at a time, from the first
  that had no answer, so that exactly the guilty request is :class:`Broken` and all others
  get their answers.
* Every start after a break is taken from a budget that all seats of a run share. When it
  is spent, requests are :class:`Broken` without being asked.
* A testee that breaks in a batch and not when it is asked one by one is noted: the
  answers count, and the note is a problem of the run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from pdwire_conformance.testees.protocol import Answer, Hello, Request, Testee, TesteeError

__all__ = ["Broken", "Budget", "Seat"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """The testee broke the protocol or a deadline, or is not asked any more."""

    text: str


class Budget:
    """How often testees may still be started anew; shared between threads."""

    def __init__(self, restarts: int) -> None:
        self.restarts = restarts
        self._left = restarts
        self._lock = threading.Lock()

    @property
    def spent(self) -> bool:
        """Whether nothing is left and more was wanted."""
        return self._left < 0

    def take(self) -> bool:
        """Take one start; false when there is none left."""
        with self._lock:
            self._left = max(self._left - 1, -1)
            return self._left >= 0


class Seat:
    """A testee, made by ``make`` and entered when it is first needed."""

    def __init__(self, make: Callable[[], Testee], budget: Budget) -> None:
        self._make = make
        self._budget = budget
        self._testee: Testee | None = None
        self._hello: Hello | None = None
        self._started = False
        self._lost = ""
        self.notes: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave()

    def hello(self) -> Hello:
        """What the testee says of itself; raises ``TesteeError`` when it cannot start."""
        if self._hello is None:
            self._hello = self._running().hello()
        return self._hello

    def answers(self, requests: Sequence[Request]) -> list[Answer | Broken]:
        """An answer, or what went wrong, for each request; never raises ``TesteeError``."""
        if self._lost:
            return [Broken(text=self._lost) for _ in requests]
        try:
            return self._asked(requests)
        except TesteeError as fault:
            self._leave()
            if len(requests) == 1:
                return [Broken(text=str(fault))]
            told, answers = str(fault), list[Answer | Broken](fault.answers)
        answers += [self.answers([request])[0] for request in requests[len(answers) :]]
        if not any(isinstance(answer, Broken) for answer in answers):
            self.notes.append(
                f"the testee broke when it was asked {len(requests)} requests ahead, and not when "
                f"they were asked one by one: {told}"
            )
        return answers

    def _asked(self, requests: Sequence[Request]) -> list[Answer | Broken]:
        try:
            return list(self._running().ask(requests))
        except SystemExit as fault:  # code of a user's own, in this process
            raise TesteeError(f"the testee left with status {fault.code}") from fault

    def _running(self) -> Testee:
        if self._testee is None:
            self._testee = self._start()
            self._started = True
        return self._testee

    def _start(self) -> Testee:
        if self._started and not self._budget.take():
            self._lost = f"not asked: the testee was started anew {self._budget.restarts} times"
            raise TesteeError(self._lost)
        try:
            return self._make().__enter__()
        except TesteeError as fault:
            self._lost = f"not asked: the testee does not start: {fault}"
            raise

    def _leave(self) -> None:
        testee, self._testee = self._testee, None
        if testee is not None:
            with suppress(TesteeError):  # it has ended already, and that has been told
                testee.__exit__(None, None, None)
