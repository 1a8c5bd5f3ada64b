"""Messages of the group bootstrap.

GENERATED from protocol/bootstrap by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from pdwire.wire.bootstrap.query_dp_ranks import QueryDpRanks
from pdwire.wire.bootstrap.query_dp_ranks_rsp import QueryDpRanksRsp
from pdwire.wire.bootstrap.register_dp_rank import RegisterDpRank
from pdwire.wire.bootstrap.route_get import RouteGet
from pdwire.wire.bootstrap.route_put import RoutePut
from pdwire.wire.bootstrap.route_rank_info import RouteRankInfo
from pdwire.wire.bootstrap.route_server_info import RouteServerInfo

__all__ = [
    "QueryDpRanks",
    "QueryDpRanksRsp",
    "RegisterDpRank",
    "RouteGet",
    "RoutePut",
    "RouteRankInfo",
    "RouteServerInfo",
]
