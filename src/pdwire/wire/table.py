"""Every codec of every layout.

GENERATED from protocol/ by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from typing import Any, Final

from pdwire.codec import Codec
from pdwire.wire.bootstrap.query_dp_ranks import CODECS as BOOTSTRAP_QUERY_DP_RANKS
from pdwire.wire.bootstrap.query_dp_ranks_rsp import CODECS as BOOTSTRAP_QUERY_DP_RANKS_RSP
from pdwire.wire.bootstrap.register_dp_rank import CODECS as BOOTSTRAP_REGISTER_DP_RANK
from pdwire.wire.bootstrap.route_get import CODECS as BOOTSTRAP_ROUTE_GET
from pdwire.wire.bootstrap.route_put import CODECS as BOOTSTRAP_ROUTE_PUT
from pdwire.wire.bootstrap.route_rank_info import CODECS as BOOTSTRAP_ROUTE_RANK_INFO
from pdwire.wire.bootstrap.route_server_info import CODECS as BOOTSTRAP_ROUTE_SERVER_INFO
from pdwire.wire.common.abort import CODECS as COMMON_ABORT
from pdwire.wire.common.abort_ack import CODECS as COMMON_ABORT_ACK
from pdwire.wire.common.aux_data import CODECS as COMMON_AUX_DATA
from pdwire.wire.common.bootstrap import CODECS as COMMON_BOOTSTRAP
from pdwire.wire.common.chunk_ready import CODECS as COMMON_CHUNK_READY
from pdwire.wire.common.staging_req import CODECS as COMMON_STAGING_REQ
from pdwire.wire.common.staging_rsp import CODECS as COMMON_STAGING_RSP
from pdwire.wire.common.watermark import CODECS as COMMON_WATERMARK
from pdwire.wire.mooncake.kv_args_register_info import CODECS as MOONCAKE_KV_ARGS_REGISTER_INFO
from pdwire.wire.mooncake.kv_status import CODECS as MOONCAKE_KV_STATUS
from pdwire.wire.mooncake.transfer_info import CODECS as MOONCAKE_TRANSFER_INFO
from pdwire.wire.mori.kv_args_register_info import CODECS as MORI_KV_ARGS_REGISTER_INFO
from pdwire.wire.mori.kv_status import CODECS as MORI_KV_STATUS
from pdwire.wire.mori.transfer_info import CODECS as MORI_TRANSFER_INFO
from pdwire.wire.nixl.kv_args_register_info import CODECS as NIXL_KV_ARGS_REGISTER_INFO
from pdwire.wire.nixl.kv_status import CODECS as NIXL_KV_STATUS
from pdwire.wire.nixl.notif_aux import CODECS as NIXL_NOTIF_AUX
from pdwire.wire.nixl.notif_kv import CODECS as NIXL_NOTIF_KV
from pdwire.wire.nixl.notif_state import CODECS as NIXL_NOTIF_STATE
from pdwire.wire.nixl.notif_stg import CODECS as NIXL_NOTIF_STG
from pdwire.wire.nixl.transfer_info import CODECS as NIXL_TRANSFER_INFO

__all__ = ["ALIASES", "CODECS", "ORDER"]

CODECS: Final[tuple[Codec[Any], ...]] = (
    *BOOTSTRAP_QUERY_DP_RANKS,
    *BOOTSTRAP_QUERY_DP_RANKS_RSP,
    *BOOTSTRAP_REGISTER_DP_RANK,
    *BOOTSTRAP_ROUTE_GET,
    *BOOTSTRAP_ROUTE_PUT,
    *BOOTSTRAP_ROUTE_RANK_INFO,
    *BOOTSTRAP_ROUTE_SERVER_INFO,
    *COMMON_ABORT,
    *COMMON_ABORT_ACK,
    *COMMON_AUX_DATA,
    *COMMON_BOOTSTRAP,
    *COMMON_CHUNK_READY,
    *COMMON_STAGING_REQ,
    *COMMON_STAGING_RSP,
    *COMMON_WATERMARK,
    *MOONCAKE_KV_ARGS_REGISTER_INFO,
    *MOONCAKE_KV_STATUS,
    *MOONCAKE_TRANSFER_INFO,
    *MORI_KV_ARGS_REGISTER_INFO,
    *MORI_KV_STATUS,
    *MORI_TRANSFER_INFO,
    *NIXL_KV_ARGS_REGISTER_INFO,
    *NIXL_KV_STATUS,
    *NIXL_NOTIF_AUX,
    *NIXL_NOTIF_KV,
    *NIXL_NOTIF_STATE,
    *NIXL_NOTIF_STG,
    *NIXL_TRANSFER_INFO,
)
ORDER: Final[tuple[str, ...]] = (
    "0.5.6",
    "0.5.6.post1",
    "0.5.6.post2",
    "0.5.7",
    "0.5.8",
    "0.5.8.post1",
    "0.5.9",
    "0.5.10",
    "0.5.10.post1",
    "0.5.11",
    "0.5.12",
    "0.5.12.post1",
    "0.5.13",
    "0.5.13.post1",
    "0.5.14",
    "0.5.15",
    "0.5.15.post1",
    "0.5.16",
    "0.5.17",
    "0.5.18",
    "0.5.19",
    "0.5.20",
    "0.5.21",
    "0.5.22",
    "0.5.23",
)
ALIASES: Final[dict[str, str]] = {
    "AbortAck": "ABORT_ACK",
    "AbortNotification": "ABORT",
    "AuxData": "AUX_DATA",
    "Bootstrap": "BOOTSTRAP",
    "ChunkReady": "CHUNK_READY",
    "KVStatus": "KV_STATUS",
    "NotifAux": "NOTIF_AUX",
    "NotifKV": "NOTIF_KV",
    "NotifState": "NOTIF_STATE",
    "NotifStg": "NOTIF_STG",
    "QueryDpRanks": "QUERY_DP_RANKS",
    "QueryDpRanksRsp": "QUERY_DP_RANKS_RSP",
    "RegisterDpRank": "REGISTER_DP_RANK",
    "RouteGet": "ROUTE_GET",
    "RoutePut": "ROUTE_PUT",
    "RouteRankInfo": "ROUTE_RANK_INFO",
    "RouteServerInfo": "ROUTE_SERVER_INFO",
    "StagingReq": "STAGING_REQ",
    "StagingRsp": "STAGING_RSP",
    "Watermark": "WATERMARK",
}
