"""Where memory is allowed to be touched: a set of address ranges, asked in bulk.

1. A block is inside when one single range holds all of it; two ranges that touch do not make one.
2. The test never overflows: it compares lengths with what is left of a range.
3. Blocks of size zero are inside anything.
"""

from __future__ import annotations

import numpy as np

from pdwire.plan.arrays import I64Array, Integers, U64Array, as_u64, same_length

__all__ = ["Ranges"]


class Ranges:
    """Ranges that do not overlap; immutable once built.

    Raises:
        ValueError: two ranges overlap, one wraps around 2^64, or lengths of the lists differ.
    """

    def __init__(self, starts: Integers, lengths: Integers) -> None:
        start, length = as_u64("addresses", starts), as_u64("lengths", lengths)
        same_length(addresses=start, lengths=length)
        order = np.lexsort((length, start))
        order = order[length[order] != 0]
        self._order: I64Array = order.astype(np.int64)
        self._start: U64Array = start[order]
        self._length: U64Array = length[order]
        last = self._start + (self._length - np.uint64(1))
        if (last < self._start).any() or (self._start[1:] <= last[:-1]).any():
            raise ValueError("address ranges overlap")

    def __len__(self) -> int:
        """How many ranges that are not empty."""
        return len(self._start)

    def owner(self, address: Integers, size: Integers) -> I64Array:
        """Index of the range that holds each block, -1 where none does (or the block is empty)."""
        first, length = as_u64("addresses", address), as_u64("sizes", size)
        same_length(addresses=first, sizes=length)
        if not len(self):
            return np.full(len(first), -1, np.int64)
        at = np.searchsorted(self._start, first, "right").astype(np.int64) - 1
        slot = np.maximum(at, 0)
        skip = first - self._start[slot]
        left = self._length[slot] - np.minimum(skip, self._length[slot])
        held = (at >= 0) & (length != 0) & (length <= left)
        return np.where(held, self._order[slot], -1)

    def outside(self, address: Integers, size: Integers) -> int | None:
        """Index of the first block of which a byte lies in no single range; None: all inside."""
        sizes = as_u64("sizes", size)
        stray = np.flatnonzero((self.owner(address, sizes) < 0) & (sizes != 0))
        return int(stray[0]) if len(stray) else None
