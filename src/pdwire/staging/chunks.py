"""The chunks of one room on the decode side: what was asked for, and who has written it.

Rules:

1. A chunk exists from the first request for it. All chunks of a room together have no more pages
   than the room: that bounds what a peer can make grow (S5).
2. Chunks are cells of one grid, whose size only the prefill side knows: every cell but the last
   has the same number of pages. A request that no grid of the room's pages explains is refused,
   and one that fits the grid of most others is granted: a stranger, who names no sender, takes
   nothing from them (A12). What was asked for beyond them is not waited for.
3. Each writer counts once, and only ranks that were asked, where their numbers are known (A9).
   All of them name the same pages, which lie in the room and fit the place.
"""

from __future__ import annotations

from collections import Counter
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

    def holds(self, pages: int) -> bool:
        """Whether a request for so many pages gets this place.

        A smaller number does: fewer pages may be written than a place was given for, and whoever
        asked for more may have been a stranger.
        """
        return pages == self.pages or (self.place is not None and 1 <= pages < self.pages)

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
    writer_ranks: frozenset[int] | None = None
    chunks: dict[int, Chunk] = field(default_factory=dict)

    def has_room_for(self, chunk_idx: int, pages: int) -> bool:
        """Whether a new chunk of so many pages can be one of this room's."""
        grids = self._grids(chunk_idx, pages)
        votes = Counter(
            grid
            for other, chunk in self.chunks.items()
            if chunk.place is not None
            for grid in self._grids(other, chunk.pages)
        )
        most = max(votes.values(), default=0)
        if any(votes[grid] + 1 > most for grid in grids):
            return True  # one of the grid's, whatever somebody else has asked for
        taken = sum(chunk.pages for chunk in self.chunks.values() if chunk.place is not None)
        return bool(grids) and taken + pages <= len(self.pages)

    def may_be_oversized(self, chunk_idx: int, pages: int) -> bool:
        """Whether a chunk that gets no place can be one of this room's: it takes nothing."""
        return 1 <= pages <= len(self.pages) and 0 <= chunk_idx < len(self.pages)

    def _grids(self, chunk_idx: int, pages: int) -> set[int]:
        """Pages of a whole cell, in every grid in which this chunk has so many; at most two."""
        total = len(self.pages)
        if chunk_idx < 0 or pages < 1:
            return set()
        grids = {pages} if (chunk_idx + 1) * pages <= total else set()
        if chunk_idx and (total - pages) % chunk_idx == 0:
            whole = (total - pages) // chunk_idx  # it is the last, and may be shorter
            grids |= {whole} if whole >= pages else set()
        return grids

    def may_write(self, writer: int) -> bool:
        """Whether a prefill rank of that number was asked."""
        return self.writer_ranks is None or writer in self.writer_ranks

    def outstanding(self) -> bool:
        """Whether anything is still expected in a place.

        Once every page has come nothing is: what somebody else has asked for is not waited for.
        """
        if any(chunk.step is Step.SCATTERING for chunk in self.chunks.values()):
            return True
        return any(chunk.awaited() for chunk in self.chunks.values()) and not self._covered()

    def _covered(self) -> bool:
        """Whether the chunks that were scattered hold every page."""
        spans = sorted(c.span for c in self.chunks.values() if c.step is Step.DONE and c.span)
        end = 0
        for start, count in spans:
            if start > end:
                return False
            end = max(end, start + count)
        return end >= len(self.pages)

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
