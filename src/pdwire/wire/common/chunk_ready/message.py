"""The message CHUNK_READY: prefill -> decode.

GENERATED from protocol/common/chunk_ready.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pdwire.codec import Message

__all__ = ["COUNTS", "ChunkReady", "Draft"]

COUNTS: Final[dict[int, str]] = {7: "0.5.10–0.5.22, 0.5.23"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChunkReady(Message):
    """Says that one prefill rank has written its part of a chunk into the staging ring.

    When as many have said so as write the chunk, the decode rank scatters it into its KV pages.

    Travels prefill -> decode.

    Mooncake sends it for every chunk but the last until 0.5.17, the status message standing in for
    that one, and for every chunk from 0.5.18 on.

    The prefill rank is sent by every release and read by none.
    """

    room: int
    """The request that the chunk belongs to. Unit: id."""

    chunk_idx: int
    """Number of the chunk in the request's staging grid, from 0. Unit: count."""

    page_start: int
    """First page of the chunk, counted within the request's pages that are sent. Unit: pages."""

    num_pages: int
    """How many pages the chunk covers. Unit: pages."""

    writer_id: str
    """The decode rank's session (Mooncake, host:port) or agent name (NIXL) that was written to. The
    reader keeps it under the name of the writer, but all writers of one chunk send the same. Unit:
    id."""

    prefill_rank: int
    """Number of the writing prefill worker among all that serve the request. Unit: rank."""


class Draft(Message):
    """A ChunkReady that is still being filled."""

    __slots__ = ("chunk_idx", "num_pages", "page_start", "prefill_rank", "room", "writer_id")

    room: int
    chunk_idx: int
    page_start: int
    num_pages: int
    writer_id: str
    prefill_rank: int
