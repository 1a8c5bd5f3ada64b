"""Pages of a pool: from page indices on both sides to blocks.

1. Indices travel in pairs: the n-th source page goes to the n-th destination page.
2. An empty side moves nothing (a peer that registered no state of that kind); otherwise the
   counts must be equal, checked before anything is submitted (field report R9).
3. A run is a stretch in which both sides count up by one; it is one block per region.
"""

from __future__ import annotations

import numpy as np

from pdwire.plan.arrays import I64Array, Integers, as_i64, as_u64, same_length
from pdwire.plan.blocks import Blocks

__all__ = ["group_contiguous", "page_blocks", "run_blocks"]


def group_contiguous(src: Integers, dst: Integers) -> tuple[I64Array, I64Array, I64Array]:
    """Runs of index pairs: first source index, first destination index, length of each.

    Raises:
        ValueError: both sides hold something, but not equally much.
    """
    sources, targets = as_i64("source indices", src), as_i64("destination indices", dst)
    if not len(sources) or not len(targets):
        nothing = np.empty(0, np.int64)
        return nothing, nothing, nothing
    if len(sources) != len(targets):
        raise ValueError(
            f"{len(sources)} source indices cannot be paired with {len(targets)} destinations"
        )
    apart = (np.diff(sources) != 1) | (np.diff(targets) != 1)
    first = np.concatenate(([0], np.flatnonzero(apart) + 1))
    counts = np.diff(first, append=len(sources))
    return sources[first], targets[first], counts


def page_blocks(
    src_ptrs: Integers,
    dst_ptrs: Integers,
    item_lens: Integers,
    src_pages: Integers,
    dst_pages: Integers,
) -> Blocks:
    """Whole pages of every region pair: one block per region and run, region by region.

    Args:
        src_ptrs: Base address of each region here.
        dst_ptrs: Base address of the region that each one goes to.
        item_lens: Bytes of one page in each region, the same on both sides; 0 skips the region.
        src_pages: Page indices here.
        dst_pages: Page indices there, in the same order.

    Raises:
        ValueError: lists that must be paired differ in length, or hold negative numbers.
    """
    runs = group_contiguous(src_pages, dst_pages)
    return run_blocks(src_ptrs, dst_ptrs, item_lens, runs)


def run_blocks(
    src_ptrs: Integers,
    dst_ptrs: Integers,
    item_lens: Integers,
    runs: tuple[I64Array, I64Array, I64Array],
) -> Blocks:
    """Every region times every run of :func:`group_contiguous`; empty regions are left out.

    Raises:
        ValueError: the region lists differ in length.
    """
    sources, targets = as_u64("source pointers", src_ptrs), as_u64("destination pointers", dst_ptrs)
    lens = as_u64("item lengths", item_lens)
    same_length(source_regions=sources, destination_regions=targets, item_lengths=lens)
    src_first, dst_first, counts = (part.astype(np.uint64) for part in runs)
    return Blocks(
        (sources[:, None] + src_first * lens[:, None]).ravel(),
        (targets[:, None] + dst_first * lens[:, None]).ravel(),
        (counts * lens[:, None]).ravel(),
    ).nonzero()
