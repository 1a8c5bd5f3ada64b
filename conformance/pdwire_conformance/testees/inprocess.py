"""Testees in this process: any :class:`~.codec.CodecTestee` made when it is entered.

Rules:

* Entering makes a new one, so that a testee that has gone wrong starts again from nothing.
* What goes in and comes out is what would travel as JSON lines, checked where it comes out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import ClassVar, Self

from .codec import CodecTestee
from .protocol import Answer, Hello, Request, TesteeError, read_hello
from .shape import answer_fault

__all__ = ["InProcess"]


class InProcess:
    """A testee of :mod:`.protocol` around a factory of codec testees."""

    __test__: ClassVar[bool] = False

    def __init__(self, target: str, factory: Callable[[], CodecTestee]) -> None:
        self._target = target
        self._factory = factory
        self._made: CodecTestee | None = None
        self._hello: Hello | None = None

    @property
    def target(self) -> str:
        """The words that choose this testee on the command line."""
        return self._target

    def __enter__(self) -> Self:
        try:
            self._made = self._factory()
            told = self._json({"hello": self._made.hello().as_json()}, "hello", [])
        except TesteeError:
            raise
        except Exception as fault:
            self._made = None
            raise TesteeError(
                f"{self._target} cannot be made: {type(fault).__name__}: {fault}"
            ) from fault
        self._hello = read_hello(told["hello"])
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        made, self._made = self._made, None
        if made is not None:
            made.close()

    def hello(self) -> Hello:
        """What it said when it was made."""
        if self._hello is None:
            raise TesteeError(f"{self._target} was not started")
        return self._hello

    def ask(self, requests: Sequence[Request]) -> list[Answer]:
        """Answers, in order."""
        if self._made is None:
            raise TesteeError(f"{self._target} was not started")
        answers: list[Answer] = []
        for request in requests:
            answers.append(self._json(self._made.answer(request), str(request["op"]), answers))
        return answers

    def _json(self, answer: Answer, op: str, before: list[Answer]) -> Answer:
        """The answer as it would travel, or the error of one that could not."""
        try:
            told: Answer = json.loads(json.dumps(answer, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as fault:
            text = f"{self._target}, asked to {op}, gave what JSON cannot say: {fault}"
            raise TesteeError(text, answers=before) from fault
        breach = answer_fault(op, told)
        if breach is not None:
            text = f"{self._target}, asked to {op}, broke the protocol {breach}"
            raise TesteeError(text, answers=before)
        return told
