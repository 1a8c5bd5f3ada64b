"""The prefill side of a manager: what decode ranks say, and the writes that answer them.

The receiving loop only changes state and queues work; transfer threads do the writing, one
destination always on the same thread, so that a slow peer holds up nobody else. Each write
holds a ticket of the rooms from the moment it is submitted: a room is only finished, and an
abort only acknowledged, when every ticket has come back.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from pdwire.codec import Codec, Message
from pdwire.engines import EngineError, EngineUnsettled, wait
from pdwire.errors import AmbiguousMessageError, WireError
from pdwire.frames import Frames
from pdwire.frames.short import head
from pdwire.managers.peers import Peer
from pdwire.managers.planner import Chunk, PlanError, Planner
from pdwire.managers.sockets import Endpoint
from pdwire.plan import Blocks
from pdwire.rooms import Effect, KVPoll, PrefillRooms, RoomError, Write
from pdwire.wire import recognise
from pdwire.wire.common import AbortNotification, Bootstrap

if TYPE_CHECKING:
    from pdwire.managers.common import CommonKVManager

__all__ = ["Later", "PrefillSide", "Task", "write_to"]

_LOG: Final = logging.getLogger("pdwire.managers")
_INBOUND: Final = "decode -> prefill"
_STRIKES: Final = 3
_GLANCE_S: Final = 0.2
"""How often a thread that waits for a transfer looks whether the manager closes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One chunk for one peer, and the leave to write it."""

    ticket: Write
    chunk: Chunk
    info: Any
    prefix_len: int


class Later(Exception):
    """A chunk's staging is not there yet: put the chunk back and try again."""


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
        self._queues: list[SimpleQueue[Task | None]] = []
        self._threads: list[threading.Thread] = []
        for n in range(core.config.transfer_threads):
            queue: SimpleQueue[Task | None] = SimpleQueue()
            name = f"pdwire-{core.backend}-transfer-{n}"
            thread = threading.Thread(target=self._work, args=(queue,), name=name, daemon=True)
            self._queues.append(queue)
            self._threads.append(thread)
            thread.start()

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
        for candidate in found.candidates:
            if self.core.config.release in candidate.releases:
                return candidate, candidate.releases, candidate.decode(frames)
        hint = "the peer never registered" if found.message == "TransferInfo" else "say its release"
        raise AmbiguousMessageError("one reading", found.message, hint=hint)

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
            self.core.counters.add("dropped", "registration")
            _LOG.warning("registration refused: %s", error)
            return
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
        self.core.run(effects)
        self.core.on_peer(peer)

    def forget(self, peer: str) -> None:
        """A registration was replaced: its memory is no destination any more."""
        with self.lock:
            gone = self.peers.pop(peer, None)
            self._strikes.pop(peer, None)
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
        self._apply(self.rooms.tick)
        self.core.tick_staging()

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
            self._queue(task).put(task)
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

    def _queue(self, task: Task) -> SimpleQueue[Task | None]:
        return self._queues[hash(task.ticket.peer) % len(self._queues)]

    # ---------------------------------------------------------------- workers

    def _work(self, queue: SimpleQueue[Task | None]) -> None:
        while (task := queue.get()) is not None:
            try:
                self._transfer(task, queue)
            except Exception as error:  # noqa: BLE001  # a worker outlives any request
                self.core.counters.add("loop_errors", type(error).__name__)
                _LOG.exception("room %s: a transfer broke down", task.ticket.room)
                self._end(task, ok=False, reason=f"internal error: {error}", settled=False)

    def _transfer(self, task: Task, queue: SimpleQueue[Task | None]) -> None:
        """Write one task, put it back when its staging is not there yet, or fail its room."""
        with self.lock:
            is_good = self.rooms.may_write(task.ticket)
            peer = self.peers.get(task.ticket.peer)
        if not is_good:
            self._end(task)  # the room has failed meanwhile: nothing more is written
            return
        if peer is None:
            self._end(task, ok=False, reason=f"decode restarted: {task.ticket.peer}")
            return
        try:
            self._write(task, peer)
        except Later:
            queue.put(task)
        except PlanError as error:
            self._end(task, ok=False, reason=str(error))
        except EngineUnsettled as error:
            self._end(task, ok=False, reason=str(error), settled=False)
        except EngineError as error:
            self._end(task, ok=False, reason=f"the engine failed: {error}")
            self._strike(peer, str(error))
        else:
            with self.lock:
                self._strikes.pop(peer.id, None)
            self._end(task)

    def _write(self, task: Task, peer: Peer) -> None:
        """KV, then state, then the auxiliary row: whoever sees the row has the rest.

        All of it is planned first, so that a request that does not fit moves nothing (R9).
        """
        chunk, info = task.chunk, task.info
        notify = self.core.notifications_for(chunk, peer)
        has_state = chunk.is_last and bool(chunk.state_indices or len(info.dst_state_indices))
        state = Blocks.none()
        if has_state:
            state = self.planner.state(peer, chunk.state_indices, info.dst_state_indices)
        aux = self._aux_row(chunk, info)
        if aux is not None:
            self.planner.aux(peer, chunk.aux_index or 0, aux)
        if not self.core.stage(task, peer):
            blocks = self.planner.kv(peer, chunk, info.dst_kv_indices, task.prefix_len)
            self._put(peer, blocks, notify.kv)
        if has_state:
            self._put(peer, state, notify.state)
            for text in notify.more_state:
                self._put(peer, Blocks.none(), text)
        if aux is not None:
            self.core.send_aux(peer, chunk, info, notify.aux)
        elif chunk.is_last and not len(chunk.pages) and not self.core.sends_aux:
            # Where decode counts notifications, a stage without pages says at least that.
            self._put(peer, Blocks.none(), notify.aux)

    def _aux_row(self, chunk: Chunk, info: Any) -> int | None:  # noqa: ANN401  # any backend's metadata
        """Decode's auxiliary row, where this chunk takes it along; Mori spells none as -1.

        Raises:
            PlanError: decode asks for a row, and this side was given none.
        """
        if not (chunk.is_last and self.core.sends_aux):
            return None
        row: int | None = info.dst_aux_index
        if row is None or row < 0:
            return None
        if chunk.aux_index is None and any(self.core.args.aux_item_lens):
            raise PlanError(f"decode waits for aux row {row}, init was given no aux row to send")
        return None if chunk.aux_index is None else row

    def _put(self, peer: Peer, blocks: Blocks, notify: bytes | None) -> None:
        if not len(blocks) and notify is None:
            return
        self.core.counters.add("bytes", "written", blocks.total)
        write_to(self.core, peer, blocks, notify)

    def _end(
        self, task: Task, *, ok: bool = True, reason: str | None = None, settled: bool = True
    ) -> None:
        self._apply(
            lambda now: self.rooms.end_write(
                task.ticket, now, ok=ok, reason=reason, settled=settled
            )
        )

    def _strike(self, peer: Peer, reason: str) -> None:
        """A peer that fails several times in a row is gone; a new registration lifts that."""
        with self.lock:
            strikes = self._strikes[peer.id] = self._strikes.get(peer.id, 0) + 1
        if strikes >= _STRIKES:
            self._apply(lambda now: self.rooms.mark_peer_failed(peer.id, reason, now))

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
        for queue in self._queues:
            queue.put(None)
        ends = time.monotonic() + deadline_s
        for thread in self._threads:
            thread.join(max(0.0, ends - time.monotonic()))
            if thread.is_alive():
                raise RuntimeError(f"{thread.name} did not stop within {deadline_s} s")


def write_to(core: CommonKVManager, peer: Peer, blocks: Blocks, notify: bytes | None) -> None:
    """Write blocks into a peer's memory and wait for it, within the room's write deadline.

    A manager that closes waits no longer: the transfer may then still write.

    Raises:
        EngineError: the transfer failed, or (EngineUnsettled) is not over.
    """
    transfer = core.engine.write(
        peer.id,
        blocks,
        src_kind=core.args.mem_kind,
        dst_kind=peer.mem_kind,
        dst_device=peer.gpu_id if peer.mem_kind == "VRAM" else 0,
        notify=notify,
    )
    patience_s, side = core.config.limits.write_s, core.prefill_side()
    ends = time.monotonic() + patience_s
    while True:
        try:
            wait(transfer, min(_GLANCE_S, max(0.0, ends - time.monotonic())))
        except EngineUnsettled:
            if time.monotonic() < ends and not side.is_shut:
                continue
            raise EngineUnsettled(f"the transfer was not over after {patience_s:g} s") from None
        return
