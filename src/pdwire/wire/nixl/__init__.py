"""Messages of the nixl backend.

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
from pdwire.wire.common.bootstrap import Bootstrap
from pdwire.wire.common.chunk_ready import ChunkReady
from pdwire.wire.common.staging_req import StagingReq
from pdwire.wire.common.staging_rsp import StagingRsp
from pdwire.wire.common.watermark import Watermark
from pdwire.wire.nixl.kv_args_register_info import KVArgsRegisterInfo
from pdwire.wire.nixl.kv_status import KVStatus
from pdwire.wire.nixl.notif_aux import NotifAux
from pdwire.wire.nixl.notif_kv import NotifKV
from pdwire.wire.nixl.notif_state import NotifState
from pdwire.wire.nixl.notif_stg import NotifStg
from pdwire.wire.nixl.transfer_info import TransferInfo

__all__ = [
    "AbortAck",
    "AbortNotification",
    "Bootstrap",
    "ChunkReady",
    "KVArgsRegisterInfo",
    "KVStatus",
    "NotifAux",
    "NotifKV",
    "NotifState",
    "NotifStg",
    "QueryDpRanks",
    "QueryDpRanksRsp",
    "RegisterDpRank",
    "RouteGet",
    "RoutePut",
    "RouteRankInfo",
    "RouteServerInfo",
    "StagingReq",
    "StagingRsp",
    "TransferInfo",
    "Watermark",
]
