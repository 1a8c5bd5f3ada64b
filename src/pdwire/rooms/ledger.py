"""Which rooms a prefill rank knows, in which phase, until when, and who hears of their end.

Shelves, each bounded or owned by the scheduler:

* ``rooms``: opened, not closed. The scheduler makes and clears them.
* ``parked``: metadata came, no sender yet. Capped, in rooms and bytes, so that nobody keeps the
  others out (:mod:`pdwire.rooms.shares`); they expire (R5).
* ``doomed``: failed before they were opened. Metadata that its own abort has overtaken finds the
  abort here and is refused, and a sender that comes late fails at once.
* ``trails``: closed rooms whose failure was told. Each endpoint that was told answers with one
  abort, which belongs to the closed life and dooms nothing.
* ``ended`` and ``served``: closed rooms once more: why one failed, for whoever asks for it only
  then (H3), and what one served, so that the same metadata is no new request (A14).
* ``left``: endpoints that gave up a room of others, or one that nobody knows, and are no peers.
  They fail nothing; metadata that their abort has overtaken is refused (A12).

An abort that no life of the room calls for is taken for one that has overtaken its metadata. To
be wrong about that costs a reused number a refusal; the other way, somebody's pages.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from pdwire.rooms.alarm import NEVER, Alarm
from pdwire.rooms.effects import Drop, Effect, Endpoint, SendStatus
from pdwire.rooms.limits import RoomLimits
from pdwire.rooms.poll import KVPoll
from pdwire.rooms.prints import fingerprint, weight
from pdwire.rooms.records import Doom, Ended, InfoT, Left, Room, Trail, place_of
from pdwire.rooms.shares import Shares
from pdwire.rooms.tables import ACTIVE, PREFILL, Event, Phase, step

__all__ = ["ABORTED", "TOO_MANY", "Ledger", "failed"]

ABORTED = "aborted by the decode side"
TOO_MANY = "too many rooms wait to be opened on the prefill side"
Served = tuple[float, *tuple[bytes, ...]]
"""Until when a success is remembered, and fingerprints of the metadata that was served."""
K = TypeVar("K", bound=Hashable)
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
        self._ended: OrderedDict[int, Ended] = OrderedDict()
        self._served: OrderedDict[int, Served] = OrderedDict()
        self._left: OrderedDict[tuple[int, Endpoint], Left] = OrderedDict()
        self._shares = Shares(limits.unopened_rooms, limits.unopened_bytes)
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

    def why_dead(self, number: int, place: Endpoint, now: float) -> str | None:
        """Why the room that an endpoint asks for has failed; ``None`` if it has not."""
        room, left = self.find(number), self._left.get((number, place))
        if left is not None and now < left.due and (room is None or not room.is_party(place)):
            return ABORTED
        if room is not None:
            return room.reason
        doom, ended = self._doomed.get(number), self._ended.get(number)
        if doom is not None:
            return doom.reason
        is_news = ended is not None and now < ended.due and place not in ended.heard
        return ended.reason if ended is not None and is_news else None

    def is_repeat(self, info: InfoT, now: float) -> bool:
        """Whether early metadata is what was served lately, byte for byte; said once (A14)."""
        due, *marks = self._served.get(info.room, (0.0,))
        if now >= due or self.find(info.room) is not None:
            return False
        mark = fingerprint(info)
        if mark not in marks:
            return False
        self._served[info.room] = (due, *(other for other in marks if other != mark))
        return True

    def answered(self, number: int, place: Endpoint, now: float) -> None:
        """An endpoint was told that a room is over, and will answer with an abort."""
        room = self.rooms.get(number)
        if room is not None:
            room.heard.add(place)
            return
        ended = self._ended.get(number)
        if number in self._doomed or (ended is None and number not in self._served):
            return
        if ended is not None:
            ended.heard.add(place)
        trail = self._trails.get(number)
        self._trail(number, {place} if trail is None else trail.places | {place}, now)

    def open(self, number: int, now: float) -> Room[InfoT]:
        """Begin a life, with what came before it."""
        doom = self._doomed.pop(number, None)
        self._trails.pop(number, None)
        self._ended.pop(number, None)
        self._served.pop(number, None)
        room = self._unpark(number) or self._new(number)
        self.rooms[number] = room
        self._move(room, Event.OPEN)
        self.expect_metadata(room, now)
        if doom is not None:
            self.fail(room, doom.reason)
            room.trailing.update(doom.trailing)
        else:
            self.joined(room, now)
        return room

    def park(
        self, number: int, now: float, owner: object, size: int = 0, *, waits: bool = False
    ) -> tuple[Room[InfoT] | None, list[Effect]]:
        """A room that nobody opened; ``None`` if there are too many, or too much of them.

        Args:
            number: the room.
            now: monotonic seconds.
            owner: a peer, or the endpoint that waits.
            size: bytes of its metadata.
            waits: there is no metadata.
        """
        effects = self._make_place(owner, size, now, waits=waits)
        if not self._shares.fits(size):
            return None, effects
        room = self.parked[number] = self._new(number)
        self._shares.add(number, owner, size, waits=waits)
        self._move(room, Event.PARK)
        room.due = self._alarm.set(now + self.limits.unopened_s)
        return room, effects

    def grow(self, room: Room[InfoT], peer: str, info: InfoT, now: float) -> list[Effect] | None:
        """A parked room gets metadata; ``None``: there is no place for so much of it."""
        number, owner = room.number, ("peer", peer)
        old = [found for name, found in room.infos.items() if name != peer]
        size = sum(map(weight, [*old, info]))
        more = size - self._shares.size_of(number)
        effects = self._make_place(owner, more, now, waits=False, spared=number)
        if not self._shares.fits(more, more=0):
            return None
        self._shares.remove(number)
        self._shares.add(number, owner, size, waits=False)
        return effects

    def close(self, room: Room[InfoT], now: float) -> None:
        """Forget a room that is done."""
        if room.reason is not None:
            due = now + self.limits.unopened_s
            ended = Ended(due=due, reason=room.reason, heard=room.heard)
            self._remember(self._ended, room.number, ended)
        else:
            served: Served = (now + self.limits.repeated_s, *room.prints)
            self._remember(self._served, room.number, served)
        self._move(room, Event.CLOSE)
        del self.rooms[room.number]
        if room.next_doom:
            self._doom(room.number, ABORTED, room.trailing, now)
        elif room.trailing:
            self._trail(room.number, room.trailing, now)

    def abort(self, number: int, place: Endpoint | None, now: float) -> list[Effect]:
        """An endpoint that may gives a room up; ``None`` if it does not say who it is."""
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
        room = self._unpark(number)
        told: list[SendStatus] = []
        if room is not None:
            self._move(room, Event.DOOM)
            told = self._tell_failed(room, reason, spared)
        self._doom(number, reason, {effect.endpoint for effect in told}, now)
        return list(told)

    def leaves(self, number: int, place: Endpoint, generation: int | None, now: float) -> bool:
        """Somebody gives up what is not its own; whether that is news and not a double."""
        key = (number, place)
        known = self._left.get(key)
        last = None if known is None else known.generation
        if last is not None and generation is not None and generation <= last:
            return False
        due = now + self.limits.unopened_s
        self._remember(self._left, key, Left(generation=generation, due=due))
        return True

    def may_end(self, number: int, place: Endpoint, *, is_peer: bool) -> bool:
        """Whether an abort of that endpoint means anything to anybody else.

        A room is ended by its parties, and by a peer that has registered while there is metadata
        to come: its own may be what is missing (H7). Nobody else ends a room (A12). A number
        without a room is a peer's to give up, and, once it is over, of whoever heard of its end:
        anybody else would end the next life of a number before it has begun.
        """
        room = self.find(number)
        if room is None or room.phase not in {*ACTIVE, Phase.PARKED}:
            trail, ended = self._trails.get(number), self._ended.get(number)
            heard = {
                *(() if room is None else (*room.trailing, *room.heard)),
                *(() if trail is None else trail.places),
                *(() if ended is None else ended.heard),
            }
            return is_peer or place in heard
        return room.is_party(place) or (is_peer and not room.is_complete)

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
        room.prints = tuple(fingerprint(info) for info in room.infos.values())
        self._end(room, Event.FINISH)
        return told

    def fail(self, room: Room[InfoT], reason: str, spared: Endpoint | None = None) -> list[Effect]:
        """Fail a room that is not done; every non-dummy endpoint but the spared one is told."""
        if step(PREFILL, room.phase, Event.FAIL) is None:
            return []
        told = self._tell_failed(room, reason, spared)
        room.trailing = {effect.endpoint for effect in told}
        room.heard = {place_of(info) for info in room.infos.values()}
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
        # No alarm is set for these: they are looked at with the time in hand.
        for number in [n for n, ended in self._ended.items() if now >= ended.due]:
            del self._ended[number]
        for number in [n for n, served in self._served.items() if now >= served[0]]:
            del self._served[number]
        for key in [key for key, left in self._left.items() if now >= left.due]:
            del self._left[key]
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

    def _unpark(self, number: int) -> Room[InfoT] | None:
        """Take a room from its shelf, and its share with it."""
        self._shares.remove(number)
        return self.parked.pop(number, None)

    def _make_place(
        self, owner: object, size: int, now: float, *, waits: bool, spared: int | None = None
    ) -> list[Effect]:
        """Let rooms of those go who have most, as long as that is fair and needed."""
        effects: list[Effect] = []
        more = 0 if spared is not None else 1
        while not self._shares.fits(size, more=more):
            gone = self._shares.displaced_by(owner, size, waits=waits, spared=spared)
            room = None if gone is None else self._unpark(gone)
            if room is None:
                break
            self._move(room, Event.EXPIRE)
            self._counts["unopened-displaced"] += 1
            told = self._tell_failed(room, TOO_MANY, None)
            self._trail(room.number, {effect.endpoint for effect in told}, now)
            effects += told
        return effects

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
        self._unpark(room.number)
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

    def _remember(self, shelf: OrderedDict[K, V], key: K, value: V) -> None:
        """Keep ``value`` and let the oldest go when there are too many."""
        shelf.pop(key, None)
        shelf[key] = value
        if len(shelf) > self.limits.remembered:
            shelf.popitem(last=False)
