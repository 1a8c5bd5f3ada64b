"""The message QUERY_DP_RANKS_RSP: bootstrap -> decode.

GENERATED from protocol/bootstrap/query_dp_ranks_rsp.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pdwire.codec import Message

__all__ = ["COUNTS", "Draft", "QueryDpRanksRsp"]

COUNTS: Final[dict[int, str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryDpRanksRsp(Message):
    """The message QUERY_DP_RANKS_RSP.

    Which prefill DP rank serves each of the rooms asked about; rooms that nobody registered, or
    whose entry has expired, are left out.

    Travels bootstrap -> decode.
    """

    dp_ranks: dict[str, int]
    """DP rank by room, the room as decimal text; empty when none is known yet. Unit: rank."""


class Draft(Message):
    """A QueryDpRanksRsp that is still being filled."""

    __slots__ = ("dp_ranks",)

    dp_ranks: dict[str, int]
