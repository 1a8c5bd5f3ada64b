"""Codec of QUERY_DP_RANKS_RSP, layout r1: 0.5.10–0.5.23.

GENERATED from protocol/bootstrap/query_dp_ranks_rsp.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from pdwire.codec import seal, unfit
from pdwire.errors import WireError
from pdwire.frames import (
    Frames,
    Layout,
    Place,
    json_body,
    json_whole,
    plain,
    put_json,
    put_json_key,
)
from pdwire.wire.bootstrap.query_dp_ranks_rsp.message import COUNTS, Draft, QueryDpRanksRsp

__all__ = ["decode", "encode"]

_L = Layout("bootstrap QUERY_DP_RANKS_RSP", "r1", "0.5.10–0.5.23", (1,), COUNTS)
_AT_DP_RANKS = Place(_L, None, "*", "JSON int{} in 0..2147483647", 0, 2147483647)


def decode(frames: Frames) -> QueryDpRanksRsp:
    """The body of layout r1 to a QueryDpRanksRsp.

    The only form there ever was: the body is the table itself.
    """
    try:
        body = json_body(frames, _L)
        m = Draft()
        m.dp_ranks = json_whole(body, "int{}", _AT_DP_RANKS)
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, QueryDpRanksRsp)


def encode(message: QueryDpRanksRsp) -> list[bytes]:
    """A QueryDpRanksRsp to a body of layout r1."""
    try:
        frames = put_json(put_json_key(message.dp_ranks, "int{}", _AT_DP_RANKS))
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, QueryDpRanksRsp, _L, fault)
    return frames
