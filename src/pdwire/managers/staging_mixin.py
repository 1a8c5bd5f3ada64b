"""The single home of staging messages: mixed into Mooncake and NIXL, absent from Mori.

The decisions are in :mod:`pdwire.staging`; here they meet memory, engine and sockets. The
decode side owns one ring, registered with the engine; the prefill side owns as many buffers to
gather into as it has transfer threads, each held from a gather until the write out of it is over.
Messages and effects run on the manager's loop, gathers on the transfer threads, scatters on the
loop, always outside the staging lock. A chunk that has no place yet, or no buffer, is set aside
and woken: no thread waits for one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any, Final

from pdwire.codec import Message
from pdwire.engines import Region
from pdwire.frames import I32Array
from pdwire.managers.chunks import ChunkSaver
from pdwire.managers.config import DisaggregationMode
from pdwire.managers.connection import Connection, ranks_of
from pdwire.managers.peers import Peer
from pdwire.managers.planner import Chunk, PlanError
from pdwire.managers.stageable import one_length, why_direct
from pdwire.managers.staged_copy import decode_layout, gather, prefill_layout, scatter
from pdwire.managers.transfers import LATER, Steps
from pdwire.managers.waiting import Buffers, Places
from pdwire.managers.writing import ChunkWrite
from pdwire.rooms import KVPoll
from pdwire.staging import (
    ChunkGrid,
    DecodeStaging,
    Drop,
    Effect,
    Oversized,
    PrefillRank,
    PrefillStaging,
    Ready,
    Scatter,
    SendStagingReq,
    SendStagingRsp,
    SendWatermark,
    StagingFailed,
    Waiting,
    grid_pages,
)
from pdwire.wire.common import ChunkReady, StagingReq, StagingRsp, Watermark
from pdwire.wire.nixl import NotifStg
from pdwire.wire.table import ORDER

if TYPE_CHECKING:
    from pdwire.managers.common import CommonKVManager

    _Base = CommonKVManager
else:
    _Base = object

__all__ = ["StagingManagerMixin"]

_HELD_S: Final = 2.0
"""No healthy write holds a gather buffer for so long; another buffer is made then."""

_NAMES: Final = {
    StagingReq: "STAGING_REQ",
    StagingRsp: "STAGING_RSP",
    Watermark: "WATERMARK",
    ChunkReady: "CHUNK_READY",
}


class StagingManagerMixin(_Base):
    """Staging of a manager.

    It is off where ``config.staging_bytes`` is 0, the pool is MLA, or regions have several lengths.
    """

    def set_up_staging(self) -> None:
        """Make and register this side's staging memory."""
        super().set_up_staging()
        self._staging_lock = threading.RLock()
        self._staging_memory: list[Any] = []
        self._prefill_staging: PrefillStaging | None = None
        self._decode_staging: DecodeStaging | None = None
        self._noisy: set[int] = set()
        self._registered: dict[str, Peer] = {}
        self._places = Places()
        self._staged_next: dict[tuple[int, str], int] = {}
        """Room and peer -> the chunk that is written next."""
        self._staged_behind: dict[tuple[int, str], set[int]] = {}
        self._buffers = Buffers()
        self._stageable: dict[str, tuple[Peer, bool]] = {}
        if not self.config.staging_bytes or self.config.is_mla or not one_length(self.args):
            return
        if self.mode is DisaggregationMode.PREFILL:
            made = [self._staging_buffer() for _ in range(self.config.transfer_threads)]
            self._buffers = Buffers(made)
            self._prefill_staging = PrefillStaging()
            self._saver = ChunkSaver()
        else:
            self._ring = self._staging_buffer()
            self._decode_staging = DecodeStaging(self.config.staging_bytes, self.engine.session_id)
        self.counters.gauge("staging", self._staging_counts)

    def _staging_buffer(self) -> Any:  # noqa: ANN401  # a torch tensor
        import torch  # noqa: PLC0415  # an extra, needed only with staging

        device = f"cuda:{self.args.gpu_id}" if self.args.mem_kind == "VRAM" else "cpu"
        if device == "cpu":
            # Our own threads copy side by side already; OpenMP's spinning ones slow them, the
            # engine and everyone else (17 times, measured on two busy cores).
            torch.set_num_threads(1)
        made = torch.empty(self.config.staging_bytes, dtype=torch.uint8, device=device)
        self._staging_memory.append(made)
        region = Region(
            address=made.data_ptr(),
            length=made.numel(),
            kind=self.args.mem_kind,
            device=self.args.gpu_id,
        )
        self.engine.register([region])
        return made

    def _staging_counts(self) -> dict[str, int]:
        with self._staging_lock:
            side = self._prefill_staging or self._decode_staging
            return side.counts() if side is not None else {}

    def staging_region(self) -> tuple[int, int]:
        """Base and size of this rank's staging ring; zeros where staging is off."""
        if self._decode_staging is None:
            return 0, 0
        return self._ring.data_ptr(), self._ring.numel()

    # --------------------------------------------------------------- messages

    def on_staging_message(self, message: Message) -> bool:
        """Handle a staging message; ``False`` when it is another one."""
        if type(message) not in _NAMES:
            return False
        now = time.monotonic()
        with self._staging_lock:
            effects = self._decide(message, now)
            writable = self._writable(message)
        if writable:
            self.prefill_side().transfers.wake(writable)
        if effects is None:
            self.counters.add("dropped", "staging-off")
            return True
        self._run_staging(effects)
        if isinstance(message, ChunkReady):
            self._settle(message.room)
        return True

    def _decide(self, message: Message, now: float) -> list[Effect] | None:
        """What a message changes; ``None`` where this side does not speak it."""
        if self._prefill_staging is not None:
            if isinstance(message, StagingRsp):
                return self._prefill_staging.on_staging_rsp(message, now)
            if isinstance(message, Watermark):
                return self._prefill_staging.on_watermark(message, now)
        if self._decode_staging is not None:
            if isinstance(message, StagingReq):
                return self._decode_staging.on_staging_req(message, now)
            if isinstance(message, ChunkReady):
                return self._decode_staging.on_chunk_ready(message, now)
        return None

    def _writable(self, message: Message) -> list[int]:
        """Serials of the writes that may go on now that a message has come."""
        if isinstance(message, StagingRsp):
            return self._places.answered(message.session_id, message.room, message.chunk_idx)
        if self._prefill_staging is not None and isinstance(message, Watermark):
            mark = self._prefill_staging.watermark(message.session_id)
            return self._places.moved(message.session_id, mark) if mark is not None else []
        return []

    def _run_staging(self, effects: Sequence[Effect]) -> None:
        """Do what the staging core asks for; scatters may ask for more."""
        pending = list(effects)
        while pending:
            effect = pending.pop(0)
            match effect:
                case SendStagingReq() | SendStagingRsp() | SendWatermark():
                    name = _NAMES[type(effect.message)]
                    self.say(effect.endpoint, name, effect.message, self._spoken_at(effect))
                case Scatter():
                    pending += self._scatter(effect)
                case StagingFailed():
                    self._fail_room(effect.room, effect.reason)
                case Drop():
                    self.counters.add("dropped", effect.kind)

    def _spoken_at(self, effect: SendStagingReq | SendStagingRsp | SendWatermark) -> str:
        if isinstance(effect, SendStagingReq) and self.prefill is not None:
            peer = self.prefill.peers.get(effect.peer)
            return peer.release if peer is not None else self.config.release
        return self.config.release

    def _fail_room(self, room: int, reason: str) -> None:
        if self.prefill is not None:
            self.prefill.fail(room, reason)
        else:
            # Not DecodeSide.abort: the backend that announced the chunk may hold a lock that its
            # part of closing a room takes; the receiver's next poll does that part.
            side = self.decode_side()
            side.apply(lambda now: side.rooms.abort(room, reason, now))
            self._close_staged(room)

    # ------------------------------------------------------------ prefill side

    def _staged(self, peer: Peer) -> bool:
        """Whether chunks for a peer go through its ring; decided once for each registration."""
        if self._prefill_staging is None or not peer.has_staging:
            return False
        known = self._stageable.get(peer.id)
        if known is None or known[0] is not peer:
            known = self._stageable[peer.id] = (peer, self._can_stage(peer))
        return known[1]

    def _can_stage(self, peer: Peer) -> bool:
        planner = self.prefill_side().planner
        if not planner.needs_head_slices(peer):
            return False
        try:
            pairs = planner.paired(peer)
        except PlanError:
            return False  # the direct path says why, with the numbers
        return why_direct(self.args, self.config.parallel, peer, pairs) is None

    def _grid(self, info: Any) -> ChunkGrid:  # noqa: ANN401  # any backend's metadata
        pages = grid_pages(self.config.chunked_prefill_size, self.args.page_size)
        return ChunkGrid(len(info.dst_kv_indices), pages)

    def ask_ahead(self, room: int) -> None:
        """Ask every staged decode rank of a room for the places of all of its chunks."""
        if self._prefill_staging is None:
            return
        side = self.prefill_side()
        with side.lock:
            wanted = [
                (side.peers[peer], info)
                for peer, info in side.rooms.infos(room).items()
                if not info.is_dummy and peer in side.peers
            ]
        for peer, info in wanted:
            if self._staged(peer):
                self._ask(room, peer, info)

    def _ask(self, room: int, peer: Peer, info: Any) -> None:  # noqa: ANN401
        if self._prefill_staging is None:
            return
        try:
            layout = prefill_layout(self.args, self.config.parallel, peer)
        except ValueError:
            return  # not whole heads: the direct path says so, with the numbers
        with self._staging_lock:
            effects = self._prefill_staging.want(
                room,
                peer.id,
                (info.endpoint, info.dst_port),
                grid=self._grid(info),
                layout=layout,
                ring_size=peer.staging_size,
                now=time.monotonic(),
                buffer_size=self.config.staging_bytes,
                pp_rank=self._asks_with_stage(peer),
            )
        self._run_staging(effects)

    def _asks_with_stage(self, peer: Peer) -> int | None:
        """Mooncake says its pipeline rank to releases from 0.5.18 on; NIXL never does."""
        if self.wire_backend == "nixl" or ORDER.index(peer.release) < ORDER.index("0.5.18"):
            return None
        return self.config.parallel.pp_rank

    def split(self, chunk: Chunk, peer: Peer, info: Any) -> list[Chunk]:  # noqa: ANN401
        """Chunks of a staged peer are those of its grid: saved up until one is whole."""
        if not self._staged(peer):
            return super().split(chunk, peer, info)
        self._ask(chunk.room, peer, info)
        with self._staging_lock:
            return self._saver.add(peer.id, chunk, self._grid(info))

    def stage(self, write: ChunkWrite, peer: Peer) -> Generator[Any, None, bool]:
        """Write a chunk's KV through staging; ``False``: write it directly.

        It waits for its place, and until that may be written.

        Raises:
            PlanError: it has no pages, but a place that decode waits to see written.
        """
        staging = self._prefill_staging
        chunk = write.task.chunk
        if staging is None or not self._staged(peer):
            return False
        if not len(chunk.pages):
            self._may_be_empty(chunk, write.task.info)
            return False
        yield from self._in_order(write)
        try:
            while isinstance(state := self._state(staging, write), Waiting):
                yield LATER
                write.check()
        finally:
            with self._staging_lock:
                self._places.over(write.serial, peer.id, chunk.room, chunk.index)
        if isinstance(state, Oversized):
            self.counters.add("staging_chunks", "oversized")
            self._next_in_order(write)
            return False
        yield from self._write_staged(write, peer, state.place.offset)
        self._next_in_order(write)
        self.counters.add("staging_chunks", "staged")
        return True

    def _in_order(self, write: ChunkWrite) -> Steps:
        """Wait until the room's earlier chunks are written to this peer.

        Places come in any order. But a decode rank of a release that counts notifications (NIXL up
        to 0.5.22) takes the last chunk and the auxiliary row for the end of the room.
        """
        key = write.task.chunk.room, write.peer
        while write.task.chunk.index > self._staged_next.get(key, 0):
            with self._staging_lock:
                self._staged_behind.setdefault(key, set()).add(write.serial)
            yield LATER
            write.check()

    def _next_in_order(self, write: ChunkWrite) -> None:
        key = write.task.chunk.room, write.peer
        with self._staging_lock:
            self._staged_next[key] = write.task.chunk.index + 1
            behind = self._staged_behind.pop(key, set())
        self.prefill_side().transfers.wake(behind)

    def _state(self, staging: PrefillStaging, write: ChunkWrite) -> Ready | Oversized | Waiting:
        """Where a chunk goes; one that has to wait will be woken when that may have changed."""
        chunk, peer = write.task.chunk, write.peer
        with self._staging_lock:
            state = staging.state(chunk.room, chunk.index, peer)
            if isinstance(state, Waiting):
                self._places.wait(write.serial, peer, chunk.room, chunk.index, state.place)
        return state

    def _may_be_empty(self, chunk: Chunk, info: Any) -> None:  # noqa: ANN401
        if chunk.index < len(self._grid(info)):
            raise PlanError(
                f"decode announced {len(info.dst_kv_indices)} pages and waits for staged chunk "
                f"{chunk.index}, which has none: fewer were sent"
            )

    def _write_staged(self, write: ChunkWrite, peer: Peer, offset: int) -> Steps:
        """Gather a chunk's head slices, write them in one transfer, say that they are there."""
        chunk = write.task.chunk
        transfers = self.prefill_side().transfers
        try:
            while (buffer := self._buffers.take(write.serial)) is None:
                yield LATER
                write.check()
        finally:
            self._buffers.leave(write.serial)
            transfers.wake(self._buffers.next_up())
        try:
            args, parallel, slots = self.args, self.config.parallel, self._slots(peer)
            blocks = gather(args, parallel, chunk, peer, buffer, offset=offset, slots=slots)
            notify = self.staged_notification(chunk, peer)
            yield from write.put(peer, [blocks], notify, "staged")
        finally:
            self._buffers.give_back(buffer)
            transfers.wake(self._buffers.next_up())
        self._say_ready(chunk, write.task.info, peer)

    def _slots(self, peer: Peer) -> list[tuple[int, int]] | None:
        """Which slot goes where; ``None`` where this rank holds every layer."""
        if self.config.parallel.pp_size == 1:
            return None
        pairs = self.prefill_side().planner.paired(peer)
        return list(zip(pairs.src_regions, pairs.dst_regions, strict=True))

    def staged_notification(self, chunk: Chunk, peer: Peer) -> bytes | None:  # noqa: ARG002
        """The text that announces a staged chunk, where the release wants one."""
        return None

    def _say_ready(self, chunk: Chunk, info: Any, peer: Peer) -> None:  # noqa: ANN401
        ready = ChunkReady(
            room=chunk.room,
            chunk_idx=chunk.index,
            page_start=chunk.start,
            num_pages=len(chunk.pages),
            writer_id=peer.id,
            prefill_rank=self.config.parallel.unique_rank,
        )
        self.say((info.endpoint, info.dst_port), "CHUNK_READY", ready, peer.release)

    def on_peer(self, peer: Peer) -> None:
        """A peer has registered: its ring begins anew, unless it only says the same again."""
        super().on_peer(peer)
        if self._prefill_staging is None or self._registered.get(peer.id) == peer:
            return
        with self._staging_lock:
            self._prefill_staging.forget(peer.id)
            self._places.forget(peer.id)
            self._registered[peer.id] = peer

    def on_peer_gone(self, peer: str) -> None:
        """A peer's registration was replaced or forgotten: so is its ring."""
        super().on_peer_gone(peer)
        if self._prefill_staging is not None:
            with self._staging_lock:
                self._prefill_staging.forget(peer)
                self._places.forget(peer)
                self._registered.pop(peer, None)
                self._stageable.pop(peer, None)

    # ------------------------------------------------------------- decode side

    def on_metadata(
        self, room: int, kv_indices: I32Array, state_indices: Sequence[I32Array]
    ) -> None:
        """Begin to stage a room whose prefill side holds other heads."""
        super().on_metadata(room, kv_indices, state_indices)
        staging = self._decode_staging
        link = self.decode_side().connection(room)
        if staging is None or link is None or not len(kv_indices):
            return
        tp = self.config.parallel.attn_tp_size
        if link.sizes.attn_tp_size == tp or not self.args.kv_item_lens:
            return
        try:
            layout = decode_layout(self.args, self.config.parallel, link)
        except ValueError as error:  # not whole heads: places could not be given, nor scattered
            self._fail_room(room, f"staging: {error}")
            return
        with self._staging_lock:
            effects = staging.open_room(
                room,
                prefill=link.prefill,
                ranks=[PrefillRank(line.endpoint, line.pp_rank) for line in link.lines],
                layout=layout,
                pages=kv_indices.astype("int64"),
                writers=layout.writers * len({line.pp_rank for line in link.lines}),
                now=time.monotonic(),
                last_by_status=self._last_by_status(),
                writer_ranks=self.writer_ranks(link),
            )
        self._run_staging(effects)

    def writer_ranks(self, link: Connection) -> frozenset[int] | None:
        """What the ranks that write chunks call themselves; ``None``: that is not known."""
        return ranks_of(link.sizes, link.mapping.targets)

    def _last_by_status(self) -> bool:
        """Mooncake before 0.5.18 does not announce a room's last chunk but by its status."""
        old = ORDER.index(self.config.release) < ORDER.index("0.5.18")
        return self.wire_backend != "nixl" and old

    def _scatter(self, effect: Scatter) -> list[Effect]:
        """Copy a chunk out of the ring into KV pages; its place is free afterwards."""
        link = self.decode_side().connection(effect.room)
        announced = self.decode_side().announced(effect.room)
        staging = self._decode_staging
        try:
            if link is not None and announced is not None:
                layout = decode_layout(self.args, self.config.parallel, link)
                scatter(self.args, effect, self._ring, layout, announced)
        except Exception as error:  # noqa: BLE001  # its place must come back, whatever it was
            self._fail_room(effect.room, f"scatter of chunk {effect.chunk_idx}: {error}")
        finally:
            with self._staging_lock:
                done = staging.scattered(effect, time.monotonic()) if staging is not None else []
        return done

    def _settle(self, room: int) -> None:
        """Withhold Success exactly while chunks of the room are not scattered."""
        staging, side = self._decode_staging, self.decode
        if staging is None or side is None:
            return
        with self._staging_lock, side.lock:  # at once: another thread may scatter meanwhile
            if staging.complete(room):
                told = side.rooms.release_success(room, time.monotonic())
            else:
                told = []
                side.rooms.hold_success(room)
        self.run(told)

    def before_status(self, room: int, prefill_rank: int, status: int) -> None:
        """A prefill rank says how a room stands: the last chunk may be told by that alone."""
        staging = self._decode_staging
        if staging is None:
            return
        effects: list[Effect] = []
        if status == KVPoll.Success:
            with self._staging_lock:
                effects = staging.on_writer_done(room, prefill_rank, time.monotonic())
            self._run_staging(effects)
        with self._staging_lock:
            known = not staging.complete(room)
        if known or effects:  # effects: it was this chunk that Success was withheld for
            self._settle(room)

    def on_staged_notification(self, text: NotifStg) -> None:
        """A staged chunk was announced by a notification (NIXL up to 0.5.22)."""
        staging = self._decode_staging
        if staging is None:
            self.counters.add("dropped", "staging-off")
            return
        with self._staging_lock:
            effects = staging.on_chunk_written(
                text.room,
                text.chunk_idx,
                text.page_start,
                text.num_pages,
                writer=text.pp_rank,
                now=time.monotonic(),
            )
        self._run_staging(effects)
        self._settle(text.room)

    def on_prefill_lost(self, prefill: str) -> None:
        """A prefill side is gone: it is told of watermarks no more."""
        super().on_prefill_lost(prefill)
        if self._decode_staging is not None:
            with self._staging_lock:
                self._decode_staging.forget_prefill(prefill)

    def pages_busy(self, room: int) -> bool:
        """Whether a scatter still writes into the room's pages."""
        with self._staging_lock:
            return self._decode_staging is not None and self._decode_staging.busy(room)

    # -------------------------------------------------------------------- both

    def on_room_closed(self, room: int) -> None:
        """A room is over: free what it holds as soon as nobody can write for it any more."""
        super().on_room_closed(room)
        if self._prefill_staging is None:
            self._close_staged(room)
            return
        with self._staging_lock:
            self._prefill_staging.close_room(room)
            self._saver.forget(room)
            for shelf in (self._staged_next, self._staged_behind):
                for key in [key for key in shelf if key[0] == room]:
                    del shelf[key]

    def _close_staged(self, room: int) -> None:
        """Free what a room holds in the ring, or remember to when nobody writes any more."""
        with self._staging_lock:
            if self._decode_staging is None:
                return
            quiet = self.decode_side().quiet(room)
            if not quiet:
                self._noisy.add(room)
            effects = self._decode_staging.close_room(room, time.monotonic(), quiet=quiet)
        self._run_staging(effects)

    def tick_staging(self) -> None:
        """Let staging deadlines pass, and free what closed rooms held."""
        super().tick_staging()
        now = time.monotonic()
        effects: list[Effect] = []
        with self._staging_lock:
            if self._prefill_staging is not None:
                effects += self._prefill_staging.tick(now)
            if self._decode_staging is not None:
                effects += self._decode_staging.tick(now)
                for room in [r for r in self._noisy if self.decode_side().quiet(r)]:
                    self._noisy.discard(room)
                    effects += self._decode_staging.writers_quiet(room, now)
        self._run_staging(effects)
        self._stand_in()

    def _stand_in(self) -> None:
        """Replace gather buffers that peers hold which take nothing: one each, and not for ever."""
        most = 2 * self.config.transfer_threads
        if len(self._buffers) < most and self._buffers.stand_still(_HELD_S):
            self._buffers.add(self._staging_buffer())
            self.prefill_side().transfers.wake(self._buffers.next_up())
