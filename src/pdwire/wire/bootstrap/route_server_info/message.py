"""The message ROUTE_SERVER_INFO: bootstrap -> decode.

GENERATED from protocol/bootstrap/route_server_info.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pdwire.codec import Message

__all__ = ["COUNTS", "Draft", "RouteServerInfo"]

COUNTS: Final[dict[int, str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RouteServerInfo(Message):
    """The message ROUTE_SERVER_INFO.

    What a decode side has to know of the prefill side: its topology, and what both sides have to
    agree on.

    Travels bootstrap -> decode.

    Up to 0.5.9 a server with no rank registered answers with null for every key, which the decode
    side takes for no answer; from 0.5.10 on it answers 503 until every rank has registered.

    From 0.5.10 on the decode side of a release refuses the whole answer when it has a key that the
    release does not know. So a decode side of 0.5.10–0.5.15.post1 cannot use a server of 0.5.16 or
    later; one of 0.5.16–0.5.20 can use a server of 0.5.21 as long as there is no DSpark layout; and
    none before 0.5.22 can use a server of 0.5.22, none before 0.5.23 one of 0.5.23. These codecs
    ignore unknown keys.

    From 0.5.10 on the decode side would take a page size of null for one that nobody named; a
    server that answers at all has one.

    From 0.5.10 on the server also sends six keys that are the decode side's own notes, always as
    null: target_tp_rank, target_tp_ranks, target_cp_ranks, target_pp_ranks, required_dst_info_num
    and required_prefill_response_num. The decode side overwrites what comes. They are no fields
    here: as unknown keys they are ignored, and never written.
    """

    attn_tp_size: int
    """Tensor-parallel ranks of one attention group. Unit: count."""

    attn_cp_size: int = 1
    """Context-parallel ranks; 1 before 0.5.10, which has none. Unit: count."""

    dp_size: int
    """Data-parallel ranks: the DP attention groups where there is one replica, else the replicas.
    Unit: count."""

    pp_size: int
    """Pipeline-parallel ranks. Unit: count."""

    page_size: int | None = None
    """Tokens per KV page; None where the release does not say (before 0.5.8), and then the decode
    side does not compare it. Unit: tokens."""

    kv_cache_dtype: str | None = None
    """Name of the KV cache's element type; None where it is not said (always before 0.5.10), and
    then the decode side does not compare it."""

    follow_bootstrap_room: bool = True
    """Whether a request's DP rank is its room modulo the DP size; otherwise the decode side asks
    for it (QUERY_DP_RANKS)."""

    enable_dsa_cache_layer_split: bool = False
    """Whether the sparse-attention cache is split by layers over the CP ranks."""

    dsv41_spec_layout: dict[str, Any] | None = None
    """Transfer layout of DeepSeek-V4.1 with DSpark; None without it. The decode side demands its
    own layout to be equal."""

    kv_layout: str | None = None
    """Byte layout of the KV pages, for pools that have several; where both sides name one, they
    must be equal."""

    decode_allocation_policy: str = "early"
    """early or prefill_complete: when the decode side reserves KV. Both sides run the same one."""

    enable_kv_cache_sharding: bool = False
    """Whether each rank of a prefill shard group keeps only some of the KV pages."""

    prefill_http_port: int | None = None
    """TCP port of the prefill side's HTTP API, on the bootstrap server's host; None where no rank
    said it. Unit: port."""


class Draft(Message):
    """A RouteServerInfo that is still being filled."""

    __slots__ = (
        "attn_cp_size",
        "attn_tp_size",
        "decode_allocation_policy",
        "dp_size",
        "dsv41_spec_layout",
        "enable_dsa_cache_layer_split",
        "enable_kv_cache_sharding",
        "follow_bootstrap_room",
        "kv_cache_dtype",
        "kv_layout",
        "page_size",
        "pp_size",
        "prefill_http_port",
    )

    attn_tp_size: int
    attn_cp_size: int
    dp_size: int
    pp_size: int
    page_size: int | None
    kv_cache_dtype: str | None
    follow_bootstrap_room: bool
    enable_dsa_cache_layer_split: bool
    dsv41_spec_layout: dict[str, Any] | None
    kv_layout: str | None
    decode_allocation_policy: str
    enable_kv_cache_sharding: bool
    prefill_http_port: int | None
