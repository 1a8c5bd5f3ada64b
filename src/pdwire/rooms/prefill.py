"""The rooms of one prefill rank: who wants what where, may it be written, who must be told.

Rules, with the row of the field reports each answers:

* Only registered peers have rooms; a stranger's metadata is answered "unknown peer" (R8), and
  so is metadata of a peer that was marked failed, until it registers again (R10). A peer that
  comes back under another id, at another endpoint or with other memory has restarted: its
  rooms fail with that reason (V6).
* Metadata may come before the sender. Such rooms are capped, expire and are counted (R5).
* Who sends metadata for a room that has all it expects is refused, and cannot abort it
  either (R3). Only its parties end a room, and a registered peer one that still waits for
  metadata (H7, A12); anybody else's abort is acknowledged, and is about itself alone.
* Decode ranks that contradict each other about one request fail it: prefix, pages (A11).
* A room that was closed is remembered: who asks for one that has failed hears why (H3), and
  the metadata of one that succeeded does not begin another when it comes again (A14).
* A write asks first and gets a ticket; without one nothing may be written. Success waits for
  every ticket, an acknowledgement of an abort for every ticket of the room's number (A1).
* Failed is final (R1) and every non-dummy endpoint learns the reason (R6). Every state that
  waits has a deadline (R7).

Not thread-safe: a shell holds one lock around every call and carries the effects out after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Generic

from pdwire.rooms.acks import AckDesk
from pdwire.rooms.effects import Effect, Endpoint, PeerGone, SendStatus
from pdwire.rooms.ledger import TOO_MANY, Ledger, failed
from pdwire.rooms.limits import RoomError, RoomLimits
from pdwire.rooms.peers import PeerTable
from pdwire.rooms.poll import KVPoll
from pdwire.rooms.prints import weight
from pdwire.rooms.records import InfoT, Metadata, Room, Write, place_of
from pdwire.rooms.refusals import Refusals
from pdwire.rooms.tables import ACTIVE, POLL, Phase
from pdwire.wire.common import AbortNotification, Bootstrap

__all__ = ["PrefillRooms"]

_PLACES_PER_ROOM = 64


class PrefillRooms(Generic[InfoT]):
    """Rooms of one prefill rank.

    Args:
        limits: deadlines and bounds.
    """

    def __init__(self, limits: RoomLimits | None = None) -> None:
        limits = limits or RoomLimits()
        self._ledger: Ledger[InfoT] = Ledger(limits)
        self._peers = PeerTable(limits.peers)
        self._refusals = Refusals(limits.unopened_s)
        self._desk = AckDesk(limits.remembered)
        self._tickets: dict[int, Write] = {}
        self._serial = 0

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
            effects += self._restarted(old.name, old.endpoint, now)
            self._peers.remove(old.name)
            if old.name != peer:
                effects.append(PeerGone(peer=old.name))
        if changed and self._peers.get(peer) is not None:
            effects += self._restarted(peer, endpoint, now)
        self._peers.put(peer, endpoint)
        self._refusals.lift(peer, endpoint)
        return effects + self._make_place()

    def refuse_peer(
        self, peer: str | None, endpoint: Endpoint, reason: str, now: float
    ) -> list[Effect]:
        """A registration cannot be served: who asks under it hears that, and why (O3).

        A peer that was registered with that id and endpoint says by it that its memory is
        another one; what it had announced before is no destination any more.

        Args:
            peer: the id; ``None`` where not even that can be read.
            endpoint: the control socket that it names.
            reason: why it is refused.
            now: monotonic seconds.
        """
        why = f"registration refused: {reason}"
        self._refusals.put(peer, endpoint, why, now)
        known = None if peer is None else self._peers.get(peer)
        if known is None or known.endpoint != endpoint:
            return []
        effects = self._fail_rooms_of(known.name, why, now)
        self._peers.remove(known.name)
        return [*effects, PeerGone(peer=known.name)]

    def mark_peer_failed(self, peer: str, reason: str, now: float) -> list[Effect]:
        """Nothing can be written to a peer any more: its rooms fail, new ones are refused."""
        known = self._peers.get(peer)
        if known is None:
            return self._ledger.drop("failed-mark-unknown-peer")
        known.failed = reason
        return self._fail_rooms_of(peer, reason, now)

    def is_peer(self, peer: str) -> bool:
        """Whether a peer of that id is registered."""
        return self._peers.get(peer) is not None

    # ------------------------------------------------------------------ rooms

    def open(self, room: int, now: float) -> None:
        """A sender was made; metadata may have come before.

        Raises:
            RoomError: the room is open and not done.
        """
        old = self._ledger.rooms.get(room)
        if old is not None and old.phase in ACTIVE:
            raise RoomError(f"room {room} is already open: {old.phase}")
        if old is not None:
            self._ledger.close(old, now)
        self._desk.new_life(room)
        self._ledger.open(room, now)

    def close(self, room: int, now: float) -> list[Effect]:
        """The sender was cleared: forget the room. Acknowledgements still owed go out later.

        A room that is not done fails first, so that nobody waits for it.
        """
        entry = self._ledger.rooms.get(room)
        if entry is None:
            return self._ledger.drop("close-unknown-room")
        effects = self._ledger.fail(entry, "the prefill side gave the request up")
        self._ledger.close(entry, now)
        return effects

    def status(self, room: int) -> KVPoll | None:
        """What a poll says; ``None`` for a room that is not open."""
        entry = self._ledger.rooms.get(room)
        return None if entry is None else POLL[entry.phase]

    def reason(self, room: int) -> str | None:
        """Why an open room has failed."""
        entry = self._ledger.rooms.get(room)
        return None if entry is None else entry.reason

    def infos(self, room: int) -> Mapping[str, InfoT]:
        """Peer -> metadata of an open room that is not done; empty for any other.

        A view that never changes: a worker may go through it without the lock.
        """
        entry = self._ledger.rooms.get(room)
        return MappingProxyType({} if entry is None else entry.infos)

    def prefix_len(self, room: int) -> int:
        """Tokens that decode already holds; 0 where nobody says so."""
        infos = [info for info in self.infos(room).values() if not info.is_dummy]
        return next((i.decode_prefix_len for i in infos if i.decode_prefix_len is not None), 0)

    # --------------------------------------------------------------- messages

    def on_transfer_info(self, info: InfoT, peer: str, now: float) -> list[Effect]:
        """A decode rank says where one room's pages go."""
        why_not = self._why_unusable(peer, place_of(info), now)
        if why_not is not None:
            return self._refuse_peer(info, peer, why_not)
        why_not = self._ledger.why_dead(info.room, place_of(info), now)
        if why_not is not None:
            self._ledger.answered(info.room, place_of(info), now)
            return self._answer(info, peer, why_not, "metadata-failed-room")
        if self._ledger.is_repeat(info, now):
            self._ledger.answered(info.room, place_of(info), now)
            why_not = f"room {info.room} was served lately, and the same metadata came again"
            return self._answer(info, peer, why_not, "metadata-repeated")
        effects: list[Effect] = []
        entry = self._ledger.find(info.room)
        if entry is None:
            owner, size = ("peer", peer), weight(info)
            entry, effects = self._ledger.park(info.room, now, owner, size)
        elif entry.phase is Phase.PARKED:
            grown = self._ledger.grow(entry, peer, info, now)
            if grown is None:
                return self._answer(info, peer, TOO_MANY, "unopened-cap")
            effects = grown
        if entry is None:
            return effects + self._answer(info, peer, TOO_MANY, "unopened-cap")
        return effects + self._join(entry, info, peer, now)

    def on_abort(self, message: AbortNotification, now: float) -> list[Effect]:
        """A decode rank gives a room up (A1, A2)."""
        if message.decode_ip is None or message.decode_port is None:
            return self._ledger.abort(message.room, None, now)
        place = (message.decode_ip, message.decode_port)
        is_peer = self._peers.is_at(place)
        if not self._ledger.may_end(message.room, place, is_peer=is_peer):
            return self._on_abort_of_others(message, place, now)
        if not self._desk.is_news(message.room, place, message.generation):
            return self._ledger.drop("abort-double")
        effects = self._ledger.abort(message.room, place, now)
        if not self._desk.ask(message.room, place, message.generation):
            return effects + self._ledger.drop("abort-too-many-endpoints")
        return effects + self._desk.drained(message.room)

    def _on_abort_of_others(
        self, message: AbortNotification, place: Endpoint, now: float
    ) -> list[Effect]:
        """Somebody gives up a room of others, or one that nobody knows: only for itself."""
        entry = self._ledger.rooms.get(message.room)
        is_foreign = entry is not None and place in entry.refused
        effects = self._ledger.drop("abort-foreign" if is_foreign else "abort-stranger")
        if not self._ledger.leaves(message.room, place, message.generation, now):
            return effects
        if not self._desk.ask(message.room, place, message.generation):
            return effects + self._ledger.drop("abort-too-many-endpoints")
        return effects + self._desk.drained(message.room)

    def on_abort_without_address(self, room: int, now: float) -> list[Effect]:
        """An abort whose address did not decode (A3): the room fails, nobody is answered."""
        return self._ledger.drop("abort-bad-address") + self._ledger.abort(room, None, now)

    def on_bootstrap(self, message: Bootstrap, now: float) -> list[Effect]:
        """A decode rank waits for the forward pass before it allocates (0.5.22 and later)."""
        place = (message.decode_ip, message.decode_port)
        why_not = self._ledger.why_dead(message.room, place, now)
        if why_not is not None:
            self._ledger.answered(message.room, place, now)
            return self._refuse_waiter(message.room, place, why_not)
        effects: list[Effect] = []
        entry = self._ledger.find(message.room)
        if entry is None:
            owner = ("waiter", place)
            entry, effects = self._ledger.park(message.room, now, owner, waits=True)
        if entry is None:
            return effects + self._refuse_waiter(message.room, place, TOO_MANY)
        if entry.waiter not in {None, place}:
            return self._refuse_waiter(message.room, place, "another decode rank waits for it")
        if entry.phase is not Phase.SUCCESS:
            entry.waiter = place
        return effects + self._tell_ready(entry)

    def ready(self, room: int, now: float) -> list[Effect]:
        """The forward pass is complete: whoever waits for it may allocate now."""
        entry = self._ledger.rooms.get(room)
        if entry is None or entry.phase is not Phase.BOOTSTRAPPING:
            return self._ledger.drop("ready-room-not-waiting")
        entry.ready = True
        self._ledger.expect_metadata(entry, now)
        return self._tell_ready(entry)

    # ----------------------------------------------------------------- writes

    def begin_write(self, room: int, peer: str, now: float) -> Write | None:
        """Ask to write to a peer. ``None``: the room is no longer writable, do not write."""
        entry = self._ledger.rooms.get(room)
        if entry is None or peer not in entry.infos or not self._ledger.writing(entry, now):
            return None
        self._serial += 1
        ticket = Write(room=room, peer=peer, life=entry.life, serial=self._serial)
        self._tickets[ticket.serial] = ticket
        entry.writes += 1
        self._desk.begin(room)
        return ticket

    def may_write(self, ticket: Write) -> bool:
        """Whether a ticket is good: its room has not failed, nor begun another life, meanwhile."""
        entry = self._ledger.rooms.get(ticket.room)
        return entry is not None and entry.life == ticket.life and entry.phase in ACTIVE

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
            return self._ledger.drop("write-ended-twice")
        effects: list[Effect] = []
        entry = self._ledger.rooms.get(ticket.room)
        if entry is not None and entry.life == ticket.life:
            entry.writes -= 1
            if not ok:
                why = reason or f"a write to {ticket.peer} failed"
                effects += self._ledger.fail(entry, why)
            effects += self._ledger.went_on(entry, now)
        return effects + self._desk.end(ticket.room, settled=settled)

    def finish_peer(self, room: int, peer: str, now: float) -> list[Effect]:
        """One peer has everything; when the last one has, the room is finished."""
        entry = self._ledger.rooms.get(room)
        if entry is None or peer not in entry.infos:
            return self._ledger.drop("finish-room-not-writable")
        entry.done.add(peer)
        wanted = {name for name, info in entry.infos.items() if not info.is_dummy}
        return self.finish(room, now) if wanted <= entry.done else []

    def finish(self, room: int, now: float) -> list[Effect]:
        """Everything was submitted; Success as soon as no write is in flight."""
        entry = self._ledger.rooms.get(room)
        if entry is None or entry.phase not in {Phase.WAITING, Phase.TRANSFERRING}:
            return self._ledger.drop("finish-room-not-writable")
        entry.finishing = True
        return self._ledger.went_on(entry, now)

    def fail(self, room: int, reason: str, now: float) -> list[Effect]:  # noqa: ARG002  # one shape
        """The prefill side cannot go on with a room."""
        entry = self._ledger.rooms.get(room)
        if entry is None or entry.phase not in ACTIVE:
            return self._ledger.drop("fail-room-not-active")
        return self._ledger.fail(entry, reason)

    def fail_all(self, reason: str, now: float) -> list[Effect]:
        """The prefill side ends: every room that is not done fails, opened or not."""
        effects: list[Effect] = []
        for entry in list(self._ledger.rooms.values()):
            effects += self._ledger.fail(entry, reason)
        for number in list(self._ledger.parked):
            effects += self._ledger.doom(number, reason, now)
        return effects

    # ------------------------------------------------------------------- time

    def tick(self, now: float) -> list[Effect]:
        """Let deadlines pass. Cheap when none has; call it as often as you like."""
        return self._ledger.tick(now)

    def counts(self) -> dict[str, int]:
        """Rooms by phase (``rooms-…``), what was dropped (``dropped-…``), peers, writes, acks."""
        counts = self._ledger.counts()
        counts["peers"] = len(self._peers)
        counts["writing"] = self._desk.writing
        counts["acks-owed"] = self._desk.pending
        return dict(counts)

    # ------------------------------------------------------------- the insides

    def _restarted(self, peer: str, endpoint: Endpoint, now: float) -> list[Effect]:
        """The process behind a peer is gone; its successor knows nothing of its rooms."""
        self._desk.forget_endpoint(endpoint)
        return self._fail_rooms_of(peer, f"decode restarted: {peer}", now, endpoint)

    def _fail_rooms_of(
        self, peer: str, reason: str, now: float, spared: Endpoint | None = None
    ) -> list[Effect]:
        effects: list[Effect] = []
        for room in list(self._ledger.asked_by(peer)):
            if room.phase is Phase.PARKED:
                effects += self._ledger.doom(room.number, reason, now, spared)
            else:
                effects += self._ledger.fail(room, reason, spared)
        return effects

    def _make_place(self) -> list[Effect]:
        gone = self._peers.surplus(lambda peer: any(True for _ in self._ledger.asked_by(peer)))
        if gone is None:
            return []
        self._peers.remove(gone)
        return [PeerGone(peer=gone)]

    def _why_unusable(self, peer: str, place: Endpoint, now: float) -> str | None:
        known = self._peers.get(peer)
        if known is None:
            return self._refusals.why(peer, place, now) or f"unknown peer {peer}"
        return None if known.failed is None else f"peer {peer} failed: {known.failed}"

    def _refuse_peer(self, info: InfoT, peer: str, why: str) -> list[Effect]:
        """Metadata of somebody we cannot write to; a room that nobody else asked for fails."""
        effects = self._answer(info, peer, why, "metadata-unusable-peer")
        entry = self._ledger.rooms.get(info.room)
        if entry is not None and not entry.infos:
            effects += self._ledger.fail(entry, why)
            _add(entry.trailing, place_of(info))  # told above; its abort belongs to this life
        return effects

    def _answer(self, info: InfoT, peer: str, why: str, kind: str) -> list[Effect]:
        """Refuse metadata; a live party of the room is never told that it failed."""
        place = place_of(info)
        entry = self._ledger.find(info.room)
        effects = self._ledger.drop(kind)
        if entry is not None and entry.is_party(place):
            return effects
        if entry is not None and entry.phase is Phase.FAILED:
            _add(entry.trailing, place)  # it will answer with an abort, as the others do
        return [*effects, failed(info.room, place, peer, why, courtesy=True)]

    def _join(self, entry: Room[InfoT], info: InfoT, peer: str, now: float) -> list[Effect]:
        """Metadata for a room that has not failed: expected, a repeat, late, or foreign."""
        if entry.phase is Phase.SUCCESS:
            return self._ledger.drop("metadata-done-room")
        why_foreign = _why_foreign(entry, info, peer)
        if why_foreign is not None:
            if not entry.is_party(place_of(info)):
                _add(entry.refused, place_of(info))
            return self._answer(info, peer, why_foreign, "metadata-foreign")
        if entry.phase is Phase.TRANSFERRING:
            return self._ledger.drop("metadata-late")
        entry.infos = {**entry.infos, peer: info}
        at_odds = _why_at_odds(entry.infos.values())
        if at_odds is not None:
            if entry.phase is Phase.PARKED:
                return self._ledger.doom(entry.number, at_odds, now)
            return self._ledger.fail(entry, at_odds)
        self._ledger.joined(entry, now)
        return []

    def _refuse_waiter(self, room: int, place: Endpoint, why: str) -> list[Effect]:
        answer = failed(room, place, "", why, courtesy=True)
        return [*self._ledger.drop("bootstrap-refused"), answer]

    def _tell_ready(self, entry: Room[InfoT]) -> list[Effect]:
        if entry.waiter is None or not entry.ready or entry.told_ready:
            return []
        entry.told_ready = True
        waiting = KVPoll.WaitingForInput
        return [SendStatus(endpoint=entry.waiter, peer="", room=entry.number, status=waiting)]


def _add(places: set[Endpoint], place: Endpoint) -> None:
    """Remember an endpoint that a peer has named, within reason."""
    if len(places) < _PLACES_PER_ROOM:
        places.add(place)


def _why_at_odds(infos: Iterable[Metadata]) -> str | None:
    """Why decode ranks cannot mean the same request (A11).

    All that are no dummies name the same pages of it, each its own part of every page, or, with
    decode context parallelism, its own tokens of as many. A release that says no prefix has none.
    """
    told = [info for info in infos if not info.is_dummy]
    prefixes = sorted({info.decode_prefix_len or 0 for info in told})
    if len(prefixes) > 1:
        return f"decode ranks hold prefixes of {_and(prefixes)} tokens"
    pages = sorted({len(info.dst_kv_indices) for info in told})
    return f"decode ranks announced {_and(pages)} pages" if len(pages) > 1 else None


def _and(numbers: Iterable[int]) -> str:
    return " and ".join(map(str, numbers))


def _why_foreign(entry: Room[InfoT], info: InfoT, peer: str) -> str | None:
    """Why metadata does not belong to a room (R3)."""
    mine = entry.infos.get(peer)
    if mine is not None and place_of(mine) != place_of(info):
        return "that peer answers at another endpoint"
    if mine is None and entry.is_complete:
        return "the room belongs to another decode rank"
    is_alone = set(entry.infos) <= {peer} and entry.phase in {Phase.PARKED, Phase.BOOTSTRAPPING}
    expected = {i.required_dst_info_num for i in entry.infos.values()}
    if not is_alone and expected != {info.required_dst_info_num}:
        return "the room's decode ranks expect different numbers of ranks"
    return None
