"""The message ROUTE_PUT: prefill -> bootstrap.

GENERATED from protocol/bootstrap/route_put.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pdwire.codec import Message

__all__ = ["COUNTS", "Draft", "RoutePut"]

COUNTS: Final[dict[int, str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RoutePut(Message):
    """The message ROUTE_PUT.

    Registers one prefill rank with the bootstrap server: where it listens, its place in the prefill
    side's topology, and what a decode side has to agree with.

    Travels prefill -> bootstrap.

    The answer is the text OK with status 200; another status is a refusal with its reason as text.

    The server keeps what describes the prefill side as a whole (sizes, page size, dtype, load
    balancing, HTTP port …) from the first rank that says it and does not compare later ranks with
    it, except for the DSpark layout (0.5.21 on) and the allocation policy (0.5.22 on), where a
    difference is refused.

    The server reads the ports and the page size with Python's int(), so it also takes them as
    decimal text; every sender writes numbers.

    From 0.5.20 on a prefill side with a Rust HTTP server and DP attention registers every rank's
    body with each of its own registries, the HTTP port replaced by the registry's.
    """

    role: str = "Prefill"
    """Always Prefill: only such a rank is entered; any other role is answered OK and only lends its
    sizes."""

    attn_tp_size: int
    """Tensor-parallel ranks of one attention group. With CP and TP groups shared (0.5.23) the
    sender gives its CP size here. Unit: count."""

    attn_tp_rank: int
    """The sender's rank within its attention group. With CP and TP groups shared (0.5.23) it gives
    its CP rank here. Unit: rank."""

    attn_cp_size: int = 1
    """Context-parallel ranks; 1 before 0.5.10, which has none. Unit: count."""

    attn_cp_rank: int = 0
    """The sender's context-parallel rank. Unit: rank."""

    attn_dp_size: int
    """Data-parallel attention groups; counts as the DP size where system_dp_size is 1. Unit:
    count."""

    attn_dp_rank: int
    """The sender's data-parallel attention group; its DP rank where system_dp_size is 1. Unit:
    rank."""

    pp_size: int
    """Pipeline-parallel ranks. Unit: count."""

    pp_rank: int
    """The sender's pipeline-parallel rank. Unit: rank."""

    system_dp_size: int
    """Whole data-parallel replicas; 1 with DP attention. Where it is not 1 it counts as the DP
    size. Unit: count."""

    system_dp_rank: int
    """The sender's replica; its DP rank where system_dp_size is not 1. Unit: rank."""

    rank_ip: str
    """Address at which the sender's control socket can be reached, without brackets."""

    rank_port: int
    """TCP port of the sender's control socket. Unit: port."""

    page_size: int | None = None
    """Tokens per KV page; None where the release does not say (before 0.5.8). Unit: tokens."""

    kv_cache_dtype: str | None = None
    """Name of the KV cache's element type; None where it is not said, and then nothing compares it.
    The command line's word up to 0.5.16 (auto included), the resolved type from 0.5.17 on."""

    load_balance_method: str = "follow_bootstrap_room"
    """How requests are spread over the DP ranks; follow_bootstrap_room means that a request's rank
    is its room modulo the DP size, any other word that the decode side has to ask for it."""

    enable_dsa_cache_layer_split: bool = False
    """Whether the sparse-attention cache is split by layers over the CP ranks."""

    prefill_http_port: int | None = None
    """TCP port of the prefill side's HTTP API, where a decode side can ask for a prompt's KV again;
    None where it is not said. Unit: port."""

    dsv41_spec_layout: dict[str, Any] | None = None
    """Transfer layout of DeepSeek-V4.1 with DSpark (draft tokens, compression ratios, KV layers and
    item lengths, state types and item lengths); None without it."""

    decode_allocation_policy: str = "early"
    """early or prefill_complete: when the decode side reserves KV. Both sides run the same one."""

    kv_layout: str | None = None
    """Byte layout of the KV pages, for pools that have several; None for the others."""

    enable_kv_cache_sharding: bool = False
    """Whether each rank of a prefill shard group keeps only some of the KV pages."""


class Draft(Message):
    """A RoutePut that is still being filled."""

    __slots__ = (
        "attn_cp_rank",
        "attn_cp_size",
        "attn_dp_rank",
        "attn_dp_size",
        "attn_tp_rank",
        "attn_tp_size",
        "decode_allocation_policy",
        "dsv41_spec_layout",
        "enable_dsa_cache_layer_split",
        "enable_kv_cache_sharding",
        "kv_cache_dtype",
        "kv_layout",
        "load_balance_method",
        "page_size",
        "pp_rank",
        "pp_size",
        "prefill_http_port",
        "rank_ip",
        "rank_port",
        "role",
        "system_dp_rank",
        "system_dp_size",
    )

    role: str
    attn_tp_size: int
    attn_tp_rank: int
    attn_cp_size: int
    attn_cp_rank: int
    attn_dp_size: int
    attn_dp_rank: int
    pp_size: int
    pp_rank: int
    system_dp_size: int
    system_dp_rank: int
    rank_ip: str
    rank_port: int
    page_size: int | None
    kv_cache_dtype: str | None
    load_balance_method: str
    enable_dsa_cache_layer_split: bool
    prefill_http_port: int | None
    dsv41_spec_layout: dict[str, Any] | None
    decode_allocation_policy: str
    kv_layout: str | None
    enable_kv_cache_sharding: bool
