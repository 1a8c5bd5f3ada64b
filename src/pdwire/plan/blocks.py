"""Blocks: what moves, as three arrays of one length (source, destination, size).

1. A block lies inside one region on both sides. Planners join pages of one region pair and
   never two regions, even where they touch in memory: an engine looks a range up among what
   was registered, and a range over two registrations is in neither.
2. So ``merged()`` is for callers whose blocks come from one region pair.
3. Blocks of size zero mean nothing and are never handed to an engine (field report F12).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from pdwire.plan.arrays import Integers, U64Array, as_u64, same_length

__all__ = ["Blocks", "concat"]


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Byte ranges to copy, one per index; arrays of 64-bit unsigned integers.

    Raises:
        ValueError: the arrays differ in length, or are not flat and 64 bits unsigned.
    """

    src: U64Array
    """Start of each block on this side. Unit: address."""

    dst: U64Array
    """Start of each block at the peer. Unit: address."""

    size: U64Array
    """Length of each block. Unit: bytes."""

    def __post_init__(self) -> None:
        same_length(src=self.src, dst=self.dst, size=self.size)
        for name in ("src", "dst", "size"):
            array: U64Array = getattr(self, name)
            if array.dtype != np.uint64 or array.ndim != 1:
                raise ValueError(f"{name} must be flat u64, got {array.dtype} {array.shape}")

    @classmethod
    def of(cls, src: Integers, dst: Integers, size: Integers | int) -> Blocks:
        """From any integers; one ``size`` may stand for all blocks.

        Raises:
            ValueError: negative numbers, or lengths that differ.
        """
        sources = as_u64("src", src)
        sizes = [size] * len(sources) if isinstance(size, int) else size
        return cls(sources, as_u64("dst", dst), as_u64("size", sizes))

    @classmethod
    def none(cls) -> Blocks:
        """No block at all."""
        empty = np.empty(0, np.uint64)
        return cls(empty, empty, empty)

    def __len__(self) -> int:
        """How many blocks."""
        return len(self.size)

    @property
    def total(self) -> int:
        """Bytes of all blocks together."""
        return int(self.size.sum(dtype=np.uint64))

    def nonzero(self) -> Blocks:
        """Without the blocks of size zero."""
        keep = self.size != 0
        return self if keep.all() else Blocks(self.src[keep], self.dst[keep], self.size[keep])

    def merged(self) -> Blocks:
        """Neighbours that touch on both sides as one block; order kept, zero sizes dropped.

        Only for blocks of one region pair: see rule 1 of this module.
        """
        full = self.nonzero()
        if len(full) < 2:
            return full
        src_end, dst_end = full.src[:-1] + full.size[:-1], full.dst[:-1] + full.size[:-1]
        apart = (full.src[1:] != src_end) | (full.dst[1:] != dst_end)
        first = np.concatenate(([0], np.flatnonzero(apart) + 1))
        return Blocks(full.src[first], full.dst[first], np.add.reduceat(full.size, first))

    def cut(self, max_bytes: int) -> Blocks:
        """The same bytes in order, no block longer than ``max_bytes``."""
        limit = np.uint64(max_bytes)
        if not (self.size > limit).any():
            return self
        pieces = self.size // limit + (self.size % limit != 0)
        owner = np.repeat(np.arange(len(self)), pieces.astype(np.int64))
        first = np.cumsum(pieces, dtype=np.uint64) - pieces
        offset = (np.arange(len(owner), dtype=np.uint64) - first[owner]) * limit
        size = np.minimum(self.size[owner] - offset, limit)
        return Blocks(self.src[owner] + offset, self.dst[owner] + offset, size)

    def batches(self, max_blocks: int, max_bytes: int) -> Iterator[Blocks]:
        """The same blocks in order, at most so many blocks and bytes at a time.

        A block longer than ``max_bytes`` is cut into pieces of at most that length.

        Raises:
            ValueError: a limit below 1.
        """
        if max_blocks < 1 or max_bytes < 1:
            raise ValueError(f"limits must be positive, got {max_blocks} and {max_bytes}")
        pieces = self.nonzero().cut(max_bytes)
        if len(pieces) <= max_blocks and pieces.total <= max_bytes:
            return iter([pieces] if len(pieces) else [])
        return _pack(pieces, max_blocks, max_bytes)


def concat(parts: Iterable[Blocks]) -> Blocks:
    """All blocks of all parts, in order; nothing is joined."""
    kept = [part for part in parts if len(part)]
    if len(kept) < 2:
        return kept[0] if kept else Blocks.none()
    return Blocks(
        np.concatenate([part.src for part in kept]),
        np.concatenate([part.dst for part in kept]),
        np.concatenate([part.size for part in kept]),
    )


def _pack(blocks: Blocks, max_blocks: int, max_bytes: int) -> Iterator[Blocks]:
    ends = np.cumsum(blocks.size, dtype=np.uint64)
    start = 0
    while start < len(blocks):
        before = int(ends[start - 1]) if start else 0
        by_bytes = int(np.searchsorted(ends, np.uint64(before + max_bytes), "right"))
        stop = min(start + max_blocks, by_bytes)
        yield Blocks(blocks.src[start:stop], blocks.dst[start:stop], blocks.size[start:stop])
        start = stop
