"""The prefill side of a manager: what decode ranks say, and the writes that answer them.

The receiving loop only changes state and queues work; :mod:`pdwire.managers.transfers` does the
writing, a queue per destination, so that a slow peer holds up nobody else. Each write holds a
ticket of the rooms from the moment it is submitted: a room is only finished, and an abort only
acknowledged, when every ticket has come back.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from pdwire.codec import Codec, Message
from pdwire.engines import EngineError, SeesPeers
from pdwire.errors import AmbiguousMessageError, WireError
from pdwire.frames import Frames
from pdwire.frames.short import head
from pdwire.managers.peers import Peer
from pdwire.managers.planner import Chunk, Planner
from pdwire.managers.sockets import Endpoint
from pdwire.managers.transfers import Refused, Transfers
from pdwire.managers.writing import ChunkWrite, PeerForgotten, RoomGone, Task
from pdwire.rooms import Effect, KVPoll, PrefillRooms, RoomError
from pdwire.wire import recognise
from pdwire.wire.common import AbortNotification, Bootstrap

if TYPE_CHECKING:
    from pdwire.managers.common import CommonKVManager

__all__ = ["PrefillSide", "Task"]

_LOG: Final = logging.getLogger("pdwire.managers")
_INBOUND: Final = "decode -> prefill"
_STRIKES: Final = 3
_IDLE_S: Final = 300.0
"""A peer that nothing was written to for so long may be gone: nobody says so, and what the engine
keeps for it (files, memory) is given back. The next write makes it known again."""


class PrefillSide:
    """State and threads of the prefill side; ``core`` lends sockets, engine and dialect."""

    def __init__(self, core: CommonKVManager) -> None:
        self.core = core
        self.planner = Planner(core.args, core.config)
        self.lock = threading.RLock()
        self.rooms: PrefillRooms[Any] = PrefillRooms(core.config.limits)
        self.peers: dict[str, Peer] = {}
        self._names: dict[Endpoint, str] = {}
        self._strikes: dict[str, int] = {}
        self._shut: str | None = None
        self._forgotten: set[str] = set()
        self._errands = count(1)
        self.transfers = Transfers(
            f"pdwire-{core.backend}-transfer",
            threads=core.config.transfer_threads,
            patience_s=core.config.limits.write_s,
        )
        core.counters.gauge("transfers", self.transfers.counts)

    # --------------------------------------------------------------- messages

    def handle(self, frames: list[bytes]) -> None:
        """One multipart message; whatever it is, nothing worse than a count happens."""
        try:
            codec, releases, message = self._read(frames)
        except WireError as error:
            if not self._aborted_without_address(frames, error):
                self.core.dropped(error)
            return
        self.core.counters.add("messages", codec.message)
        if isinstance(message, AbortNotification):
            self._apply(lambda now: self.rooms.on_abort(message, now))
        elif isinstance(message, Bootstrap):
            self._apply(lambda now: self.rooms.on_bootstrap(message, now))
        elif self.core.on_staging_message(message):
            return
        elif codec.message == "KVArgsRegisterInfo":
            self._register(message, releases)
        else:
            info: Any = message
            peer = self.core.peer_id(info)
            self._apply(lambda now: self.rooms.on_transfer_info(info, peer, now))

    def _read(self, frames: Frames) -> tuple[Codec[Any], tuple[str, ...], Message]:
        """The message and the releases that can have sent it.

        Where bytes fit two readings, the peer's registration decides, for it proved a release;
        without one, the release that this side was told to speak, if that is one of them.
        """
        found = recognise(frames, backend=self.core.wire_backend, direction=_INBOUND)
        if not found.ambiguous:
            codec = found.codec
            message: Message = codec.decode(frames)
            return codec, found.releases, message
        for candidate in reversed(found.candidates):
            if candidate.message != "TransferInfo":
                continue
            told: Any = candidate.decode(frames)
            with self.lock:
                peer = self.peers.get(self.core.peer_id(told))
            if peer is not None and set(peer.releases) & set(candidate.releases):
                return candidate, candidate.releases, told
        readings = self._whole(found.candidates, frames)
        if len(readings) == 1:
            codec, message = readings[0]
            return codec, codec.releases, message
        for candidate, message in readings:
            if self.core.config.release in candidate.releases:
                return candidate, candidate.releases, message
        hint = "the peer never registered" if found.message == "TransferInfo" else "say its release"
        raise AmbiguousMessageError("one reading", found.message, hint=hint)

    def _whole(
        self, candidates: Sequence[Codec[Any]], frames: Frames
    ) -> list[tuple[Codec[Any], Message]]:
        """Readings whose lists belong together: a pointer each, a length each (P12).

        The layouts do not hold lists of one message to each other where the peers' decoders do not;
        a registration that could not be served in one reading is none in it.
        """
        readings = []
        for candidate in candidates:
            message: Message = candidate.decode(frames)
            if candidate.message == "KVArgsRegisterInfo":
                try:
                    self.core.peer_of(message, candidate.releases)
                except ValueError:
                    continue
            readings.append((candidate, message))
        return readings

    def _aborted_without_address(self, frames: Frames, error: WireError) -> bool:
        """Whether the frames were an ABORT that only cannot be answered: its room fails (A3)."""
        if not error.message.endswith(" ABORT"):
            return False
        try:
            room = AbortNotification.from_zmq(head(frames, 2)).room
        except WireError:
            return False
        self._apply(lambda now: self.rooms.on_abort_without_address(room, now))
        return True

    def _register(self, message: Message, releases: tuple[str, ...]) -> None:
        # Of several releases that it fits: the one that this side was told, or else the newest.
        told = self.core.config.release
        last = told if told in releases else releases[-1]
        try:
            peer = self.core.peer_of(message, (*(r for r in releases if r != last), last))
            self.core.engine.add_peer(peer.id, peer.metadata)
        except (ValueError, EngineError) as error:
            self._refuse(message, str(error))
            return
        peer = self._with_rows(peer)
        now = time.monotonic()
        with self.lock:  # at once, so that no worker sees new memory and an old room
            old = self.peers.get(peer.id)
            changed = old not in {None, peer}
            if old is not None:
                self._names.pop(old.endpoint, None)
            self.peers[peer.id] = peer
            self._names[peer.endpoint] = peer.id
            self._strikes.pop(peer.id, None)
            effects = self.rooms.register_peer(peer.id, peer.endpoint, now, changed=changed)
        if changed:
            self.transfers.renew(peer.id, f"decode restarted: {peer.id}")
        self.core.run(effects)
        self.core.on_peer(peer)

    def _with_rows(self, peer: Peer) -> Peer:
        """What the wire does not say of auxiliary buffers, the engine may know (P3)."""
        engine = self.core.engine
        if peer.aux_lens or not isinstance(engine, SeesPeers):
            return peer
        lens = engine.lengths_at(peer.id, peer.aux_ptrs)
        return replace(peer, aux_lens=lens) if any(lens) else peer

    def _refuse(self, message: Any, reason: str) -> None:  # noqa: ANN401  # any backend's
        """A registration cannot be served; who sends metadata under it hears why (O3)."""
        self.core.counters.add("dropped", "registration")
        _LOG.warning("registration refused: %s", reason)
        name, place = self.core.announced(message), (message.endpoint, message.dst_port)
        self._apply(lambda now: self.rooms.refuse_peer(name, place, reason, now))

    def forget(self, peer: str) -> None:
        """A registration was replaced: its memory is no destination any more."""
        with self.lock:
            gone = self.peers.pop(peer, None)
            self._strikes.pop(peer, None)
            self._forgotten.discard(peer)
            if gone is not None and self._names.get(gone.endpoint) == peer:
                del self._names[gone.endpoint]
        if gone is not None:
            self.core.engine.forget_peer(peer)
            self.core.on_peer_gone(peer)

    def peer_at(self, endpoint: Endpoint) -> Peer | None:
        """The peer that registered last with an endpoint."""
        with self.lock:
            return self.peers.get(self._names.get(endpoint, ""))

    def tick(self) -> None:
        """Let deadlines pass."""
        self.transfers.tick()
        self._apply(self.rooms.tick)
        self.core.tick_staging()
        for peer in self.transfers.unused(_IDLE_S):
            self._let_go_of(peer)

    def _apply(self, change: Callable[[float], list[Effect]]) -> None:
        with self.lock:
            effects = change(time.monotonic())
        self.core.run(effects)

    # ------------------------------------------------------------------ rooms

    def open(self, room: int) -> None:
        """A sender was made; ``RoomError`` when it is open already or nothing can begin."""
        with self.lock:
            if self._shut is not None:
                raise RoomError(f"room {room} cannot be opened: {self._shut}")
            self.rooms.open(room, time.monotonic())

    def close(self, room: int) -> None:
        """A sender was cleared."""
        self._apply(lambda now: self.rooms.close(room, now))
        self.core.on_room_closed(room)

    def fail(self, room: int, reason: str) -> None:
        """The prefill side cannot go on with a room."""
        self._apply(lambda now: self.rooms.fail(room, reason, now))
        self.core.on_room_closed(room)

    def ready(self, room: int) -> None:
        """The forward pass is complete."""
        self._apply(lambda now: self.rooms.ready(room, now))

    def status(self, room: int) -> KVPoll | None:
        """How a room stands; ``None`` if it is not open."""
        with self.lock:
            return self.rooms.status(room)

    def reason(self, room: int) -> str | None:
        """Why a room failed."""
        with self.lock:
            return self.rooms.reason(room)

    def prefix_len(self, room: int) -> int:
        """Tokens that decode already holds."""
        with self.lock:
            return self.rooms.prefix_len(room)

    def submit(self, chunk: Chunk) -> None:
        """Queue a chunk for every peer that wants it; the last one finishes the room."""
        with self.lock:
            misfit = self._misfit(chunk)
        if misfit is not None:
            self.fail(chunk.room, misfit)
            return
        now = time.monotonic()
        tasks: list[Task] = []
        with self.lock:
            prefix_len = self.rooms.prefix_len(chunk.room)
            wanted = [
                (part, peer, info)
                for peer, info in self.rooms.infos(chunk.room).items()
                if not info.is_dummy
                for part in self._parts(chunk, peer, info)
            ]
            for part, peer, info in wanted:
                ticket = self.rooms.begin_write(chunk.room, peer, now)
                if ticket is not None:
                    tasks.append(Task(ticket=ticket, chunk=part, info=info, prefix_len=prefix_len))
            effects = self.rooms.finish(chunk.room, now) if chunk.is_last else []
        for task in tasks:
            self.transfers.put(ChunkWrite(self, task))
        self.core.run(effects)

    def _misfit(self, chunk: Chunk) -> str | None:
        """Why the request as a whole cannot go to its peers, before a byte of it has.

        A decode rank announces exactly the pages of the request behind its prefix: in every
        release from 0.5.6 to 0.5.23 both schedulers compute them from the prompt's length, the
        prefix and the page size, which the sides compare. So fewer that are sent are as wrong as
        more (P9): the rest would keep what lay there. With decode context parallelism a page
        there holds the tokens of several here.
        """
        for peer, info in self.rooms.infos(chunk.room).items():
            known = self.peers.get(peer)
            if info.is_dummy or known is None:
                continue
            announced, pages = len(info.dst_kv_indices), -(-chunk.total // known.dcp_size)
            if pages != announced:
                each = (
                    "" if known.dcp_size == 1 else f", {pages} for each of {known.dcp_size} ranks"
                )
                return (
                    f"the request has {chunk.total} pages{each}, decode announced {announced} pages"
                )
        return None

    def _parts(self, chunk: Chunk, peer: str, info: Any) -> list[Chunk]:  # noqa: ANN401  # any backend's metadata
        known = self.peers.get(peer)
        return [chunk] if known is None else self.core.split(chunk, known, info)

    # ----------------------------------------------------------------- writes

    def may_write(self, task: Task) -> bool:
        """Whether a task's room has not failed, nor begun another life, meanwhile."""
        with self.lock:
            return self.rooms.may_write(task.ticket)

    def destination(self, task: Task) -> Peer:
        """The peer of a task; ``RoomGone`` when its room has failed, ``Refused`` without one."""
        with self.lock:
            if not self.rooms.may_write(task.ticket):
                raise RoomGone
            peer = self.peers.get(task.ticket.peer)
        if peer is None:
            raise Refused(f"decode restarted: {task.ticket.peer}")
        return peer

    def known_to_engine(self, peer: Peer) -> None:
        """Before a write: make a peer known again whom the engine was told to forget."""
        if peer.id in self._forgotten:
            self._forgotten.discard(peer.id)
            self.core.engine.add_peer(peer.id, peer.metadata)

    def end(
        self, task: Task, *, ok: bool = True, reason: str | None = None, settled: bool = True
    ) -> None:
        """Hand a task's ticket back. See `PrefillRooms.end_write`."""
        self._apply(
            lambda now: self.rooms.end_write(
                task.ticket, now, ok=ok, reason=reason, settled=settled
            )
        )

    def healthy(self, peer: str) -> None:
        """A peer has taken a chunk."""
        with self.lock:
            self._strikes.pop(peer, None)

    def strike(self, peer: str, reason: str) -> None:
        """A peer that fails several times in a row is gone; a new registration lifts that.

        The engine gives back what it keeps for it.
        """
        with self.lock:
            strikes = self._strikes[peer] = self._strikes.get(peer, 0) + 1
        if strikes >= _STRIKES:
            self._apply(lambda now: self.rooms.mark_peer_failed(peer, reason, now))
            self._let_go_of(peer)

    def _let_go_of(self, peer: str) -> None:
        if peer in self.peers and peer not in self._forgotten:
            self._forgotten.add(peer)
            self.transfers.put(PeerForgotten(self, peer, -next(self._errands)))

    # ------------------------------------------------------------------- end

    def counts(self) -> dict[str, int]:
        """Rooms, peers and drops."""
        with self.lock:
            return self.rooms.counts()

    @property
    def is_shut(self) -> bool:
        """Whether the side has ended."""
        return self._shut is not None

    def shut(self, reason: str) -> None:
        """Nobody listens any more: no room can go on or begin. Decode is told."""
        with self.lock:
            self._shut = reason
        self._apply(lambda now: self.rooms.fail_all(reason, now))

    def stop(self, deadline_s: float = 10.0) -> None:
        """End the transfer threads; writes under way are waited for."""
        self.transfers.stop(self._shut or "the manager was closed", deadline_s)
