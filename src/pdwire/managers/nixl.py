"""NIXL's manager: agents by name, a tagged status, and notifications for older releases."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, ClassVar

from pdwire.codec import Message
from pdwire.engines import Engine
from pdwire.errors import UnknownLayoutError, WireError
from pdwire.frames import I32Array
from pdwire.managers.arrivals import Arrivals
from pdwire.managers.common import CommonKVManager, Notifications
from pdwire.managers.connection import Connection
from pdwire.managers.peers import Peer, from_nixl
from pdwire.managers.planner import Chunk
from pdwire.managers.receiver import CommonKVReceiver
from pdwire.managers.sender import CommonKVSender
from pdwire.managers.staging_mixin import StagingManagerMixin
from pdwire.rooms import KVPoll, SendStatus
from pdwire.wire import layout, nixl
from pdwire.wire.nixl import NotifAux, NotifKV, NotifState, NotifStg
from pdwire.wire.table import ORDER

__all__ = ["NixlKVManager", "NixlKVReceiver", "NixlKVSender"]

_TAGS = ("NOTIF_KV", "NOTIF_STG", "NOTIF_STATE", "NOTIF_AUX")


class NixlKVManager(StagingManagerMixin, CommonKVManager):
    """One rank's end of the hand-over through a NIXL agent."""

    backend: ClassVar[str] = "nixl"
    wire_backend: ClassVar[str] = "nixl"
    status_class: ClassVar[type[Message]] = nixl.KVStatus
    # Where a release does not carry them, all pages have one length and lie in VRAM: what is
    # otherwise must be refused, not left out.
    always_said: ClassVar[tuple[str, ...]] = ("dst_kv_item_lens", "dst_kv_mem_kinds")
    # The message has no guard, and the prefill loop of these releases ends on a message without
    # one: the room's pages come back after the long timeout, the prefill rank stays.
    ended_by_abort: ClassVar[tuple[str, ...]] = (
        "0.5.13",
        "0.5.13.post1",
        "0.5.14",
        "0.5.15",
        "0.5.15.post1",
    )

    def make_engine(self) -> Engine:
        """A NIXL agent over UCX."""
        from pdwire.engines.nixl import NixlEngine  # noqa: PLC0415  # an extra

        return NixlEngine()

    def set_up_staging(self) -> None:
        """Staging, and the count of what notifications say has arrived."""
        super().set_up_staging()
        self._arrivals = Arrivals()
        self._arrivals_lock = threading.Lock()
        self._codecs = [c for tag in _TAGS if (c := self._notification(tag)) is not None]

    def _notification(self, tag: str) -> Any:  # noqa: ANN401  # a codec of one of four messages
        try:
            return layout("nixl", tag, release=self.config.release)
        except UnknownLayoutError:
            return None

    # ---------------------------------------------------------------- dialect

    def peer_id(self, info: Any) -> str:  # noqa: ANN401  # its own TransferInfo
        """The agent name."""
        return str(info.agent_name)

    def peer_of(self, message: Message, releases: Sequence[str]) -> Peer:
        """The peer that a registration announces."""
        if not isinstance(message, nixl.KVArgsRegisterInfo):
            raise TypeError(message)
        return from_nixl(message, releases)

    def registration_facts(self) -> dict[str, object]:
        """Every field of this rank's registration."""
        args, parallel, (host, port) = self.args, self.config.parallel, self.endpoint
        staging = self.staging_region()
        sizes = zip(args.kv_data_lens, args.kv_item_lens, strict=True)
        slots = [size // item for size, item in sizes if size and item]
        return {
            "endpoint": host,
            "dst_port": port,
            "agent_name": self.engine.session_id,
            "agent_metadata": self.engine.metadata,
            "dst_kv_ptrs": args.kv_data_ptrs,
            "dst_aux_ptrs": args.aux_data_ptrs,
            "dst_state_data_ptrs": args.state_data_ptrs,
            "gpu_id": args.gpu_id,
            "decode_tp_size": parallel.attn_tp_size,
            "decode_tp_rank": parallel.attn_tp_rank,
            "dst_kv_item_len": args.kv_item_lens[0] if args.kv_item_lens else 0,
            "dst_state_item_lens": args.state_item_lens,
            "dst_state_dim_per_tensor": args.state_dim_per_tensor,
            "staging_base_ptr": staging[0],
            "staging_total_size": staging[1],
            "dst_num_slots": min(slots, default=0),
            "dst_kv_mem_kinds": (args.mem_kind,) * len(args.kv_data_ptrs),
            "dst_kv_item_lens": self._lengths_said(),
            "dst_state_layer_ids": args.state_layer_ids,
            "dst_kv_layer_ids": args.kv_layer_ids,
            "dst_dcp_size": parallel.dcp_size,
            "dst_dcp_rank": parallel.dcp_rank,
            "dst_state_data_lens": args.state_data_lens,
        }

    def _lengths_said(self) -> tuple[int, ...]:
        """Bytes of a page per region; the first for all where the release says no other.

        Rooms of a pool whose lengths it cannot say are refused before they are announced
        (:meth:`announce`); the registration itself goes out, so that prefill can be told so.
        """
        lens = self.args.kv_item_lens
        return lens if self.says_lengths() else lens[:1] * len(lens)

    def metadata_facts(self, room: int, required: int, *, is_dummy: bool) -> dict[str, object]:
        """The fields of metadata that are not about pages."""
        host, port = self.endpoint
        return {
            "room": room,
            "endpoint": host,
            "dst_port": port,
            "agent_name": self.engine.session_id,
            "required_dst_info_num": required,
            "is_dummy": is_dummy,
        }

    def dummy_facts(self, facts: dict[str, object]) -> dict[str, object]:
        """A dummy still names the auxiliary row: NIXL's encoders always do."""
        return {**super().dummy_facts(facts), "dst_aux_index": facts["dst_aux_index"]}

    # ----------------------------------------------------------- notifications

    @property
    def source_rank(self) -> int:
        """What tells prefill ranks apart in notifications (0.5.19's transfer source rank)."""
        parallel = self.config.parallel
        return parallel.pp_rank * parallel.attn_tp_size + parallel.attn_tp_rank

    def notifications_for(self, chunk: Chunk, peer: Peer) -> Notifications:
        """Texts for a peer of a release that counts them."""
        rank, has_kv, release = self.source_rank, len(chunk.pages) > 0, peer.release
        kv = NotifKV(room=chunk.room, chunk_id=chunk.index, is_last=chunk.is_last, pp_rank=rank)
        aux = NotifAux(room=chunk.room)
        if not has_kv:
            aux = NotifAux(room=chunk.room, pp_rank=rank, expected=chunk.index)
        filled = [n for n, items in enumerate(chunk.state_indices) if len(items)]
        told = [
            _text("NOTIF_STATE", NotifState(room=chunk.room, pp_rank=rank, component=n), release)
            for n in filled or range(min(1, len(chunk.state_indices)))
        ]
        texts = list(dict.fromkeys(text for text in told if text is not None))
        return Notifications(
            kv=_text("NOTIF_KV", kv, release) if has_kv else None,
            state=texts[0] if texts else None,
            more_state=tuple(texts[1:]),
            aux=_text("NOTIF_AUX", aux, release),
        )

    def staged_notification(self, chunk: Chunk, peer: Peer) -> bytes | None:
        """Up to 0.5.22 a staged chunk is announced by its transfer."""
        text = NotifStg(
            room=chunk.room,
            chunk_id=chunk.index,
            is_last=chunk.is_last,
            pp_rank=self.source_rank,
            chunk_idx=chunk.index,
            page_start=chunk.start,
            num_pages=len(chunk.pages),
            agent_name=peer.id,
        )
        return _text("NOTIF_STG", text, peer.release)

    def on_room_connected(self, room: int, expected: int) -> None:
        """Count what comes for the room, where the release notifies."""
        super().on_room_connected(room, expected)
        if not self._codecs:
            return
        link = self.decode_side().connection(room)
        asked = None if link is None else self._sources(link)
        stages = 1 if link is None else len({t.pp_rank for t in link.mapping.targets})
        with self._arrivals_lock:
            self._arrivals.expect(room, expected, asked=asked, stages=stages)

    def writer_ranks(self, link: Connection) -> frozenset[int] | None:
        """As everywhere, and as notifications say it: up to 0.5.22 they announce a chunk."""
        told, sources = super().writer_ranks(link), self._sources(link)
        return None if told is None or sources is None else told | sources

    def _sources(self, link: Connection) -> frozenset[int] | None:
        """What the ranks that serve a room may call themselves in notifications.

        Releases differ: the pipeline rank up to 0.5.11, the engine's tensor rank up to 0.5.16, then
        both in one number, as ours do in every release. Tensor ranks are counted over data and
        context parallelism too, and then this side cannot know them: any different ones do.
        """
        sizes = link.sizes
        if sizes.attn_cp_size > 1 or sizes.attn_dp_size > 1:
            return None
        numbers: set[int] = set()
        release = ORDER.index(self.config.release)
        for target in link.mapping.targets:
            if target.is_dummy:
                continue
            numbers.add(target.pp_rank * sizes.attn_tp_size + target.tp_rank)
            if release < ORDER.index("0.5.17"):
                numbers.add(target.tp_rank)
            if release < ORDER.index("0.5.12"):
                numbers |= {target.pp_rank, 0}
        return frozenset(numbers)

    def on_metadata(
        self, room: int, kv_indices: I32Array, state_indices: Sequence[I32Array]
    ) -> None:
        """State is expected where the room has destinations for it, each component by itself.

        A component without rows has none: a prefill rank of 0.5.12 to 0.5.22 writes nothing
        for it, and says nothing.
        """
        super().on_metadata(room, kv_indices, state_indices)
        if wanted := [n for n, rows in enumerate(state_indices) if len(rows)]:
            with self._arrivals_lock:
                self._arrivals.want_state(room, wanted)

    def on_room_closed(self, room: int) -> None:
        """Stop counting."""
        super().on_room_closed(room)
        with self._arrivals_lock:
            self._arrivals.forget(room)

    def _send_status(self, effect: SendStatus) -> None:
        """Success is not told to a peer that counts notifications: they say it.

        A status travels another way and may overtake them. A decode rank of 0.5.20 to 0.5.22
        that it tells of Success looks for notifications no more, and a staged chunk among them
        is never scattered. No prefill rank of these releases sends it.
        """
        counts = self._notified(self._release_of(effect.peer))
        if not (counts and effect.status is KVPoll.Success):
            super()._send_status(effect)

    @staticmethod
    def _notified(release: str) -> bool:
        try:
            layout("nixl", "NOTIF_KV", release=release)
        except UnknownLayoutError:
            return False
        return True

    def poll_engine(self) -> None:
        """Take what peers have notified."""
        if self.decode is None or not self._codecs:
            return
        for _, text in self.engine.notifications():
            self._on_notification(text)

    def _on_notification(self, text: bytes) -> None:
        for codec in self._codecs:
            try:
                message = codec.decode([text])
            except WireError:
                continue
            self.counters.add("messages", codec.message)
            with self._arrivals_lock:
                whole = self._arrived(message)
            if whole:
                self._mark_arrived(message.room)
            return
        self.counters.add("dropped", "notification")

    def _mark_arrived(self, room: int) -> None:
        side = self.decode_side()
        side.apply(lambda now: side.rooms.mark_arrived(room, now))

    def _arrived(self, message: Message) -> bool:
        match message:
            case NotifKV():
                return self._arrivals.on_kv(message)
            case NotifAux():
                return self._arrivals.on_aux(message)
            case NotifState():
                return self._arrivals.on_state(message)
            case NotifStg():
                self.on_staged_notification(message)
                return self._arrivals.on_staged(
                    message.room, message.pp_rank, message.chunk_id, is_last=message.is_last
                )
        return False

    def sender(self, bootstrap_room: int, bootstrap_addr: str = "") -> NixlKVSender:
        """A sender of one room."""
        return NixlKVSender(self, bootstrap_addr, bootstrap_room)

    def receiver(self, bootstrap_addr: str, bootstrap_room: int) -> NixlKVReceiver:
        """A receiver of one room."""
        return NixlKVReceiver(self, bootstrap_addr, bootstrap_room)


def _text(tag: str, message: Message, release: str) -> bytes | None:
    """A notification in a release's words; ``None`` where it has no such text."""
    try:
        [text] = layout("nixl", tag, release=release).encode(message)
    except (UnknownLayoutError, WireError):
        return None
    return text


class NixlKVSender(CommonKVSender):
    """The prefill side of one room over NIXL."""


class NixlKVReceiver(CommonKVReceiver):
    """The decode side of one room over NIXL."""
