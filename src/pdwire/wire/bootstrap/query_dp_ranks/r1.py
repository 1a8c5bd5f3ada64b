"""Codec of QUERY_DP_RANKS, layout r1: 0.5.10–0.5.23.

GENERATED from protocol/bootstrap/query_dp_ranks.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from typing import Any

from pdwire.codec import seal, unfit
from pdwire.errors import WireError
from pdwire.frames import Frames, Layout, Place, json_body, json_key, plain, put_json, put_json_key
from pdwire.wire.bootstrap.query_dp_ranks.message import COUNTS, Draft, QueryDpRanks

__all__ = ["decode", "encode"]

_L = Layout("bootstrap QUERY_DP_RANKS", "r1", "0.5.10–0.5.23", (1,), COUNTS)
_AT_BOOTSTRAP_ROOMS = Place(
    _L,
    None,
    "bootstrap_rooms",
    "JSON int[] in 0..9223372036854775807",
    0,
    9223372036854775807,
)


def decode(frames: Frames) -> QueryDpRanks:
    """The body of layout r1 to a QueryDpRanks.

    The only form there ever was.
    """
    try:
        body = json_body(frames, _L)
        m = Draft()
        m.bootstrap_rooms = json_key(body, "bootstrap_rooms", "int[]", _AT_BOOTSTRAP_ROOMS)
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, QueryDpRanks)


def encode(message: QueryDpRanks) -> list[bytes]:
    """A QueryDpRanks to a body of layout r1."""
    try:
        body: dict[str, Any] = {
            "bootstrap_rooms": put_json_key(message.bootstrap_rooms, "int[]", _AT_BOOTSTRAP_ROOMS),
        }
        frames = put_json(body)
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, QueryDpRanks, _L, fault)
    return frames
