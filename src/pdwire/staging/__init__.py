"""Staging for unequal TP, without I/O: messages in, effects out.

Prefill ranks write the head slices of a chunk into a ring of the decode rank, in one piece each;
the decode rank scatters the chunk into its KV pages when all have. :class:`DecodeStaging` owns the
ring, :class:`PrefillStaging` knows what may be written where and when, and
:mod:`pdwire.staging.copy` (torch; imported by name only) moves the bytes on both sides.
"""

from __future__ import annotations

from pdwire.staging.chunks import PrefillRank
from pdwire.staging.decode import DecodeStaging
from pdwire.staging.effects import (
    Drop,
    Effect,
    Endpoint,
    Place,
    Scatter,
    SendStagingReq,
    SendStagingRsp,
    SendWatermark,
    StagingFailed,
)
from pdwire.staging.grid import ChunkGrid, grid_pages
from pdwire.staging.layout import StagingLayout, head_bytes, slot_pairs
from pdwire.staging.limits import StagingLimits
from pdwire.staging.prefill import (
    ChunkState,
    Oversized,
    PrefillStaging,
    Ready,
    Waiting,
    WaitingFor,
)
from pdwire.staging.ring import OVERSIZED, Mark, Ring, is_writable

__all__ = [
    "OVERSIZED",
    "ChunkGrid",
    "ChunkState",
    "DecodeStaging",
    "Drop",
    "Effect",
    "Endpoint",
    "Mark",
    "Oversized",
    "Place",
    "PrefillRank",
    "PrefillStaging",
    "Ready",
    "Ring",
    "Scatter",
    "SendStagingReq",
    "SendStagingRsp",
    "SendWatermark",
    "StagingFailed",
    "StagingLayout",
    "StagingLimits",
    "Waiting",
    "WaitingFor",
    "grid_pages",
    "head_bytes",
    "is_writable",
    "slot_pairs",
]
