"""Codec of ROUTE_RANK_INFO, layout r1: mooncake 0.5.6–0.5.23; ascend 0.5.6–0.5.23; nixl ….

Codec of ROUTE_RANK_INFO, layout r1: mooncake 0.5.6–0.5.23; ascend 0.5.6–0.5.23; nixl 0.5.6–0.5.23;
mori 0.5.9–0.5.23.

GENERATED from protocol/bootstrap/route_rank_info.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from typing import Any

from pdwire.codec import seal, unfit
from pdwire.errors import WireError
from pdwire.frames import Frames, Layout, Place, json_body, json_key, plain, put_json, put_json_key
from pdwire.wire.bootstrap.route_rank_info.message import COUNTS, Draft, RouteRankInfo

__all__ = ["decode", "encode"]

_L = Layout(
    "bootstrap ROUTE_RANK_INFO",
    "r1",
    "mooncake 0.5.6–0.5.23; ascend 0.5.6–0.5.23; nixl 0.5.6–0.5.23; mori 0.5.9–0.5.23",
    (1,),
    COUNTS,
)
_AT_RANK_IP = Place(_L, None, "rank_ip", "JSON str")
_AT_RANK_PORT = Place(_L, None, "rank_port", "JSON int in 1..65535", 1, 65535)


def decode(frames: Frames) -> RouteRankInfo:
    """The body of layout r1 to a RouteRankInfo.

    The only form there ever was.
    """
    try:
        body = json_body(frames, _L)
        m = Draft()
        m.rank_ip = json_key(body, "rank_ip", "str", _AT_RANK_IP)
        m.rank_port = json_key(body, "rank_port", "int", _AT_RANK_PORT)
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, RouteRankInfo)


def encode(message: RouteRankInfo) -> list[bytes]:
    """A RouteRankInfo to a body of layout r1."""
    try:
        body: dict[str, Any] = {
            "rank_ip": put_json_key(message.rank_ip, "str", _AT_RANK_IP),
            "rank_port": put_json_key(message.rank_port, "int", _AT_RANK_PORT),
        }
        frames = put_json(body)
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, RouteRankInfo, _L, fault)
    return frames
