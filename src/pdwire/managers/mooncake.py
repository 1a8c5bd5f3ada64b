"""Mooncake's manager: sessions are ``host:port``, status is untagged, staging is spoken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pdwire.codec import Message
from pdwire.engines import Engine
from pdwire.managers.common import CommonKVManager
from pdwire.managers.peers import Peer, from_mooncake
from pdwire.managers.receiver import CommonKVReceiver
from pdwire.managers.sender import CommonKVSender
from pdwire.managers.staging_mixin import StagingManagerMixin
from pdwire.wire import mooncake

__all__ = ["MooncakeKVManager", "MooncakeKVReceiver", "MooncakeKVSender"]


class MooncakeKVManager(StagingManagerMixin, CommonKVManager):
    """One rank's end of the hand-over through Mooncake's transfer engine."""

    backend: ClassVar[str] = "mooncake"
    wire_backend: ClassVar[str] = "mooncake"
    status_class: ClassVar[type[Message]] = mooncake.KVStatus

    def make_engine(self) -> Engine:
        """Mooncake's engine: TCP, or RDMA over ``args.ib_device`` where one is named."""
        from pdwire.engines.mooncake import MooncakeEngine  # noqa: PLC0415  # an extra

        protocol = "rdma" if self.args.ib_device else "tcp"
        host = self.config.announced_host  # its session is what peers connect to
        return MooncakeEngine(host, protocol=protocol, device=self.args.ib_device)

    @property
    def status_fields(self) -> tuple[str, ...]:
        """Mooncake's senders say no reason, in any release."""
        return ("room", "status", "prefill_rank")

    def peer_id(self, info: Any) -> str:  # noqa: ANN401  # its own TransferInfo
        """The session id."""
        return str(info.mooncake_session_id)

    def peer_of(self, message: Message, releases: Sequence[str]) -> Peer:
        """The peer that a registration announces."""
        if not isinstance(message, mooncake.KVArgsRegisterInfo):
            raise TypeError(message)
        return from_mooncake(message, releases)

    def registration_facts(self) -> dict[str, object]:
        """Every field of this rank's registration."""
        args, parallel, (host, port) = self.args, self.config.parallel, self.endpoint
        staging = self.staging_region()
        return {
            "endpoint": host,
            "dst_port": port,
            "mooncake_session_id": self.engine.session_id,
            "dst_kv_ptrs": args.kv_data_ptrs,
            "dst_aux_ptrs": args.aux_data_ptrs,
            "dst_state_data_ptrs": args.state_data_ptrs,
            "dst_tp_rank": parallel.attn_tp_rank,
            "dst_attn_tp_size": parallel.attn_tp_size,
            "dst_kv_item_len": args.kv_item_lens[0] if args.kv_item_lens else 0,
            "dst_state_item_lens": args.state_item_lens,
            "dst_state_dim_per_tensor": args.state_dim_per_tensor,
            "dst_kv_layer_ids": args.kv_layer_ids,
            "dst_state_layer_ids": args.state_layer_ids,
            "staging_base_ptr": staging[0],
            "staging_total_size": staging[1],
            "dst_dcp_size": parallel.dcp_size,
            "dst_dcp_rank": parallel.dcp_rank,
            "dst_kv_item_lens": args.kv_item_lens,
        }

    def metadata_facts(self, room: int, required: int, *, is_dummy: bool) -> dict[str, object]:
        """The fields of metadata that are not about pages."""
        host, port = self.endpoint
        return {
            "room": room,
            "endpoint": host,
            "dst_port": port,
            "mooncake_session_id": self.engine.session_id,
            "required_dst_info_num": required,
            "is_dummy": is_dummy,
        }

    def sender(self, bootstrap_room: int, bootstrap_addr: str = "") -> MooncakeKVSender:
        """A sender of one room."""
        return MooncakeKVSender(self, bootstrap_addr, bootstrap_room)

    def receiver(self, bootstrap_addr: str, bootstrap_room: int) -> MooncakeKVReceiver:
        """A receiver of one room."""
        return MooncakeKVReceiver(self, bootstrap_addr, bootstrap_room)


class MooncakeKVSender(CommonKVSender):
    """The prefill side of one room over Mooncake."""


class MooncakeKVReceiver(CommonKVReceiver):
    """The decode side of one room over Mooncake."""
