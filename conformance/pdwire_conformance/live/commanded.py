"""``cmd:./mine --flag`` as a driven rank: a program that speaks the testee protocol.

Rules:

* The operations and their fields are those of ``pdwire_conformance.interop.side``; ``start``
  carries the options of the rank, which a side of ours takes from its command line.
* An answer ``error`` is what the operation raised; ``skip`` skips the step.
"""

from __future__ import annotations

import shlex
from dataclasses import fields
from types import TracebackType
from typing import Any, Self

from pdwire_conformance.interop.options import Options
from pdwire_conformance.interop.process import Side
from pdwire_conformance.peers.errors import PeerUnavailable, RunnerError
from pdwire_conformance.testees.protocol import TesteeError
from pdwire_conformance.testees.stdio import Process

from .driven import LiveTarget
from .notation import Value
from .scene import StepSkipped

__all__ = ["Commanded", "CommandedSide"]


class CommandedSide(Side):
    """One rank in a process of somebody else's making; use as a context manager."""

    def __init__(self, target: str, options: Options, *, deadline_s: float) -> None:
        command = shlex.split(target.removeprefix("cmd:"))
        super().__init__(options, program=command)
        self._testee = Process(command, target=target, deadline_s=deadline_s)
        self._target = target
        self._entered = False

    def __enter__(self) -> Self:
        try:
            self._testee.__enter__()
        except TesteeError as error:
            raise PeerUnavailable(str(error)) from error
        self._entered = True
        if self.options.role not in self._testee.hello().roles:
            self.close()
            raise PeerUnavailable(f"{self._target} does not play the role {self.options.role}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """Whether it was started and has not broken off."""
        return self._entered

    @property
    def name(self) -> str:
        """For people."""
        return f"the testee's {self.options.role}"

    def said(self) -> str:
        """Nothing: what it printed comes with the error that ends it."""
        return ""

    def ask(self, op: str, **request: Value) -> dict[str, Any]:
        """One request; its answer.

        Raises:
            RunnerError: the testee answers with an error.
            StepSkipped: it has no way to be asked that.
            PeerUnavailable: it ended, was too slow, or broke the protocol.
        """
        if op == "start":
            request["options"] = _told(self.options)
        try:
            [answer] = self._testee.ask([{"op": op, **request}])
        except TesteeError as error:
            self.close()
            raise PeerUnavailable(str(error)) from error
        if "skip" in answer:
            raise StepSkipped(str(answer["skip"]))
        if "error" in answer:
            raise RunnerError(str(answer["error"]["kind"]), str(answer["error"]["text"]))
        return answer

    def close(self) -> None:
        """End the process."""
        if self._entered:
            self._entered = False
            self._testee.__exit__(None, None, None)


class Commanded(LiveTarget):
    """A target whose rank is a program of somebody's own."""

    def _sides(self) -> list[Side]:
        return [
            CommandedSide(self.target, options, deadline_s=self.deadline_s)
            for options in self._ranks()
        ]


def _told(options: Options) -> dict[str, Any]:
    """What is not the default; what there is no word for in the protocol is left out."""
    return {
        field.name: getattr(options, field.name)
        for field in fields(options)
        if getattr(options, field.name) != field.default
    }
