"""DCP relayout of MLA: from a prefill pool in token order to decode ranks that share a context.

1. Token ``t`` of the request belongs to decode rank ``t % dcp_size``, and lies there as row
   ``t // dcp_size`` of the request, densely packed.
2. A page there still holds ``page_size`` rows, so ``page_size * dcp_size`` tokens of the request:
   its virtual page. A decode prefix ends on one; destination pages begin behind it.
3. ``src_page_offset`` says where a chunk begins, in pages behind the prefix; destination pages
   are those of the whole request behind the prefix, not of the chunk.

From the token plan of 0.5.19–0.5.23, target rows only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pdwire.plan.arrays import I64Array, Integers, as_i64
from pdwire.plan.blocks import Blocks
from pdwire.plan.pages import group_contiguous, run_blocks

__all__ = ["TokenPlan", "dcp_blocks", "dcp_token_plan"]


@dataclass(frozen=True, slots=True, eq=False)
class TokenPlan:
    """Token rows to copy, pairwise; a row's address is base + row * bytes of a token."""

    src: I64Array
    """Rows of the prefill pool."""

    dst: I64Array
    """Rows of the decode rank's pool."""

    def __len__(self) -> int:
        """How many tokens."""
        return len(self.src)


def dcp_token_plan(
    src_pages: Integers,
    dst_pages: Integers,
    *,
    page_size: int,
    dcp_size: int,
    dcp_rank: int,
    src_page_offset: int = 0,
    decode_prefix_len: int = 0,
    num_kv_tokens: int | None = None,
) -> TokenPlan:
    """Rows of one chunk that decode DCP rank ``dcp_rank`` keeps.

    Args:
        src_pages: Page indices of the chunk here.
        dst_pages: Page indices of the whole request there, behind the prefix.
        page_size: Rows of a page, the same on both sides.
        dcp_size: Decode ranks that share the context.
        dcp_rank: Which of them.
        src_page_offset: Pages of the request before this chunk, behind the prefix.
        decode_prefix_len: Tokens that the decode side already has.
        num_kv_tokens: Tokens of this chunk; all of its pages when not given.

    Raises:
        ValueError: the prefix ends within a virtual page; the rank is none of ``dcp_size``; the
            pages of either side do not hold that many tokens.
    """
    sources, targets = as_i64("source pages", src_pages), as_i64("destination pages", dst_pages)
    _ranks(dcp_size, dcp_rank)
    _prefix(decode_prefix_len, page_size * dcp_size)
    tokens = len(sources) * page_size if num_kv_tokens is None else num_kv_tokens
    if not 0 <= tokens <= len(sources) * page_size:
        raise ValueError(f"{tokens} tokens in {len(sources)} source pages of {page_size}")
    begin = src_page_offset * page_size
    own = np.arange((dcp_rank - begin) % dcp_size, tokens, dcp_size, dtype=np.int64)
    rows = (begin + own) // dcp_size
    if len(rows) and rows[-1] >= len(targets) * page_size:
        raise ValueError(
            f"row {rows[-1]} lies beyond {len(targets)} destination pages of {page_size}"
        )
    return TokenPlan(_rows(sources, own, page_size), _rows(targets, rows, page_size))


def dcp_blocks(
    src_ptrs: Integers, dst_ptrs: Integers, token_lens: Integers, plan: TokenPlan
) -> Blocks:
    """The plan's tokens in every region pair; rows that touch on both sides are one block.

    Args:
        src_ptrs: Base address of each region here.
        dst_ptrs: Base address of the region that each one goes to.
        token_lens: Bytes of a token in each region, the same on both sides.
        plan: Rows of :func:`dcp_token_plan`.

    Raises:
        ValueError: the region lists differ in length.
    """
    return run_blocks(src_ptrs, dst_ptrs, token_lens, group_contiguous(plan.src, plan.dst))


def _ranks(dcp_size: int, dcp_rank: int) -> None:
    if dcp_size < 1 or not 0 <= dcp_rank < dcp_size:
        raise ValueError(f"DCP rank {dcp_rank} of {dcp_size}")


def _prefix(decode_prefix_len: int, virtual_page: int) -> None:
    if decode_prefix_len < 0 or decode_prefix_len % virtual_page:
        raise ValueError(
            f"a prefix of {decode_prefix_len} tokens does not end on a virtual page of "
            f"{virtual_page}"
        )


def _rows(pages: I64Array, rows: I64Array, page_size: int) -> I64Array:
    return pages[rows // page_size] * page_size + rows % page_size
