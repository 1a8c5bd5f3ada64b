"""The grid of a staged room: which pages make up which chunk.

Rules:

1. Pages are counted within what is sent: the first page behind the decode side's prefix is 0.
2. Every chunk but the last has the same number of pages, ``grid_pages`` of the prefill side's
   chunked prefill size. Only the prefill side knows it; the decode side learns the chunks from
   STAGING_REQ and their pages from CHUNK_READY.
3. A chunk is written whole and announced once, so what a caller sends is saved up until a chunk
   is full, or the request is at its end.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ChunkGrid", "grid_pages"]

_DEFAULT_TOKENS = 8192


def grid_pages(chunked_prefill_size: int | None, page_size: int) -> int:
    """Pages of a chunk, as every release computes it: at least one.

    Raises:
        ValueError: a page size below 1.
    """
    if page_size < 1:
        raise ValueError(f"a page of {page_size} tokens")
    return max(1, (chunked_prefill_size or _DEFAULT_TOKENS) // page_size)


@dataclass(frozen=True, slots=True)
class ChunkGrid:
    """``total_pages`` cut into chunks of ``chunk_pages``; the last one may be shorter.

    Raises:
        ValueError: a negative total or a chunk of no pages.
    """

    total_pages: int
    chunk_pages: int

    def __post_init__(self) -> None:
        if self.total_pages < 0 or self.chunk_pages < 1:
            raise ValueError(f"{self.total_pages} pages in chunks of {self.chunk_pages}")

    def __len__(self) -> int:
        """How many chunks."""
        return (self.total_pages + self.chunk_pages - 1) // self.chunk_pages

    def pages(self, chunk_idx: int) -> range:
        """The pages of a chunk.

        Raises:
            IndexError: no such chunk (S5).
        """
        if not 0 <= chunk_idx < len(self):
            raise IndexError(f"chunk {chunk_idx} of {len(self)}")
        start = chunk_idx * self.chunk_pages
        return range(start, min(start + self.chunk_pages, self.total_pages))

    def chunk_of(self, page: int) -> int:
        """The chunk that a page belongs to.

        Raises:
            IndexError: no such page.
        """
        if not 0 <= page < self.total_pages:
            raise IndexError(f"page {page} of {self.total_pages}")
        return page // self.chunk_pages

    def whole_chunks(self, pages_ready: int) -> int:
        """How many chunks, from the first on, are whole when that many pages are there."""
        if pages_ready >= self.total_pages:
            return len(self)
        return max(0, pages_ready) // self.chunk_pages
