"""What has to move: pure arithmetic on page indices and base addresses, in numpy.

Page tables, head slices, PP stages and DCP ranks in; :class:`Blocks` out, which any engine
takes. Nothing here reads a clock, a socket or a byte of memory, and nothing is narrower than
64 bits. Every error is a ``ValueError`` that holds the numbers.
"""

from __future__ import annotations

from pdwire.plan.blocks import Blocks, concat
from pdwire.plan.dcp import TokenPlan, dcp_blocks, dcp_token_plan
from pdwire.plan.extent import NOTHING, Extent, OutsideRequest, Permitted
from pdwire.plan.heads import HeadSlice, head_slice, head_slice_blocks, heads_per_rank
from pdwire.plan.pages import group_contiguous, page_blocks
from pdwire.plan.ranges import Ranges
from pdwire.plan.regions import Pairs, Stage, pp_regions

__all__ = [
    "NOTHING",
    "Blocks",
    "Extent",
    "HeadSlice",
    "OutsideRequest",
    "Pairs",
    "Permitted",
    "Ranges",
    "Stage",
    "TokenPlan",
    "concat",
    "dcp_blocks",
    "dcp_token_plan",
    "group_contiguous",
    "head_slice",
    "head_slice_blocks",
    "heads_per_rank",
    "page_blocks",
    "pp_regions",
]
