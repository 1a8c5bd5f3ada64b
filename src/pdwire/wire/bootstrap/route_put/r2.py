"""Codec of ROUTE_PUT, layout r2: mooncake 0.5.8–0.5.9; ascend 0.5.8–0.5.9; nixl ….

Codec of ROUTE_PUT, layout r2: mooncake 0.5.8–0.5.9; ascend 0.5.8–0.5.9; nixl 0.5.8–0.5.9; mori
0.5.9.

GENERATED from protocol/bootstrap/route_put.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from typing import Any

from pdwire.codec import seal, unfit
from pdwire.errors import WireError
from pdwire.frames import (
    Frames,
    Layout,
    Place,
    json_body,
    json_key,
    lossy,
    means,
    plain,
    put_json,
    put_json_key,
)
from pdwire.wire.bootstrap.route_put.message import COUNTS, Draft, RoutePut

__all__ = ["decode", "encode"]

_L = Layout(
    "bootstrap ROUTE_PUT",
    "r2",
    "mooncake 0.5.8–0.5.9; ascend 0.5.8–0.5.9; nixl 0.5.8–0.5.9; mori 0.5.9",
    (1,),
    COUNTS,
)
_AT_ROLE = Place(_L, None, "role", "JSON str")
_AT_ATTN_TP_SIZE = Place(_L, None, "attn_tp_size", "JSON int in 1..2147483647", 1, 2147483647)
_AT_ATTN_TP_RANK = Place(_L, None, "attn_tp_rank", "JSON int in 0..2147483647", 0, 2147483647)
_AT_ATTN_DP_SIZE = Place(_L, None, "attn_dp_size", "JSON int in 1..2147483647", 1, 2147483647)
_AT_ATTN_DP_RANK = Place(_L, None, "attn_dp_rank", "JSON int in 0..2147483647", 0, 2147483647)
_AT_PP_SIZE = Place(_L, None, "pp_size", "JSON int in 1..2147483647", 1, 2147483647)
_AT_PP_RANK = Place(_L, None, "pp_rank", "JSON int in 0..2147483647", 0, 2147483647)
_AT_SYSTEM_DP_SIZE = Place(_L, None, "system_dp_size", "JSON int in 1..2147483647", 1, 2147483647)
_AT_SYSTEM_DP_RANK = Place(_L, None, "system_dp_rank", "JSON int in 0..2147483647", 0, 2147483647)
_AT_RANK_IP = Place(_L, None, "rank_ip", "JSON str")
_AT_RANK_PORT = Place(_L, None, "rank_port", "JSON int in 1..65535", 1, 65535)
_AT_PAGE_SIZE = Place(_L, None, "page_size", "JSON int in 1..2147483647", 1, 2147483647)
_NO_ATTN_CP_SIZE = Place(
    _L,
    None,
    "attn_cp_size",
    "the value that its absence means, for this layout does not carry it",
)
_NO_ATTN_CP_RANK = Place(
    _L,
    None,
    "attn_cp_rank",
    "the value that its absence means, for this layout does not carry it",
)
_NO_KV_CACHE_DTYPE = Place(
    _L,
    None,
    "kv_cache_dtype",
    "the value that its absence means, for this layout does not carry it",
)
_NO_LOAD_BALANCE_METHOD = Place(
    _L,
    None,
    "load_balance_method",
    "the value that its absence means, for this layout does not carry it",
)
_NO_ENABLE_DSA_CACHE_LAYER_SPLIT = Place(
    _L,
    None,
    "enable_dsa_cache_layer_split",
    "the value that its absence means, for this layout does not carry it",
)
_NO_PREFILL_HTTP_PORT = Place(
    _L,
    None,
    "prefill_http_port",
    "the value that its absence means, for this layout does not carry it",
)
_NO_DSV41_SPEC_LAYOUT = Place(
    _L,
    None,
    "dsv41_spec_layout",
    "the value that its absence means, for this layout does not carry it",
)
_NO_DECODE_ALLOCATION_POLICY = Place(
    _L,
    None,
    "decode_allocation_policy",
    "the value that its absence means, for this layout does not carry it",
)
_NO_KV_LAYOUT = Place(
    _L,
    None,
    "kv_layout",
    "the value that its absence means, for this layout does not carry it",
)
_NO_ENABLE_KV_CACHE_SHARDING = Place(
    _L,
    None,
    "enable_kv_cache_sharding",
    "the value that its absence means, for this layout does not carry it",
)


def decode(frames: Frames) -> RoutePut:
    """The body of layout r2 to a RoutePut.

    The page size is added, and demanded.
    """
    try:
        body = json_body(frames, _L)
        m = Draft()
        m.role = json_key(body, "role", "str", _AT_ROLE)
        m.attn_tp_size = json_key(body, "attn_tp_size", "int", _AT_ATTN_TP_SIZE)
        m.attn_tp_rank = json_key(body, "attn_tp_rank", "int", _AT_ATTN_TP_RANK)
        m.attn_dp_size = json_key(body, "attn_dp_size", "int", _AT_ATTN_DP_SIZE)
        m.attn_dp_rank = json_key(body, "attn_dp_rank", "int", _AT_ATTN_DP_RANK)
        m.pp_size = json_key(body, "pp_size", "int", _AT_PP_SIZE)
        m.pp_rank = json_key(body, "pp_rank", "int", _AT_PP_RANK)
        m.system_dp_size = json_key(body, "system_dp_size", "int", _AT_SYSTEM_DP_SIZE)
        m.system_dp_rank = json_key(body, "system_dp_rank", "int", _AT_SYSTEM_DP_RANK)
        m.rank_ip = json_key(body, "rank_ip", "str", _AT_RANK_IP)
        m.rank_port = json_key(body, "rank_port", "int", _AT_RANK_PORT)
        m.page_size = json_key(body, "page_size", "int", _AT_PAGE_SIZE)
        m.attn_cp_size = 1
        m.attn_cp_rank = 0
        m.kv_cache_dtype = None
        m.load_balance_method = "follow_bootstrap_room"
        m.enable_dsa_cache_layer_split = False
        m.prefill_http_port = None
        m.dsv41_spec_layout = None
        m.decode_allocation_policy = "early"
        m.kv_layout = None
        m.enable_kv_cache_sharding = False
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, RoutePut)


def encode(message: RoutePut) -> list[bytes]:
    """A RoutePut to a body of layout r2."""
    try:
        body: dict[str, Any] = {
            "role": put_json_key(message.role, "str", _AT_ROLE),
            "attn_tp_size": put_json_key(message.attn_tp_size, "int", _AT_ATTN_TP_SIZE),
            "attn_tp_rank": put_json_key(message.attn_tp_rank, "int", _AT_ATTN_TP_RANK),
            "attn_dp_size": put_json_key(message.attn_dp_size, "int", _AT_ATTN_DP_SIZE),
            "attn_dp_rank": put_json_key(message.attn_dp_rank, "int", _AT_ATTN_DP_RANK),
            "pp_size": put_json_key(message.pp_size, "int", _AT_PP_SIZE),
            "pp_rank": put_json_key(message.pp_rank, "int", _AT_PP_RANK),
            "system_dp_size": put_json_key(message.system_dp_size, "int", _AT_SYSTEM_DP_SIZE),
            "system_dp_rank": put_json_key(message.system_dp_rank, "int", _AT_SYSTEM_DP_RANK),
            "rank_ip": put_json_key(message.rank_ip, "str", _AT_RANK_IP),
            "rank_port": put_json_key(message.rank_port, "int", _AT_RANK_PORT),
            "page_size": put_json_key(message.page_size, "int", _AT_PAGE_SIZE),
        }
        frames = put_json(body)
        if not means(message.attn_cp_size, 1):
            lossy(_NO_ATTN_CP_SIZE, message.attn_cp_size)
        if not means(message.attn_cp_rank, 0):
            lossy(_NO_ATTN_CP_RANK, message.attn_cp_rank)
        if message.kv_cache_dtype is not None:
            lossy(_NO_KV_CACHE_DTYPE, message.kv_cache_dtype)
        if not means(message.load_balance_method, "follow_bootstrap_room"):
            lossy(_NO_LOAD_BALANCE_METHOD, message.load_balance_method)
        if message.enable_dsa_cache_layer_split is not False:
            lossy(_NO_ENABLE_DSA_CACHE_LAYER_SPLIT, message.enable_dsa_cache_layer_split)
        if message.prefill_http_port is not None:
            lossy(_NO_PREFILL_HTTP_PORT, message.prefill_http_port)
        if message.dsv41_spec_layout is not None:
            lossy(_NO_DSV41_SPEC_LAYOUT, message.dsv41_spec_layout)
        if not means(message.decode_allocation_policy, "early"):
            lossy(_NO_DECODE_ALLOCATION_POLICY, message.decode_allocation_policy)
        if message.kv_layout is not None:
            lossy(_NO_KV_LAYOUT, message.kv_layout)
        if message.enable_kv_cache_sharding is not False:
            lossy(_NO_ENABLE_KV_CACHE_SHARDING, message.enable_kv_cache_sharding)
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, RoutePut, _L, fault)
    return frames
