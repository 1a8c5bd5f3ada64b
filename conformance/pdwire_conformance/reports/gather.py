"""An event stream sorted by testee: what every report starts from.

Rules:

* Events of one target belong together, however many runs and streams they came from.
* A case that came twice for a target and release counts once, as it ended last: a later
  run replaces an earlier one.
* A run that began and never ended, a case whose run never began, and an end that counted
  other cases than came are problems. They are said in every report, and are not clean.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pdwire.wire.table import ORDER
from pdwire_conformance.conform.events import (
    CaseEvent,
    EndEvent,
    Event,
    StartEvent,
    Verdict,
    counts,
)

__all__ = [
    "LEVELS",
    "WORST",
    "Tested",
    "by_family",
    "by_level",
    "closing",
    "gather",
    "group_of",
    "is_clean",
    "ordered",
    "span",
    "worst",
]

LEVELS: Final = ("MUST", "SHOULD", "MAY")
WORST: Final = (
    Verdict.ERROR,
    Verdict.FAILED,
    Verdict.UNEXPECTED,
    Verdict.KNOWN,
    Verdict.FLAKY,
    Verdict.PASSED,
    Verdict.SKIPPED,
)
"""From the worst to that which says least; passing in one release outweighs a skip."""


_AGE: Final = {release: age for age, release in enumerate(ORDER)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """All that the streams say of one target; ``cases`` in the order in which they came."""

    target: str
    starts: tuple[StartEvent, ...]
    cases: tuple[CaseEvent, ...]
    ends: tuple[EndEvent, ...]
    problems: tuple[str, ...]

    @property
    def title(self) -> str:
        """The target, and the name and version that it gave itself where they say more."""
        if not self.starts or not (name := self.starts[-1].name):
            return self.target
        said = " ".join(filter(None, (name, self.starts[-1].version)))
        return self.target if said.replace(" ", "==") == self.target else f"{self.target} ({said})"

    @property
    def bad(self) -> tuple[CaseEvent, ...]:
        """The cases that make the run unclean."""
        return tuple(case for case in self.cases if case.verdict.is_bad)

    @property
    def releases(self) -> tuple[str, ...]:
        """The releases that cases ran in, oldest first; what is no release comes last."""
        return ordered(case.release for case in self.cases if case.release)

    @property
    def seconds(self) -> float:
        """How long the runs took; of a run that never ended, the cases that came."""
        if len(self.ends) >= len(self.starts):
            return sum(end.seconds for end in self.ends)
        return sum(case.seconds for case in self.cases)


def gather(events: Iterable[Event]) -> tuple[Tested, ...]:
    """The testees of one or more streams, in the order in which they first came."""
    found: dict[str, list[Event]] = {}
    for event in events:
        found.setdefault(event.target, []).append(event)
    return tuple(_tested(target, each) for target, each in found.items())


def _tested(target: str, events: Sequence[Event]) -> Tested:
    starts = tuple(event for event in events if isinstance(event, StartEvent))
    ends = tuple(event for event in events if isinstance(event, EndEvent))
    came = [event for event in events if isinstance(event, CaseEvent)]
    last = {(case.slug, case.release): case for case in came}
    problems = [problem for end in ends for problem in end.problems]
    return Tested(
        target=target,
        starts=starts,
        ends=ends,
        cases=tuple(last.values()),
        problems=(*dict.fromkeys(problems), *_faults(starts, came, ends)),
    )


def _faults(
    starts: Sequence[StartEvent], came: Sequence[CaseEvent], ends: Sequence[EndEvent]
) -> Iterable[str]:
    if not starts:
        yield "the stream has no start of this run: its first lines are missing"
    elif len(ends) < len(starts):
        chosen = sum(start.selected for start in starts)
        yield (
            f"the stream ends before the run did: results that came: {len(came)}, "
            f"cases selected: {chosen}"
        )
    elif (counted := sum(sum(end.counts.values()) for end in ends)) != len(came):
        yield f"the run counted {counted} results, the stream has {len(came)}: lines are missing"


def ordered(releases: Iterable[str]) -> tuple[str, ...]:
    """Each release once, oldest first; what is no release comes last."""
    named = dict.fromkeys(releases)
    return tuple(sorted(named, key=lambda each: _AGE.get(each, len(_AGE))))


def span(releases: Sequence[str], none: str = "no release") -> str:
    """Releases in few words: each of two, else the first and the last of how many."""
    if len(releases) <= 2:
        return ", ".join(releases) or none
    return f"{releases[0]} to {releases[-1]} ({len(releases)} releases)"


def is_clean(tested: Sequence[Tested]) -> bool:
    """Whether there is a testee, no bad case and no problem."""
    return bool(tested) and not any(each.bad or each.problems for each in tested)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """What one cell says of several results; there is at least one."""
    return min(verdicts, key=WORST.index)


def group_of(case: CaseEvent) -> str:
    """What a case stands with in a matrix: its family, or backend and message if derived."""
    return "/".join(case.slug.split("/")[:2]) if case.family == "spec" else case.family


def by_level(cases: Iterable[CaseEvent]) -> dict[str, dict[str, int]]:
    """Level -> verdict -> results, the levels that there are, MUST first."""
    listed = list(cases)
    return {
        level: counts(case for case in listed if case.level == level)
        for level in dict.fromkeys((*LEVELS, *(case.level for case in listed)))
        if any(case.level == level for case in listed)
    }


def by_family(cases: Iterable[CaseEvent]) -> dict[str, dict[str, int]]:
    """Family -> verdict -> results, families by name."""
    found: dict[str, list[CaseEvent]] = {}
    for case in cases:
        found.setdefault(case.family, []).append(case)
    return {family: counts(found[family]) for family in sorted(found)}


def closing(tested: Sequence[Tested]) -> str:
    """One sentence: clean or not, and why."""
    if not tested:
        return "Not clean: the stream has no testee."
    found = counts(case for each in tested for case in each.cases)
    said = ", ".join(f"{number:,} {verdict}" for verdict, number in found.items()) or "no case"
    whom = "" if len(tested) == 1 else f" by {len(tested)} testees"
    problems = sum(len(each.problems) for each in tested)
    if is_clean(tested):
        judged = any(found.get(each, 0) for each in WORST[:-1])
        return (
            f"Clean: {said}{whom}." if judged else f"Clean, but nothing was judged: {said}{whom}."
        )
    faults = f"; {problems} {'problem' if problems == 1 else 'problems'}" if problems else ""
    return f"Not clean: {said}{whom}{faults}."
