"""The chunks of one room on the decode side: what was asked for, and who has written it.

Rules:

1. A chunk exists from the first request for it. All chunks of a room together have no more pages
   than the room: that bounds what a peer can make grow (S5).
2. Each writer counts once. All of them name the same pages, which lie in the room and fit the
   place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from pdwire.staging.effects import Endpoint, I64Array, Place
from pdwire.staging.layout import StagingLayout

__all__ = ["Chunk", "PrefillRank", "StagedRoom", "Step"]


@dataclass(frozen=True, slots=True)
class PrefillRank:
    """A prefill rank of a room: its control socket, and its pipeline stage."""

    endpoint: Endpoint
    pp_rank: int = 0


class Step(Enum):
    """How far a chunk has come."""

    AWAITED = auto()
    """Its writers have not all reported."""
    SCATTERING = auto()
    """They have, and it is being copied into KV pages."""
    DONE = auto()
    """Its place is free."""


@dataclass(slots=True, kw_only=True)
class Chunk:
    """One chunk; ``place`` is ``None`` where it is larger than the ring."""

    pages: int
    place: Place | None
    step: Step = Step.AWAITED
    span: tuple[int, int] | None = None
    written_by: set[int] = field(default_factory=set)

    def awaited(self) -> bool:
        """Whether anything is still expected for it."""
        return self.place is not None and self.step is Step.AWAITED


@dataclass(slots=True, kw_only=True)
class StagedRoom:
    """One open room; the arguments of ``DecodeStaging.open_room``, and its chunks."""

    prefill: str
    ranks: tuple[PrefillRank, ...]
    layout: StagingLayout
    pages: I64Array
    writers: int
    last_by_status: bool
    chunks: dict[int, Chunk] = field(default_factory=dict)

    def has_room_for(self, chunk_idx: int, pages: int) -> bool:
        """Whether a new chunk of so many pages can be one of this room's."""
        spare = len(self.pages) - sum(chunk.pages for chunk in self.chunks.values())
        return 1 <= pages <= spare and 0 <= chunk_idx < len(self.pages)

    def outstanding(self) -> bool:
        """Whether any place is taken."""
        return any(chunk.place and chunk.step is not Step.DONE for chunk in self.chunks.values())

    def whole(self, chunk: Chunk) -> bool:
        """Whether every writer has written its part."""
        return len(chunk.written_by) >= self.writers

    def last(self) -> tuple[int, Chunk] | None:
        """The chunk with the highest number, if any was asked for."""
        return max(self.chunks.items(), key=lambda item: item[0], default=None)

    def fault(self, chunk: Chunk, page_start: int, num_pages: int) -> str | None:
        """Why a writer cannot have written these pages to that place as it should."""
        if not 1 <= num_pages <= chunk.pages:
            return f"{num_pages} pages were written into a place for {chunk.pages}"
        if page_start < 0 or page_start + num_pages > len(self.pages):
            return f"{num_pages} pages from {page_start} on, the room has {len(self.pages)}"
        if chunk.span not in {None, (page_start, num_pages)}:
            return f"writers disagree on its pages: {chunk.span}, {(page_start, num_pages)}"
        return None
