"""One prefill side of ours that serves decode sides of several releases at once.

Rules:

* Rooms of all decode sides are open at the same time, several of each, one and several
  chunks; then one decode side aborts while another's room goes on.
* The prefill side is told no release: it answers each decode side in the layout that its
  registration proved.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from .cases import Run, arrived, expect
from .handover import Handover
from .options import OURS
from .results import Result
from .run import FAULTS, Pair, told


def run_fleet(backend: str, decodes: Sequence[str]) -> Iterator[Result]:
    """Both cases of one mixed fleet, as they end."""
    pair = Pair(backend=backend, prefill=OURS, decodes=tuple(decodes))
    try:
        with Handover(*pair.sides()) as handover:
            run = Run(handover=handover)
            for name, case in (("mixed fleet", mixed), ("mixed fleet, one aborts", one_aborts)):
                handover.fill(next(run.seeds))
                began = time.perf_counter()
                moved = case(run)
                seconds = round(time.perf_counter() - began, 3)
                yield told(pair, name, "passed", bytes=moved, seconds=seconds)
    except FAULTS as fault:
        yield told(pair, "mixed fleet", "failed", reason=str(fault))


def mixed(run: Run) -> int:
    """Rooms of every decode side at once; every byte is compared."""
    sides = range(len(run.handover.decodes))
    rooms = [run.room(*sizes, fleet=side) for sizes in ((3, 2), (4,)) for side in sides]
    for room in rooms:
        run.handover.open(room)
    return arrived(run, *rooms)


def one_aborts(run: Run) -> int:
    """The first decode side aborts midway; the rooms of the others are untouched."""
    handover = run.handover
    rooms = [run.room(3, 3, fleet=side) for side in range(len(handover.decodes))]
    for room in rooms:
        handover.open(room, hold=1)
        handover.until(room, handover.prefill[0], ("WaitingForInput", "Transferring"))
    victim, *others = rooms
    for side in handover.decodes[0]:
        side.ask("abort", room=victim.number)
        status, _ = handover.until(victim, side, ("Failed",))
        expect(status == "Failed", f"{side.name} is {status} after its abort")
    handover.clear(victim)
    for room in others:
        handover.release(room)
    return arrived(run, *others)
