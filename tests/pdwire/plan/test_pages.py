from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdwire.plan import Blocks, group_contiguous, page_blocks

if TYPE_CHECKING:
    from .conftest import Carry


def runs(src: list[int], dst: list[int]) -> list[tuple[int, int, int]]:
    parts = (part.tolist() for part in group_contiguous(src, dst))
    return list(zip(*parts, strict=True))


def test_a_run_counts_up_on_both_sides() -> None:
    assert runs([1, 2, 3, 7, 8, 9], [4, 5, 6, 0, 2, 3]) == [(1, 4, 3), (7, 0, 1), (8, 2, 2)]
    assert runs([3, 2, 1], [1, 2, 3]) == [(3, 1, 1), (2, 2, 1), (1, 3, 1)]


@pytest.mark.parametrize(("src", "dst"), [([], []), ([1, 2], []), ([], [5])])
def test_an_empty_side_moves_nothing(src: list[int], dst: list[int]) -> None:
    assert runs(src, dst) == []


def test_counts_that_differ_are_refused_with_both_numbers() -> None:
    """R9: 129 tokens at page 64 are 3 pages, not 2; checked before anything is submitted."""
    with pytest.raises(ValueError, match=r"3 source indices cannot be paired with 2 dest"):
        group_contiguous([0, 1, 2], [0, 1])


def test_a_padded_index_never_becomes_an_address() -> None:
    with pytest.raises(ValueError, match=r"source indices must not be negative, got -1"):
        page_blocks([1000], [2000], [16], np.array([3, -1], np.int32), [0, 1])


def test_page_times_stride_needs_64_bits() -> None:
    """M2: page 254201 times stride 8448 lies beyond 31 and 32 bits."""
    page = np.array([254201, 254202], np.int32)
    blocks = page_blocks([0x7F00_0000_0000], [0x7E00_0000_0000], [8448], page, page[::-1])
    assert blocks.src.tolist() == [0x7F00_0000_0000 + n * 8448 for n in (254201, 254202)]
    assert blocks.dst.tolist() == [0x7E00_0000_0000 + n * 8448 for n in (254202, 254201)]


def test_regions_that_touch_in_memory_stay_apart() -> None:
    """An engine looks a range up among registrations; one over two of them is in neither."""
    blocks = page_blocks([0, 32], [100, 132], [16, 16], [0, 1], [0, 1])
    assert blocks.size.tolist() == [32, 32]


def test_regions_of_length_zero_are_left_out() -> None:
    """F12: pointer 0, length 0."""
    blocks = page_blocks([0, 64], [0, 500], [0, 16], [1], [2])
    assert (blocks.src.tolist(), blocks.dst.tolist(), blocks.size.tolist()) == ([80], [532], [16])
    assert len(page_blocks([], [], [], [1], [2])) == 0


@pytest.mark.parametrize("lists", [([0, 1], [2], [16, 16]), ([0], [2], []), ([0], [2, 3], [16])])
def test_regions_must_be_paired(lists: tuple[list[int], list[int], list[int]]) -> None:
    with pytest.raises(ValueError, match=r"lengths differ: \d source_regions"):
        page_blocks(*lists, [0], [0])


PAGES = st.integers(1, 6).flatmap(
    lambda n: st.tuples(*[st.permutations(range(8)).map(lambda p: p[:n])] * 2)
)


@given(PAGES, st.lists(st.integers(0, 5), min_size=1, max_size=4))
def test_every_page_lands_where_its_partner_is(
    carry: Carry, pages: tuple[list[int], list[int]], lens: list[int]
) -> None:
    src_pages, dst_pages = pages
    bases = [8 * sum(lens[:n]) for n in range(len(lens))]
    source = np.random.default_rng(1).integers(1, 256, 8 * sum(lens), np.uint8)
    target, wanted = np.zeros_like(source), np.zeros_like(source)
    for base, size in zip(bases, lens, strict=True):
        for src, dst in zip(src_pages, dst_pages, strict=True):
            page = source[base + src * size : base + (src + 1) * size]
            wanted[base + dst * size : base + (dst + 1) * size] = page
    blocks = page_blocks(bases, bases, lens, src_pages, dst_pages)
    carry(blocks, source, target)
    assert (target == wanted).all()
    fewest = sum(len(runs(src_pages, dst_pages)) for size in lens if size)
    assert len(blocks) == fewest


def test_a_plan_of_a_large_pool_is_made_at_once() -> None:
    """128 regions of 4,096 scattered pages: half a million blocks without a loop over them."""
    pages = np.arange(4096, dtype=np.int32)[::-1]
    blocks = page_blocks(range(128), range(128), [65536] * 128, pages, pages)
    assert isinstance(blocks, Blocks)
    assert len(blocks) == 128 * 4096
