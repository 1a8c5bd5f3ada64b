"""Pages that a scheduler sends, cut into the chunks of a staged peer's grid.

A staged chunk is written whole and announced once, whatever the scheduler's calls cover; so
pages are kept until a chunk of the grid is full or the request is at its end.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from pdwire.frames import I32Array
from pdwire.managers.planner import Chunk
from pdwire.staging import ChunkGrid

__all__ = ["ChunkSaver"]


@dataclass(slots=True)
class _Saved:
    """One room for one peer: pages sent so far, and how many chunks are out."""

    pages: list[I32Array] = field(default_factory=list)
    out: int = 0


class ChunkSaver:
    """Saved pages by room and peer."""

    def __init__(self) -> None:
        self._rooms: dict[int, dict[str, _Saved]] = {}

    def add(self, peer: str, chunk: Chunk, grid: ChunkGrid) -> list[Chunk]:
        """The grid's chunks that are whole now; the last one takes aux row and state along."""
        saved = self._rooms.setdefault(chunk.room, {}).setdefault(peer, _Saved())
        saved.pages.append(chunk.pages)
        whole = np.concatenate(saved.pages)
        done = len(grid) if chunk.is_last else grid.whole_chunks(len(whole))
        cells = [self._cell(chunk, grid, n, whole) for n in range(saved.out, done)]
        saved.out = max(saved.out, done)
        if not chunk.is_last:
            return cells
        if not cells:
            empty = whole[:0]
            return [replace(chunk, index=len(grid), pages=empty, start=len(whole))]
        last = cells[-1]
        cells[-1] = replace(chunk, index=last.index, pages=last.pages, start=last.start)
        return cells

    def forget(self, room: int) -> None:
        """The room is over."""
        self._rooms.pop(room, None)

    @staticmethod
    def _cell(chunk: Chunk, grid: ChunkGrid, n: int, whole: I32Array) -> Chunk:
        span = grid.pages(n)
        return Chunk(
            room=chunk.room,
            index=n,
            pages=whole[span.start : span.stop],
            start=span.start,
            is_last=False,
        )
