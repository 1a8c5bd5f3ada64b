"""What a manager is told: its memory, its place among the ranks, and its limits.

Names are those that SGLang's users know (``KVArgs``, ``attn_tp_size`` …). Addresses are
absolute, lengths in bytes, and every region named here is registered with the engine:
nothing else is ever read or written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from pdwire.managers.endpoints import bare, is_unspecified
from pdwire.managers.loop import MAX_FRAME_BYTES
from pdwire.rooms import RoomLimits
from pdwire.wire.table import ORDER

__all__ = ["FOLLOW_ROOM", "DisaggregationMode", "KVArgs", "ManagerConfig", "ParallelInfo"]


FOLLOW_ROOM: Final = "follow_bootstrap_room"
"""The room's number says its DP rank."""


class DisaggregationMode(StrEnum):
    """Which side of the hand-over a manager is."""

    PREFILL = "prefill"
    DECODE = "decode"


@dataclass(frozen=True, slots=True, kw_only=True)
class KVArgs:
    """The memory of one rank.

    ``kv_*`` hold one entry per KV region: for MHA pools K of every layer, then V of every
    layer; for MLA one region per layer. A page of region ``i`` is ``kv_item_lens[i]`` bytes
    at ``kv_data_ptrs[i] + page * kv_item_lens[i]``. A draft model's regions follow the target's.
    ``kv_layer_ids`` names the layer of each region; give them on both sides wherever a pipeline
    has stages of several sizes or a draft model, for nothing else says which region is which.
    ``aux_*``: one entry per auxiliary buffer, a row per request. ``state_*``: a list per state
    component.

    ``page_size`` (tokens), ``kv_cache_dtype``, ``kv_layout`` and ``dsv41_spec_layout`` say what
    the bytes mean: prefill tells them, decode compares (:mod:`pdwire.managers.agreement`).
    ``"auto"`` and ``None`` say nothing.
    """

    kv_data_ptrs: tuple[int, ...]
    kv_data_lens: tuple[int, ...]
    kv_item_lens: tuple[int, ...]
    aux_data_ptrs: tuple[int, ...] = ()
    aux_data_lens: tuple[int, ...] = ()
    aux_item_lens: tuple[int, ...] = ()
    state_types: tuple[str, ...] = ()
    state_data_ptrs: tuple[tuple[int, ...], ...] = ()
    state_data_lens: tuple[tuple[int, ...], ...] = ()
    state_item_lens: tuple[tuple[int, ...], ...] = ()
    state_dim_per_tensor: tuple[tuple[int, ...], ...] = ()
    kv_layer_ids: tuple[int, ...] = ()
    state_layer_ids: tuple[tuple[int, ...], ...] = ()
    page_size: int = 16
    total_kv_head_num: int = 1
    prefill_start_layer: int = 0
    kv_cache_dtype: str = "auto"
    kv_layout: str | None = None
    dsv41_spec_layout: dict[str, Any] | None = None
    mem_kind: str = "DRAM"
    gpu_id: int = 0
    ib_device: str = ""

    def __post_init__(self) -> None:
        """Refuse lists that do not belong together."""
        for name in ("kv", "aux", "state"):
            sizes = {len(getattr(self, f"{name}_{part}")) for part in _parts(name)}
            if len(sizes) > 1:
                raise ValueError(f"{name}_data_ptrs, {name}_data_lens, {name}_item_lens differ")

    def regions(self) -> Iterator[tuple[int, int]]:
        """``(address, length)`` of every region that is not empty."""
        yield from _filled(self.kv_data_ptrs, self.kv_data_lens)
        yield from _filled(self.aux_data_ptrs, self.aux_data_lens)
        for ptrs, lens in zip(self.state_data_ptrs, self.state_data_lens, strict=True):
            yield from _filled(ptrs, lens)


def _parts(name: str) -> tuple[str, ...]:
    return (
        ("data_ptrs", "data_lens", "item_lens") if name != "state" else ("data_ptrs", "data_lens")
    )


def _filled(ptrs: tuple[int, ...], lens: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    yield from ((ptr, size) for ptr, size in zip(ptrs, lens, strict=True) if size)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelInfo:
    """A rank's place: tensor, pipeline, data and (decode) context parallelism."""

    attn_tp_size: int = 1
    attn_tp_rank: int = 0
    attn_cp_size: int = 1
    attn_cp_rank: int = 0
    attn_dp_size: int = 1
    attn_dp_rank: int = 0
    pp_size: int = 1
    pp_rank: int = 0
    dcp_size: int = 1
    dcp_rank: int = 0

    @property
    def unique_rank(self) -> int:
        """What status and acknowledgement messages call the rank (0.5.23, every backend)."""
        cells = self.pp_size * self.attn_cp_size
        return self.attn_tp_rank * cells + self.pp_rank * self.attn_cp_size + self.attn_cp_rank


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerConfig:
    """Everything about a manager that is not memory.

    ``release`` is what the manager speaks where nothing proves what the other side
    speaks; a prefill answers each decode side in the layout that its registration
    proved. Times are in seconds.

    ``host`` is bound. Peers are told ``announce_host``, by default ``host``: an address that
    they can reach, so it has to be given where every interface is bound (``0.0.0.0``, ``::``,
    ``*``). ``max_frame_bytes``: who sends a larger frame is disconnected.

    ``load_balance_method`` is what a prefill rank registers: with ``follow_bootstrap_room`` a
    room belongs to the DP rank of its number modulo the DP size, with any other word the prefill
    side says for each room. ``heartbeat_s`` is the time between two questions to a bootstrap
    server, of both sides; ``heartbeat_failures`` of them in a row mean that it is gone.
    """

    release: str = ORDER[-1]
    host: str = "127.0.0.1"
    announce_host: str | None = None
    max_frame_bytes: int = MAX_FRAME_BYTES
    bootstrap_host: str = "127.0.0.1"
    bootstrap_port: int = 0
    is_mla: bool = False
    parallel: ParallelInfo = field(default_factory=ParallelInfo)
    limits: RoomLimits = field(default_factory=RoomLimits)
    staging_bytes: int = 0
    chunked_prefill_size: int = 8192
    aux_over_tcp: bool = False
    transfer_threads: int = 4
    heartbeat_s: float = 5.0
    heartbeat_failures: int = 2
    http_timeout_s: float = 5.0
    send_timeout_s: float = 1.0
    load_balance_method: str = FOLLOW_ROOM
    decode_allocation_policy: str = "early"

    def __post_init__(self) -> None:
        """Refuse to tell peers an address that nobody can connect to."""
        if self.announce_host is not None and is_unspecified(self.announce_host):
            raise ValueError(
                f"announce_host={self.announce_host!r} is every interface and no address: "
                "give the one by which peers reach this rank"
            )
        if self.announce_host is None and is_unspecified(self.host):
            raise ValueError(
                f"host={self.host!r} is every interface, which peers cannot connect to: give the "
                f"address by which they reach this rank besides, as in "
                f"ManagerConfig(host={self.host!r}, announce_host='10.0.0.2')"
            )

    @property
    def announced_host(self) -> str:
        """The host that peers are told, an IPv6 address without brackets."""
        return bare(self.host if self.announce_host is None else self.announce_host)
