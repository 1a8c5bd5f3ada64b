from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdwire.plan import Ranges

TOP = 2**64


def test_a_block_is_inside_one_range_or_outside() -> None:
    ranges = Ranges([100, 300, 200], [50, 10, 100])  # the last two touch at 300
    asked = [(100, 50), (149, 1), (149, 2), (150, 1), (99, 2), (200, 100), (290, 20), (309, 1)]
    owner = ranges.owner([at for at, _ in asked], [size for _, size in asked])
    assert owner.tolist() == [0, 0, -1, -1, -1, 2, -1, 1]


def test_the_first_block_outside_is_named() -> None:
    ranges = Ranges([100], [50])
    assert ranges.outside([100, 110, 140, 160], [10, 40, 11, 1]) == 2
    assert ranges.outside([100, 110], [10, 40]) is None
    assert ranges.outside([], []) is None


def test_nothing_is_inside_no_ranges_but_the_empty_block() -> None:
    assert Ranges([], []).outside([5], [1]) == 0
    assert Ranges([7], [0]).outside([7], [1]) == 0
    assert Ranges([], []).outside([5], [0]) is None


def test_sums_never_wrap_around() -> None:
    last = Ranges([TOP - 16], [16])
    assert last.outside([TOP - 16], [16]) is None
    assert last.outside([TOP - 16], [17]) == 0
    assert Ranges([100], [50]).outside([120], [TOP - 1]) == 0
    assert Ranges([100], [50]).outside([120], [TOP - 20]) == 0


@pytest.mark.parametrize(
    ("starts", "lengths"),
    [([0, 9], [10, 5]), ([5, 0], [1, 6]), ([3, 3], [1, 1]), ([TOP - 1], [2]), ([0, 2], [10, 2])],
)
def test_ranges_that_overlap_or_wrap_are_refused(starts: list[int], lengths: list[int]) -> None:
    with pytest.raises(ValueError, match=r"overlap"):
        Ranges(starts, lengths)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=6),
    st.lists(st.tuples(st.integers(0, 90), st.integers(0, 9)), max_size=20),
)
def test_as_if_every_byte_had_been_looked_up(
    gaps: list[tuple[int, int]], asked: list[tuple[int, int]]
) -> None:
    starts, lengths, at = [], [], 0
    owner_of_byte: dict[int, int] = {}
    for n, (gap, length) in enumerate(gaps):
        starts.append(at := at + gap)
        lengths.append(length)
        owner_of_byte |= dict.fromkeys(range(at, at + length), n)
        at += length
    found = Ranges(starts, lengths).owner([a for a, _ in asked], [size for _, size in asked])
    for (first, size), owner in zip(asked, found.tolist(), strict=True):
        owners = {owner_of_byte.get(byte, -1) for byte in range(first, first + size)}
        assert owner == (owners.pop() if len(owners) == 1 else -1)
