"""One decode rank as the prefill side knows it, whichever backend and release announced it.

A registration of any backend becomes a :class:`Peer`: the same facts under one name. What
a release does not say is ``None`` or empty here, never a guess: lengths of regions are
only known from NIXL (page slots since 0.5.13, state lengths since 0.5.23) and Mori.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pdwire.managers.sockets import Endpoint
from pdwire.wire import layout, mooncake, nixl

__all__ = ["Peer", "Registration", "from_mooncake", "from_nixl"]

_SAYS_LENS: Final = "dst_kv_item_lens"

Registration = mooncake.KVArgsRegisterInfo | nixl.KVArgsRegisterInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A registered decode rank.

    Attributes:
        id: Mooncake session id, NIXL agent name, Mori engine key.
        releases: releases whose layouts its registration fits; the last is taken for its own.
        kv_item_lens: bytes of a page per KV region; empty where only the first is said.
        num_slots: pages per KV region, where the release says it.
        state_lens: bytes of each state region, where the release says it.
        state_layer_ids: layer of each state region, per component, where it is said.
        aux_lens: bytes of each auxiliary buffer; only Mori's descriptions say it.
        metadata: what the engine needs to reach it.
    """

    id: str
    endpoint: Endpoint
    releases: tuple[str, ...]
    tp_rank: int
    tp_size: int
    kv_ptrs: tuple[int, ...]
    kv_item_len: int
    kv_item_lens: tuple[int, ...] = ()
    kv_layer_ids: tuple[int, ...] = ()
    aux_ptrs: tuple[int, ...] = ()
    aux_lens: tuple[int, ...] = ()
    state_ptrs: tuple[tuple[int, ...], ...] = ()
    state_item_lens: tuple[tuple[int, ...], ...] = ()
    state_lens: tuple[tuple[int, ...], ...] = ()
    state_layer_ids: tuple[tuple[int, ...], ...] = ()
    staging_base: int = 0
    staging_size: int = 0
    dcp_size: int = 1
    dcp_rank: int = 0
    num_slots: int | None = None
    mem_kind: str = "DRAM"
    gpu_id: int = 0
    metadata: bytes = b""

    def __post_init__(self) -> None:
        """Refuse what contradicts itself: it would be served with somebody else's heads (A8)."""
        for name in ("tp", "dcp"):
            rank, size = getattr(self, f"{name}_rank"), getattr(self, f"{name}_size")
            if not 0 <= rank < size:
                raise ValueError(f"{name}_rank {rank} of {name}_size {size}")
        for name in ("kv_item_lens", "kv_layer_ids"):
            if (said := getattr(self, name)) and len(said) != len(self.kv_ptrs):
                raise ValueError(f"{len(said)} {name} for {len(self.kv_ptrs)} KV regions")
        for name in ("state_item_lens", "state_lens", "state_layer_ids"):
            for n, part in enumerate(getattr(self, name)):
                held = len(self.state_ptrs[n]) if n < len(self.state_ptrs) else 0
                if part and len(part) != held:
                    raise ValueError(f"{name}: {len(part)} for {held} regions of component {n}")

    @property
    def release(self) -> str:
        """The release that the peer is spoken to in."""
        return self.releases[-1]

    @property
    def has_staging(self) -> bool:
        """Staging is on for a peer when its base or its size is not zero."""
        return self.staging_base != 0 or self.staging_size != 0


def from_mooncake(info: mooncake.KVArgsRegisterInfo, releases: Sequence[str]) -> Peer:
    """The peer that a Mooncake (or Ascend) registration announces.

    Raises:
        ValueError: a rank outside its size, or lists that do not belong together.
    """
    return Peer(
        id=info.mooncake_session_id,
        endpoint=(info.endpoint, info.dst_port),
        releases=tuple(releases),
        tp_rank=info.dst_tp_rank,
        tp_size=info.dst_attn_tp_size,
        kv_ptrs=_flat(info.dst_kv_ptrs),
        kv_item_len=info.dst_kv_item_len,
        kv_item_lens=_flat(info.dst_kv_item_lens),
        kv_layer_ids=_flat(info.dst_kv_layer_ids),
        aux_ptrs=_flat(info.dst_aux_ptrs),
        state_ptrs=_nested(info.dst_state_data_ptrs),
        state_item_lens=_nested(info.dst_state_item_lens),
        state_layer_ids=_nested(info.dst_state_layer_ids),
        staging_base=info.staging_base_ptr,
        staging_size=info.staging_total_size,
        dcp_size=info.dst_dcp_size,
        dcp_rank=info.dst_dcp_rank,
    )


def from_nixl(info: nixl.KVArgsRegisterInfo, releases: Sequence[str]) -> Peer:
    """The peer that a NIXL registration announces.

    Raises:
        ValueError: regions in several kinds of memory, which no release here sends; a rank
            outside its size, or lists that do not belong together.
    """
    kinds = set(info.dst_kv_mem_kinds)
    if len(kinds) > 1:
        raise ValueError(f"KV regions in several kinds of memory: {', '.join(sorted(kinds))}")
    said = layout("nixl", "KVArgsRegisterInfo", release=releases[-1])
    return Peer(
        id=info.agent_name,
        endpoint=(info.endpoint, info.dst_port),
        releases=tuple(releases),
        tp_rank=info.decode_tp_rank,
        tp_size=info.decode_tp_size,
        kv_ptrs=_flat(info.dst_kv_ptrs),
        kv_item_len=info.dst_kv_item_len,
        # A release without the frame is read as one length for all: nobody said that.
        kv_item_lens=_flat(info.dst_kv_item_lens) if _SAYS_LENS in said.fields else (),
        kv_layer_ids=_flat(info.dst_kv_layer_ids),
        aux_ptrs=_flat(info.dst_aux_ptrs),
        state_ptrs=_nested(info.dst_state_data_ptrs),
        state_item_lens=_nested(info.dst_state_item_lens),
        state_lens=_nested(info.dst_state_data_lens),
        state_layer_ids=_nested(info.dst_state_layer_ids),
        staging_base=info.staging_base_ptr,
        staging_size=info.staging_total_size,
        dcp_size=info.dst_dcp_size,
        dcp_rank=info.dst_dcp_rank,
        num_slots=info.dst_num_slots or None,  # 0: a pool without bytes, which says nothing
        mem_kind=kinds.pop() if kinds else "DRAM",
        gpu_id=info.gpu_id,
        metadata=info.agent_metadata,
    )


def _flat(values: NDArray[np.unsignedinteger[Any]]) -> tuple[int, ...]:
    return tuple(values.tolist())


def _nested(lists: Sequence[NDArray[np.unsignedinteger[Any]]]) -> tuple[tuple[int, ...], ...]:
    return tuple(_flat(part) for part in lists)
