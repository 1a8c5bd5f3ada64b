"""A plan, carried out: :func:`run` gives the events of one testee's run.

Rules:

* Deciding is pure (:mod:`.select`, :mod:`.judge`, :mod:`.outcome`, :mod:`.known`); what is
  here starts testees, asks them and passes events on as they come.
* Every run that begins ends with an end event, also one whose testee cannot be started:
  that is a problem of the run.
* ``fail_fast`` ends after the first bad case; what was not asked is not told.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from queue import LifoQueue

from pdwire.wire.table import ORDER
from pdwire_conformance.suite.case import Live
from pdwire_conformance.testees.protocol import Hello, TesteeError

from . import codec
from .events import CaseEvent, EndEvent, Event, StartEvent, Verdict
from .known import Known
from .lanes import Lane, in_order
from .outcome import Outcome, verdict
from .plan import Plan
from .seat import Budget, Seat
from .select import Item, Selection, selection
from .unclaimed import sentence

__all__ = ["case_event", "run"]

Step = tuple[Item, Outcome]


def run(plan: Plan) -> Iterator[Event]:
    """The events of a run, each as soon as it is known; never raises ``TesteeError``."""
    begin = time.monotonic()
    known = Known(plan.known, plan.target, plan.cases)
    with ExitStack() as stack:
        budget = Budget(plan.restarts)
        seats = [stack.enter_context(Seat(plan.make, budget)) for _ in range(plan.jobs)]
        try:
            hello = seats[0].hello()
        except TesteeError as fault:
            yield from _never_started(plan, str(fault))
            return
        chosen = selection(plan.cases, hello, plan.filters)
        yield _start(plan, hello, chosen)
        told = Counter[Verdict]()
        for event in _cases(plan, known, hello, chosen.items, seats):
            told[event.verdict] += 1
            yield event
        yield EndEvent(
            target=plan.target,
            counts=_in_order(told),
            seconds=time.monotonic() - begin,
            problems=(
                *_nothing(chosen),
                *known.problems(hello.releases, plan.today),
                *_faults(seats, budget),
            ),
        )


def _cases(
    plan: Plan, known: Known, hello: Hello, items: tuple[Item, ...], seats: list[Seat]
) -> Iterator[CaseEvent]:
    free = LifoQueue[Seat]()
    for seat in reversed(seats):  # the first has been started already: it is taken first
        free.put(seat)
    codecs = [item for item in items if not isinstance(item.case.check, Live)]
    lanes: list[Lane[Step]] = [
        partial(_codec_lane, plan, known, hello, codecs[at : at + plan.batch], free)
        for at in range(0, len(codecs), plan.batch)
    ]
    if len(codecs) < len(items):
        # Engines and managers are optional, and loading them takes a second: only on demand.
        from .rank import lanes_of  # noqa: PLC0415

        lanes += lanes_of(plan, known, items[len(codecs) :])
    with closing(in_order(lanes, plan.jobs)) as steps:
        for item, outcome in steps:
            event = case_event(plan, known, item, outcome)
            yield event
            if plan.fail_fast and event.verdict.is_bad:
                return


def _codec_lane(
    plan: Plan, known: Known, hello: Hello, items: list[Item], free: LifoQueue[Seat]
) -> Generator[Step, None, None]:
    seat = free.get()
    try:
        yield from codec.ask(items, seat, hello, known=known, repeat=plan.repeat)
    finally:
        free.put(seat)


def case_event(plan: Plan, known: Known, item: Item, outcome: Outcome) -> CaseEvent:
    """What is told of one case that has ended."""
    case, listed = item.case, known.find(item)
    ended, reason = verdict(outcome, listed)
    is_silent = ended is Verdict.SKIPPED or (ended is Verdict.PASSED and not plan.traces)
    return CaseEvent(
        target=plan.target,
        slug=case.slug,
        release=item.release,
        backend=case.backend,
        role=case.role,
        level=case.level,
        family=case.family,
        message=case.message,
        layout=case.layout,
        purpose=case.purpose,
        expectation=case.expectation,
        verdict=ended,
        seconds=round(outcome.seconds, 6),
        clauses=case.clauses,
        reports=case.reports,
        origin=case.origin,
        expected=outcome.expected,
        came=outcome.came,
        reason=reason,
        link=listed.link if listed is not None and ended is Verdict.KNOWN else "",
        rerun=plan.rerun(item),
        trace=() if is_silent else outcome.trace,
    )


def _start(plan: Plan, hello: Hello, chosen: Selection) -> StartEvent:
    releases = {each for told in hello.releases.values() for each in told}
    return StartEvent(
        target=plan.target,
        name=hello.name,
        version=hello.version,
        pdwire=version("pdwire"),
        roles=hello.roles,
        backends=tuple(hello.releases),
        releases=tuple(each for each in ORDER if each in releases),
        selected=len(chosen.items),
        unclaimed=chosen.unclaimed,
        started=datetime.now(tz=UTC).isoformat(timespec="seconds"),
        filters=plan.filters.as_json(),
    )


def _never_started(plan: Plan, why: str) -> Iterator[Event]:
    nobody = Hello(name=plan.target, roles=())
    yield _start(plan, nobody, Selection(items=(), unclaimed=0))
    problem = f"the testee does not start: {why}"
    yield EndEvent(target=plan.target, counts={}, seconds=0.0, problems=(problem,))


def _nothing(chosen: Selection) -> Iterator[str]:
    if not chosen.items:
        nothing = "nothing was run: no case that meets the filters applies to this testee"
        yield nothing + (f"; {sentence(chosen.unclaimed)}" if chosen.unclaimed else "")


def _faults(seats: list[Seat], budget: Budget) -> Iterator[str]:
    for seat in seats:
        yield from seat.notes
    if budget.spent:
        yield (
            f"the testee broke more than {budget.restarts} times: what came after that was not "
            "asked; mend the first breaks, or allow more with --restarts"
        )


def _in_order(told: Counter[Verdict]) -> dict[str, int]:
    return {verdict.value: told[verdict] for verdict in Verdict if told[verdict]}
