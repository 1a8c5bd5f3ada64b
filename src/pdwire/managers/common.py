"""What every backend's manager is: sockets, an engine, one side's state, counters.

A backend adds its dialect: how a registration, metadata and a status look on its wire, and
which engine moves the bytes. Nothing here or there packs or reads a frame: messages are the
generated dataclasses, and a codec is chosen by the release that the other side speaks.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from pdwire.bootstrap.client import BootstrapClient
from pdwire.bootstrap.server import BootstrapServer
from pdwire.codec import Message, field_names
from pdwire.engines import Engine, Region
from pdwire.errors import UnknownLayoutError, WireError
from pdwire.frames import NO_I32, I32Array
from pdwire.managers.announced import Announced, why_unsayable
from pdwire.managers.base import BaseKVManager
from pdwire.managers.config import FOLLOW_ROOM, DisaggregationMode, KVArgs, ManagerConfig
from pdwire.managers.decode_side import DecodeSide
from pdwire.managers.ending import close_at_exit
from pdwire.managers.endpoints import is_unspecified
from pdwire.managers.health import Counters
from pdwire.managers.lengths import LengthError
from pdwire.managers.membership import Membership
from pdwire.managers.memory import AuxMemory
from pdwire.managers.peers import Peer
from pdwire.managers.planner import Chunk, PlanError
from pdwire.managers.prefill_side import PrefillSide
from pdwire.managers.sockets import Endpoint, Loop, Outbox, SendError, tcp
from pdwire.managers.transfers import Steps
from pdwire.managers.writing import ChunkWrite
from pdwire.rooms import (
    Drop,
    Effect,
    PeerGone,
    SendAbort,
    SendAbortAck,
    SendStatus,
)
from pdwire.wire import layout, layouts
from pdwire.wire.bootstrap import RoutePut
from pdwire.wire.common import AuxData
from pdwire.wire.table import ORDER

__all__ = ["CommonKVManager", "Notifications"]

_LOG: Final = logging.getLogger("pdwire.managers")
_PROBE_S: Final = 2.0
"""Seconds between two looks of the bootstrap server at its ranks, at most."""
_VITAL: Final[dict[str, object]] = {
    "is_dummy": False,
    "decode_prefix_len": 0,
    "dst_dcp_size": 1,
    "dst_state_data_ptrs": (),
    "dst_state_indices": (),
}
"""Fact -> the value that goes without saying."""


def _must_be_said(value: object, nothing: object) -> bool:
    if isinstance(value, tuple):
        return bool(value)
    return value is not None and value != nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Notifications:
    """Texts that travel with a chunk's transfers, where a release wants them."""

    kv: bytes | None = None
    state: bytes | None = None
    more_state: tuple[bytes, ...] = ()
    """Texts of further components of the state, for when all of it is written."""
    aux: bytes | None = None


class CommonKVManager(BaseKVManager):
    """Base of the backend managers.

    Args:
        args: this rank's memory; registered with the engine here.
        mode: which side this is.
        config: place among the ranks, release, limits.
        engine: moves the bytes; by default the backend's own.
        bootstrap: prefill: a server to register with in this process; by default one is
            started on rank 0 (``config.bootstrap_port`` 0) or the configured one is used.

    Raises:
        ValueError: ``aux_over_tcp`` with a backend that has no AUX_DATA.
        EngineError: the engine cannot be made, or refuses the memory.
        BootstrapError: the bootstrap server cannot be reached.
    """

    backend: ClassVar[str]
    wire_backend: ClassVar[str]
    status_class: ClassVar[type[Message]]
    always_said: ClassVar[tuple[str, ...]] = ()
    """Facts that are given to every layout, because their absence means something."""
    ended_by_abort: ClassVar[tuple[str, ...]] = ()
    """Releases whose prefill loop ends on an ABORT; a decode rank of ours does not send it one."""

    def __init__(
        self,
        args: KVArgs,
        mode: DisaggregationMode,
        config: ManagerConfig | None = None,
        engine: Engine | None = None,
        bootstrap: BootstrapServer | None = None,
    ) -> None:
        self.args = args
        self.mode = mode
        self.config = config or ManagerConfig()
        if self.config.aux_over_tcp and not layouts(self.wire_backend, "AUX_DATA"):
            raise ValueError(f"{self.backend} has no message that carries auxiliary rows")
        self.counters = Counters()
        self.aux_memory = AuxMemory(args)
        # A decode rank asks a server of its peer's release, in that release's query keys; a
        # prefill rank registers with a server of ours.
        asked = self.config.release if mode is DisaggregationMode.DECODE else ORDER[-1]
        self.client = BootstrapClient(release=asked, timeout_s=self.config.http_timeout_s)
        self.bootstrap = bootstrap
        self._pid = os.getpid()
        self._steps = ExitStack()
        """What closing does, last first, and each step whatever another does."""
        try:
            self._start(engine if engine is not None else self.make_engine())
        except BaseException:
            self._steps.close()
            raise
        close_at_exit(self)

    def _start(self, engine: Engine) -> None:
        args, mode = self.args, self.mode
        self.engine = engine
        self._steps.callback(engine.close)
        self._regions = [
            Region(address=address, length=length, kind=args.mem_kind, device=args.gpu_id)
            for address, length in args.regions()
        ]
        self.engine.register(self._regions)
        limits = self.config.limits
        self.outbox = Outbox(
            self.counters,
            deadline_s=self.config.send_timeout_s,
            # A verdict has a point while decode waits for it. What decode asks for has to arrive
            # while its room still waits, so that the room hears why it did not.
            patience_s=limits.waiting_s / (2 if mode is DisaggregationMode.DECODE else 1),
            on_undelivered=self._on_undelivered,
            name=f"pdwire-{self.backend}-{mode}-outbox",
        )
        self._steps.callback(self.outbox.close)
        self.set_up_staging()
        self.prefill = PrefillSide(self) if mode is DisaggregationMode.PREFILL else None
        self.decode = DecodeSide(self) if mode is DisaggregationMode.DECODE else None
        side: PrefillSide | DecodeSide = self._side()
        self._steps.callback(side.stop)
        self.membership = Membership(self)
        self._steps.callback(self.membership.stop)
        self.counters.gauge("rooms", side.counts)
        self.loop = Loop(
            f"pdwire-{self.backend}-{mode}-loop",
            self.config.host,
            side.handle,
            tick=self._tick,
            on_dead=side.shut,
            counters=self.counters,
            max_frame_bytes=self.config.max_frame_bytes,
        )
        self._steps.callback(self.loop.stop)
        self.loop.start()
        if self.prefill is not None:
            self._join_bootstrap()

    def _tick(self) -> None:
        self._side().tick()
        self.membership.tick()

    def _side(self) -> PrefillSide | DecodeSide:
        side = self.prefill or self.decode
        if side is None:
            raise RuntimeError(self.mode)
        return side

    def prefill_side(self) -> PrefillSide:
        """The prefill side; ``RuntimeError`` on a decode manager."""
        if self.prefill is None:
            raise RuntimeError("this is a decode manager")
        return self.prefill

    def decode_side(self) -> DecodeSide:
        """The decode side; ``RuntimeError`` on a prefill manager."""
        if self.decode is None:
            raise RuntimeError("this is a prefill manager")
        return self.decode

    @property
    def endpoint(self) -> Endpoint:
        """This rank's control socket, as peers are told."""
        return self.config.announced_host, self.loop.port

    # --------------------------------------------------------- backend dialect

    def make_engine(self) -> Engine:
        """The backend's own engine."""
        raise NotImplementedError

    def peer_id(self, info: Any) -> str:  # noqa: ANN401  # any backend's metadata
        """What identifies the sender of metadata."""
        raise NotImplementedError

    def announced(self, message: Any) -> str | None:  # noqa: ANN401  # any backend's registration
        """The id that a registration announces; ``None`` when that cannot be read."""
        return self.peer_id(message)

    def peer_of(self, message: Message, releases: Sequence[str]) -> Peer:
        """The peer that a registration announces; ``ValueError`` when it cannot be served."""
        raise NotImplementedError

    def registration_facts(self) -> dict[str, object]:
        """Every field of this rank's registration, whichever release carries it."""
        raise NotImplementedError

    def metadata_facts(self, room: int, required: int, *, is_dummy: bool) -> dict[str, object]:
        """The fields of metadata that are not about pages."""
        raise NotImplementedError

    def notifications_for(self, chunk: Chunk, peer: Peer) -> Notifications:  # noqa: ARG002  # NIXL's
        """Texts that go with a chunk's transfers."""
        return Notifications()

    def announce(
        self,
        kv_indices: I32Array,
        aux_index: int | None,
        state_indices: Sequence[I32Array],
    ) -> Announced:
        """What a room may be written, checked before a peer is told of it.

        Args:
            kv_indices: destination pages, int32.
            aux_index: row of the auxiliary buffers, or none.
            state_indices: items per state component, int32.

        Raises:
            OutsideRequest: a page, item or row that this rank has not, or names twice.
            LengthError: pages have several lengths, and the release cannot say so (P4); or this
                rank is a pipeline stage, and the release or its arguments do not say of what.
        """
        unsaid = why_unsayable(
            self.args,
            self.config,
            lengths=self.says_lengths(),
            layers=self._says("dst_kv_layer_ids"),
        )
        if unsaid is not None:
            raise LengthError(unsaid)
        return Announced.of(self.args, kv_indices, aux_index, state_indices)

    def says_lengths(self) -> bool:
        """Whether this rank's registration says the length of every region."""
        return self._says("dst_kv_item_lens")

    def _says(self, field: str) -> bool:
        codec = layout(self.wire_backend, "KVArgsRegisterInfo", release=self.config.release)
        return field in codec.fields

    # ----------------------------------------------------------- staging hooks

    def set_up_staging(self) -> None:
        """Make staging memory; only the staging mixin does."""

    def on_staging_message(self, message: Message) -> bool:  # noqa: ARG002  # the mixin's
        """Handle a staging message; ``False`` when staging is not spoken here."""
        return False

    def stage(self, write: ChunkWrite, peer: Peer) -> Generator[Any, None, bool]:  # noqa: ARG002  # the mixin's
        """Write a chunk's KV through staging; ``False``: write it directly."""
        yield from ()
        return False

    def split(self, chunk: Chunk, peer: Peer, info: Any) -> list[Chunk]:  # noqa: ANN401, ARG002
        """The chunks that a peer gets of one that the scheduler sent."""
        return [chunk]

    def ask_ahead(self, room: int) -> None:
        """The scheduler knows a room's size: staging can be asked for."""

    def before_status(self, room: int, prefill_rank: int, status: int) -> None:
        """A prefill rank is about to say how a room stands."""

    def on_prefill_lost(self, prefill: str) -> None:
        """A prefill side does not answer any more."""

    def pages_busy(self, room: int) -> bool:  # noqa: ARG002  # the mixin's
        """Whether this side itself still writes into the room's pages."""
        return False

    def tick_staging(self) -> None:
        """Let staging deadlines pass."""

    def on_peer(self, peer: Peer) -> None:
        """A peer has registered."""

    def on_peer_gone(self, peer: str) -> None:
        """A peer's registration was replaced or forgotten."""

    def on_room_connected(self, room: int, expected: int) -> None:
        """A receiver knows its prefill ranks, and how many answers it waits for."""

    def on_metadata(
        self, room: int, kv_indices: I32Array, state_indices: Sequence[I32Array]
    ) -> None:
        """A receiver is about to publish its pages and state items."""

    def on_room_closed(self, room: int) -> None:
        """A room is over."""

    # --------------------------------------------------------------- messages

    def build(self, message: str, facts: dict[str, object], release: str) -> list[bytes]:
        """Frames of a message in a release's layout.

        Facts that the layout lacks are left out, but for those without which the other side
        would do something else.

        Raises:
            LossyEncodeError: it cannot carry such a fact.
        """
        codec = layout(self.wire_backend, message, release=release)
        vital = {f for f, nothing in _VITAL.items() if _must_be_said(facts.get(f), nothing)}
        held = {*codec.fields, *vital, *self.always_said}
        known = set(field_names(codec.cls))
        return codec.encode(codec.cls(**{k: v for k, v in facts.items() if k in held & known}))

    def say(
        self,
        endpoint: Endpoint,
        message: str,
        value: Message,
        release: str,
        *,
        courtesy: bool = False,
    ) -> bool:
        """Send a message; ``False`` (and counted) when that release or endpoint cannot take it."""
        try:
            frames = layout(self.wire_backend, message, release=release).encode(value)
            self.outbox.send(endpoint, frames, message, courtesy=courtesy)
        except (UnknownLayoutError, WireError):
            self.counters.add("unsaid", message)
            return False
        except SendError:
            return False
        return True

    def registration(self) -> list[bytes]:
        """Frames of this rank's registration, in the configured release's layout."""
        return self.build("KVArgsRegisterInfo", self.registration_facts(), self.config.release)

    def metadata(
        self, room: int, required: int, facts: dict[str, object], *, is_dummy: bool
    ) -> list[bytes]:
        """Frames of one room's metadata; a dummy says nothing but that it is one."""
        if is_dummy:
            facts = self.dummy_facts(facts)
        whole = {**facts, **self.metadata_facts(room, required, is_dummy=is_dummy)}
        return self.build("TransferInfo", whole, self.config.release)

    def dummy_facts(self, facts: dict[str, object]) -> dict[str, object]:
        """What a dummy's metadata says of pages: nothing, but the prefix length."""
        return {
            "dst_kv_indices": NO_I32,
            "dst_aux_index": None,
            "dst_state_indices": (),
            "decode_prefix_len": facts["decode_prefix_len"],
        }

    def poll_engine(self) -> None:
        """Take what the engine has to say (NIXL's notifications)."""

    def dropped(self, error: WireError) -> None:
        """Count a message that was refused; log the first of its kind."""
        kind = type(error).__name__
        if self.counters.add("dropped", kind) == 1:
            _LOG.warning("%s dropped a message: %s", self.loop.name, error)

    def run(self, effects: Sequence[Effect]) -> None:
        """Do what the rooms ask for."""
        for effect in effects:
            match effect:
                case SendStatus():
                    self._send_status(effect)
                case SendAbort():
                    self._send_abort(effect)
                case SendAbortAck():
                    self._send_ack(effect)
                case PeerGone():
                    if self.prefill is not None:
                        self.prefill.forget(effect.peer)
                case Drop():
                    self.counters.add("dropped", effect.kind)

    def _send_status(self, effect: SendStatus) -> None:
        facts = {
            "room": effect.room,
            "status": int(effect.status),
            "prefill_rank": self.config.parallel.unique_rank,
            "failure_reason": effect.reason,
        }
        status = self.status_class(**{k: v for k, v in facts.items() if k in self.status_fields})
        peer = self._peer_at(effect.endpoint)
        release = self._release_of(effect.peer)
        self.say(effect.endpoint, "KV_STATUS", status, release, courtesy=peer is None)

    @property
    def status_fields(self) -> tuple[str, ...]:
        """Fields of a status that this backend's senders fill; Mooncake's say no reason."""
        return field_names(self.status_class)

    def _release_of(self, peer: str) -> str:
        known = self.prefill.peers.get(peer) if self.prefill is not None else None
        return known.release if known is not None else self.config.release

    def _peer_at(self, endpoint: Endpoint) -> Peer | None:
        """The peer that registered with an endpoint; everybody else there is a stranger."""
        return None if self.prefill is None else self.prefill.peer_at(endpoint)

    def _send_abort(self, effect: SendAbort) -> None:
        host, port = self.endpoint
        release = self.config.release
        if release in self.ended_by_abort:
            self.counters.add("unsaid", "ABORT")
            return
        facts: dict[str, object] = {"room": effect.room, "decode_ip": host, "decode_port": port}
        facts["generation"] = effect.generation
        try:
            frames = self.build("ABORT", facts, release)
            # So long the pages wait for the answer.
            patience_s = self.config.limits.abort_release_s
            self.outbox.send(effect.prefill, frames, "ABORT", patience_s=patience_s)
        except (UnknownLayoutError, WireError, SendError):
            self.counters.add("unsaid", "ABORT")

    def _send_ack(self, effect: SendAbortAck) -> None:
        peer = self._peer_at(effect.endpoint)
        release = self.config.release if peer is None else peer.release
        facts: dict[str, object] = {
            "room": effect.room,
            "prefill_rank": self.config.parallel.unique_rank,
            "generation": effect.generation,
        }
        try:
            frames = self.build("ABORT_ACK", facts, release)
            self.outbox.send(
                effect.endpoint,
                frames,
                "ABORT_ACK",
                courtesy=peer is None,
                patience_s=self.config.limits.abort_release_s,
            )
        except (UnknownLayoutError, WireError, SendError):
            self.counters.add("unsaid", "ABORT_ACK")

    def _on_undelivered(
        self, endpoint: Endpoint, kind: str, frames: Sequence[bytes], reason: str
    ) -> None:
        """A message was given up. What stood on it is told: nobody will answer it."""
        if self.decode is None or kind not in {"KVArgsRegisterInfo", "TransferInfo"}:
            return
        room = None
        if kind == "TransferInfo":
            told: Any = layout(self.wire_backend, kind, release=self.config.release).decode(frames)
            room = told.room
        self.decode.unreachable(endpoint, room, f"{kind} did not reach {tcp(endpoint)}: {reason}")

    # --------------------------------------------------------------- transfers

    @property
    def sends_aux(self) -> bool:
        """Only the last pipeline stage sends the auxiliary row, as in every release."""
        return self.config.parallel.pp_rank == self.config.parallel.pp_size - 1

    def send_aux(self, write: ChunkWrite, peer: Peer, notify: bytes | None) -> Steps:
        """Write the auxiliary row, through the engine or as AUX_DATA messages."""
        chunk, info = write.task.chunk, write.task.info
        assert chunk.aux_index is not None  # noqa: S101  # the caller has checked
        if self.config.aux_over_tcp:
            self._send_aux_messages(peer, chunk, info)
            return
        blocks = self.prefill_side().planner.aux(peer, chunk.aux_index, info.dst_aux_index)
        yield from write.put(peer, [blocks], notify, kind=None)

    def _send_aux_messages(self, peer: Peer, chunk: Chunk, info: Any) -> None:  # noqa: ANN401
        for buffer, size in enumerate(self.args.aux_item_lens):
            if not size:
                continue
            data = self.aux_memory.read(buffer, chunk.aux_index or 0)
            message = AuxData(
                room=chunk.room, buffer_index=buffer, aux_index=info.dst_aux_index, data=data
            )
            if not self.say((info.endpoint, info.dst_port), "AUX_DATA", message, peer.release):
                raise PlanError(f"auxiliary buffer {buffer} could not be sent to {peer.id}")

    # --------------------------------------------------------------- bootstrap

    def _join_bootstrap(self) -> None:
        """Register this rank; start the server where none is named."""
        parallel, config = self.config.parallel, self.config
        is_own = self.bootstrap is None and config.bootstrap_port == 0
        if is_own:
            is_every = config.bootstrap_host in {"", "*"}  # spellings that only libzmq binds
            bound = "0.0.0.0" if is_every else config.bootstrap_host  # noqa: S104
            probe_s = min(_PROBE_S, config.heartbeat_s)
            self.bootstrap = BootstrapServer(bound, 0, probe_s=probe_s)
            self._steps.callback(self.bootstrap.close)
        host, port = self.endpoint
        rank = RoutePut(
            attn_tp_size=parallel.attn_tp_size,
            attn_tp_rank=parallel.attn_tp_rank,
            attn_cp_size=parallel.attn_cp_size,
            attn_cp_rank=parallel.attn_cp_rank,
            attn_dp_size=parallel.attn_dp_size,
            attn_dp_rank=parallel.attn_dp_rank,
            pp_size=parallel.pp_size,
            pp_rank=parallel.pp_rank,
            system_dp_size=1,
            system_dp_rank=0,
            rank_ip=host,
            rank_port=port,
            page_size=self.args.page_size,
            kv_cache_dtype=self.args.kv_cache_dtype,
            kv_layout=self.args.kv_layout,
            dsv41_spec_layout=self.args.dsv41_spec_layout,
            load_balance_method=config.load_balance_method,
            decode_allocation_policy=config.decode_allocation_policy,
        )
        self.membership.join(self.bootstrap_address, rank)
        if not is_own:  # it lives on
            self._steps.callback(self.membership.leave)

    def note_dp_rank(self, address: str, room: int) -> None:
        """Say which DP rank serves a room, where decode cannot know; or the room fails."""
        config = self.config
        if config.parallel.attn_dp_size == 1:
            return
        if config.load_balance_method != FOLLOW_ROOM:
            address = address or self.bootstrap_address
        if address:
            side = self.prefill_side()
            self.membership.note_dp_rank(address, room, lambda why: side.fail(room, why))

    @property
    def bootstrap_address(self) -> str:
        """``host:port`` of the bootstrap server that this prefill rank registered with.

        One that is bound to every interface is reached where this rank is.
        """
        host, port = self.config.bootstrap_host, self.config.bootstrap_port
        if self.bootstrap is not None:
            host, port = self.bootstrap.host, self.bootstrap.port
        reached = self.config.announced_host if is_unspecified(host) else host
        return tcp((reached, port)).removeprefix("tcp://")

    # --------------------------------------------------------------------- end

    def health(self) -> dict[str, object]:
        """Loops and counters, as plain data."""
        return {
            "backend": self.backend,
            "mode": str(self.mode),
            "loop": {"alive": self.loop.alive, "dead": self.loop.dead, "port": self.loop.port},
            "counters": self.counters.snapshot(),
        }

    def close(self) -> None:
        """Stop every thread and join it, close every socket, give the memory back.

        Rooms that are not done fail, and the other side is told.

        Raises:
            RuntimeError: a thread did not end in time; everything else is closed all the same.

        In a process that was forked from the one that made the manager it does nothing: threads,
        sockets and memory are the parent's.
        """
        if os.getpid() != self._pid:
            return
        with self._steps:
            self._side().shut("the manager was closed")
