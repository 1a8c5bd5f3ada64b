"""Mori's manager: guarded messages, packed memory descriptions, no staging.

Mori's engine cannot be installed here, so descriptions are this module's own: JSON with
address and length, read back with the same checks. Frames around them are the wire's and
are proved; the bytes inside are not Mori's. With the real engine both come from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from pdwire.codec import Message
from pdwire.engines import Engine, EngineMissing
from pdwire.managers.common import CommonKVManager
from pdwire.managers.peers import Peer
from pdwire.managers.receiver import CommonKVReceiver
from pdwire.managers.sender import CommonKVSender
from pdwire.wire import mori

__all__ = ["MoriKVManager", "MoriKVReceiver", "MoriKVSender"]


class _EngineDesc(msgspec.Struct, frozen=True):
    key: str


class _MemoryDesc(msgspec.Struct, frozen=True):
    address: int
    length: int


class MoriKVManager(CommonKVManager):
    """One rank's end of the hand-over through a Mori engine; the engine must be given."""

    backend: ClassVar[str] = "mori"
    wire_backend: ClassVar[str] = "mori"
    status_class: ClassVar[type[Message]] = mori.KVStatus

    def make_engine(self) -> Engine:
        """There is none to make."""
        raise EngineMissing("Mori has no installable engine: pass one, the loopback for tests")

    def peer_id(self, info: Any) -> str:  # noqa: ANN401  # its own TransferInfo
        """The engine key."""
        return str(info.engine_key)

    def announced(self, message: Any) -> str | None:  # noqa: ANN401  # its own registration
        """The engine key, which stands in the engine's description."""
        try:
            return _key(message.engine_desc)
        except ValueError:
            return None

    def peer_of(self, message: Message, releases: Sequence[str]) -> Peer:
        """The peer that a registration announces; ``ValueError`` for unreadable descriptions."""
        if not isinstance(message, mori.KVArgsRegisterInfo):
            raise TypeError(message)
        kv = [_read(desc) for desc in message.dst_kv_mem_descs]
        state = [[_read(desc) for desc in part if desc] for part in message.dst_state_mem_descs]
        key = _key(message.engine_desc)
        aux = [_read(desc) for desc in message.dst_aux_mem_descs]
        lens = tuple(desc.length for desc in kv)
        return Peer(
            id=key,
            endpoint=(message.endpoint, message.dst_port),
            releases=tuple(releases),
            tp_rank=message.decode_tp_rank,
            tp_size=message.decode_tp_size,
            kv_ptrs=tuple(desc.address for desc in kv),
            kv_item_len=message.dst_kv_item_len,
            kv_layer_ids=tuple(message.dst_kv_layer_ids.tolist()),
            aux_ptrs=tuple(desc.address for desc in aux),
            aux_lens=tuple(desc.length for desc in aux),
            state_ptrs=tuple(tuple(desc.address for desc in part) for part in state),
            state_item_lens=tuple(tuple(p.tolist()) for p in message.dst_state_item_lens),
            state_lens=tuple(tuple(desc.length for desc in part) for part in state),
            dcp_size=message.dst_dcp_size,
            dcp_rank=message.dst_dcp_rank,
            kv_item_lens=_item_lens(lens, message.dst_kv_item_len),
            num_slots=_slots(lens, message.dst_kv_item_len),
            state_layer_ids=tuple(tuple(p.tolist()) for p in message.dst_state_layer_ids),
            metadata=b"",
        )

    def says_lengths(self) -> bool:
        """Its descriptions say how long each region is, in every release."""
        return True

    def registration_facts(self) -> dict[str, object]:
        """Every field of this rank's registration."""
        args, parallel, (host, port) = self.args, self.config.parallel, self.endpoint
        return {
            "endpoint": host,
            "dst_port": port,
            "engine_desc": msgspec.json.encode(_EngineDesc(self.engine.session_id)),
            "dst_kv_mem_descs": _descs(args.kv_data_ptrs, args.kv_data_lens),
            "dst_aux_mem_descs": _descs(args.aux_data_ptrs, args.aux_data_lens),
            "dst_state_mem_descs": tuple(
                _descs(ptrs, lens)
                for ptrs, lens in zip(args.state_data_ptrs, args.state_data_lens, strict=True)
            ),
            "gpu_id": args.gpu_id,
            "decode_tp_size": parallel.attn_tp_size,
            "decode_tp_rank": parallel.attn_tp_rank,
            "dst_kv_item_len": args.kv_item_lens[0] if args.kv_item_lens else 0,
            "dst_state_item_lens": args.state_item_lens,
            "dst_state_dim_per_tensor": args.state_dim_per_tensor,
            "dst_dcp_size": parallel.dcp_size,
            "dst_dcp_rank": parallel.dcp_rank,
            "dst_state_layer_ids": args.state_layer_ids,
            "dst_kv_layer_ids": args.kv_layer_ids,
        }

    def metadata_facts(self, room: int, required: int, *, is_dummy: bool) -> dict[str, object]:  # noqa: ARG002  # Mori has no frame for it
        """The fields of metadata that are not about pages."""
        host, port = self.endpoint
        return {
            "room": room,
            "endpoint": host,
            "dst_port": port,
            "engine_key": self.engine.session_id,
            "required_dst_info_num": required,
        }

    def metadata(
        self, room: int, required: int, facts: dict[str, object], *, is_dummy: bool
    ) -> list[bytes]:
        """Mori spells a missing row -1, no prefix as nothing, and derives what a dummy is."""
        facts = self.dummy_facts(facts) if is_dummy else dict(facts)
        if facts["dst_aux_index"] is None:
            facts["dst_aux_index"] = -1
        facts["decode_prefix_len"] = facts["decode_prefix_len"] or None
        nothing = not len(facts["dst_kv_indices"]) and facts["dst_aux_index"] == -1  # type: ignore[arg-type]  # page indices
        facts["is_dummy"] = nothing and facts["decode_prefix_len"] is None
        whole = {**facts, **self.metadata_facts(room, required, is_dummy=is_dummy)}
        return self.build("TransferInfo", whole, self.config.release)

    def sender(self, bootstrap_room: int, bootstrap_addr: str = "") -> MoriKVSender:
        """A sender of one room."""
        return MoriKVSender(self, bootstrap_addr, bootstrap_room)

    def receiver(self, bootstrap_addr: str, bootstrap_room: int) -> MoriKVReceiver:
        """A receiver of one room."""
        return MoriKVReceiver(self, bootstrap_addr, bootstrap_room)


def _descs(ptrs: Sequence[int], lens: Sequence[int]) -> tuple[bytes, ...]:
    return tuple(
        msgspec.json.encode(_MemoryDesc(ptr, size)) for ptr, size in zip(ptrs, lens, strict=True)
    )


def _slots(lens: Sequence[int], first: int) -> int | None:
    """Pages of a region: every region of a pool has as many as the first."""
    return lens[0] // first if lens and lens[0] and first else None


def _item_lens(lens: Sequence[int], first: int) -> tuple[int, ...]:
    """Bytes of a page of each region; nothing where descriptions do not tell."""
    slots = _slots(lens, first)
    if not slots or any(size % slots for size in lens):
        return ()
    return tuple(size // slots for size in lens)


def _key(desc: bytes) -> str:
    try:
        return msgspec.json.decode(desc, type=_EngineDesc).key
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"engine description: {error}") from error


def _read(desc: bytes) -> _MemoryDesc:
    try:
        found = msgspec.json.decode(desc, type=_MemoryDesc)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"memory description: {error}") from error
    if found.address < 0 or found.length < 0 or found.address + found.length > 1 << 64:
        raise ValueError(f"memory description outside the address space: {found}")
    return found


class MoriKVSender(CommonKVSender):
    """The prefill side of one room over Mori."""


class MoriKVReceiver(CommonKVReceiver):
    """The decode side of one room over Mori."""
