"""A testee in this process whose cases say themselves what it does with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, ClassVar, Self

import pytest

from pdwire_conformance.conform.events import CaseEvent, Event
from pdwire_conformance.conform.plan import Plan
from pdwire_conformance.conform.run import run
from pdwire_conformance.suite.case import Accept, Case, Decode, Level, Role
from pdwire_conformance.testees.protocol import Answer, Hello, Request, Testee, TesteeError

MakeCase = Callable[..., Case]
RELEASES = ("0.5.21", "0.5.22", "0.5.23")


class Fake:
    """Does what a case's only frame says; remembers what was done in ``said``.

    ``pass``, ``fail``, ``skip``; ``die``: breaks; ``exit``: leaves Python; ``crowd``: breaks
    unless asked alone; ``second``, ``third``: passes from that time on that it is asked.
    """

    __test__: ClassVar[bool] = False

    def __init__(self, said: list[str], times: Counter[str], **told: Any) -> None:  # noqa: ANN401
        self.said = said
        self.times = times
        self.told = Hello(
            **{
                "name": "fake",
                "version": "1",
                "roles": tuple(Role),
                "releases": {"mooncake": RELEASES, "nixl": ("0.5.23",)},
                "messages": {"mooncake": {"TransferInfo": ("decode",)}},
                **told,
            }
        )

    @property
    def target(self) -> str:
        return "fake"

    def __enter__(self) -> Self:
        self.said.append("start")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.said.append("end")

    def hello(self) -> Hello:
        return self.told

    def ask(self, requests: Sequence[Request]) -> list[Answer]:
        self.said.append(f"ask {len(requests)}")
        answers = list[Answer]()
        for request in requests:
            try:
                answers.append(self.answer(request, alone=len(requests) == 1))
            except TesteeError as fault:
                raise TesteeError(fault.text, answers=answers) from fault
        return answers

    def answer(self, request: Request, *, alone: bool) -> Answer:
        told, _, name = bytes.fromhex(request["frames"][0]).decode().partition(" ")
        self.times[name] += 1
        if told == "die" or (told == "crowd" and not alone):
            raise TesteeError(f"it ended at {told}")
        if told == "exit":
            raise SystemExit(3)
        if told == "skip":
            return {"skip": "no way to ask"}
        needed = {"pass": 1, "crowd": 1, "second": 2, "third": 3}.get(told, 99)
        is_right = self.times[name] >= needed
        return {"values": {"room": 7 if is_right else 8}}


@pytest.fixture
def said() -> list[str]:
    """What the testee did, in order."""
    return []


@pytest.fixture
def fake(said: list[str]) -> Callable[..., Testee]:
    """Makes testees; what is given replaces what they say of themselves."""
    times = Counter[str]()
    return lambda **told: Fake(said, times, **told)


@pytest.fixture
def a_case() -> MakeCase:
    """``a_case("x/one", "fail")``: a case that the testee fails."""

    def make(slug: str, does: str = "pass", **told: Any) -> Case:  # noqa: ANN401
        return Case(
            **{
                "slug": slug,
                "level": Level.MUST,
                "role": Role.CODEC,
                "backend": "mooncake",
                "releases": ("0.5.22", "0.5.23"),
                "purpose": f"What {slug} is for.",
                "expectation": "Room 7.",
                "message": "TransferInfo",
                "check": Decode(
                    frames=(f"{does} {slug}".encode(),), expect=Accept(values={"room": 7})
                ),
                **told,
            }
        )

    return make


@pytest.fixture
def events(fake: Callable[..., Testee]) -> Callable[..., list[Event]]:
    """``events(cases, repeat=3)``: all events of a run against the testee."""

    def ran(cases: Sequence[Case], **told: Any) -> list[Event]:  # noqa: ANN401
        made = {"target": "fake", "make": fake, **told}
        return list(run(Plan(cases=tuple(cases), **made)))

    return ran


@pytest.fixture
def verdicts(events: Callable[..., list[Event]]) -> Callable[..., dict[str, str]]:
    """``verdicts(cases)``: slug -> verdict of a run."""

    def ran(cases: Sequence[Case], **told: Any) -> dict[str, str]:  # noqa: ANN401
        found = [event for event in events(cases, **told) if isinstance(event, CaseEvent)]
        return {event.slug: event.verdict.value for event in found}

    return ran
