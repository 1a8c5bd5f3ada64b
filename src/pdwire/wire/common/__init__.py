"""Messages of the group common.

GENERATED from protocol/common by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from pdwire.wire.common.abort import AbortNotification
from pdwire.wire.common.abort_ack import AbortAck
from pdwire.wire.common.aux_data import AuxData
from pdwire.wire.common.bootstrap import Bootstrap
from pdwire.wire.common.chunk_ready import ChunkReady
from pdwire.wire.common.staging_req import StagingReq
from pdwire.wire.common.staging_rsp import StagingRsp
from pdwire.wire.common.watermark import Watermark

__all__ = [
    "AbortAck",
    "AbortNotification",
    "AuxData",
    "Bootstrap",
    "ChunkReady",
    "StagingReq",
    "StagingRsp",
    "Watermark",
]
