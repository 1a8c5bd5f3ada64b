"""Codec of ROUTE_GET, layout r2: 0.5.10–0.5.23.

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
    plain,
    put_dec,
    put_query,
    query_body,
    query_key,
)
from pdwire.wire.bootstrap.route_get.message import COUNTS, Draft, RouteGet

__all__ = ["decode", "encode"]

_L = Layout("bootstrap ROUTE_GET", "r2", "0.5.10–0.5.23", (1,), COUNTS)
_AT_PREFILL_DP_RANK = Place(
    _L,
    None,
    "prefill_dp_rank",
    "a canonical decimal in -1..2147483647",
    -1,
    2147483647,
)
_AT_PREFILL_CP_RANK = Place(
    _L,
    None,
    "prefill_cp_rank",
    "a canonical decimal in -1..2147483647",
    -1,
    2147483647,
)
_AT_TARGET_TP_RANK = Place(
    _L,
    None,
    "target_tp_rank",
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
_NO_ASKS_SERVER_INFO = Place(_L, None, "asks_server_info", "what the layout's rule derives")


def decode(frames: Frames) -> RouteGet:
    """The body of layout r2 to a RouteGet.

    The CP rank is added and the keys are renamed; no key of r1 but target_pp_rank is understood.
    """
    try:
        body = query_body(frames, _L)
        m = Draft()
        m.prefill_dp_rank = dec(
            query_key(body, "prefill_dp_rank", _AT_PREFILL_DP_RANK), _AT_PREFILL_DP_RANK
        )
        m.prefill_cp_rank = dec(
            query_key(body, "prefill_cp_rank", _AT_PREFILL_CP_RANK), _AT_PREFILL_CP_RANK
        )
        m.target_tp_rank = dec(
            query_key(body, "target_tp_rank", _AT_TARGET_TP_RANK), _AT_TARGET_TP_RANK
        )
        m.target_pp_rank = dec(
            query_key(body, "target_pp_rank", _AT_TARGET_PP_RANK), _AT_TARGET_PP_RANK
        )
        m.asks_server_info = (
            m.prefill_dp_rank < 0
            and m.prefill_cp_rank < 0
            and m.target_tp_rank < 0
            and m.target_pp_rank < 0
        )
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, RouteGet)


def encode(message: RouteGet) -> list[bytes]:
    """A RouteGet to a body of layout r2."""
    try:
        body: dict[str, bytes] = {
            "prefill_dp_rank": put_dec(message.prefill_dp_rank, _AT_PREFILL_DP_RANK),
            "prefill_cp_rank": put_dec(message.prefill_cp_rank, _AT_PREFILL_CP_RANK),
            "target_tp_rank": put_dec(message.target_tp_rank, _AT_TARGET_TP_RANK),
            "target_pp_rank": put_dec(message.target_pp_rank, _AT_TARGET_PP_RANK),
        }
        frames = put_query(body)
        derived = (
            message.prefill_dp_rank < 0
            and message.prefill_cp_rank < 0
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
