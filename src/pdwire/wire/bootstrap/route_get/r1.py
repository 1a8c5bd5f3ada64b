"""Codec of ROUTE_GET, layout r1: mooncake 0.5.6–0.5.9; ascend 0.5.6–0.5.9; nixl ….

Codec of ROUTE_GET, layout r1: mooncake 0.5.6–0.5.9; ascend 0.5.6–0.5.9; nixl 0.5.6–0.5.9; mori
0.5.9.

GENERATED from protocol/bootstrap/route_get.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from pdwire.codec import seal, unfit
from pdwire.errors import WireError
from pdwire.frames import (
    Frames,
    Layout,
    Place,
    dec,
    lossy,
    means,
    plain,
    put_dec,
    put_query,
    query_body,
    query_key,
)
from pdwire.wire.bootstrap.route_get.message import COUNTS, Draft, RouteGet

__all__ = ["decode", "encode"]

_L = Layout(
    "bootstrap ROUTE_GET",
    "r1",
    "mooncake 0.5.6–0.5.9; ascend 0.5.6–0.5.9; nixl 0.5.6–0.5.9; mori 0.5.9",
    (1,),
    COUNTS,
)
_AT_TARGET_TP_RANK = Place(
    _L,
    None,
    "engine_rank",
    "a canonical decimal in -1..2147483647",
    -1,
    2147483647,
)
_AT_PREFILL_DP_RANK = Place(
    _L,
    None,
    "target_dp_group",
    "a canonical decimal in -1..2147483647",
    -1,
    2147483647,
)
_AT_TARGET_PP_RANK = Place(
    _L,
    None,
    "target_pp_rank",
    "a canonical decimal in -1..2147483647",
    -1,
    2147483647,
)
_NO_PREFILL_CP_RANK = Place(
    _L,
    None,
    "prefill_cp_rank",
    "the value that its absence means, for this layout does not carry it",
)
_NO_ASKS_SERVER_INFO = Place(_L, None, "asks_server_info", "what the layout's rule derives")


def decode(frames: Frames) -> RouteGet:
    """The body of layout r1 to a RouteGet.

    Three ranks, under older names: engine_rank is the attention TP rank, target_dp_group the DP
    rank.
    """
    try:
        body = query_body(frames, _L)
        m = Draft()
        m.target_tp_rank = dec(
            query_key(body, "engine_rank", _AT_TARGET_TP_RANK), _AT_TARGET_TP_RANK
        )
        m.prefill_dp_rank = dec(
            query_key(body, "target_dp_group", _AT_PREFILL_DP_RANK), _AT_PREFILL_DP_RANK
        )
        m.target_pp_rank = dec(
            query_key(body, "target_pp_rank", _AT_TARGET_PP_RANK), _AT_TARGET_PP_RANK
        )
        m.prefill_cp_rank = 0
        m.asks_server_info = m.prefill_dp_rank < 0 and m.target_tp_rank < 0 and m.target_pp_rank < 0
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, RouteGet)


def encode(message: RouteGet) -> list[bytes]:
    """A RouteGet to a body of layout r1."""
    try:
        body: dict[str, bytes] = {
            "engine_rank": put_dec(message.target_tp_rank, _AT_TARGET_TP_RANK),
            "target_dp_group": put_dec(message.prefill_dp_rank, _AT_PREFILL_DP_RANK),
            "target_pp_rank": put_dec(message.target_pp_rank, _AT_TARGET_PP_RANK),
        }
        frames = put_query(body)
        if not means(message.prefill_cp_rank, 0):
            lossy(_NO_PREFILL_CP_RANK, message.prefill_cp_rank)
        derived = (
            message.prefill_dp_rank < 0
            and message.target_tp_rank < 0
            and message.target_pp_rank < 0
        )
        if message.asks_server_info is not derived:
            lossy(_NO_ASKS_SERVER_INFO, message.asks_server_info)
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, RouteGet, _L, fault)
    return frames
