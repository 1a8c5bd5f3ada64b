"""One conversation with a testee, line by line, in which every breach of the protocol is noted.

Rules:

* Nothing raises: a breach is written down with the line that it stands in, and the
  conversation goes on as far as it can. A testee that is lost is started again by whoever
  wants to go on (:meth:`Conversation.begin`).
* Lines are counted from 1 per process and direction, so that a breach can be found in a log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pdwire_conformance.linewise import LineProcess, LostError

from .protocol import PROTOCOL, Answer, Hello, Request, read_hello
from .shape import Fault, answer_fault, read_line, shown
from .stdio import line_of

__all__ = ["Breach", "Conversation"]

_END_S: Final = 5.0
"""Seconds that a testee has to end, where an answer may take longer."""
_SURPLUS: Final = 20
"""Lines that are no answer and are read over, before a testee is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """One breach: the testee's line that it stands in, what it answers, and the fault."""

    line: int
    """Number of the line on the testee's standard output; of the one that never came."""
    asked: str
    """The request that it answers, shortened."""
    fault: Fault


class Conversation:
    """A command, asked in JSON lines; deadlines in seconds."""

    def __init__(self, command: Sequence[str], *, start_s: float, deadline_s: float) -> None:
        self._lines = LineProcess(command)
        self._start_s = start_s
        self._deadline_s = deadline_s
        self._next = 1
        self._came = 0
        self._asked = ""
        self.breaches: list[Breach] = []
        self.hello: Hello | None = None
        self.fault_of_start: str = ""

    @property
    def alive(self) -> bool:
        """Whether the testee is there to be asked."""
        return self._lines.alive

    def begin(self) -> bool:
        """Start the testee and have it say hello; whether there is a testee now."""
        self._next, self._came, self.fault_of_start = 1, 0, ""
        try:
            self._lines.start()
        except LostError as lost:
            self.fault_of_start = str(lost)
            return False
        told = self.ask({"op": "hello", "protocol": PROTOCOL}, limit_s=self._start_s)
        if told is None:
            self._lines.close()
            return False
        self.hello = read_hello(told["hello"])
        return True

    def ask(self, request: Request, *, limit_s: float | None = None) -> Answer | None:
        """The answer to one request; ``None`` when none came that has the right shape."""
        number = self._next
        self._next += 1
        limit = self._deadline_s if limit_s is None else limit_s
        told = self._answer(line_of({"id": number, **request}), number, limit)
        if told is None:
            return None
        fault = answer_fault(str(request["op"]), told)
        if fault is not None:
            self.note(fault)
            return None
        return {key: value for key, value in told.items() if key != "id"}

    def raw(self, line: bytes) -> Any:  # noqa: ANN401 - whatever the line held
        """Write a line that may be no request; the object that is answered, or ``None``."""
        return self._object(line, self._deadline_s)

    def ahead(self, requests: Sequence[Request]) -> list[Any]:
        """Write all requests before an answer is waited for; the objects that came."""
        first = self._next
        self._next += len(requests)
        lines = [line_of({"id": first + n, **each}) for n, each in enumerate(requests)]
        self._asked = f"{len(lines)} requests at once, the first {_short(lines[0])}"
        told: list[Any] = []
        try:
            for raw in self._lines.exchange(lines, limit_s=self._deadline_s, ahead=len(lines)):
                self._came += 1
                found, fault = read_line(raw)
                if fault is not None:
                    self.note(fault)
                told.append(found)
        except LostError as lost:
            self._lost(lost)
        return [first, *told]

    def stop(self) -> None:
        """Ask it to stop: it answers, says nothing more and ends with status 0."""
        limit_s = min(self._deadline_s, _END_S)
        if self.ask({"op": "stop"}) is None or not self.alive:
            return
        status, surplus = self._lines.finish(limit_s, hang_up=False)
        if surplus:
            self._came += 1
            words = repr(surplus[:120].decode("utf-8", "replace"))
            self._fault("nothing after the answer to stop", words)
        if status is None:
            self._fault(f"its end within {limit_s:g} s of stop", "it was still running")
        elif status:
            self._fault("exit status 0", f"exit status {status}")

    def end_input(self) -> None:
        """Close its input without a stop: it ends."""
        limit_s = min(self._deadline_s, _END_S)
        self._asked = "the end of its input"
        status, _ = self._lines.finish(limit_s)
        if status is None:
            advice = "leave when standard input ends: whoever started it may be gone"
            self._fault(
                f"its end within {limit_s:g} s of its input's", "it was still running", advice
            )

    def note(self, fault: Fault) -> None:
        """Write a breach down, in the line that came last."""
        self.breaches.append(Breach(line=self._came, asked=self._asked, fault=fault))

    def close(self) -> None:
        """End the testee, if it is still there."""
        self._lines.close()

    def _fault(self, expected: str, came: str, advice: str = "") -> None:
        self.note(Fault(pointer="", expected=expected, came=came, advice=advice))

    def _answer(self, line: bytes, number: int, limit_s: float) -> Any:  # noqa: ANN401 - as above
        told = self._object(line, limit_s)
        if told is None or told.get("id") == number:
            return told
        advice = "answer every request once, in order, with its own id"
        self.note(
            Fault(pointer="/id", expected=str(number), came=shown(told.get("id")), advice=advice)
        )
        # Its next line may answer anything: start anew rather than guess.
        self._lines.close()
        return None

    def _object(self, line: bytes, limit_s: float) -> Any:  # noqa: ANN401 - as above
        """Write a line and read the next object, noting and passing over what is none."""
        self._asked = _short(line)
        try:
            raw: bytes | None = self._lines.ask(line, limit_s)
            for _ in range(_SURPLUS):
                if raw is None:
                    raise self._lines.lost(f"gave no answer within {limit_s:g} s")
                self._came += 1
                told, fault = read_line(raw)
                if fault is None:
                    return told
                self.note(fault)
                raw = self._lines.read(limit_s)
            raise self._lines.lost(f"said {_SURPLUS} lines that are no answers")
        except LostError as lost:
            self._lost(lost)
        return None

    def _lost(self, lost: LostError) -> None:
        self._came += 1
        advice = "flush standard output after every line" if "no answer" in lost.text else ""
        said = f", and said: {lost.said}" if lost.said else ""
        self._fault("an answer", f"the testee {lost.text}{said}", advice)


def _short(line: bytes) -> str:
    text = line.decode("utf-8", "replace").strip()
    return text if len(text) <= 160 else f"{text[:160]}…"
