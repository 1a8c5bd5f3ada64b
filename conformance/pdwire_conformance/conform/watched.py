"""A deadline for a testee in this process, which has none of its own.

Rules:

* The testee lives in a thread of its own from its making to its end, so that what it holds
  is never touched by two threads.
* Every request has the deadline. A testee that misses it is left alone with its thread, as
  nothing can end that, and is unusable from then on; entering again makes a new one.
* Code that leaves Python (``sys.exit``) leaves the testee, not the suite.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from types import TracebackType
from typing import Any, ClassVar, Self

from pdwire_conformance.testees.protocol import Answer, Hello, Request, Testee, TesteeError

__all__ = ["Watched"]

_Call = tuple[Callable[[], Any], Future[Any]]


class Watched:
    """A testee in this process, asked one request at a time within ``deadline_s`` each."""

    __test__: ClassVar[bool] = False

    def __init__(self, testee: Testee, deadline_s: float) -> None:
        self._testee = testee
        self._deadline_s = deadline_s
        self._calls = SimpleQueue[_Call | None]()
        self._thread: threading.Thread | None = None

    @property
    def target(self) -> str:
        """The words that choose this testee on the command line."""
        return self._testee.target

    def __enter__(self) -> Self:
        self._calls = SimpleQueue()
        self._thread = threading.Thread(
            target=_work, args=(self._calls,), name=f"testee {self.target}", daemon=True
        )
        self._thread.start()
        try:
            self._call(self._testee.__enter__, "to start")
        except TesteeError:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._thread is not None:
            try:
                self._call(partial(self._testee.__exit__, kind, error, trace), "to end")
            finally:
                self._end()

    def hello(self) -> Hello:
        """What it said when it was made."""
        return self._testee.hello()

    def ask(self, requests: Sequence[Request]) -> list[Answer]:
        """Answers, in order; those before a breach are in the error."""
        answers = list[Answer]()
        for request in requests:
            words = (request.get(key) for key in ("op", "backend", "message", "release"))
            asked = "to " + " ".join(str(word) for word in words if word)
            try:
                answers += self._call(partial(self._testee.ask, [request]), asked)
            except TesteeError as fault:
                raise TesteeError(fault.text, fault.said, answers) from fault
        return answers

    def _call(self, call: Callable[[], Any], asked: str) -> Any:  # noqa: ANN401
        if self._thread is None:
            raise TesteeError(f"{self.target} has ended")
        future = Future[Any]()
        self._calls.put((call, future))
        try:
            return future.result(self._deadline_s)
        except TesteeError:
            raise
        except SystemExit as fault:
            raise TesteeError(
                f"{self.target}, asked {asked}, left with status {fault.code}"
            ) from fault
        except Exception as fault:
            if isinstance(fault, TimeoutError) and not future.done():
                raise self._late(asked) from fault
            raise TesteeError(
                f"{self.target}, asked {asked}, raised {type(fault).__name__}: {fault}"
            ) from fault

    def _late(self, asked: str) -> TesteeError:
        """Give the thread up; should it ever come back, it ends."""
        self._thread = None
        self._calls.put(None)
        told = f"gave no answer within {self._deadline_s:g} s"
        return TesteeError(f"{self.target}, asked {asked}, {told}")

    def _end(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            self._calls.put(None)
            thread.join()


def _work(calls: SimpleQueue[_Call | None]) -> None:
    while (taken := calls.get()) is not None:
        call, future = taken
        try:
            future.set_result(call())
        except BaseException as fault:  # noqa: BLE001  # the caller's to handle, whatever it is
            future.set_exception(fault)
