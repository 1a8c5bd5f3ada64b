"""Codec cases: asked in batches, judged, and asked again where a list or the user says so.

Rules:

* ``repeat`` asks every case so often; it has passed when it passed each time.
* A case that is listed as flaky and fails is asked alone until it passes, at most so often
  as its entry says.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pdwire_conformance.testees.protocol import Answer, Hello

from .judge import judge, request_of
from .known import Known
from .outcome import End, Outcome, judged, worst
from .seat import Broken, Seat
from .select import Item
from .trace import trace_of

__all__ = ["ask"]


def ask(
    items: Sequence[Item], seat: Seat, hello: Hello, *, known: Known, repeat: int = 1
) -> Iterator[tuple[Item, Outcome]]:
    """The outcome of each item, in order; all are asked before the first is given."""
    rounds = [_once(items, seat, hello) for _ in range(repeat)]
    for item, outcomes in zip(items, zip(*rounds, strict=True), strict=True):
        yield item, _again(item, worst(outcomes), seat, hello, known)


def _again(item: Item, outcome: Outcome, seat: Seat, hello: Hello, known: Known) -> Outcome:
    listed = known.find(item)
    for attempt in range(2, (listed.repetitions if listed else 0) + 1):
        if outcome.is_good:
            break
        (outcome,) = _once([item], seat, hello)
        outcome = replace(outcome, attempts=attempt)
    return outcome


def _once(items: Sequence[Item], seat: Seat, hello: Hello) -> list[Outcome]:
    begin = time.monotonic()
    answers = seat.answers([request_of(item.case, item.release) for item in items])
    each_s = (time.monotonic() - begin) / max(len(items), 1)
    return [
        _outcome(item, answer, hello, each_s) for item, answer in zip(items, answers, strict=True)
    ]


def _outcome(item: Item, answer: Answer | Broken, hello: Hello, seconds: float) -> Outcome:
    if isinstance(answer, Broken):
        trace = trace_of(item)
        return Outcome(end=End.BROKEN, reason=answer.text, seconds=seconds, trace=trace)
    trace = trace_of(item, answer, at_s=seconds)
    return judged(judge(item.case, answer, hello), seconds=seconds, trace=trace)
