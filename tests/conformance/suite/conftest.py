"""What the tests of the cases share: the cases by clause, and testees to ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from pdwire.reading import Reading, spec_from_json
from pdwire_conformance.conform.judge import Judgement, judge, request_of
from pdwire_conformance.suite.case import Case, Role
from pdwire_conformance.suite.load import cases
from pdwire_conformance.testees.codec import CodecTestee
from pdwire_conformance.testees.protocol import Hello
from pdwire_conformance.testees.reading import Interpreted

Json = dict[str, Any]
Ask = Callable[[CodecTestee, Case], Judgement]


class Reader(Interpreted):
    """The interpreted reading of any spec, held to the kinds of its errors, too."""

    def __init__(self, spec: Json) -> None:
        self._reading = Reading(spec_from_json(spec))

    def hello(self) -> Hello:
        return replace(super().hello(), features=frozenset({"recognise", "typed-errors"}))


def asked(testee: CodecTestee, case: Case) -> Judgement:
    """How one testee does in one case, at the newest release that the case is right for."""
    answer = testee.answer(request_of(case, case.releases[-1]))
    return judge(case, answer, _hello(type(testee)))


@cache
def _hello(kind: type[CodecTestee]) -> Hello:
    """What a kind of testee says of itself; asked once, for it lists the whole spec."""
    return kind.__new__(kind).hello()


@pytest.fixture(scope="session")
def codec_cases() -> tuple[Case, ...]:
    """Every case that is one question and one answer."""
    return tuple(case for case in cases() if case.role is Role.CODEC)


@pytest.fixture(scope="session")
def claims(codec_cases: tuple[Case, ...]) -> dict[str, list[Case]]:
    """Clause -> the cases that name it."""
    found: dict[str, list[Case]] = {}
    for case in codec_cases:
        for clause in dict.fromkeys(case.clauses):
            found.setdefault(clause, []).append(case)
    return found
