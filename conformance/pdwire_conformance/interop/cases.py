"""What a pair of sides has to do together: the cases, each a function over a hand-over.

Rules:

* A case raises :class:`CaseError` with a reason a reader understands, or returns the KV
  bytes that arrived and were compared.
* A case leaves nothing behind: its rooms are cleared, and the next case uses others.
* Where releases differ in what they do, a side says so (``hears_abort`` …) and is held
  to that; ours is held to all of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from .handover import Handover, Room
from .options import OURS
from .process import Side


class CaseError(Exception):
    """What did not happen as it has to."""


@dataclass(slots=True, kw_only=True)
class Run:
    """One hand-over under test and the rooms that are still free."""

    handover: Handover
    state: bool = False
    dcp_size: int = 1
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1001))
    seeds: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def case(self, name: str) -> int:
        """Run one case on memory that holds nothing of another; the KV bytes that arrived."""
        self.handover.fill(next(self.seeds))
        return CASES[name](self)

    def room(self, *sizes: int, prefix: int = 0, fleet: int = 0) -> Room:
        """A room of chunks of these sizes, on pages that no other room of a case uses."""
        number = next(self.numbers)
        total, slot = sum(sizes), number % 4
        source = [(slot + 4 * index) % 64 for index in range(total)]
        starts = [sum(sizes[:index]) for index in range(len(sizes))]
        # Destinations: runs of three, backwards, so that some join and some do not.
        held = -(-(total - prefix) // self.dcp_size)
        target = [(slot * 16 + 15 - index - (index // 3)) % 64 for index in range(held)]
        rows = (tuple(source[prefix:]), tuple(target)) if self.state else None
        return Room(
            number=number,
            chunks=tuple(
                tuple(source[start : start + size])
                for start, size in zip(starts, sizes, strict=True)
            ),
            pages=tuple(target),
            source_row=number % 16,
            row=(number * 7 + 3) % 16,
            prefix=prefix,
            state=rows,
            fleet=fleet,
        )


Case = Callable[[Run], int]


def rooms_at_once(run: Run) -> int:
    """Several rooms at once, of one and of several chunks; every byte is compared."""
    rooms = [run.room(6), run.room(3, 2, 4), run.room(1), run.room(8, 3)]
    for room in rooms:
        run.handover.open(room)
    return arrived(run, *rooms)


def again(run: Run) -> int:
    """A room number that was used and cleared is used again, for the same pages.

    The second time prefill is told first: metadata that is byte for byte what was served just
    now, and comes before a request of its number, is a double to ours (field report A14).
    """
    room = run.room(4)
    run.handover.open(room)
    moved = arrived(run, room)
    run.handover.fill(next(run.seeds))
    run.handover.send(room)
    run.handover.receive(room)
    return moved + arrived(run, room)


def prefix(run: Run) -> int:
    """The decode side has a prefix already: only the rest moves; and it has everything."""
    partly, whole = run.room(6, 3, prefix=4), run.room(4, prefix=4)
    for room in (partly, whole):
        run.handover.open(room)
    return arrived(run, partly, whole)


def abort_by_decode(run: Run) -> int:
    """Decode aborts midway: Failed there, and prefill learns it; a new room succeeds."""
    room = run.room(3, 3)
    handover = run.handover
    handover.open(room, hold=1)
    handover.until(room, handover.prefill[0], ("WaitingForInput", "Transferring"))
    for side in handover.decodes[0]:
        side.ask("abort", room=room.number)
    _failed_at(handover, room, handover.decodes[0])
    tells = handover.decodes[0][0].ask("hello")["tells_abort"]
    if tells and handover.prefill[0].ask("hello")["hears_abort"]:
        for side in handover.prefill:
            status, _ = handover.until(room, side, ("Failed",))
            expect(status == "Failed", f"{side.name} did not hear the abort")
    _released(handover, room)
    handover.clear(room)
    return _one_more(run)


def abort_by_prefill(run: Run) -> int:
    """Prefill aborts midway: Failed there; ours tells a decode side that listens."""
    room = run.room(3, 3)
    handover = run.handover
    handover.open(room, hold=1)
    handover.until(room, handover.prefill[0], ("WaitingForInput", "Transferring"))
    for side in handover.prefill:
        side.ask("abort", room=room.number)
    _failed_at(handover, room, handover.prefill)
    listening = handover.decodes[0][0].ask("hello")["hears_status"]
    if handover.prefill[0].release == OURS and listening:
        for side in handover.decodes[0]:
            _, reason = handover.until(room, side, ("Failed",))
            expect(bool(reason), f"{side.name} has no reason")
    else:  # real releases leave it to the router, which aborts at the other side, too
        for side in handover.decodes[0]:
            side.ask("abort", room=room.number)
        _failed_at(handover, room, handover.decodes[0])
    handover.clear(room)
    return _one_more(run)


def decode_killed(run: Run) -> int:
    """The decode process is killed midway: prefill's room fails; a new decode is served."""
    handover, room = run.handover, run.room(3, 3)
    (decode,) = handover.decodes[0]
    handover.open(room, hold=1)
    handover.until(room, handover.prefill[0], ("WaitingForInput", "Transferring"))
    handover.kill(decode)
    handover.release(room)
    return _after_death(run, room, handover.prefill[0], decode)


def prefill_killed(run: Run) -> int:
    """The prefill process is killed midway: decode's room fails; a new prefill serves it."""
    handover, room = run.handover, run.room(3, 3)
    (prefill,) = handover.prefill
    handover.open(room, hold=1)
    handover.until(room, prefill, ("WaitingForInput", "Transferring"))
    handover.kill(prefill)
    return _after_death(run, room, handover.decodes[0][0], prefill)


def _after_death(run: Run, room: Room, survivor: Side, victim: Side) -> int:
    handover = run.handover
    _, reason = handover.until(room, survivor, ("Failed",), deadline_s=60)
    expect(bool(reason), f"{survivor.name} has no reason")
    survivor.ask("clear", room=room.number)
    handover.restart(victim)
    handover.fill(next(run.seeds))
    return _one_more(run)


CASES: Mapping[str, Case] = {
    "rooms": rooms_at_once,
    "again": again,
    "prefix": prefix,
    "abort by decode": abort_by_decode,
    "abort by prefill": abort_by_prefill,
    "decode killed": decode_killed,
    "prefill killed": prefill_killed,
}
QUICK = tuple(name for name in CASES if not name.endswith(" killed"))
"""The cases that are run when none is named: those that take no heartbeat to be over."""


def arrived(run: Run, *rooms: Room) -> int:
    """All rooms succeed, all bytes are equal; the KV bytes that moved."""
    handover = run.handover
    for number, sides in handover.settle(*rooms).items():
        ends = [f"{side}: {status} {reason}".strip() for side, (status, reason) in sides.items()]
        whole = all(status == "Success" for status, _ in sides.values())
        expect(whole, f"room {number} ended with {'; '.join(ends)}")
    for room in rooms:
        different = handover.differences(room)
        expect(not different, f"room {room.number}: {'; '.join(different[:3])}")
    handover.clear(*rooms)
    return sum(map(handover.moved, rooms))


def _one_more(run: Run) -> int:
    room = run.room(5)
    run.handover.open(room)
    return arrived(run, room)


def _failed_at(handover: Handover, room: Room, sides: object) -> None:
    assert isinstance(sides, list)
    for side in sides:
        handover.until(room, side, ("Failed",))


def _released(handover: Handover, room: Room) -> None:
    """Where the decode side waits for acknowledgements, they come."""
    for side in handover.decodes[room.fleet]:
        if side.ask("hello")["awaits_release"]:
            handover.until_released(room, side)


def expect(holds: bool, otherwise: str) -> None:
    """Raise :class:`CaseError` unless it holds."""
    if not holds:
        raise CaseError(otherwise)
