"""Codec of ROUTE_SERVER_INFO, layout r2: mooncake 0.5.8–0.5.9; ascend 0.5.8–0.5.9; nixl ….

Codec of ROUTE_SERVER_INFO, layout r2: mooncake 0.5.8–0.5.9; ascend 0.5.8–0.5.9; nixl 0.5.8–0.5.9;
mori 0.5.9.

GENERATED from protocol/bootstrap/route_server_info.toml by `pdwire generate`. Do not edit.
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
from pdwire.wire.bootstrap.route_server_info.message import COUNTS, Draft, RouteServerInfo

__all__ = ["decode", "encode"]

_L = Layout(
    "bootstrap ROUTE_SERVER_INFO",
    "r2",
    "mooncake 0.5.8–0.5.9; ascend 0.5.8–0.5.9; nixl 0.5.8–0.5.9; mori 0.5.9",
    (1,),
    COUNTS,
)
_AT_ATTN_TP_SIZE = Place(
    _L,
    None,
    "prefill_attn_tp_size",
    "JSON int in 1..2147483647",
    1,
    2147483647,
)
_AT_DP_SIZE = Place(_L, None, "prefill_dp_size", "JSON int in 1..2147483647", 1, 2147483647)
_AT_PP_SIZE = Place(_L, None, "prefill_pp_size", "JSON int in 1..2147483647", 1, 2147483647)
_AT_PAGE_SIZE = Place(_L, None, "prefill_page_size", "JSON int in 1..2147483647", 1, 2147483647)
_NO_ATTN_CP_SIZE = Place(
    _L,
    None,
    "attn_cp_size",
    "the value that its absence means, for this layout does not carry it",
)
_NO_KV_CACHE_DTYPE = Place(
    _L,
    None,
    "kv_cache_dtype",
    "the value that its absence means, for this layout does not carry it",
)
_NO_FOLLOW_BOOTSTRAP_ROOM = Place(
    _L,
    None,
    "follow_bootstrap_room",
    "the value that its absence means, for this layout does not carry it",
)
_NO_ENABLE_DSA_CACHE_LAYER_SPLIT = Place(
    _L,
    None,
    "enable_dsa_cache_layer_split",
    "the value that its absence means, for this layout does not carry it",
)
_NO_DSV41_SPEC_LAYOUT = Place(
    _L,
    None,
    "dsv41_spec_layout",
    "the value that its absence means, for this layout does not carry it",
)
_NO_KV_LAYOUT = Place(
    _L,
    None,
    "kv_layout",
    "the value that its absence means, for this layout does not carry it",
)
_NO_DECODE_ALLOCATION_POLICY = Place(
    _L,
    None,
    "decode_allocation_policy",
    "the value that its absence means, for this layout does not carry it",
)
_NO_ENABLE_KV_CACHE_SHARDING = Place(
    _L,
    None,
    "enable_kv_cache_sharding",
    "the value that its absence means, for this layout does not carry it",
)
_NO_PREFILL_HTTP_PORT = Place(
    _L,
    None,
    "prefill_http_port",
    "the value that its absence means, for this layout does not carry it",
)


def decode(frames: Frames) -> RouteServerInfo:
    """The body of layout r2 to a RouteServerInfo.

    The page size is added, and demanded.
    """
    try:
        body = json_body(frames, _L)
        m = Draft()
        m.attn_tp_size = json_key(body, "prefill_attn_tp_size", "int", _AT_ATTN_TP_SIZE)
        m.dp_size = json_key(body, "prefill_dp_size", "int", _AT_DP_SIZE)
        m.pp_size = json_key(body, "prefill_pp_size", "int", _AT_PP_SIZE)
        m.page_size = json_key(body, "prefill_page_size", "int", _AT_PAGE_SIZE)
        m.attn_cp_size = 1
        m.kv_cache_dtype = None
        m.follow_bootstrap_room = True
        m.enable_dsa_cache_layer_split = False
        m.dsv41_spec_layout = None
        m.kv_layout = None
        m.decode_allocation_policy = "early"
        m.enable_kv_cache_sharding = False
        m.prefill_http_port = None
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, RouteServerInfo)


def encode(message: RouteServerInfo) -> list[bytes]:
    """A RouteServerInfo to a body of layout r2."""
    try:
        body: dict[str, Any] = {
            "prefill_attn_tp_size": put_json_key(message.attn_tp_size, "int", _AT_ATTN_TP_SIZE),
            "prefill_dp_size": put_json_key(message.dp_size, "int", _AT_DP_SIZE),
            "prefill_pp_size": put_json_key(message.pp_size, "int", _AT_PP_SIZE),
            "prefill_page_size": put_json_key(message.page_size, "int", _AT_PAGE_SIZE),
        }
        frames = put_json(body)
        if not means(message.attn_cp_size, 1):
            lossy(_NO_ATTN_CP_SIZE, message.attn_cp_size)
        if message.kv_cache_dtype is not None:
            lossy(_NO_KV_CACHE_DTYPE, message.kv_cache_dtype)
        if message.follow_bootstrap_room is not True:
            lossy(_NO_FOLLOW_BOOTSTRAP_ROOM, message.follow_bootstrap_room)
        if message.enable_dsa_cache_layer_split is not False:
            lossy(_NO_ENABLE_DSA_CACHE_LAYER_SPLIT, message.enable_dsa_cache_layer_split)
        if message.dsv41_spec_layout is not None:
            lossy(_NO_DSV41_SPEC_LAYOUT, message.dsv41_spec_layout)
        if message.kv_layout is not None:
            lossy(_NO_KV_LAYOUT, message.kv_layout)
        if not means(message.decode_allocation_policy, "early"):
            lossy(_NO_DECODE_ALLOCATION_POLICY, message.decode_allocation_policy)
        if message.enable_kv_cache_sharding is not False:
            lossy(_NO_ENABLE_KV_CACHE_SHARDING, message.enable_kv_cache_sharding)
        if message.prefill_http_port is not None:
            lossy(_NO_PREFILL_HTTP_PORT, message.prefill_http_port)
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, RouteServerInfo, _L, fault)
    return frames
