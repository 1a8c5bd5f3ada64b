"""The message STAGING_RSP: decode -> prefill.

GENERATED from protocol/common/staging_rsp.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pdwire.codec import Message

__all__ = ["COUNTS", "Draft", "StagingRsp"]

COUNTS: Final[dict[int, str]] = {7: "0.5.10–0.5.11, 0.5.12–0.5.23"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StagingRsp(Message):
    """The message STAGING_RSP.

    Says where in the decode rank's staging ring one chunk may be written, or that it never will be:
    a chunk larger than the ring has offset -2, round 0 and end -1. The place may still hold older
    data; the writer waits until a WATERMARK lets it through.

    Travels decode -> prefill.

    A repeated request gets the same place again.

    The reader drops an answer for a request or session that it does not know.

    An offset of -1 is the peers' own mark for a chunk that has no answer yet; it never crosses the
    wire.
    """

    room: int
    """The request that the chunk belongs to. Unit: id."""

    chunk_idx: int
    """Number of the chunk in the request's staging grid, as the request named it. Unit: count."""

    offset: int
    """Byte offset of the chunk's place from the base of the ring; -2 for a chunk that is larger
    than the whole ring. Unit: bytes."""

    round: int
    """Round of the ring in which the place was given: how often its head had gone back to 0. Unit:
    count."""

    end: int
    """Byte offset just behind the chunk's place; -1 for a chunk that is larger than the whole ring.
    Unit: bytes."""

    session_id: str
    """Session or agent name out of the request: the prefill side finds the decode rank's
    TransferInfo by it. Text here because the backends share the message. Unit: id."""


class Draft(Message):
    """A StagingRsp that is still being filled."""

    __slots__ = ("chunk_idx", "end", "offset", "room", "round", "session_id")

    room: int
    chunk_idx: int
    offset: int
    round: int
    end: int
    session_id: str
