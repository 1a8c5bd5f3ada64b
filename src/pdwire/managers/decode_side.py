"""The decode side of a manager: where the prefill ranks are, and what they say.

A decode rank registers once with each prefill rank and keeps the answer; a bootstrap server
that stops answering takes its rooms down with a reason and its registrations with it, so that
the next room finds the restarted one.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pdwire.bootstrap.client import BootstrapError
from pdwire.bootstrap.mapping import RankMapping, Sizes, Target, map_ranks
from pdwire.errors import WireError
from pdwire.managers.memory import OutOfBounds
from pdwire.managers.sockets import Endpoint, SendError
from pdwire.rooms import DecodeRooms, Effect, KVPoll, RoomError
from pdwire.rooms.holds import first_generation
from pdwire.wire import recognise
from pdwire.wire.common import AbortAck, AuxData

if TYPE_CHECKING:
    from pdwire.managers.common import CommonKVManager

__all__ = ["Connection", "DecodeSide", "Line", "ranks_of"]

_LOG: Final = logging.getLogger("pdwire.managers")
_INBOUND: Final = "prefill -> decode"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One prefill rank that this rank has registered with."""

    endpoint: Endpoint
    pp_rank: int
    is_dummy: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """What a room's receiver found: the prefill side's address, sizes and ranks."""

    prefill: str
    sizes: Sizes
    mapping: RankMapping
    lines: tuple[Line, ...]


def ranks_of(sizes: Sizes, targets: Sequence[Target]) -> frozenset[int]:
    """What prefill ranks call themselves in statuses, ABORT_ACK and CHUNK_READY.

    Every backend of every release counts tensor over pipeline over context ranks. Without context
    parallelism, which Mooncake and Mori have from 0.5.10 and 0.5.12 on, the last part is nothing.
    """
    cells = sizes.pp_size * sizes.attn_cp_size
    return frozenset(
        t.tp_rank * cells + t.pp_rank * sizes.attn_cp_size + t.cp_rank for t in targets
    )


class DecodeSide:
    """State and heartbeats of the decode side; ``core`` lends sockets, engine and dialect."""

    def __init__(self, core: CommonKVManager) -> None:
        self.core = core
        self.lock = threading.RLock()
        self.rooms = DecodeRooms(
            core.config.limits,
            first_generation=first_generation(time.time(), secrets.randbits(32)),
        )
        self._mappings: dict[str, tuple[Sizes, RankMapping]] = {}
        self._connections: dict[int, Connection] = {}
        self._aux_rows: dict[int, int | None] = {}
        self._lines: dict[tuple[str, int], tuple[Line, ...]] = {}
        self._prefills: dict[str, int] = {}
        self._shut: str | None = None
        self._stop = threading.Event()
        self._heart = threading.Thread(
            target=self._beat, name=f"pdwire-{core.backend}-heartbeat", daemon=True
        )
        self._heart.start()

    # --------------------------------------------------------------- messages

    def handle(self, frames: list[bytes]) -> None:
        """One multipart message; whatever it is, nothing worse than a count happens."""
        try:
            found = recognise(frames, backend=self.core.wire_backend, direction=_INBOUND)
            codec = found.codec
            message: Any = codec.decode(frames)
        except WireError as error:
            self.core.dropped(error)
            return
        self.core.counters.add("messages", codec.message)
        if isinstance(message, AbortAck):
            self.apply(lambda now: self.rooms.on_abort_ack(message, now))
        elif isinstance(message, AuxData):
            self._take_aux(message)
        elif codec.message == "KV_STATUS":
            with self.lock:
                is_asked = self.rooms.is_asked(message.room, message.prefill_rank)
            if is_asked:
                self.core.before_status(message.room, message.prefill_rank, message.status)
            self.apply(lambda now: self.rooms.on_status(message, now))
            if is_asked and message.status == KVPoll.Failed:
                self._doubt(message.room)
        elif not self.core.on_staging_message(message):
            self.core.counters.add("dropped", f"{codec.message} not served")

    def _doubt(self, room: int) -> None:
        """A rank that fails a room may have forgotten this one, or given it up (R8, R10).

        The next room asks where the ranks are and registers again, which changes nothing
        where they know this rank.
        """
        with self.lock:
            found = self._connections.get(room)
            if found is not None:
                for key in [key for key in self._lines if key[0] == found.prefill]:
                    del self._lines[key]

    def _take_aux(self, message: AuxData) -> None:
        """Write a row that came over the control plane: an active room's own, nothing else."""
        with self.lock:
            status, row = self.rooms.status(message.room), self._aux_rows.get(message.room)
        if status is not KVPoll.Transferring:
            self.core.counters.add("dropped", "aux-room-not-active")
            return
        if message.aux_index != row:  # another room's, if anybody's
            self.core.counters.add("dropped", "aux-foreign-row")
            return
        try:
            memory = self.core.aux_memory
            memory.write_row(message.buffer_index, message.aux_index, message.data)
        except OutOfBounds as error:
            if self.core.counters.add("dropped", "aux-out-of-bounds") == 1:
                _LOG.warning("room %s: AUX_DATA refused: %s", message.room, error)
            reason = f"AUX_DATA refused: {error}"
            self.apply(lambda now: self.rooms.on_row_refused(message.room, reason, now))
        else:
            self.apply(lambda now: self.rooms.on_row(message.room, message.buffer_index, now))

    def tick(self) -> None:
        """Let deadlines pass, and take what the engine has to say."""
        self.core.poll_engine()
        self.apply(self.rooms.tick)
        self.core.tick_staging()

    def apply(self, change: Callable[[float], list[Effect]]) -> None:
        """Change the rooms under their lock and do what they ask for."""
        with self.lock:
            effects = change(time.monotonic())
        self.core.run(effects)

    # ------------------------------------------------------------------ rooms

    def open(self, room: int, prefill: str) -> int:
        """A receiver was made; gives the number of this life of the room.

        Raises:
            RoomError: the room is open already, or nothing can begin any more.
        """
        with self.lock:
            if self._shut is not None:
                raise RoomError(f"room {room} cannot be opened: {self._shut}")
            return self.rooms.open(room, prefill, time.monotonic())

    def status(self, room: int) -> KVPoll | None:
        """How a room stands; ``None`` if it is not open."""
        with self.lock:
            return self.rooms.status(room)

    def reason(self, room: int) -> str | None:
        """Why a room failed."""
        with self.lock:
            return self.rooms.reason(room)

    def connection(self, room: int) -> Connection | None:
        """What a room's receiver found; ``None`` before it did and after the room is closed."""
        with self.lock:
            return self._connections.get(room)

    def quiet(self, room: int) -> bool:
        """Whether no prefill rank can write for a room any more, whichever life of it."""
        with self.lock:
            return self.rooms.pages_released(room)

    def connect(self, room: int, prefill: str, dp_rank: int) -> Connection:
        """Find the prefill ranks and register with those that do not know this rank.

        Raises:
            BootstrapError: the server cannot be asked, or the sizes do not fit together.
            SendError: a prefill rank takes no messages.
        """
        sizes, mapping = self._mapping(prefill)
        with self.lock:
            lines = self._lines.get((prefill, dp_rank))
        if lines is None:
            lines = self._register(prefill, dp_rank, mapping)
            with self.lock:
                self._lines[prefill, dp_rank] = lines
        found = Connection(prefill=prefill, sizes=sizes, mapping=mapping, lines=lines)
        with self.lock:
            if self.rooms.status(room) is not None:  # not closed while the ranks were asked for
                self._connections[room] = found
        endpoints = [line.endpoint for line in lines]
        self.apply(
            lambda now: self.rooms.resolved(
                room,
                endpoints,
                mapping.required_prefill_response_num,
                now,
                asked=ranks_of(sizes, mapping.targets),
                answering=ranks_of(sizes, [t for t in mapping.targets if not t.is_dummy]),
            )
        )
        return found

    def _mapping(self, prefill: str) -> tuple[Sizes, RankMapping]:
        with self.lock:
            known = self._mappings.get(prefill)
        if known is not None:
            return known
        info = self.core.client.server_info(prefill)
        config, args = self.core.config, self.core.args
        if info.page_size not in {None, args.page_size}:
            raise BootstrapError(f"page size {args.page_size} here, {info.page_size} at {prefill}")
        parallel = config.parallel
        sizes = Sizes(
            attn_tp_size=info.attn_tp_size,
            attn_cp_size=info.attn_cp_size,
            attn_dp_size=info.dp_size,
            pp_size=info.pp_size,
            all_cp_ranks=info.enable_dsa_cache_layer_split or info.enable_kv_cache_sharding,
            kv_sharding=info.enable_kv_cache_sharding,
        )
        try:
            mapping = map_ranks(
                sizes,
                tp_size=parallel.attn_tp_size,
                tp_rank=parallel.attn_tp_rank,
                pp_size=parallel.pp_size,
                pp_rank=parallel.pp_rank,
                is_mla=config.is_mla,
            )
        except ValueError as error:
            raise BootstrapError(str(error)) from error
        with self.lock:
            self._mappings[prefill] = sizes, mapping
            self._prefills.setdefault(prefill, 0)
        return sizes, mapping

    def _register(self, prefill: str, dp_rank: int, mapping: RankMapping) -> tuple[Line, ...]:
        lines = []
        frames = self.core.registration()
        for target in mapping.targets:
            endpoint = self._endpoint(prefill, dp_rank, target)
            self.core.outbox.send(endpoint, frames, "KVArgsRegisterInfo")
            lines.append(Line(endpoint=endpoint, pp_rank=target.pp_rank, is_dummy=target.is_dummy))
        return tuple(lines)

    def publish(
        self,
        room: int,
        lines: Sequence[Line],
        aux_index: int | None,
        metadata: Callable[[bool], list[bytes]],
    ) -> None:
        """Send metadata to every prefill rank of a room.

        Args:
            room: the room.
            lines: its prefill ranks.
            aux_index: the auxiliary row that it may be written to.
            metadata: frames, for a dummy or not.

        Raises:
            SendError: a prefill rank takes no messages; the room is aborted then.
        """
        sizes, over_tcp = self.core.aux_memory.sizes, self.core.config.aux_over_tcp
        with self.lock:
            taken = self.rooms.lend_row(room, aux_index, sizes, over_tcp=over_tcp)
            wanted = taken is None and self.rooms.sent_metadata(room, time.monotonic())
            if wanted:
                self._aux_rows[room] = aux_index
        if taken is not None:
            self.abort(room, taken)
        if not wanted:
            return
        try:
            for line in lines:
                self.core.outbox.send(line.endpoint, metadata(line.is_dummy), "TransferInfo")
        except SendError as error:
            reason = str(error)
            self.apply(lambda now: self.rooms.abort(room, reason, now))
            raise

    def abort(self, room: int, reason: str) -> None:
        """Give a room up."""
        self.apply(lambda now: self.rooms.abort(room, reason, now))
        self.core.on_room_closed(room)

    def close(self, room: int) -> None:
        """A receiver was cleared."""
        self.apply(lambda now: self.rooms.close(room, now))
        self.core.on_room_closed(room)
        with self.lock:
            self._connections.pop(room, None)
            self._aux_rows.pop(room, None)

    def pages_released(self, room: int, life: int) -> bool:
        """Whether no prefill rank can write into the room's pages any more."""
        with self.lock:
            return self.rooms.pages_released(room, life)

    # -------------------------------------------------------------- heartbeats

    def _beat(self) -> None:
        while not self._stop.wait(self.core.config.heartbeat_s):
            with self.lock:
                prefills = list(self._prefills)
            for prefill in prefills:
                if self._stop.is_set():
                    return
                self._check(prefill)

    def _check(self, prefill: str) -> None:
        try:
            healthy = self.core.client.healthy(prefill)
            moved = self._moved(prefill) if healthy else False
        except BootstrapError:  # it answers, but does not know its ranks (any more)
            healthy = moved = False
        if moved:
            self.lost(prefill, f"the prefill side at {prefill} restarted")
            return
        with self.lock:
            failures = 0 if healthy else self._prefills.get(prefill, 0) + 1
            self._prefills[prefill] = failures
        if failures >= self.core.config.heartbeat_failures:
            self.lost(prefill, f"the prefill side at {prefill} does not answer")

    def _moved(self, prefill: str) -> bool:
        """Whether a rank that this one is registered with listens elsewhere by now."""
        with self.lock:
            known = self._mappings.get(prefill)
            lines = {dp: found for (name, dp), found in self._lines.items() if name == prefill}
        if known is None:
            return False
        return any(
            line.endpoint != self._endpoint(prefill, dp, target)
            for dp, found in lines.items()
            for target, line in zip(known[1].targets, found, strict=True)
        )

    def _endpoint(self, prefill: str, dp_rank: int, target: Target) -> Endpoint:
        found = self.core.client.rank_info(
            prefill, dp=dp_rank, cp=target.cp_rank, tp=target.tp_rank, pp=target.pp_rank
        )
        return found.rank_ip, found.rank_port

    def lost(self, prefill: str, reason: str) -> None:
        """Forget a prefill side: its rooms fail, and the next room asks again."""
        with self.lock:
            self._prefills.pop(prefill, None)
            self._mappings.pop(prefill, None)
            keys = [key for key in self._lines if key[0] == prefill]
            endpoints = [line.endpoint for key in keys for line in self._lines.pop(key)]
        self.core.on_prefill_lost(prefill)
        self.apply(lambda now: self.rooms.prefill_down(prefill, reason, now))
        for endpoint in endpoints:  # after the aborts, which are flushed if anybody takes them
            self.core.outbox.forget(endpoint)

    # -------------------------------------------------------------------- end

    def counts(self) -> dict[str, int]:
        """Rooms, drops and held pages."""
        with self.lock:
            return self.rooms.counts()

    def shut(self, reason: str) -> None:
        """Nobody listens any more: no room can go on or begin. Prefill is told."""
        with self.lock:
            self._shut = reason
        self.apply(lambda now: self.rooms.fail_all(reason, now))

    def stop(self, deadline_s: float = 10.0) -> None:
        """End the heartbeats."""
        self._stop.set()
        self._heart.join(deadline_s)
        if self._heart.is_alive():
            raise RuntimeError(f"{self._heart.name} did not stop within {deadline_s} s")
