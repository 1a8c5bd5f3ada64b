from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pdwire.plan import HeadSlice, head_slice, head_slice_blocks, heads_per_rank

if TYPE_CHECKING:
    from .conftest import Carry

PAGE, HEAD, POOL = 3, 4, 5
SRC_PAGES, DST_PAGES = [4, 0, 1], [2, 3, 0]


def held(tp: int, rank: int, total: int) -> list[int]:
    """The heads of the model that a rank holds, in order."""
    if tp > total:
        return [rank // (tp // total)]
    return list(range(rank * (total // tp), (rank + 1) * (total // tp)))


def pool_of(heads: list[int], *, filled: bool) -> NDArray[np.uint8]:
    """``[page, token, head, byte]``, every byte telling page, token, head and place."""
    shape = (POOL, PAGE, len(heads), HEAD)
    if not filled:
        return np.zeros(shape, np.uint8)
    page, token, head, byte = np.indices(shape)
    told: NDArray[np.int64] = page * 60 + token * 20 + np.array(heads)[head] * 2 + byte + 1
    return told.astype(np.uint8)


SIZES = st.sampled_from([1, 2, 4, 8])


@given(SIZES, SIZES, st.sampled_from([1, 2, 4, 8]))
def test_all_prefill_ranks_together_fill_every_decode_rank(
    carry: Carry, src_tp: int, dst_tp: int, total: int
) -> None:
    for dst_rank in range(dst_tp):
        kept = held(dst_tp, dst_rank, total)
        target = pool_of(kept, filled=False)
        for src_rank in writers(src_tp, dst_tp, dst_rank):
            sent = held(src_tp, src_rank, total)
            cut = head_slice(src_tp, dst_tp, src_rank, dst_rank, total)
            source = pool_of(sent, filled=True)
            blocks = head_slice_blocks(
                [0],
                [PAGE * len(sent) * HEAD],
                [0],
                [PAGE * len(kept) * HEAD],
                src_pages=SRC_PAGES,
                dst_pages=DST_PAGES,
                page_size=PAGE,
                src_heads=len(sent),
                dst_heads=len(kept),
                cut=cut,
            )
            carry(blocks, source.reshape(-1), target.reshape(-1))
        wanted = pool_of(kept, filled=False)
        wanted[DST_PAGES] = pool_of(kept, filled=True)[SRC_PAGES]
        assert (target == wanted).all()


def writers(src_tp: int, dst_tp: int, dst_rank: int) -> range:
    """Prefill ranks that a decode rank asks: its share of them, or the one that holds its part."""
    if src_tp > dst_tp:
        share = src_tp // dst_tp
        return range(dst_rank * share, (dst_rank + 1) * share)
    one = dst_rank // (dst_tp // src_tp)
    return range(one, one + 1)


def test_where_heads_go_for_tp_2_to_1_and_1_to_2() -> None:
    assert head_slice(2, 1, 1, 0, 8) == HeadSlice(0, 4, 4)
    assert head_slice(1, 2, 0, 1, 8) == HeadSlice(4, 0, 4)
    assert head_slice(2, 2, 1, 1, 8) == HeadSlice(0, 0, 4)


def test_few_heads_are_shared_by_neighbouring_ranks() -> None:
    """GQA: two KV heads over eight decode ranks, four neighbours each."""
    assert [head_slice(1, 8, 0, rank, 2).src_head for rank in range(8)] == [0] * 4 + [1] * 4
    assert [head_slice(8, 1, rank, 0, 2).dst_head for rank in range(8)] == [0] * 4 + [1] * 4
    assert heads_per_rank(2, 8) == 1


@pytest.mark.parametrize(("total", "tp"), [(0, 1), (8, 0), (-1, 2)])
def test_sizes_below_one_are_refused(total: int, tp: int) -> None:
    with pytest.raises(ValueError, match=r"both must be positive"):
        heads_per_rank(total, tp)


def slices(**changes: object) -> object:
    given: dict[str, object] = {
        "src_ptrs": [0],
        "src_item_lens": [96],
        "dst_ptrs": [0],
        "dst_item_lens": [48],
        "src_pages": [0],
        "dst_pages": [0],
        "page_size": 3,
        "src_heads": 8,
        "dst_heads": 4,
        "cut": HeadSlice(4, 0, 4),
    }
    return head_slice_blocks(**(given | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"src_item_lens": [97]}, r"region 0: pages of 97 bytes here and 48 there do not split"),
        ({"dst_item_lens": [96]}, r"pages of 96 bytes here and 96 there do not split into 8 and 4"),
        ({"dst_ptrs": [0, 1]}, r"lengths differ: 1 source_regions, 1 source_lengths, 2 dest"),
        ({"src_pages": [0, 1]}, r"lengths differ: 2 source_pages, 1 destination_pages"),
        ({"cut": HeadSlice(5, 0, 4)}, r"lies outside 8 heads here"),
        ({"cut": HeadSlice(0, 1, 4)}, r"lies outside 4 heads there"),
        ({"cut": HeadSlice(-1, 0, 4)}, r"lies outside 8 heads here"),
        ({"cut": HeadSlice(0, 0, 0)}, r"lies outside 8 heads here"),
    ],
)
def test_what_does_not_fit_is_refused_with_numbers(changes: dict[str, object], what: str) -> None:
    slices()
    with pytest.raises(ValueError, match=what):
        slices(**changes)


def test_whole_tokens_move_as_whole_pages() -> None:
    blocks = head_slice_blocks(
        [0, 1000],
        [24, 24],
        [500, 2000],
        [24, 24],
        src_pages=[1, 2],
        dst_pages=[3, 4],
        page_size=3,
        src_heads=2,
        dst_heads=2,
        cut=HeadSlice(0, 0, 2),
    )
    assert blocks.size.tolist() == [48, 48]
    assert blocks.src.tolist() == [24, 1024]


def test_a_slice_far_into_a_pool_needs_64_bits() -> None:
    blocks = head_slice_blocks(
        [0],
        [8448],
        [0],
        [4224],
        src_pages=np.array([254201], np.int32),
        dst_pages=np.array([600000], np.int32),
        page_size=1,
        src_heads=2,
        dst_heads=1,
        cut=HeadSlice(1, 0, 1),
    )
    assert blocks.src.tolist() == [254201 * 8448 + 4224]
    assert blocks.dst.tolist() == [600000 * 4224]
