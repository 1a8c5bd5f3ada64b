"""The message STAGING_REQ: prefill -> decode.

GENERATED from protocol/common/staging_req.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pdwire.codec import Message

__all__ = ["COUNTS", "Draft", "StagingReq"]

COUNTS: Final[dict[int, str]] = {
    5: "0.5.10–0.5.11, 0.5.12–0.5.17, 0.5.18–0.5.23",
    6: "0.5.18–0.5.23",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StagingReq(Message):
    """Asks the decode rank to reserve room for one chunk of a request in its staging ring.

    Sent for every chunk of the request before the prefill's forward pass begins, to every decode
    rank that is not a dummy, so that the place is known when the data is. STAGING_RSP answers.

    Travels prefill -> decode.

    Several prefill ranks ask for the same chunk; the decode rank reserves once and gives every
    asker the same place.

    The reader drops a request for a room that it does not know, and nothing asks again: the prefill
    side waits until its own deadline.
    """

    room: int
    """The request that the chunk belongs to. Unit: id."""

    chunk_idx: int
    """Number of the chunk in the request's staging grid, from 0. Peers grow a list up to it, so the
    bound is the contract's: no real request has a million chunks. Unit: count."""

    chunk_num_pages: int
    """How many pages the chunk covers; the decode rank derives the bytes to reserve from it. Unit:
    pages."""

    session_id: str
    """The decode rank's transfer session (Mooncake, host:port) or agent name (NIXL) as its
    TransferInfo gave it; the answer and later watermarks repeat it. Text here because the backends
    share the message. Unit: id."""

    requester_pp_rank: int | None = None
    """Pipeline rank of the asker; only prefill ranks of that stage are answered. None: all of them
    are. Unit: rank."""


class Draft(Message):
    """A StagingReq that is still being filled."""

    __slots__ = ("chunk_idx", "chunk_num_pages", "requester_pp_rank", "room", "session_id")

    room: int
    chunk_idx: int
    chunk_num_pages: int
    session_id: str
    requester_pp_rank: int | None
