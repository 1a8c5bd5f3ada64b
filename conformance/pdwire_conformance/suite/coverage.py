"""Which clauses of the spec the cases exercise, and which they do not.

Rules: a case names the clauses that it stands for; what that is worth the tests measure,
by changing a clause and looking whether a case that names it then fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from pdwire_conformance.proof.spec import load_spec

from .case import Case
from .clauses import clauses_of

__all__ = ["CoverageReport", "MessageCoverage", "clauses", "coverage", "gaps", "unknown"]


@cache
def clauses() -> tuple[str, ...]:
    """Every clause of the shipped spec, in its order."""
    return tuple(clauses_of(load_spec()))


def gaps(cases: Iterable[Case]) -> list[str]:
    """Clauses that no case exercises, in the spec's order."""
    named = {clause for case in cases for clause in case.clauses}
    return [clause for clause in clauses() if clause not in named]


def unknown(cases: Iterable[Case]) -> list[str]:
    """``slug: clause`` of every clause that a case names and the spec does not have."""
    known = frozenset(clauses())
    return [f"{case.slug}: {one}" for case in cases for one in case.clauses if one not in known]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageCoverage:
    """One message: its clauses, those that are exercised, and by how many cases."""

    message: str
    """``group/MESSAGE``."""
    layouts: int
    clauses: int
    exercised: int
    cases: int
    levels: dict[str, int]
    """Level -> cases."""
    gaps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageReport:
    """All messages, and what no case exercises."""

    messages: tuple[MessageCoverage, ...]
    clauses: int
    exercised: int
    cases: int
    gaps: tuple[str, ...]
    unknown: tuple[str, ...]
    """``slug: clause`` where a case names a clause that the spec does not have."""

    @property
    def complete(self) -> bool:
        """Whether every clause is exercised and no case names another."""
        return not self.gaps and not self.unknown


def coverage(cases: Iterable[Case]) -> CoverageReport:
    """What the cases exercise, message by message."""
    listed = tuple(cases)
    missed = gaps(listed)
    named: dict[str, list[Case]] = {}
    for case in listed:
        for message in {_message(clause) for clause in case.clauses}:
            named.setdefault(message, []).append(case)
    return CoverageReport(
        messages=tuple(
            _of_message(message, missed, named.get(message, []))
            for message in dict.fromkeys(map(_message, clauses()))
        ),
        clauses=len(clauses()),
        exercised=len(clauses()) - len(missed),
        cases=len(listed),
        gaps=tuple(missed),
        unknown=tuple(unknown(listed)),
    )


def _message(clause: str) -> str:
    group, name, _ = clause.split("/", 2)
    return f"{group}/{name}"


def _of_message(message: str, missed: list[str], cases: list[Case]) -> MessageCoverage:
    own = [clause for clause in clauses() if _message(clause) == message]
    lost = tuple(clause for clause in missed if _message(clause) == message)
    return MessageCoverage(
        message=message,
        layouts=len({clause.split("/")[2] for clause in own} - {"recognise"}),
        clauses=len(own),
        exercised=len(own) - len(lost),
        cases=len(cases),
        levels=dict(Counter(str(case.level) for case in cases)),
        gaps=lost,
    )
