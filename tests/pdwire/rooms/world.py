"""A world of two prefill and two decode ranks whose letters get lost, doubled and overtaken.

Everything that crosses goes through the real codecs. Beside the rooms the world keeps its own
books (who may write where, which pages were handed back, who has acknowledged what), and
compares. What real sockets cannot do, it does not do either: a process that died is heard of
at most once per letter, and a room number is used again only when nothing of its last life is
on its way, aborts that have been heard and their answers excepted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from pdwire.rooms import (
    DecodeRooms,
    Drop,
    Effect,
    Endpoint,
    KVPoll,
    PeerGone,
    PrefillRooms,
    RoomLimits,
    SendAbort,
    SendAbortAck,
    SendStatus,
    Write,
)
from pdwire.wire.common import AbortAck, AbortNotification
from pdwire.wire.mooncake import KVStatus, TransferInfo

NEVER_S = 1e12
LIMITS = RoomLimits(
    bootstrap_s=100,
    waiting_s=200,
    write_s=50,
    unopened_s=80,
    unopened_rooms=6,
    abort_release_s=NEVER_S,  # the long timeout releases without proof; here only proof counts
)
FINAL = (KVPoll.Success, KVPoll.Failed)
RANKS = 2
PREFILLS: tuple[Endpoint, ...] = tuple((f"10.1.0.{p + 1}", 7000) for p in range(RANKS))
DECODES: tuple[Endpoint, ...] = tuple((f"10.0.0.{d + 1}", 5000) for d in range(RANKS))


@dataclass(kw_only=True)
class Lease:
    """Pages that one decode process has lent for one life of a room."""

    serial: int
    decode: int
    room: int
    life: int
    writers: list[int]
    released: bool = False
    dead: bool = False


@dataclass(kw_only=True)
class Flight:
    """A write that is under way, or may be for all anybody knows."""

    ticket: Write
    lease: Lease
    lost: bool = False


@dataclass(kw_only=True)
class Plan:
    """One life of a request: which decode ranks take part, and who is a dummy for whom."""

    room: int
    decodes: tuple[int, ...]
    dummies: frozenset[tuple[int, int]]
    opened_by_decode: set[int] = field(default_factory=set)
    opened_by_prefill: set[int] = field(default_factory=set)

    def missing_decodes(self) -> list[int]:
        return [d for d in self.decodes if d not in self.opened_by_decode]

    def wants(self, decode: int) -> list[int]:
        return [p for p in range(RANKS) if (decode, p) not in self.dummies]


@dataclass(kw_only=True, eq=False)
class Letter:
    """A message on its way."""

    kind: str
    frames: list[bytes]
    to: int
    room: int | None
    sender: tuple[str, int, int]
    heard_by: int | None = None
    """Incarnation of the receiver that has got it already."""


class Node:
    """One process: its open rooms, the end each was seen to take, and whom staging holds back."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.incarnation = 0
        self.open: set[int] = set()
        self.ended: dict[int, KVPoll] = {}
        self.held: set[int] = set()


class Prefill(Node):
    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.served: set[int] = set()
        self.start()

    def life(self, room: int) -> int:
        return self.rooms._ledger.rooms[room].life

    def start(self) -> None:
        self.incarnation += 1
        self.rooms: PrefillRooms[TransferInfo] = PrefillRooms(LIMITS)
        self.flights: list[Flight] = []
        self.acks: Counter[tuple[int, Endpoint, int | None]] = Counter()
        self.open.clear()
        self.ended.clear()
        self.held.clear()


def peer_name(decode: int, incarnation: int) -> str:
    return f"10.0.0.{decode + 1}:{17000 + incarnation}"


class Decode(Node):
    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.start()

    def start(self) -> None:
        self.incarnation += 1
        # A generation never comes again, not over restarts either (A4).
        self.rooms = DecodeRooms(LIMITS, first_generation=self.incarnation * 10_000)
        self.peer = peer_name(self.index, self.incarnation)
        self.lives: dict[int, int] = {}
        self.leases: list[Lease] = []
        self.open.clear()
        self.ended.clear()
        self.held.clear()


class World:
    def __init__(self) -> None:
        self.now = 0.0
        self.prefills = [Prefill(p) for p in range(RANKS)]
        self.decodes = [Decode(d) for d in range(RANKS)]
        self.letters: list[Letter] = []
        self.plans: dict[int, Plan] = {}
        self.leases: dict[int, Lease] = {}
        self.aborts_sent: Counter[tuple[int, Endpoint, int | None]] = Counter()
        self._serial = count(1)
        self._lies = count(1)

    # --------------------------------------------------------------- requests

    def is_clean(self, room: int) -> bool:
        """Whether a room number may be used again."""
        for letter in self.letters:
            heard = letter.kind == "abort" and (
                letter.heard_by == self.prefills[letter.to].incarnation
            )
            if letter.room == room and letter.kind != "ack" and not heard:
                return False
        nodes: list[Prefill | Decode] = [*self.prefills, *self.decodes]
        active = any(node.rooms.status(room) not in {None, *FINAL} for node in nodes)
        ledgers = [prefill.rooms._ledger for prefill in self.prefills]
        awaited = any(room in ledger.parked or room in ledger._trails for ledger in ledgers)
        trailing = any(r.trailing for ledger in ledgers if (r := ledger.rooms.get(room)))
        return not active and not awaited and not trailing

    def request(self, room: int, decodes: tuple[int, ...], dummies: set[tuple[int, int]]) -> Plan:
        plan = Plan(room=room, decodes=decodes, dummies=frozenset(dummies))
        self.plans[room] = plan
        return plan

    # ----------------------------------------------------------------- decode

    def register(self, decode: int, prefill: int) -> None:
        node = self.decodes[decode]
        frames = [node.peer.encode(), str(decode).encode()]
        self._post(node, "registration", frames, prefill, None)

    def open_decode(self, decode: int, plan: Plan) -> None:
        node = self.decodes[decode]
        life = node.rooms.open(plan.room, "prefill:1", self.now)
        wanted = plan.wants(decode)
        node.rooms.resolved(
            plan.room, PREFILLS, len(wanted), self.now, asked=range(RANKS), answering=wanted
        )
        node.lives[plan.room] = life
        node.ended.pop(plan.room, None)
        node.held.discard(plan.room)
        node.open.add(plan.room)
        plan.opened_by_decode.add(decode)

    def send_metadata(self, decode: int, plan: Plan) -> None:
        node = self.decodes[decode]
        if not node.rooms.sent_metadata(plan.room, self.now):
            return
        lease = Lease(
            serial=next(self._serial),
            decode=decode,
            room=plan.room,
            life=node.lives[plan.room],
            writers=plan.wants(decode),
        )
        self.leases[lease.serial] = lease
        node.leases.append(lease)
        for prefill in range(RANKS):
            is_dummy = (decode, prefill) in plan.dummies
            info = TransferInfo(
                room=plan.room,
                endpoint=DECODES[decode][0],
                dst_port=DECODES[decode][1],
                mooncake_session_id=node.peer,
                dst_kv_indices=np.array([] if is_dummy else [lease.serial], np.int32),
                dst_aux_index=None if is_dummy else 0,
                dst_state_indices=(),
                required_dst_info_num=len(plan.decodes),
                is_dummy=is_dummy,
            )
            self._post(node, "metadata", info.to_zmq(), prefill, plan.room)

    def take_pages(self, decode: int) -> None:
        """The scheduler frees what it may."""
        node = self.decodes[decode]
        for lease in node.leases:
            status = node.rooms.status(lease.room)
            is_now = node.lives.get(lease.room) == lease.life
            if is_now and status is not None and status not in FINAL:
                continue
            if node.rooms.pages_released(lease.room, lease.life):
                lease.released = True

    def restart_decode(self, decode: int) -> None:
        node = self.decodes[decode]
        for lease in node.leases:
            lease.dead = True
        self._connections_die("decode", decode)
        node.start()
        for prefill in range(RANKS):
            self.register(decode, prefill)

    # ---------------------------------------------------------------- prefill

    def open_prefill(self, prefill: int, plan: Plan) -> None:
        node = self.prefills[prefill]
        node.rooms.open(plan.room, self.now)
        node.ended.pop(plan.room, None)
        node.open.add(plan.room)
        plan.opened_by_prefill.add(prefill)

    def begin_write(self, prefill: int, room: int, peer: str) -> None:
        node = self.prefills[prefill]
        info = node.rooms.infos(room)[peer]
        ticket = node.rooms.begin_write(room, peer, self.now)
        if ticket is not None:
            lease = self.leases[int(info.dst_kv_indices[0])]
            node.flights.append(Flight(ticket=ticket, lease=lease))

    def end_write(self, prefill: int, flight: Flight, *, ok: bool, settled: bool) -> None:
        node = self.prefills[prefill]
        effects = node.rooms.end_write(flight.ticket, self.now, ok=ok, settled=settled)
        if settled:
            node.flights.remove(flight)
        flight.lost = not settled
        self.carry_out(node, effects)

    def finish_peer(self, prefill: int, room: int, peer: str) -> None:
        node = self.prefills[prefill]
        node.served.add(int(node.rooms.infos(room)[peer].dst_kv_indices[0]))
        self.carry_out(node, node.rooms.finish_peer(room, peer, self.now))

    def restart_prefill(self, prefill: int) -> None:
        for plan in self.plans.values():
            plan.opened_by_prefill.add(prefill)  # its requests died with it
        self._connections_die("prefill", prefill)
        self.prefills[prefill].start()
        for decode in range(RANKS):
            self.register(decode, prefill)

    def close(self, node: Node, room: int) -> None:
        assert isinstance(node, Prefill | Decode)
        self.carry_out(node, node.rooms.close(room, self.now))
        node.open.discard(room)
        node.ended.pop(room, None)

    # ---------------------------------------------------------------- letters

    def deliver(self, letter: Letter, *, keep: bool) -> None:
        if self._is_ahead_of_registration(letter):
            return
        if not keep or not self._is_alive(letter.sender):
            self.letters.remove(letter)
        if letter.kind in {"status", "ack"}:
            decode = self.decodes[letter.to]
            letter.heard_by = decode.incarnation
            self.carry_out(decode, self._hear_decode(decode, letter))
        else:
            prefill = self.prefills[letter.to]
            letter.heard_by = prefill.incarnation
            self.carry_out(prefill, self._hear_prefill(prefill, letter))

    def lie(self, room: int) -> None:
        """Somebody who takes part in nothing says of a room whatever ends it (A9, A12)."""
        for prefill in self.prefills:
            host, port, generation = "10.9.0.1", 9, self._lie()
            told = AbortNotification(
                room=room, decode_ip=host, decode_port=port, generation=generation
            )
            self.aborts_sent[room, (host, port), generation] += 1  # answered once it is drained
            for effect in prefill.rooms.on_abort(told, self.now):
                assert not isinstance(effect, SendStatus), "a stranger has ended a room"
        for decode in self.decodes:
            for status in (KVPoll.Success, KVPoll.Failed):
                said = KVStatus(room=room, status=int(status), prefill_rank=99)
                self.carry_out(decode, decode.rooms.on_status(said, self.now))
            for hold in list(decode.rooms._holds._by_generation):
                ack = AbortAck(room=room, prefill_rank=99, generation=hold)
                self.carry_out(decode, decode.rooms.on_abort_ack(ack, self.now))

    def _lie(self) -> int:
        return next(self._lies)

    def lose(self, letter: Letter) -> None:
        self.letters.remove(letter)

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        nodes: list[Prefill | Decode] = [*self.prefills, *self.decodes]
        for node in nodes:
            self.carry_out(node, node.rooms.tick(self.now))

    def carry_out(self, node: Prefill | Decode, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case SendStatus():
                    self._post_status(node, effect)
                case SendAbort():
                    self._post_abort(node, effect)
                case SendAbortAck():
                    self._post_ack(node, effect)
                case Drop() | PeerGone():
                    pass

    # ----------------------------------------------------------- the insides

    def _is_alive(self, sender: tuple[str, int, int]) -> bool:
        side, index, incarnation = sender
        node = self.prefills[index] if side == "prefill" else self.decodes[index]
        return node.incarnation == incarnation

    def _is_ahead_of_registration(self, letter: Letter) -> bool:
        """A process registers first; what it says next stands behind that in the same queue."""
        side, index, incarnation = letter.sender
        if side == "prefill" or letter.kind == "registration":
            return False
        rooms = self.prefills[letter.to].rooms
        return any(rooms.is_peer(peer_name(index, old)) for old in range(incarnation))

    def _post(self, node: Node, kind: str, frames: list[bytes], to: int, room: int | None) -> None:
        side = "prefill" if isinstance(node, Prefill) else "decode"
        sender = (side, node.index, node.incarnation)
        self.letters.append(Letter(kind=kind, frames=frames, to=to, room=room, sender=sender))

    def _post_status(self, node: Prefill | Decode, effect: SendStatus) -> None:
        assert isinstance(node, Prefill)
        if effect.status is KVPoll.Success:
            assert all(flight.ticket.life != node.life(effect.room) for flight in node.flights)
        assert (effect.reason is not None) == (effect.status is KVPoll.Failed)
        message = KVStatus(
            room=effect.room,
            status=int(effect.status),
            prefill_rank=node.index,
            failure_reason=effect.reason,
        )
        to = DECODES.index(effect.endpoint)
        self._post(node, "status", message.to_zmq(), to, effect.room)

    def _post_abort(self, node: Node, effect: SendAbort) -> None:
        host, port = DECODES[node.index]
        message = AbortNotification(
            room=effect.room, decode_ip=host, decode_port=port, generation=effect.generation
        )
        to = PREFILLS.index(effect.prefill)
        if to == 0:  # count an abort once, not once per rank it goes to
            self.aborts_sent[effect.room, DECODES[node.index], effect.generation] += 1
        self._post(node, "abort", message.to_zmq(), to, effect.room)

    def _post_ack(self, node: Prefill | Decode, effect: SendAbortAck) -> None:
        assert isinstance(node, Prefill)
        key = (effect.room, effect.endpoint, effect.generation)
        node.acks[key] += 1
        assert node.acks[key] <= self.aborts_sent[key], f"acknowledged too often: {key}"
        if effect.endpoint not in DECODES:
            return  # the stranger's, whom nobody plays
        message = AbortAck(room=effect.room, prefill_rank=node.index, generation=effect.generation)
        to = DECODES.index(effect.endpoint)
        self._post(node, "ack", message.to_zmq(), to, effect.room)

    def _hear_decode(self, node: Decode, letter: Letter) -> list[Effect]:
        if letter.kind == "ack":
            return node.rooms.on_abort_ack(AbortAck.from_zmq(letter.frames), self.now)
        return node.rooms.on_status(KVStatus.from_zmq(letter.frames), self.now)

    def _hear_prefill(self, node: Prefill, letter: Letter) -> list[Effect]:
        if letter.kind == "registration":
            peer, decode = letter.frames
            return node.rooms.register_peer(peer.decode(), DECODES[int(decode)], self.now)
        if letter.kind == "abort":
            return node.rooms.on_abort(AbortNotification.from_zmq(letter.frames), self.now)
        info = TransferInfo.from_zmq(letter.frames)
        return node.rooms.on_transfer_info(info, info.mooncake_session_id, self.now)

    def _connections_die(self, side: str, index: int) -> None:
        """What a dead process sent arrives once at most; what it has got arrives no more."""
        receives = {"prefill": {"registration", "metadata", "abort"}, "decode": {"status", "ack"}}

        def is_gone(letter: Letter) -> bool:
            if letter.sender[:2] == (side, index):
                return letter.heard_by is not None or letter.kind == "registration"
            is_mine = letter.kind in receives[side] and letter.to == index
            return is_mine and letter.heard_by is not None

        self.letters = [letter for letter in self.letters if not is_gone(letter)]
