"""Turns of every cell until the time is up.

Rules:

* First the listed samples of every cell, once. Then cells take turns, a batch of drawn
  examples each; batches grow, so that every cell is tried a little soon and much in the end.
* What was found is made simpler, field by field, where the sample is a message: Hypothesis
  does not do that to what is listed, and sees no further than its next smaller number.
* A cause that was found is passed over from then on, in every layout: one fault, one finding.
* The clock is looked at between batches. A batch that began is finished.
* An interrupted run ends before its next sample. What a sample showed that was being tried
  then is not believed: the signal may have reached the testee as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from hypothesis.strategies import SearchStrategy

from pdwire import __version__
from pdwire_conformance.testees.find import find_testee
from pdwire_conformance.testees.protocol import TesteeError

from .findings import Finding
from .hunt import Caught, Tally, hunt, sweep
from .interrupts import Interrupted
from .plan import Cell, Choice, cells, cells_of_machines, seed_of
from .properties import PROPERTIES, Context
from .samples import Problem, Sample
from .sides import Asked, Direct, Interpreted, Side
from .simplify import simplified

__all__ = ["Machines", "Result", "Sides", "context_of", "fuzz", "open_sides"]

_BATCHES: Final = (10, 25, 50, 100)
"""Examples of a cell's first, second … turn; the last number goes for all later ones."""
_SHRINK_S: Final = 15.0
_DEAR: Final = frozenset({"differential", "against"})
"""Properties that ask somebody slow as well: their listed samples come last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The target and what it is compared with, all started."""

    target: Side
    reading: Interpreted
    against: Side | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """Properties of live managers: their names, their backends, and how one is tried."""

    names: tuple[str, ...]
    backends: tuple[str, ...]
    samples: Callable[[Cell], SearchStrategy[Sample]]
    check: Callable[[Cell, Sample], None]


@dataclass(slots=True, kw_only=True)
class Result:
    """What a run did."""

    target: str
    seed: int
    seconds: float = 0.0
    cells: int = 0
    turns: int = 0
    interrupted: bool = False
    tallies: dict[str, Tally] = field(default_factory=dict)
    messages: dict[str, Tally] = field(default_factory=dict)
    """Of the property ``round-trip``, by message: ``mooncake.KVArgsRegisterInfo``."""
    findings: list[Finding] = field(default_factory=list)
    places: dict[str, dict[str, int]] = field(default_factory=dict)
    """Property -> place -> examples, 0 of those that the run did not get to."""


def open_sides(stack: ExitStack, target: str, against: str = "") -> Sides:
    """Start whoever is asked.

    Raises:
        TesteeError: one of them cannot be.
    """
    reading = stack.enter_context(find_testee("pdwire:reading"))
    return Sides(
        target=_side(stack, target),
        reading=Interpreted(reading.hello()),
        against=_side(stack, against) if against else None,
    )


def _side(stack: ExitStack, target: str) -> Side:
    testee = stack.enter_context(find_testee(target))
    match target:
        case "pdwire":
            return Direct(testee.hello())
        case "pdwire:reading":
            return Interpreted(testee.hello())
    return Asked(testee)


def context_of(cell: Cell, sides: Sides) -> Context:
    """What a cell's property is asked about."""
    if cell.subject is None:
        raise ValueError(f"{cell.name} is about no layout")
    return Context(
        subject=cell.subject,
        release=cell.release,
        target=sides.target,
        reading=sides.reading,
        against=sides.against,
    )


def fuzz(
    sides: Sides,
    choice: Choice,
    *,
    seed: int,
    time_s: float,
    part: tuple[int, int] = (0, 1),
    examples: int = 0,
    fail_fast: bool = False,
    listed: bool = True,
    machines: Machines | None = None,
    told: Callable[[Result, Cell], None] = lambda _result, _cell: None,
    keep: Callable[[Finding], None] = lambda _finding: None,
    interrupted: Interrupted = lambda: False,
    clock: Callable[[], float] = time.monotonic,
) -> Result:
    """Try every cell in turns for ``time_s`` seconds.

    Args:
        sides: who is asked.
        choice: what of everything is wanted.
        seed: the same seed, the same samples.
        time_s: seconds; the batch that is running then is finished.
        part: the n-th of m parts of the cells, for several processes.
        examples: at most so many of each cell, and then the end, whatever time is left.
        fail_fast: end with the first finding.
        listed: try what is listed before what is drawn.
        machines: properties of live managers.
        told: called before each turn, for progress.
        keep: called with each finding as soon as it is one.
        interrupted: looked at before every sample; KeyboardInterrupt ends the run as well.
        clock: seconds.
    """
    found = cells(sides.target.hello, choice)
    if machines is not None:
        found += cells_of_machines(machines.names, choice, machines.backends)
    todo = found[part[0] :: part[1]]
    result = Result(target=sides.target.target, seed=seed, cells=len(todo))
    for cell in todo:
        result.tallies[cell.prop] = Tally()
        result.places.setdefault(cell.prop, {})[cell.place] = 0
    begun = clock()
    hunted = _Hunt(sides=sides, machines=machines, seed=seed, known=set(), interrupted=interrupted)
    try:
        for cell, batch, count in _turns(todo, examples, listed=listed):
            late = clock() - begun >= time_s
            if late or interrupted() or (fail_fast and result.findings):
                break
            told(result, cell)
            tally, caught = hunted.turn(cell, batch, count)
            _note(result, cell, tally)
            result.interrupted = tally.cut
            for each in caught[:1] if fail_fast else caught:
                simplest = hunted.simplest(cell, each, time_s - (clock() - begun))
                finding = _finding(cell, simplest, sides, seed, clock() - begun)
                result.findings.append(finding)
                keep(finding)
            if result.interrupted:
                break
    except KeyboardInterrupt:  # between samples
        result.interrupted = True
    result.interrupted |= interrupted()
    result.seconds = clock() - begun
    return result


def _turns(todo: Sequence[Cell], examples: int, *, listed: bool) -> Iterator[tuple[Cell, int, int]]:
    """Cell, turn and size of the batch; 0 for what is listed. Ends with the examples, if ever."""
    for cell in sorted(todo, key=lambda cell: cell.prop in _DEAR):
        if cell.subject is not None and listed:
            yield cell, -1, 0
    batch, spent = 0, 0
    while todo and not (examples and spent >= examples):
        size = _BATCHES[min(batch, len(_BATCHES) - 1)]
        count = min(size, examples - spent) if examples else size
        for cell in todo:
            yield cell, batch, count
        spent += count
        batch += 1


Check = Callable[[Sample], None]


@dataclass(slots=True, kw_only=True)
class _Hunt:
    """A run's turns; ``known`` are the causes found so far, which are passed over."""

    sides: Sides
    machines: Machines | None
    seed: int
    known: set[str]
    interrupted: Interrupted

    def turn(self, cell: Cell, batch: int, count: int) -> tuple[Tally, list[Caught]]:
        """One batch of a cell: ``count`` drawn samples, or with 0 those that are listed."""
        if count:
            drawn, check = _drawn(cell, self.sides, self.machines)
            number = seed_of(self.seed, cell, batch)
            timer = self._timer(cell)
            tally, one = hunt(
                drawn,
                self._until_told(check),
                seed=number,
                examples=count,
                known=self.known,
                timer=timer,
            )
            caught = [] if one is None else [one]
        else:
            samples, check = _listed(cell, self.sides)
            timer = self._timer(cell)
            tally, caught = sweep(samples, self._until_told(check), known=self.known, timer=timer)
        self.known |= {each.problem.cause for each in caught}
        return tally, caught

    def simplest(self, cell: Cell, caught: Caught, left_s: float) -> Caught:
        """What was caught, made simpler within the time that is left, or a second."""
        if cell.subject is None or caught.sample.values is None:
            return caught
        context = context_of(cell, self.sides)
        check = self._until_told(partial(PROPERTIES[cell.prop].check, context))
        return simplified(context, check, caught, shrink_s=max(1.0, min(_SHRINK_S, left_s)))

    def _until_told(self, check: Check) -> Check:
        """The check until the run is interrupted, KeyboardInterrupt from then on."""

        def over(sample: Sample) -> None:
            if self.interrupted():
                raise KeyboardInterrupt
            try:
                check(sample)
            except (Problem, TesteeError):
                if self.interrupted():
                    raise KeyboardInterrupt from None
                raise

        return over

    def _timer(self, cell: Cell) -> Callable[[], float]:
        """CPU time where all the work is this thread's, so that a busy machine shows less."""
        mine = isinstance(self.sides.target, Direct | Interpreted) and self.sides.against is None
        return time.thread_time if mine and cell.subject is not None else time.perf_counter


def _listed(cell: Cell, sides: Sides) -> tuple[Iterator[Sample], Check]:
    context = context_of(cell, sides)
    prop = PROPERTIES[cell.prop]
    return prop.listed(context), partial(prop.check, context)


def _drawn(
    cell: Cell, sides: Sides, machines: Machines | None
) -> tuple[SearchStrategy[Sample], Check]:
    if cell.subject is None and machines is not None:
        return machines.samples(cell), partial(machines.check, cell)
    context = context_of(cell, sides)
    prop = PROPERTIES[cell.prop]
    return prop.samples(context), partial(prop.check, context)


def _note(result: Result, cell: Cell, tally: Tally) -> None:
    result.turns += 1
    result.tallies[cell.prop].add(tally)
    result.places[cell.prop][cell.place] += tally.examples
    if cell.prop == "round-trip" and cell.subject is not None:
        result.messages.setdefault(cell.subject.message.key, Tally()).add(tally)


def _finding(cell: Cell, caught: Caught, sides: Sides, seed: int, at_s: float) -> Finding:
    subject = cell.subject
    return Finding(
        prop=cell.prop,
        target=sides.target.target,
        against=sides.against.target if sides.against and cell.prop == "against" else "",
        backend=cell.backend,
        message="" if subject is None else subject.codec.message,
        layout="" if subject is None else subject.layout.id,
        release=cell.release,
        cause=caught.problem.cause,
        expected=caught.problem.expected,
        came=caught.problem.came,
        seed=seed,
        version=__version__,
        sample=caught.sample,
        minimal_s=round(at_s, 1),
    )
