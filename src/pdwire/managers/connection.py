"""What a decode rank knows of a room's prefill ranks, and what it tells them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pdwire.bootstrap.mapping import RankMapping, Sizes, Target
from pdwire.frames import I32Array
from pdwire.managers.sockets import Endpoint

__all__ = ["Connection", "Line", "Metadata", "ranks_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One prefill rank that this rank has registered with."""

    endpoint: Endpoint
    pp_rank: int
    is_dummy: bool
    target: Target | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """What a room's receiver found: the prefill side's address, sizes and ranks."""

    prefill: str
    sizes: Sizes
    mapping: RankMapping
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """Where a room's pages, aux row and state go; arrays are its own."""

    kv_indices: I32Array
    aux_index: int | None
    state_indices: tuple[I32Array, ...]
    decode_prefix_len: int

    @property
    def facts(self) -> dict[str, object]:
        """The fields of the message."""
        return {
            "dst_kv_indices": self.kv_indices,
            "dst_aux_index": self.aux_index,
            "dst_state_indices": self.state_indices,
            "decode_prefix_len": self.decode_prefix_len,
        }


def ranks_of(sizes: Sizes, targets: Sequence[Target]) -> frozenset[int]:
    """What prefill ranks call themselves in statuses, ABORT_ACK and CHUNK_READY.

    Every backend of every release counts tensor over pipeline over context ranks. Without context
    parallelism, which Mooncake and Mori have from 0.5.10 and 0.5.12 on, the last part is nothing.
    """
    cells = sizes.pp_size * sizes.attn_cp_size
    return frozenset(
        t.tp_rank * cells + t.pp_rank * sizes.attn_cp_size + t.cp_rank for t in targets
    )
