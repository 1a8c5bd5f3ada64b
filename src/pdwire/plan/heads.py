"""Head slices: which KV heads of a prefill rank a decode rank of another TP size keeps.

1. A rank holds ``max(1, total // tp)`` heads. With fewer heads than ranks (GQA), ``tp // total``
   neighbouring ranks hold the same head, on either side.
2. More prefill than decode ranks: a writer sends all it has, to its place among the reader's
   heads. Otherwise it sends what the reader keeps, from the reader's place among its own.
   Ranks wrap at their TP size, as they do in every release from 0.5.16 to 0.5.23.
3. Pages are NHD, ``[token, head, dim]``: a slice is one block per token, unless both sides keep
   whole tokens, when whole pages move.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pdwire.plan.arrays import I64Array, Integers, U64Array, as_i64, as_u64, same_length
from pdwire.plan.blocks import Blocks, concat
from pdwire.plan.pages import page_blocks

__all__ = ["HeadSlice", "head_slice", "head_slice_blocks", "heads_per_rank"]


@dataclass(frozen=True, slots=True)
class HeadSlice:
    """Where the heads that move begin on both sides, and how many they are."""

    src_head: int
    """First head that moves, counted within the prefill rank. Unit: heads."""

    dst_head: int
    """Where it lands, counted within the decode rank. Unit: heads."""

    heads: int
    """How many move. Unit: heads."""


def heads_per_rank(total_kv_heads: int, tp: int) -> int:
    """KV heads that one rank holds; never 0, since few heads are replicated.

    Raises:
        ValueError: a number below 1.
    """
    if total_kv_heads < 1 or tp < 1:
        raise ValueError(f"{total_kv_heads} KV heads over {tp} ranks: both must be positive")
    return max(1, total_kv_heads // tp)


def head_slice(
    src_tp: int, dst_tp: int, src_rank: int, dst_rank: int, total_kv_heads: int
) -> HeadSlice:
    """What prefill rank ``src_rank`` of ``src_tp`` sends to decode rank ``dst_rank`` of ``dst_tp``.

    Raises:
        ValueError: a size below 1.
    """
    src_heads = heads_per_rank(total_kv_heads, src_tp)
    dst_heads = heads_per_rank(total_kv_heads, dst_tp)
    if src_tp > dst_tp:
        first = (src_rank % src_tp) // _copies(src_tp, total_kv_heads) * src_heads
        return HeadSlice(0, first % dst_heads, src_heads)
    first = (dst_rank % dst_tp) // _copies(dst_tp, total_kv_heads) * dst_heads
    return HeadSlice(first % src_heads, 0, dst_heads)


def _copies(tp: int, total_kv_heads: int) -> int:
    return max(1, tp // total_kv_heads)


def head_slice_blocks(
    src_ptrs: Integers,
    src_item_lens: Integers,
    dst_ptrs: Integers,
    dst_item_lens: Integers,
    *,
    src_pages: Integers,
    dst_pages: Integers,
    page_size: int,
    src_heads: int,
    dst_heads: int,
    cut: HeadSlice,
) -> Blocks:
    """The slice of every token of every page of every region pair.

    Args:
        src_ptrs: Base address of each region here.
        src_item_lens: Bytes of a page in each region here.
        dst_ptrs: Base address of the region that each one goes to.
        dst_item_lens: Bytes of a page there.
        src_pages: Page indices here.
        dst_pages: Page indices there, in the same order.
        page_size: Tokens of a page, the same on both sides.
        src_heads: Heads that a token has here (:func:`heads_per_rank`).
        dst_heads: Heads that a token has there.
        cut: Which of them move (:func:`head_slice`).

    Raises:
        ValueError: lists that must be paired differ in length; a page does not split into whole
            heads of one size on both sides; the slice lies outside a token.
    """
    src_lens, dst_lens = as_u64("item lengths", src_item_lens), as_u64("lengths", dst_item_lens)
    sources, targets = as_u64("source pointers", src_ptrs), as_u64("pointers", dst_ptrs)
    same_length(
        source_regions=sources,
        source_lengths=src_lens,
        destination_regions=targets,
        destination_lengths=dst_lens,
    )
    _inside(cut, src_heads, dst_heads)
    head_lens = _head_lens(src_lens, dst_lens, page_size, src_heads, dst_heads)
    if src_heads == dst_heads == cut.heads:
        return page_blocks(sources, targets, src_lens, src_pages, dst_pages)
    src_rows, dst_rows = _token_rows(src_pages, dst_pages, page_size)
    return concat(
        Blocks(
            src_ptr + (src_rows * np.uint64(src_heads) + np.uint64(cut.src_head)) * head_len,
            dst_ptr + (dst_rows * np.uint64(dst_heads) + np.uint64(cut.dst_head)) * head_len,
            np.full(len(src_rows), np.uint64(cut.heads) * head_len),
        ).nonzero()
        for src_ptr, dst_ptr, head_len in zip(sources, targets, head_lens, strict=True)
    )


def _inside(cut: HeadSlice, src_heads: int, dst_heads: int) -> None:
    for side, first, heads in (
        ("here", cut.src_head, src_heads),
        ("there", cut.dst_head, dst_heads),
    ):
        if first < 0 or cut.heads < 1 or first + cut.heads > heads:
            raise ValueError(f"{cut} lies outside {heads} heads {side}")


def _head_lens(
    src_lens: U64Array, dst_lens: U64Array, page_size: int, src_heads: int, dst_heads: int
) -> U64Array:
    """Bytes of one head of one token in each region; both sides must agree on it."""
    head_lens = src_lens // np.uint64(page_size * src_heads)
    wrong = (head_lens * np.uint64(page_size * src_heads) != src_lens) | (
        head_lens * np.uint64(page_size * dst_heads) != dst_lens
    )
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"region {at}: pages of {src_lens[at]} bytes here and {dst_lens[at]} there do not "
            f"split into {src_heads} and {dst_heads} heads of one size over {page_size} tokens"
        )
    return head_lens


def _token_rows(
    src_pages: Integers, dst_pages: Integers, page_size: int
) -> tuple[U64Array, U64Array]:
    sources, targets = as_i64("source pages", src_pages), as_i64("destination pages", dst_pages)
    if not len(sources) or not len(targets):
        nothing = np.empty(0, np.uint64)
        return nothing, nothing
    same_length(source_pages=sources, destination_pages=targets)
    return _rows(sources, page_size), _rows(targets, page_size)


def _rows(pages: I64Array, page_size: int) -> U64Array:
    tokens = np.arange(page_size, dtype=np.int64)
    return (pages[:, None] * page_size + tokens).ravel().astype(np.uint64)
