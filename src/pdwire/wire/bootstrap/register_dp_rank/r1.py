"""Codec of REGISTER_DP_RANK, layout r1: 0.5.10–0.5.23.

GENERATED from protocol/bootstrap/register_dp_rank.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from typing import Any

from pdwire.codec import seal, unfit
from pdwire.errors import WireError
from pdwire.frames import Frames, Layout, Place, json_body, json_key, plain, put_json, put_json_key
from pdwire.wire.bootstrap.register_dp_rank.message import COUNTS, Draft, RegisterDpRank

__all__ = ["decode", "encode"]

_L = Layout("bootstrap REGISTER_DP_RANK", "r1", "0.5.10–0.5.23", (1,), COUNTS)
_AT_BOOTSTRAP_ROOM = Place(
    _L,
    None,
    "bootstrap_room",
    "JSON int in 0..9223372036854775807",
    0,
    9223372036854775807,
)
_AT_DP_RANK = Place(_L, None, "dp_rank", "JSON int in 0..2147483647", 0, 2147483647)


def decode(frames: Frames) -> RegisterDpRank:
    """The body of layout r1 to a RegisterDpRank.

    The only form there ever was.
    """
    try:
        body = json_body(frames, _L)
        m = Draft()
        m.bootstrap_room = json_key(body, "bootstrap_room", "int", _AT_BOOTSTRAP_ROOM)
        m.dp_rank = json_key(body, "dp_rank", "int", _AT_DP_RANK)
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, RegisterDpRank)


def encode(message: RegisterDpRank) -> list[bytes]:
    """A RegisterDpRank to a body of layout r1."""
    try:
        body: dict[str, Any] = {
            "bootstrap_room": put_json_key(message.bootstrap_room, "int", _AT_BOOTSTRAP_ROOM),
            "dp_rank": put_json_key(message.dp_rank, "int", _AT_DP_RANK),
        }
        frames = put_json(body)
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, RegisterDpRank, _L, fault)
    return frames
