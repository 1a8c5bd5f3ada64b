"""How one asking of a case ended, and what a list makes of it: pure.

=========  ================  ==================================================
ended      listed as         verdict
=========  ================  ==================================================
passed     nothing, flaky    ``passed``; ``flaky`` when not at the first attempt
passed     known             ``unexpected``
failed     nothing, flaky    ``failed``
failed     known             ``known``
broken     nothing, flaky    ``error``
broken     known             ``known``
skipped    whatever          ``skipped``
=========  ================  ==================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from .events import TraceLine, Verdict
from .judge import Judgement
from .known_file import Entry

__all__ = ["End", "Outcome", "judged", "verdict", "worst"]


class End(IntEnum):
    """How an asking ended, the worst last."""

    SKIPPED = 0
    PASSED = 1
    FAILED = 2
    BROKEN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One case, asked; ``seconds`` is its share where several were asked together."""

    end: End
    expected: str = ""
    came: str = ""
    reason: str = ""
    """Why it was skipped, or how the testee broke; more about how it failed."""
    seconds: float = 0.0
    attempts: int = 1
    trace: tuple[TraceLine, ...] = ()

    @property
    def is_good(self) -> bool:
        """Whether there is no reason to ask again."""
        return self.end in {End.SKIPPED, End.PASSED}


def judged(
    judgement: Judgement, *, seconds: float = 0.0, trace: tuple[TraceLine, ...] = ()
) -> Outcome:
    """The outcome of an answer that was judged."""
    if judgement.skip:
        return Outcome(end=End.SKIPPED, reason=judgement.skip, seconds=seconds)
    return Outcome(
        end=End.PASSED if judgement.ok else End.FAILED,
        expected=judgement.expected,
        came=judgement.came,
        seconds=seconds,
        trace=trace,
    )


def worst(outcomes: Sequence[Outcome]) -> Outcome:
    """The worst of several askings of one case; says how often, where they differ."""
    found = max(outcomes, key=lambda outcome: outcome.end)
    bad = sum(not outcome.is_good for outcome in outcomes)
    seconds = sum(outcome.seconds for outcome in outcomes)
    if not bad or bad == len(outcomes):
        return replace(found, seconds=seconds)
    told = f"{bad} of {len(outcomes)} times"
    reason = f"{told}: {found.reason}" if found.reason else told
    return replace(found, seconds=seconds, reason=reason)


def verdict(outcome: Outcome, listed: Entry | None) -> tuple[Verdict, str]:
    """The verdict and its reason; see the module's table."""
    known = listed is not None and not listed.repetitions
    reason = listed.reason if listed is not None else ""
    match outcome.end:
        case End.SKIPPED:
            return Verdict.SKIPPED, outcome.reason
        case End.PASSED if known:
            return Verdict.UNEXPECTED, f"it is listed as known to fail ({reason}), and passes"
        case End.PASSED if outcome.attempts > 1:
            return Verdict.FLAKY, f"passed at attempt {outcome.attempts}: {reason}"
        case End.PASSED:
            return Verdict.PASSED, ""
        case _ if known:
            return Verdict.KNOWN, reason
        case End.FAILED:
            return Verdict.FAILED, outcome.reason
        case _:
            return Verdict.ERROR, outcome.reason
