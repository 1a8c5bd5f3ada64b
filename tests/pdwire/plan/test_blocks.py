from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pdwire.plan import Blocks, concat

Row = tuple[int, int, int]


def rows(blocks: Blocks) -> list[Row]:
    arrays = (blocks.src, blocks.dst, blocks.size)
    return list(zip(*(array.tolist() for array in arrays), strict=True))


def of(*wanted: Row) -> Blocks:
    return Blocks.of(*([row[at] for row in wanted] for at in range(3)))


def in_bytes(blocks: Blocks) -> list[tuple[int, int]]:
    """Every byte that moves, in order: (from, to)."""
    return [(src + at, dst + at) for src, dst, size in rows(blocks) for at in range(size)]


SOME = st.lists(
    st.tuples(st.integers(0, 50), st.integers(100, 150), st.integers(0, 9)), max_size=12
).map(lambda wanted: of(*wanted))
TOUCHING = st.lists(st.integers(0, 4), max_size=12).map(
    lambda sizes: of(
        *((sum(sizes[:n]), 100 + sum(sizes[:n]), size) for n, size in enumerate(sizes))
    )
)


def test_neighbours_that_touch_on_both_sides_become_one() -> None:
    blocks = of((0, 100, 4), (4, 104, 4), (8, 200, 4), (20, 204, 4), (24, 208, 2))
    assert rows(blocks.merged()) == [(0, 100, 8), (8, 200, 4), (20, 204, 6)]


def test_an_empty_block_between_neighbours_does_not_keep_them_apart() -> None:
    assert rows(of((0, 100, 4), (9, 9, 0), (4, 104, 4)).merged()) == [(0, 100, 8)]


@given(SOME | TOUCHING)
def test_merging_moves_the_same_bytes_and_leaves_nothing_to_merge(blocks: Blocks) -> None:
    merged = blocks.merged()
    assert in_bytes(merged) == in_bytes(blocks)
    assert rows(merged.merged()) == rows(merged)
    assert 0 not in merged.size
    pairs = zip(rows(merged), rows(merged)[1:], strict=False)
    assert not any(a[0] + a[2] == b[0] and a[1] + a[2] == b[1] for a, b in pairs)


@given(SOME, st.integers(1, 5), st.integers(1, 20))
@example(of((0, 100, 9), (20, 120, 9)), 5, 2)
@example(of(), 1, 1)
def test_batches_move_the_same_bytes_within_both_limits(
    blocks: Blocks, max_blocks: int, max_bytes: int
) -> None:
    batches = list(blocks.batches(max_blocks, max_bytes))
    assert in_bytes(concat(batches)) == in_bytes(blocks)
    assert all(0 < len(batch) <= max_blocks for batch in batches)
    assert all(0 < batch.total <= max_bytes for batch in batches)


def test_batches_are_as_full_as_the_limits_allow() -> None:
    blocks = of(*((n * 10, n * 10, 10) for n in range(7)))
    assert [len(batch) for batch in blocks.batches(3, 1000)] == [3, 3, 1]
    assert [len(batch) for batch in blocks.batches(100, 25)] == [2, 2, 2, 1]


@given(SOME, st.integers(1, 12))
def test_cutting_moves_the_same_bytes_in_pieces_that_are_short_enough(
    blocks: Blocks, longest: int
) -> None:
    pieces = blocks.nonzero().cut(longest)
    assert in_bytes(pieces) == in_bytes(blocks)
    assert all(0 < size <= longest for size in pieces.size)


@pytest.mark.parametrize("limits", [(0, 1), (1, 0), (-1, 5)])
def test_a_limit_below_one_is_refused(limits: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"limits must be positive"):
        of((0, 0, 1)).batches(*limits)


def test_totals_are_64_bits_wide() -> None:
    assert of((0, 0, 2**33), (0, 0, 2**33)).total == 2**34


def test_one_size_may_stand_for_all() -> None:
    assert rows(Blocks.of([1, 2], [3, 4], 5)) == [(1, 3, 5), (2, 4, 5)]


def test_addresses_above_63_bits_are_kept() -> None:
    assert rows(of((2**64 - 8, 2**63, 8), (5, 6, 1))) == [(2**64 - 8, 2**63, 8), (5, 6, 1)]


@pytest.mark.parametrize(
    ("arrays", "what"),
    [
        (([1, 2], [3], [4, 5]), r"lengths differ: 2 src, 1 dst, 2 size"),
        (([-1], [3], [4]), r"src must not be negative, got -1"),
        (([2**64], [3], [4]), r"src must fit into 64 bits"),
        (([1.5], [3], [4]), r"src must be integers: 'float' object cannot be"),
        (([-1, 2**63], [3], [4]), r"src must not be negative, got -1"),
        ((np.array([1.5]), [3], [4]), r"src must be integers, got float64"),
        ((["1"], [3], [4]), r"src must be integers, got <U1"),
        (([[1]], [3], [4]), r"src must be one-dimensional, got shape \(1, 1\)"),
    ],
)
def test_what_is_no_list_of_addresses_is_refused(arrays: tuple[list[int], ...], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        Blocks.of(*arrays)


def test_arrays_of_another_width_are_refused() -> None:
    narrow, wide = np.zeros(1, np.int32), np.zeros(1, np.uint64)
    with pytest.raises(ValueError, match=r"src must be flat u64, got int32"):
        Blocks(narrow, wide, wide)  # type: ignore[arg-type]


def test_concat_keeps_order_and_joins_nothing() -> None:
    parts = [of((0, 0, 4)), Blocks.none(), of((4, 4, 4))]
    assert rows(concat(parts)) == [(0, 0, 4), (4, 4, 4)]
    assert len(concat([])) == 0
