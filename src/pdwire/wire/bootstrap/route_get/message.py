"""The message ROUTE_GET: decode -> bootstrap.

GENERATED from protocol/bootstrap/route_get.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pdwire.codec import Message

__all__ = ["COUNTS", "Draft", "RouteGet"]

COUNTS: Final[dict[int, str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RouteGet(Message):
    """The message ROUTE_GET.

    Asks where one prefill rank listens (answer: ROUTE_RANK_INFO) or, with -1 for every rank, what
    the prefill side looks like (answer: ROUTE_SERVER_INFO).

    Travels decode -> bootstrap.

    The server compares every rank with -1: one rank of -1 among others is looked up like any rank,
    and not found.

    A query without one of the keys, or with an empty one, is answered 400. From 0.5.10 on a rank
    that is not registered is answered 404, and any query before every rank has registered 503; up
    to 0.5.9 both end in a server error (500).

    The server reads the numbers with Python's int(), so it also takes signs, spaces and
    underscores; every sender writes plain decimals.
    """

    prefill_dp_rank: int
    """DP rank (DP attention group or replica) of the rank asked for; -1 asks for the prefill side.
    Unit: rank."""

    prefill_cp_rank: int = 0
    """CP rank of the rank asked for; -1 asks for the prefill side. 0 before 0.5.10, which does not
    say it. Unit: rank."""

    target_tp_rank: int
    """Attention TP rank of the rank asked for; -1 asks for the prefill side. Unit: rank."""

    target_pp_rank: int
    """PP rank of the rank asked for; -1 asks for the prefill side. Unit: rank."""

    asks_server_info: bool = False
    """Whether the query asks for the prefill side: every rank that it names is -1."""


class Draft(Message):
    """A RouteGet that is still being filled."""

    __slots__ = (
        "asks_server_info",
        "prefill_cp_rank",
        "prefill_dp_rank",
        "target_pp_rank",
        "target_tp_rank",
    )

    prefill_dp_rank: int
    prefill_cp_rank: int
    target_tp_rank: int
    target_pp_rank: int
    asks_server_info: bool
