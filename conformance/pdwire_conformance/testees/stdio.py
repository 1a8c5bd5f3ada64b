"""``cmd:./mine --flag``: a process that speaks the testee protocol in JSON lines.

Rules:

* Many requests are under way at once, up to a bound; every answer has a deadline.
* Whatever breaks the protocol ends the process and is a :class:`~.protocol.TesteeError`
  that says which answer, where in it, what was expected and what came. Entering again
  starts a new process.
* A process is asked to stop, then its input ends, then it is ended, by its own id.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, ClassVar, Final, NoReturn, Self

from pdwire_conformance.linewise import LineProcess, LostError

from .protocol import PROTOCOL, Answer, Hello, Request, TesteeError, read_hello
from .shape import Fault, answer_fault, read_line, shown

__all__ = ["AHEAD", "STOP_S", "Process", "line_of"]

AHEAD: Final = 32
"""Requests under way before the first is answered."""
_HELLO: Final[Request] = {"op": "hello", "protocol": PROTOCOL}
STOP_S: Final = 2.0
"""Seconds that a testee has to answer ``stop``, and as many to end."""


class Process:
    """A command as a testee; deadlines in seconds."""

    __test__: ClassVar[bool] = False

    def __init__(
        self,
        command: Sequence[str],
        *,
        target: str,
        start_deadline_s: float = 30.0,
        deadline_s: float = 20.0,
    ) -> None:
        self._target = target
        self._lines = LineProcess(command)
        self._start_deadline_s = start_deadline_s
        self._deadline_s = deadline_s
        self._next = 1
        self._hello: Hello | None = None

    @property
    def target(self) -> str:
        """The words that choose this testee on the command line."""
        return self._target

    def __enter__(self) -> Self:
        self._next = 1
        try:
            self._lines.start()
        except LostError as lost:
            raise TesteeError(f"{self._target} {lost.text}", lost.said) from lost
        try:
            told = self._asked([_HELLO], self._start_deadline_s)[0]
        except BaseException:
            self._lines.close()
            raise
        self._hello = read_hello(told["hello"])
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._lines.alive and error is None:
            with suppress(LostError):
                self._lines.ask(line_of({"id": self._next, "op": "stop"}), STOP_S)
                self._lines.finish(STOP_S)
        self._lines.close()

    def hello(self) -> Hello:
        """What it said when it was started."""
        if self._hello is None:
            raise TesteeError(f"{self._target} was not started")
        return self._hello

    def ask(self, requests: Sequence[Request]) -> list[Answer]:
        """Answers, in order; those before a breach are in the error.

        A ``hello`` goes behind them: what a testee says or does after its last answer comes
        to light here, and not as a fault of whatever is asked next.
        """
        return self._asked([*requests, _HELLO], self._deadline_s)[:-1] if requests else []

    def _asked(self, requests: Sequence[Request], limit_s: float) -> list[Answer]:
        first, answers = self._next, list[Answer]()
        self._next += len(requests)
        lines = (line_of({"id": first + n, **each}) for n, each in enumerate(requests))
        try:
            for line in self._lines.exchange(lines, limit_s=limit_s, ahead=AHEAD):
                told, fault = read_line(line)
                if fault is not None or told.get("id") != first + len(answers):
                    fault = fault or _out_of_turn(first + len(answers), told.get("id"))
                    self._break(fault, requests, answers, doubt=1)
                fault = answer_fault(requests[len(answers)]["op"], told)
                if fault is not None:
                    self._break(fault, requests, answers)
                answers.append({key: value for key, value in told.items() if key != "id"})
        except LostError as lost:
            raise self._broken(lost, requests, answers) from lost
        return answers

    def _break(
        self, fault: Fault, requests: Sequence[Request], answers: list[Answer], doubt: int = 0
    ) -> NoReturn:
        """End the testee for a line that is none.

        ``doubt``: answers before it that may be to blame, as what was said out of turn may
        belong to them.
        """
        lost = self._lines.lost(f"broke the protocol {fault}")
        raise self._broken(lost, requests, answers[: max(0, len(answers) - doubt)])

    def _broken(
        self, lost: LostError, requests: Sequence[Request], answers: Sequence[Answer]
    ) -> TesteeError:
        # What happens behind the last answer is laid at the door of the last request.
        last = max(0, len(requests) - 2) if requests[-1] is _HELLO else len(requests) - 1
        request = requests[min(len(answers), last)]
        words = (request.get(key) for key in ("op", "backend", "message", "release"))
        asked = " ".join(str(word) for word in words if word)
        text = f"{self._target}, asked to {asked}, {lost.text}"
        return TesteeError(text, lost.said, answers[:last])


def _out_of_turn(expected: int, came: object) -> Fault:
    advice = "answer every request once, in order, with its own id"
    return Fault(pointer="/id", expected=str(expected), came=shown(came), advice=advice)


def line_of(request: dict[str, Any]) -> bytes:
    """A request as a line."""
    return json.dumps(request, separators=(",", ":"), default=dict).encode() + b"\n"
