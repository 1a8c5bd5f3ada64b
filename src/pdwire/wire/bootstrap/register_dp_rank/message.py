"""The message REGISTER_DP_RANK: prefill -> bootstrap.

GENERATED from protocol/bootstrap/register_dp_rank.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pdwire.codec import Message

__all__ = ["COUNTS", "Draft", "RegisterDpRank"]

COUNTS: Final[dict[int, str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RegisterDpRank(Message):
    """The message REGISTER_DP_RANK.

    Says which prefill DP rank serves a room, where that does not follow from the room's number.

    Travels prefill -> bootstrap.

    The answer is the text OK with status 200.

    The server forgets an entry after an interval of its own (120 s unless configured); a later
    entry of the same room replaces the earlier one.

    The server reads both numbers with Python's int(), so it also takes them as decimal text; every
    sender writes numbers.
    """

    bootstrap_room: int
    """Room of the request. Unit: id."""

    dp_rank: int
    """DP rank that serves it: the sender's DP attention group. Unit: rank."""


class Draft(Message):
    """A RegisterDpRank that is still being filled."""

    __slots__ = ("bootstrap_room", "dp_rank")

    bootstrap_room: int
    dp_rank: int
