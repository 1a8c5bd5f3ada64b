"""The message QUERY_DP_RANKS: decode -> bootstrap.

GENERATED from protocol/bootstrap/query_dp_ranks.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pdwire.codec import Message

__all__ = ["COUNTS", "Draft", "QueryDpRanks"]

COUNTS: Final[dict[int, str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryDpRanks(Message):
    """Asks which prefill DP rank serves each of some rooms (answer: QUERY_DP_RANKS_RSP).

    Travels decode -> bootstrap.

    The server reads each room with Python's int(), so it also takes decimal text; every sender
    writes numbers.
    """

    bootstrap_rooms: tuple[int, ...]
    """Rooms asked about, in any order. Unit: id."""


class Draft(Message):
    """A QueryDpRanks that is still being filled."""

    __slots__ = ("bootstrap_rooms",)

    bootstrap_rooms: tuple[int, ...]
