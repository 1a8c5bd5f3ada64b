"""A chunk's KV, planned portion by portion: bounded memory, whatever a scheduler sends at once.

A request of a hundred thousand scattered pages is as many blocks in each region. Planned at once
they take gigabytes and seconds; portions are planned when they are needed, and each has at most
``PORTION_BLOCKS`` blocks (or one page, where a page alone has more).

The whole is checked first, by planning what is furthest out of it: lengths and counts are the same
for all pages, and the lowest and the highest page number bound the others on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np

from pdwire.frames import I32Array
from pdwire.managers.config import KVArgs
from pdwire.managers.peers import Peer
from pdwire.managers.planner import Chunk, PlanError, Planner
from pdwire.plan import Permitted
from pdwire.plan.arrays import I64Array

__all__ = ["PORTION_BLOCKS", "kv_portions"]

PORTION_BLOCKS: Final = 65_536
"""Blocks of one portion: 1.5 MiB of addresses; planning them takes some milliseconds."""


def kv_portions(  # noqa: PLR0917  # the arguments of the plan itself
    planner: Planner,
    args: KVArgs,
    peer: Peer,
    chunk: Chunk,
    dst_indices: I32Array,
    prefix_len: int = 0,
    *,
    most: int = PORTION_BLOCKS,
) -> Iterator[Permitted]:
    """The blocks of ``Planner.kv``, in portions; pages in their order.

    Args:
        planner: plans one chunk at once.
        args: the memory that it plans for.
        peer: whose memory.
        chunk: what is sent.
        dst_indices: pages that the request announced, all chunks together.
        prefix_len: tokens that decode already holds.
        most: blocks of a portion.

    Raises:
        PlanError: counts, pages or lengths do not fit; before the first portion is given.
    """
    sliced = planner.needs_head_slices(peer) or peer.dcp_size > 1
    rows = args.page_size if sliced else 1  # blocks of a page in a region, at most
    regions = max(1, len(args.kv_data_ptrs))
    if len(chunk.pages) < 2 or len(chunk.pages) * rows * regions <= most:
        return iter([planner.kv(peer, chunk, dst_indices, prefix_len)])
    bounds = _bounds(_begun(chunk, dst_indices, rows) * regions, rows * regions, most)
    _check(planner, args, peer, chunk, dst_indices, prefix_len)
    return (
        planner.kv(peer, _part(chunk, start, stop, args.page_size), dst_indices, prefix_len)
        for start, stop in pairwise(bounds)
    )


def _begun(chunk: Chunk, dst_indices: I32Array, rows: int) -> I64Array:
    """Blocks that each page begins in a region, at most: none within a run of whole pages."""
    begun = np.full(len(chunk.pages), rows, np.int64)
    targets = dst_indices[chunk.start : chunk.start + len(chunk.pages)]
    if rows == 1 and len(targets) == len(begun):
        begun[1:] = (np.diff(chunk.pages) != 1) | (np.diff(targets) != 1)
    return begun


def _bounds(begun: I64Array, first: int, most: int) -> list[int]:
    """Where portions begin and end, in pages; a portion's first page begins ``first`` blocks."""
    ends = np.cumsum(begun)
    bounds = [0]
    while (start := bounds[-1]) < len(begun):
        before = int(ends[start]) - first
        fits = int(np.searchsorted(ends, before + most, "right"))
        bounds.append(max(fits, start + 1))
    return bounds


def _part(chunk: Chunk, start: int, stop: int, page_size: int) -> Chunk:
    """Pages ``start`` to ``stop`` of a chunk, where they lie in the request."""
    tokens = chunk.num_kv_tokens
    if tokens is not None:
        tokens = max(0, min(tokens - start * page_size, (stop - start) * page_size))
    return replace(
        chunk, pages=chunk.pages[start:stop], start=chunk.start + start, num_kv_tokens=tokens
    )


def _check(  # noqa: PLR0917  # as above
    planner: Planner,
    args: KVArgs,
    peer: Peer,
    chunk: Chunk,
    dst_indices: I32Array,
    prefix_len: int,
) -> None:
    """Plan what is furthest out: the last page, and the extreme pages of both sides."""
    pages, size = len(chunk.pages), args.page_size
    if chunk.num_kv_tokens is not None and not 0 <= chunk.num_kv_tokens <= pages * size:
        raise PlanError(f"{chunk.num_kv_tokens} tokens in {pages} source pages of {size}")
    planner.kv(peer, _part(chunk, pages - 1, pages, size), dst_indices, prefix_len)
    low_high = np.array([chunk.pages.min(), chunk.pages.max()], np.int32)
    ends = replace(chunk, pages=low_high, start=0, num_kv_tokens=None)
    if peer.dcp_size == 1:
        wanted = planner.destination(chunk, dst_indices)
        targets = [wanted.min(), wanted.max()]
    else:  # the tokens of two pages reach the first destination page alone
        targets = [dst_indices.max(), dst_indices.min()]
    planner.kv(peer, ends, np.array(targets, np.int32), 0)
