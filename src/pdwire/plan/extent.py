"""The guard: the bytes at a receiver that one request may touch, and no other.

1. An extent is made of what **the request** announced: pages of KV regions, items of state, one
   auxiliary row, a place in a staging ring; in the receiver's own lengths. How a plan was made does
   not enter, so a fault of a planner is caught here.
2. :class:`Permitted` blocks come from :meth:`Extent.permit` alone, and managers hand nothing else
   to an engine.
3. A block may cover several announced items of one region that touch. It never covers two regions.
4. Where two announced regions overlap (one memory announced twice), a block is inside when it is
   inside one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pdwire.plan.arrays import I64Array, Integers, U64Array, as_i64, as_u64, same_length
from pdwire.plan.blocks import Blocks, concat

__all__ = ["NOTHING", "Extent", "OutsideRequest", "Permitted"]

_TOP: Final = 2**64
_KEY: Final = object()


class OutsideRequest(ValueError):
    """A block leaves what its request announced; the text says region, item and lengths."""


@dataclass(frozen=True, slots=True)
class Permitted:
    """Blocks of which every destination byte was announced by the request they are for.

    Raises:
        TypeError: it was not made by :meth:`Extent.permit`.
    """

    blocks: Blocks
    _key: object = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse what did not pass the guard."""
        if self._key is not _KEY:
            raise TypeError("blocks become permitted by Extent.permit alone")

    @classmethod
    def joined(cls, parts: Iterable[Permitted]) -> Permitted:
        """Blocks of several extents of one request, in order."""
        return cls(concat(part.blocks for part in parts), _KEY)

    def batches(self, max_blocks: int, max_bytes: int) -> Iterator[Permitted]:
        """The same bytes in order, at most so many blocks and bytes at a time."""
        return (Permitted(part, _KEY) for part in self.blocks.batches(max_blocks, max_bytes))

    def __len__(self) -> int:
        """How many blocks."""
        return len(self.blocks)

    @property
    def total(self) -> int:
        """Bytes of all blocks together."""
        return self.blocks.total


NOTHING: Final = Permitted(Blocks.none(), _KEY)
"""No block at all."""


class Extent:
    """What one request may touch: items ``numbers`` of each region.

    Args:
        what: names an item in errors: ``page``, ``state item``, ``aux row``, ``staging byte``.
        ptrs: base address of each region at the receiver. Unit: address.
        item_lens: bytes of an item in each region, the receiver's own; 0: nothing of it may be
            touched.
        numbers: the items that the request announced, in any order.

    Raises:
        ValueError: lists that must be paired differ in length, or hold negative numbers.
    """

    def __init__(self, what: str, ptrs: Integers, item_lens: Integers, numbers: Integers) -> None:
        self._what = what
        base, lens = as_u64("pointers", ptrs), as_u64("item lengths", item_lens)
        same_length(regions=base, item_lengths=lens)
        announced = np.unique(as_i64(f"{what}s", numbers))
        self._first, self._end = _runs(announced)
        top = int(self._end[-1]) if len(self._end) else 0
        for region, (ptr, size) in enumerate(zip(base.tolist(), lens.tolist(), strict=True)):
            if size and ptr + top * size > _TOP:
                raise OutsideRequest(f"region {region}: {what} {top - 1} leaves the address space")
        order = np.argsort(base, kind="stable")
        self._region = order[lens[order] != 0]
        self._base, self._lens = base[self._region], lens[self._region]

    @classmethod
    def place(cls, what: str, address: int, size: int) -> Extent:
        """One range of bytes."""
        return cls(what, [address], [size], [0])

    def permit(self, blocks: Blocks) -> Permitted:
        """The same blocks, each of which lies inside the extent.

        Raises:
            OutsideRequest: one does not.
        """
        full = blocks.nonzero()
        if len(full):
            stray = self._stray(full)
            if stray is not None:
                raise OutsideRequest(self._says(full, stray))
        return Permitted(full, _KEY)

    def _stray(self, blocks: Blocks) -> int | None:
        """Index of the first block that lies outside; ``None``: all are inside."""
        if not len(self._base) or not len(self._first):
            return 0
        nearest = np.searchsorted(self._base, blocks.dst, "right").astype(np.int64) - 1
        for at in np.flatnonzero(~self._inside(nearest, blocks.dst, blocks.size)):
            # Regions that overlap: another one than the nearest may hold it.
            others = np.arange(nearest[at], dtype=np.int64)
            dst, size = (np.full(len(others), part[at]) for part in (blocks.dst, blocks.size))
            if not self._inside(others, dst, size).any():
                return int(at)
        return None

    def _inside(self, nth: I64Array, dst: U64Array, size: U64Array) -> NDArray[np.bool_]:
        """Whether each block lies in announced items of the region that is named for it."""
        slot = np.maximum(nth, 0)
        skip, item = dst - self._base[slot], self._lens[slot]
        run = np.searchsorted(self._first, (skip // item).astype(np.int64), "right") - 1
        end = self._end[np.maximum(run, 0)].astype(np.uint64) * item
        held: NDArray[np.bool_] = (nth >= 0) & (run >= 0) & (size <= end - np.minimum(skip, end))
        return held

    def _says(self, blocks: Blocks, at: int) -> str:
        """Why a block is outside, with region, item and both lengths."""
        dst, size = int(blocks.dst[at]), int(blocks.size[at])
        text = f"{size} bytes at {dst:#x} lie outside what the request announced"
        nth = int(np.searchsorted(self._base, np.uint64(dst), "right")) - 1
        if nth < 0:
            return f"{text}: before every region"
        item = int(self._lens[nth])
        number, offset = divmod(dst - int(self._base[nth]), item)
        return (
            f"{text}: region {int(self._region[nth])}, {self._what} {number} of {item} bytes, "
            f"{size} bytes from byte {offset} on; announced: {_spell(self._first, self._end)}"
        )


def _runs(numbers: I64Array) -> tuple[I64Array, I64Array]:
    """Sorted numbers as runs: first of each, and one behind the last of each."""
    if not len(numbers):
        return numbers, numbers
    apart = np.flatnonzero(np.diff(numbers) != 1) + 1
    first = numbers[np.concatenate(([0], apart))]
    return first, numbers[np.concatenate((apart - 1, [len(numbers) - 1]))] + 1


def _spell(first: Sequence[int] | I64Array, end: Sequence[int] | I64Array, most: int = 6) -> str:
    """Runs as a reader writes them: ``4-9, 12``."""
    pairs = list(zip(first[:most], end[:most], strict=True))
    told = ", ".join(f"{a}" if b - a == 1 else f"{a}-{b - 1}" for a, b in pairs)
    return (told or "nothing") + (", …" if len(first) > most else "")
