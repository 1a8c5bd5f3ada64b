"""Messages of the mori backend.

GENERATED from protocol/ by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from pdwire.wire.bootstrap.query_dp_ranks import QueryDpRanks
from pdwire.wire.bootstrap.query_dp_ranks_rsp import QueryDpRanksRsp
from pdwire.wire.bootstrap.register_dp_rank import RegisterDpRank
from pdwire.wire.bootstrap.route_get import RouteGet
from pdwire.wire.bootstrap.route_put import RoutePut
from pdwire.wire.bootstrap.route_rank_info import RouteRankInfo
from pdwire.wire.bootstrap.route_server_info import RouteServerInfo
from pdwire.wire.common.abort import AbortNotification
from pdwire.wire.common.abort_ack import AbortAck
from pdwire.wire.common.aux_data import AuxData
from pdwire.wire.common.bootstrap import Bootstrap
from pdwire.wire.mori.kv_args_register_info import KVArgsRegisterInfo
from pdwire.wire.mori.kv_status import KVStatus
from pdwire.wire.mori.transfer_info import TransferInfo

__all__ = [
    "AbortAck",
    "AbortNotification",
    "AuxData",
    "Bootstrap",
    "KVArgsRegisterInfo",
    "KVStatus",
    "QueryDpRanks",
    "QueryDpRanksRsp",
    "RegisterDpRank",
    "RouteGet",
    "RoutePut",
    "RouteRankInfo",
    "RouteServerInfo",
    "TransferInfo",
]
