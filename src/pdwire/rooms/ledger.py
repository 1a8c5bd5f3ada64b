"""Which rooms a prefill rank knows, in which phase, until when, and who hears of their end.

Four shelves, each bounded or owned by the scheduler:

* ``rooms``: opened, not closed. The scheduler makes and clears them.
* ``parked``: metadata came, no sender yet. Capped; they expire (R5).
* ``doomed``: failed before they were opened. Metadata that its own abort has overtaken finds the
  abort here and is refused, and a sender that comes late fails at once.
* ``trails``: closed rooms whose failure was told. Each endpoint that was told answers with one
  abort, which belongs to the closed life and dooms nothing.

An abort that no life of the room calls for is taken for one that has overtaken its metadata. To
be wrong about that costs a reused number a refusal; the other way, somebody's pages.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator
from typing import Generic, TypeVar

from pdwire.rooms.alarm import NEVER, Alarm
from pdwire.rooms.effects import Drop, Effect, Endpoint, SendStatus
from pdwire.rooms.limits import RoomLimits
from pdwire.rooms.poll import KVPoll
from pdwire.rooms.records import Doom, InfoT, Room, Trail
from pdwire.rooms.tables import ACTIVE, PREFILL, Event, step

__all__ = ["Ledger", "failed"]

ABORTED = "aborted by the decode side"
V = TypeVar("V")


def failed(
    room: int, place: Endpoint, peer: str, reason: str, *, courtesy: bool = False
) -> SendStatus:
    """Tell an endpoint that a room has failed."""
    return SendStatus(
        endpoint=place,
        peer=peer,
        room=room,
        status=KVPoll.Failed,
        reason=reason,
        courtesy=courtesy,
    )


class Ledger(Generic[InfoT]):
    """The shelves of one prefill rank. Every change of phase goes through the table."""

    def __init__(self, limits: RoomLimits) -> None:
        self.limits = limits
        self.rooms: dict[int, Room[InfoT]] = {}
        self.parked: dict[int, Room[InfoT]] = {}
        self._doomed: OrderedDict[int, Doom] = OrderedDict()
        self._trails: OrderedDict[int, Trail] = OrderedDict()
        self._lives = 0
        self._alarm = Alarm()
        self._counts: Counter[str] = Counter()

    # -------------------------------------------------------------- the shelves

    def find(self, number: int) -> Room[InfoT] | None:
        """The room of that number, opened or parked."""
        return self.rooms.get(number) or self.parked.get(number)

    def asked_by(self, peer: str) -> Iterator[Room[InfoT]]:
        """Every room that holds metadata of a peer."""
        for shelf in (self.rooms, self.parked):
            yield from [room for room in shelf.values() if peer in room.infos]

    def why_dead(self, number: int) -> str | None:
        """Why the room of that number has failed; ``None`` if it has not."""
        room = self.find(number)
        if room is not None:
            return room.reason
        doom = self._doomed.get(number)
        return None if doom is None else doom.reason

    def open(self, number: int, now: float) -> Room[InfoT]:
        """Begin a life, with what came before it."""
        doom = self._doomed.pop(number, None)
        self._trails.pop(number, None)
        room = self.parked.pop(number) if number in self.parked else self._new(number)
        self.rooms[number] = room
        self._move(room, Event.OPEN)
        self.expect_metadata(room, now)
        if doom is not None:
            self.fail(room, doom.reason)
            room.trailing.update(doom.trailing)
        else:
            self.joined(room, now)
        return room

    def park(self, number: int, now: float) -> Room[InfoT] | None:
        """A room that nobody opened; ``None`` if there are too many."""
        if len(self.parked) >= self.limits.unopened_rooms:
            return None
        room = self.parked[number] = self._new(number)
        self._move(room, Event.PARK)
        room.due = self._alarm.set(now + self.limits.unopened_s)
        return room

    def close(self, room: Room[InfoT], now: float) -> None:
        """Forget a room that is done."""
        self._move(room, Event.CLOSE)
        del self.rooms[room.number]
        if room.next_doom:
            self._doom(room.number, ABORTED, room.trailing, now)
        elif room.trailing:
            self._trail(room.number, room.trailing, now)

    def abort(self, number: int, place: Endpoint | None, now: float) -> list[Effect]:
        """An endpoint gives a room up; ``None`` if it does not say who it is."""
        room = self.rooms.get(number)
        if room is None:
            trail = self._trails.get(number)
            if number not in self.parked and trail is not None and place in trail.places:
                trail.places.discard(place)
                return []
            return self.doom(number, ABORTED, now, place)
        if room.phase in ACTIVE:
            return self.fail(room, ABORTED, place)
        if place in room.trailing:
            room.trailing.discard(place)
        else:
            room.next_doom = place is not None
        return []

    def doom(
        self, number: int, reason: str, now: float, spared: Endpoint | None = None
    ) -> list[Effect]:
        """A room that nobody opened fails, and whoever sent metadata hears of it."""
        room = self.parked.pop(number, None)
        told: list[SendStatus] = []
        if room is not None:
            self._move(room, Event.DOOM)
            told = self._tell_failed(room, reason, spared)
        self._doom(number, reason, {effect.endpoint for effect in told}, now)
        return list(told)

    # --------------------------------------------------------------- the phases

    def joined(self, room: Room[InfoT], now: float) -> None:
        """Metadata was added: an opened room that has all of it waits for the first chunk."""
        if room.is_complete and self._move(room, Event.READY):
            self._wait(room, now, self.limits.waiting_s, "the first chunk was not sent")

    def expect_metadata(self, room: Room[InfoT], now: float) -> None:
        """Begin to wait for the decode ranks."""
        self._wait(room, now, self.limits.bootstrap_s, "metadata did not come from every rank")

    def writing(self, room: Room[InfoT], now: float) -> bool:
        """A write begins; ``False`` if the room is not writable."""
        if room.finishing or not self._move(room, Event.WRITE):
            return False
        self._still_writing(room, now)
        return True

    def went_on(self, room: Room[InfoT], now: float) -> list[Effect]:
        """A sign of life: Success if that was all, and a later deadline otherwise."""
        if step(PREFILL, room.phase, Event.FINISH) is None:
            return []
        if not room.finishing or room.writes:
            self._still_writing(room, now)
            return []
        told: list[Effect] = [
            SendStatus(endpoint=place, peer=name, room=room.number, status=KVPoll.Success)
            for place, name in room.listeners().items()
        ]
        self._end(room, Event.FINISH)
        return told

    def fail(self, room: Room[InfoT], reason: str, spared: Endpoint | None = None) -> list[Effect]:
        """Fail a room that is not done; every non-dummy endpoint but the spared one is told."""
        if step(PREFILL, room.phase, Event.FAIL) is None:
            return []
        told = self._tell_failed(room, reason, spared)
        room.trailing = {effect.endpoint for effect in told}
        room.reason = reason
        self._end(room, Event.FAIL)
        return list(told)

    # --------------------------------------------------------- time and numbers

    def drop(self, kind: str) -> list[Effect]:
        """Count what is ignored."""
        self._counts[f"dropped-{kind}"] += 1
        return [Drop(kind=kind)]

    def tick(self, now: float) -> list[Effect]:
        """Let deadlines pass."""
        if not self._alarm.rings(now):
            return []
        effects: list[Effect] = []
        for number in [n for n, doom in self._doomed.items() if self._is_over(doom.due, now)]:
            del self._doomed[number]
        for number in [n for n, trail in self._trails.items() if self._is_over(trail.due, now)]:
            del self._trails[number]
        for room in [room for room in self.parked.values() if self._is_over(room.due, now)]:
            effects += self._expire(room, now)
        for room in [room for room in self.rooms.values() if self._is_over(room.due, now)]:
            effects += self.fail(room, f"{room.late} within {room.patience:g} s")
        return effects

    def counts(self) -> Counter[str]:
        """Rooms by phase, what was dropped, what expired."""
        counts = self._counts.copy()
        counts.update(f"rooms-{room.phase}" for room in self.rooms.values())
        counts.update({"rooms-parked": len(self.parked), "rooms-doomed": len(self._doomed)})
        return counts

    # ------------------------------------------------------------- the insides

    def _new(self, number: int) -> Room[InfoT]:
        self._lives += 1
        return Room(number=number, life=self._lives)

    def _move(self, room: Room[InfoT], event: Event) -> bool:
        """The only place where a phase changes."""
        target = step(PREFILL, room.phase, event)
        if target is None:
            return False
        room.phase = target
        return True

    def _wait(self, room: Room[InfoT], now: float, seconds: float, late: str) -> None:
        room.due = self._alarm.set(now + seconds)
        room.late = late
        room.patience = seconds

    def _still_writing(self, room: Room[InfoT], now: float) -> None:
        self._wait(room, now, self.limits.write_s, "the transfer did not go on")

    def _is_over(self, due: float, now: float) -> bool:
        """Whether a deadline has passed; one that has not is set again."""
        if now >= due:
            return True
        self._alarm.set(due)
        return False

    def _end(self, room: Room[InfoT], event: Event) -> None:
        """Into a final phase: nothing is waited for, and destinations are let go."""
        self._move(room, event)
        room.due = NEVER
        room.infos = {}
        room.waiter = None

    def _expire(self, room: Room[InfoT], now: float) -> list[Effect]:
        self._move(room, Event.EXPIRE)
        del self.parked[room.number]
        self._counts["unopened-expired"] += 1
        told = self._tell_failed(room, "the prefill side got no request of that room", None)
        self._trail(room.number, {effect.endpoint for effect in told}, now)
        return list(told)

    def _tell_failed(
        self, room: Room[InfoT], reason: str, spared: Endpoint | None
    ) -> list[SendStatus]:
        places = room.listeners()
        if room.waiter is not None:
            places.setdefault(room.waiter, "")
        return [
            failed(room.number, place, name, reason)
            for place, name in places.items()
            if place != spared
        ]

    def _doom(self, number: int, reason: str, trailing: set[Endpoint], now: float) -> None:
        due = self._alarm.set(now + self.limits.unopened_s)
        doom = Doom(reason=reason, due=due, trailing=frozenset(trailing))
        self._remember(self._doomed, number, doom)

    def _trail(self, number: int, places: set[Endpoint], now: float) -> None:
        due = self._alarm.set(now + self.limits.unopened_s)
        self._remember(self._trails, number, Trail(places=places, due=due))

    def _remember(self, shelf: OrderedDict[int, V], number: int, value: V) -> None:
        """Keep ``value`` and let the oldest go when there are too many."""
        shelf.pop(number, None)
        shelf[number] = value
        if len(shelf) > self.limits.remembered:
            shelf.popitem(last=False)
