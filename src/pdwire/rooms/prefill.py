"""The rooms of one prefill rank: who wants what where, may it be written, who must be told.

Rules, with the row of the field reports each answers:

* Only registered peers have rooms; a stranger's metadata is answered "unknown peer" (R8), and
  so is metadata of a peer that was marked failed, until it registers again (R10). A peer that
  comes back under another id, at another endpoint or with other memory has restarted: its
  rooms fail with that reason (V6).
* Metadata may come before the sender. Such rooms are capped, expire and are counted (R5).
* Who sends metadata for a room that has all it expects is refused, and cannot abort it
  either (R3).
* A write asks first and gets a ticket; without one nothing may be written. Success waits for
  every ticket, an acknowledgement of an abort for every ticket of the room's number (A1).
* Failed is final (R1) and every non-dummy endpoint learns the reason (R6). Every state that
  waits has a deadline (R7).

Not thread-safe: a shell holds one lock around every call and carries the effects out after it.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping
from types import MappingProxyType
from typing import Generic, TypeVar

from pdwire.rooms.acks import AckDesk
from pdwire.rooms.alarm import NEVER, Alarm
from pdwire.rooms.effects import Drop, Effect, Endpoint, PeerGone, SendStatus
from pdwire.rooms.limits import RoomError, RoomLimits
from pdwire.rooms.peers import PeerTable
from pdwire.rooms.poll import KVPoll
from pdwire.rooms.records import Doom, InfoT, Room, Write
from pdwire.rooms.tables import ACTIVE, POLL, PREFILL, Event, Phase, step
from pdwire.wire.common import AbortNotification, Bootstrap

__all__ = ["PrefillRooms"]

V = TypeVar("V")
_REFUSED_PER_ROOM = 64
_TOO_MANY = "too many rooms wait to be opened on the prefill side"


class PrefillRooms(Generic[InfoT]):
    """Rooms of one prefill rank.

    Args:
        limits: deadlines and bounds.
    """

    def __init__(self, limits: RoomLimits | None = None) -> None:
        self._limits = limits or RoomLimits()
        self._rooms: dict[int, Room[InfoT]] = {}
        self._parked: dict[int, Room[InfoT]] = {}
        self._doomed: OrderedDict[int, Doom] = OrderedDict()
        self._closed: OrderedDict[int, None] = OrderedDict()
        self._peers = PeerTable(self._limits.peers)
        self._desk = AckDesk(self._limits.remembered)
        self._tickets: dict[int, Write] = {}
        self._serial = 0
        self._alarm = Alarm()
        self._counts: Counter[str] = Counter()

    # ------------------------------------------------------------------ peers

    def register_peer(
        self, peer: str, endpoint: Endpoint, now: float, *, changed: bool = False
    ) -> list[Effect]:
        """A decode rank has announced its memory.

        Args:
            peer: session id, agent name or engine key.
            endpoint: its control socket.
            now: monotonic seconds.
            changed: the registration describes other memory than the one it replaces, so the
                process behind the same id is another one.
        """
        effects: list[Effect] = []
        for old in self._peers.replaced_by(peer, endpoint):
            effects += self._peer_restarted(old.name, now)
            self._peers.remove(old.name)
            if old.name != peer:
                effects.append(PeerGone(peer=old.name))
        known = self._peers.get(peer)
        if known is not None and changed:
            effects += self._peer_restarted(peer, now)
        if known is None or changed:
            self._desk.forget_endpoint(endpoint)
        self._peers.put(peer, endpoint)
        return effects + self._make_place()

    def mark_peer_failed(self, peer: str, reason: str, now: float) -> list[Effect]:
        """Nothing can be written to a peer any more: its rooms fail, new ones are refused."""
        known = self._peers.get(peer)
        if known is None:
            return self._drop("failed-mark-unknown-peer")
        known.failed = reason
        return self._fail_rooms_of(peer, reason, now)

    def is_peer(self, peer: str) -> bool:
        """Whether a peer of that id is registered."""
        return self._peers.get(peer) is not None

    def _peer_restarted(self, peer: str, now: float) -> list[Effect]:
        known = self._peers.get(peer)
        spared = known.endpoint if known else None  # the new process knows nothing of them
        return self._fail_rooms_of(peer, f"decode restarted: {peer}", now, spared)

    def _fail_rooms_of(
        self, peer: str, reason: str, now: float, spared: Endpoint | None = None
    ) -> list[Effect]:
        effects: list[Effect] = []
        for room in [r for r in self._rooms.values() if peer in r.infos]:
            effects += self._fail(room, reason, spared)
        for room in [r for r in self._parked.values() if peer in r.infos]:
            effects += self._doom(room.number, reason, now, spared)
        return effects

    def _make_place(self) -> list[Effect]:
        busy = {name for room in self._rooms.values() for name in room.infos}
        gone = self._peers.surplus(busy.__contains__)
        if gone is None:
            return []
        self._peers.remove(gone)
        self._counts["peers-forgotten"] += 1
        return [PeerGone(peer=gone)]

    # ------------------------------------------------------------------ rooms

    def open(self, room: int, now: float) -> None:
        """A sender was made; metadata may have come before.

        Raises:
            RoomError: the room is open and not done.
        """
        old = self._rooms.get(room)
        if old is not None and old.phase in ACTIVE:
            raise RoomError(f"room {room} is already open: {old.phase}")
        self._desk.new_life(room)
        self._closed.pop(room, None)
        doom = self._doomed.pop(room, None)
        entry = self._parked.pop(room, None) or self._new(room)
        self._rooms[room] = entry
        self._move(entry, Event.OPEN)
        self._wait(entry, now, self._limits.bootstrap_s, "metadata did not come from every rank")
        if doom is not None:
            self._fail(entry, doom.reason)
        elif entry.is_complete:
            self._all_here(entry, now)

    def close(self, room: int, now: float) -> list[Effect]:  # noqa: ARG002  # one shape
        """The sender was cleared: forget the room. Acknowledgements still owed go out later.

        A room that is not done fails first, so that nobody waits for it.
        """
        entry = self._rooms.get(room)
        if entry is None:
            return self._drop("close-unknown-room")
        effects = self._fail(entry, "the prefill side gave the request up")
        self._move(entry, Event.CLOSE)
        del self._rooms[room]
        _remember(self._closed, room, None, self._limits.remembered)
        return effects + self._desk.drained(room)

    def status(self, room: int) -> KVPoll | None:
        """What a poll says; ``None`` for a room that is not open."""
        entry = self._rooms.get(room)
        return None if entry is None else POLL[entry.phase]

    def reason(self, room: int) -> str | None:
        """Why an open room has failed."""
        entry = self._rooms.get(room)
        return None if entry is None else entry.reason

    def infos(self, room: int) -> Mapping[str, InfoT]:
        """Peer -> metadata of an open room that is not done; read-only, empty for any other."""
        entry = self._rooms.get(room)
        return MappingProxyType({} if entry is None else entry.infos)

    def prefix_len(self, room: int) -> int:
        """Tokens that decode already holds; 0 where nobody says so."""
        infos = [info for info in self.infos(room).values() if not info.is_dummy]
        return next((i.decode_prefix_len for i in infos if i.decode_prefix_len is not None), 0)

    # --------------------------------------------------------------- messages

    def on_transfer_info(self, info: InfoT, peer: str, now: float) -> list[Effect]:
        """A decode rank says where one room's pages go."""
        entry = self._rooms.get(info.room)
        known = self._peers.get(peer)
        if known is None or known.failed is not None:
            why = f"unknown peer {peer}" if known is None else f"peer {peer} failed: {known.failed}"
            return self._refuse_peer(entry, info, peer, why)
        entry = entry or self._parked.get(info.room)
        why_not = self._dead(info.room, entry)
        if why_not is not None:
            return self._answer(entry, info, peer, why_not, "metadata-failed-room")
        if entry is None:
            return self._park(info, peer, now)
        if entry.phase is Phase.SUCCESS:
            return self._drop("metadata-done-room")
        return self._join(entry, info, peer, now)

    def on_abort(self, message: AbortNotification, now: float) -> list[Effect]:
        """A decode rank gives a room up (A1 to A3)."""
        place = _address(message)
        if place is None:
            return self._abort(message.room, None, now)
        if not self._desk.is_news(message.room, place, message.generation):
            return self._drop("abort-double")
        effects = self._abort(message.room, place, now)
        if not self._desk.ask(message.room, place, message.generation):
            return effects + self._drop("abort-too-many-endpoints")
        return effects + self._desk.drained(message.room)

    def abort(self, room: int, now: float) -> list[Effect]:
        """An abort whose address did not decode (A3): the room fails, nobody is answered."""
        return self._drop("abort-bad-address") + self._abort(room, None, now)

    def on_bootstrap(self, message: Bootstrap, now: float) -> list[Effect]:
        """A decode rank waits for the forward pass before it allocates (0.5.22 and later)."""
        place = (message.decode_ip, message.decode_port)
        entry = self._rooms.get(message.room) or self._parked.get(message.room)
        why_not = self._dead(message.room, entry)
        if why_not is None and entry is None and len(self._parked) >= self._limits.unopened_rooms:
            why_not = _TOO_MANY
        if why_not is not None:
            return self._refuse_waiter(message.room, place, why_not)
        entry = entry or self._new_parked(message.room, now)
        if entry.waiter not in {None, place}:
            return self._refuse_waiter(message.room, place, "another decode rank waits for it")
        entry.waiter = place
        return self._tell_ready(entry)

    def ready(self, room: int, now: float) -> list[Effect]:
        """The forward pass is complete: whoever waits for it may allocate now."""
        entry = self._rooms.get(room)
        if entry is None or entry.phase is not Phase.BOOTSTRAPPING:
            return self._drop("ready-room-not-waiting")
        entry.ready = True
        self._wait(entry, now, self._limits.bootstrap_s, "metadata did not come from every rank")
        return self._tell_ready(entry)

    # ----------------------------------------------------------------- writes

    def begin_write(self, room: int, peer: str, now: float) -> Write | None:
        """Ask to write to a peer. ``None``: the room is no longer writable, do not write."""
        entry = self._rooms.get(room)
        if entry is None or peer not in entry.infos or entry.finishing:
            return None
        if not self._move(entry, Event.WRITE):
            return None
        self._serial += 1
        ticket = Write(room=room, peer=peer, life=entry.life, serial=self._serial)
        self._tickets[ticket.serial] = ticket
        entry.writes += 1
        self._desk.begin(room)
        self._still_writing(entry, now)
        return ticket

    def end_write(
        self,
        ticket: Write,
        now: float,
        *,
        ok: bool = True,
        reason: str | None = None,
        settled: bool = True,
    ) -> list[Effect]:
        """Hand a ticket back.

        Args:
            ticket: what ``begin_write`` gave.
            now: monotonic seconds.
            ok: everything was written; otherwise the room fails.
            reason: why not.
            settled: the engine will not touch the destination again. ``False`` after a
                failure that leaves that open: no abort of the room is acknowledged then.
        """
        if self._tickets.pop(ticket.serial, None) is None:
            return self._drop("write-ended-twice")
        effects: list[Effect] = []
        entry = self._rooms.get(ticket.room)
        if entry is not None and entry.life == ticket.life:
            entry.writes -= 1
            if not ok:
                effects += self._fail(entry, reason or f"a write to {ticket.peer} failed")
            effects += self._went_on(entry, now)
        return effects + self._desk.end(ticket.room, settled=settled)

    def finish_peer(self, room: int, peer: str, now: float) -> list[Effect]:
        """One peer has everything; when the last one has, the room is finished."""
        entry = self._rooms.get(room)
        if entry is None or peer not in entry.infos:
            return self._drop("finish-room-not-writable")
        entry.done.add(peer)
        wanted = {name for name, info in entry.infos.items() if not info.is_dummy}
        return self.finish(room, now) if wanted <= entry.done else []

    def finish(self, room: int, now: float) -> list[Effect]:
        """Everything was submitted; Success as soon as no write is in flight."""
        entry = self._rooms.get(room)
        if entry is None or step(PREFILL, entry.phase, Event.FINISH) is None:
            return self._drop("finish-room-not-writable")
        entry.finishing = True
        return self._went_on(entry, now)

    def fail(self, room: int, reason: str, now: float) -> list[Effect]:  # noqa: ARG002  # one shape
        """The prefill side cannot go on with a room."""
        entry = self._rooms.get(room)
        if entry is None or entry.phase not in ACTIVE:
            return self._drop("fail-room-not-active")
        return self._fail(entry, reason)

    # ------------------------------------------------------------------- time

    def tick(self, now: float) -> list[Effect]:
        """Let deadlines pass. Cheap when none has; call it as often as you like."""
        if not self._alarm.rings(now):
            return []
        effects: list[Effect] = []
        for room in list(self._parked.values()):
            if now >= room.due:
                effects += self._expire(room)
            else:
                self._alarm.set(room.due)
        for number, doom in list(self._doomed.items()):
            if now >= doom.due:
                del self._doomed[number]
            else:
                self._alarm.set(doom.due)
        for room in list(self._rooms.values()):
            if now >= room.due:
                effects += self._fail(room, room.late)
            else:
                self._alarm.set(room.due)
        return effects

    def counts(self) -> dict[str, int]:
        """Rooms by phase (``rooms-…``), what was dropped, peers, writes, owed answers."""
        rooms = Counter(f"rooms-{room.phase}" for room in self._rooms.values())
        rooms.update({"rooms-parked": len(self._parked), "rooms-doomed": len(self._doomed)})
        rooms["peers"] = len(self._peers)
        rooms.update({"writing": self._desk.writing, "acks-owed": self._desk.pending})
        return {**self._counts, **rooms}

    # ------------------------------------------------------------ the insides

    def _drop(self, kind: str) -> list[Effect]:
        self._counts[f"dropped-{kind}"] += 1
        return [Drop(kind=kind)]

    def _new(self, room: int) -> Room[InfoT]:
        self._serial += 1
        return Room(number=room, life=self._serial)

    def _new_parked(self, room: int, now: float) -> Room[InfoT]:
        entry = self._parked[room] = self._new(room)
        self._move(entry, Event.PARK)
        entry.due = self._alarm.set(now + self._limits.unopened_s)
        return entry

    def _move(self, entry: Room[InfoT], event: Event) -> bool:
        """The only place where a phase changes."""
        target = step(PREFILL, entry.phase, event)
        if target is None:
            return False
        entry.phase = target
        return True

    def _wait(self, entry: Room[InfoT], now: float, seconds: float, what: str) -> None:
        entry.due = self._alarm.set(now + seconds)
        entry.late = f"{what} within {seconds:g} s"

    def _still_writing(self, entry: Room[InfoT], now: float) -> None:
        self._wait(entry, now, self._limits.write_s, "a transfer under way did not go on")

    def _end(self, entry: Room[InfoT], event: Event) -> None:
        """Into a final phase: nothing is waited for, and destinations are let go."""
        self._move(entry, event)
        entry.due = NEVER
        entry.infos = {}
        entry.waiter = None

    def _went_on(self, entry: Room[InfoT], now: float) -> list[Effect]:
        """A sign of life: Success if that was all, and a later deadline otherwise."""
        if entry.phase not in ACTIVE:
            return []
        if not entry.finishing or entry.writes:
            self._still_writing(entry, now)
            return []
        places = entry.parties()
        self._end(entry, Event.FINISH)
        return [
            SendStatus(endpoint=place, peer=name, room=entry.number, status=KVPoll.Success)
            for place, (name, dummy) in places.items()
            if not dummy
        ]

    def _fail(
        self, entry: Room[InfoT], reason: str, spared: Endpoint | None = None
    ) -> list[Effect]:
        """Fail an active room and tell every non-dummy endpoint but the spared one (R6)."""
        if step(PREFILL, entry.phase, Event.FAIL) is None:
            return []
        effects = self._tell_failed(entry, reason, spared)
        entry.reason = reason
        self._end(entry, Event.FAIL)
        return effects

    def _doom(
        self, number: int, reason: str, now: float, spared: Endpoint | None = None
    ) -> list[Effect]:
        """A room that nobody opened fails as soon as somebody does; late metadata is refused."""
        entry = self._parked.pop(number, None)
        doom = Doom(reason=reason, due=self._alarm.set(now + self._limits.unopened_s))
        _remember(self._doomed, number, doom, self._limits.remembered)
        return [] if entry is None else self._tell_failed(entry, reason, spared)

    def _dead(self, number: int, entry: Room[InfoT] | None) -> str | None:
        """Why a room takes no metadata any more."""
        doom = self._doomed.get(number) if entry is None else None
        return doom.reason if doom is not None else entry.reason if entry is not None else None

    def _expire(self, entry: Room[InfoT]) -> list[Effect]:
        self._move(entry, Event.EXPIRE)
        del self._parked[entry.number]
        self._counts["unopened-expired"] += 1
        return self._tell_failed(entry, "no request of that room came to the prefill side", None)

    def _tell_failed(
        self, entry: Room[InfoT], reason: str, spared: Endpoint | None
    ) -> list[Effect]:
        places = {place: name for place, (name, dummy) in entry.parties().items() if not dummy}
        if entry.waiter is not None:
            places.setdefault(entry.waiter, "")
        return [
            self._failed(entry.number, place, name, reason)
            for place, name in places.items()
            if place != spared
        ]

    def _failed(
        self, room: int, place: Endpoint, peer: str, reason: str, *, courtesy: bool = False
    ) -> SendStatus:
        return SendStatus(
            endpoint=place,
            peer=peer,
            room=room,
            status=KVPoll.Failed,
            reason=reason,
            courtesy=courtesy,
        )

    def _refuse_waiter(self, room: int, place: Endpoint, why: str) -> list[Effect]:
        return [
            *self._drop("bootstrap-refused"),
            self._failed(room, place, "", why, courtesy=True),
        ]

    def _tell_ready(self, entry: Room[InfoT]) -> list[Effect]:
        if entry.waiter is None or not entry.ready or entry.told_ready:
            return []
        entry.told_ready = True
        waiting = KVPoll.WaitingForInput
        return [SendStatus(endpoint=entry.waiter, peer="", room=entry.number, status=waiting)]

    def _refuse_peer(
        self, entry: Room[InfoT] | None, info: InfoT, peer: str, why: str
    ) -> list[Effect]:
        """Metadata of somebody we cannot write to. A room that only it has asked for fails."""
        effects = self._answer(entry, info, peer, why, "metadata-unusable-peer")
        if entry is not None and entry.phase is Phase.BOOTSTRAPPING and not entry.infos:
            effects += self._fail(entry, why)
        return effects

    def _answer(
        self, entry: Room[InfoT] | None, info: InfoT, peer: str, why: str, kind: str
    ) -> list[Effect]:
        """Refuse metadata; a live party of the room is never told that it failed."""
        place = (info.endpoint, info.dst_port)
        effects = self._drop(kind)
        if entry is None or place not in entry.parties():
            effects.append(self._failed(info.room, place, peer, why, courtesy=True))
        return effects

    def _park(self, info: InfoT, peer: str, now: float) -> list[Effect]:
        if len(self._parked) >= self._limits.unopened_rooms:
            return self._answer(None, info, peer, _TOO_MANY, "unopened-cap")
        self._new_parked(info.room, now).infos[peer] = info
        return []

    def _join(self, entry: Room[InfoT], info: InfoT, peer: str, now: float) -> list[Effect]:
        """Metadata for a room that is not done: expected, a repeat, or none of its business."""
        place = (info.endpoint, info.dst_port)
        mine = entry.infos.get(peer)
        others = [i for name, i in entry.infos.items() if name != peer]
        if mine is not None and (mine.endpoint, mine.dst_port) != place:
            return self._refuse(entry, info, peer, "that peer answers at another endpoint")
        if mine is None and entry.is_complete:
            return self._refuse(entry, info, peer, "the room belongs to another decode rank")
        if any(i.required_dst_info_num != info.required_dst_info_num for i in others):
            return self._refuse(entry, info, peer, "ranks expect different numbers of ranks")
        if entry.phase is Phase.TRANSFERRING:
            return self._drop("metadata-late")
        entry.infos[peer] = info
        if entry.phase is not Phase.PARKED and entry.is_complete:
            self._all_here(entry, now)
        return []

    def _refuse(self, entry: Room[InfoT], info: InfoT, peer: str, why: str) -> list[Effect]:
        """R3; whoever is refused cannot abort the room either."""
        place = (info.endpoint, info.dst_port)
        if place not in entry.parties() and len(entry.refused) < _REFUSED_PER_ROOM:
            entry.refused.add(place)
        return self._answer(entry, info, peer, why, "metadata-foreign")

    def _all_here(self, entry: Room[InfoT], now: float) -> None:
        if self._move(entry, Event.READY):
            self._wait(entry, now, self._limits.waiting_s, "the first chunk was not sent")

    def _abort(self, room: int, place: Endpoint | None, now: float) -> list[Effect]:
        """Fail the room for an abort from ``place``; ``None`` if that is not known."""
        reason = "aborted by the decode side"
        entry = self._rooms.get(room)
        if entry is not None:
            if place in entry.refused:
                return self._drop("abort-foreign")
            return self._fail(entry, reason, place)
        # Metadata overtaken by its abort must find it here. A room that was closed lately had
        # its metadata; an abort that comes after it must not fail the number's next life.
        return [] if room in self._closed else self._doom(room, reason, now, place)


def _remember(kept: OrderedDict[int, V], room: int, value: V, limit: int) -> None:
    """Keep ``value`` and let the oldest go when there are too many."""
    kept.pop(room, None)
    kept[room] = value
    if len(kept) > limit:
        kept.popitem(last=False)


def _address(message: AbortNotification) -> Endpoint | None:
    if message.decode_ip is None or message.decode_port is None:
        return None
    return (message.decode_ip, message.decode_port)
