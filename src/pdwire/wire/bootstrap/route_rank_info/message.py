"""The message ROUTE_RANK_INFO: bootstrap -> decode.

GENERATED from protocol/bootstrap/route_rank_info.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pdwire.codec import Message

__all__ = ["COUNTS", "Draft", "RouteRankInfo"]

COUNTS: Final[dict[int, str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RouteRankInfo(Message):
    """The message ROUTE_RANK_INFO.

    Where the prefill rank that was asked for listens: the decode rank sends its registration and
    its metadata there.

    Travels bootstrap -> decode.

    The decode side adds keys of its own to what it received (is_dummy; from 0.5.18 on pp_rank):
    those never travel.
    """

    rank_ip: str
    """Address of the rank's control socket, as it registered it, without brackets."""

    rank_port: int
    """TCP port of the rank's control socket. Unit: port."""


class Draft(Message):
    """A RouteRankInfo that is still being filled."""

    __slots__ = ("rank_ip", "rank_port")

    rank_ip: str
    rank_port: int
