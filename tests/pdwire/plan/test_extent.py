"""The guard: what a request announced, and not one byte more."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdwire.plan import Blocks, Extent, OutsideRequest, Permitted

BASES, LENS = [1000, 5000], [16, 8]


def extent(*pages: int) -> Extent:
    return Extent("page", BASES, LENS, pages)


def block(dst: int, size: int) -> Blocks:
    return Blocks.of([0], [dst], [size])


@pytest.mark.parametrize(
    ("dst", "size"), [(1000 + 16 * 4, 16), (1000 + 16 * 4, 32), (5000 + 8 * 4 + 3, 5), (7, 0)]
)
def test_announced_bytes_pass(dst: int, size: int) -> None:
    assert extent(4, 5, 9).permit(block(dst, size)).total == size


@pytest.mark.parametrize(
    ("dst", "size", "what"),
    [
        (
            1000 + 16 * 6,
            16,
            "region 0, page 6 of 16 bytes, 16 bytes from byte 0 on; announced: 4-5, 9",
        ),
        (1000 + 16 * 5, 17, "region 0, page 5 of 16 bytes, 17 bytes"),
        (1000 + 16 * 4 - 1, 2, "region 0, page 3 of 16 bytes, 2 bytes from byte 15 on"),
        (5000 + 8 * 9, 16, "region 1, page 9 of 8 bytes, 16 bytes"),
        (999, 1, "before every region"),
        (2**64 - 1, 1, "region 1, page"),
    ],
)
def test_any_other_byte_is_refused_with_region_page_and_lengths(
    dst: int, size: int, what: str
) -> None:
    with pytest.raises(OutsideRequest, match=what):
        extent(9, 5, 4).permit(block(dst, size))


def test_a_region_without_length_holds_nothing() -> None:
    with pytest.raises(OutsideRequest):
        Extent("page", [1000], [0], [0]).permit(block(1000, 1))


def test_a_page_beyond_the_address_space_is_refused() -> None:
    with pytest.raises(OutsideRequest, match="leaves the address space"):
        Extent("page", [2**64 - 32], [16], [2])
    Extent("page", [2**64 - 32], [16], [1])


def test_regions_that_overlap_hold_what_either_announced() -> None:
    twice = Extent("page", [1000, 1016], [16, 16], [0, 3])
    for at in (1000, 1016, 1000 + 48, 1016 + 48):
        twice.permit(block(at, 16))
    with pytest.raises(OutsideRequest):
        twice.permit(block(1032, 16))


def test_only_the_guard_permits() -> None:
    with pytest.raises(TypeError, match=r"Extent\.permit alone"):
        Permitted(Blocks.none(), object())


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=4),
    st.sets(st.integers(0, 9), max_size=6),
    st.lists(st.tuples(st.integers(0, 400), st.integers(1, 30)), min_size=1, max_size=5),
)
def test_it_says_what_a_map_of_every_byte_says(
    lens: list[int], pages: set[int], wanted: list[tuple[int, int]]
) -> None:
    bases = [130 * n for n in range(len(lens))]
    owner = np.full(600, -1)
    for n, (base, size) in enumerate(zip(bases, lens, strict=True)):
        for page in pages:
            owner[base + page * size : base + (page + 1) * size] = n
    inside = all(
        owner[dst] >= 0 and (owner[dst : dst + size] == owner[dst]).all() for dst, size in wanted
    )
    blocks = Blocks.of([0] * len(wanted), *(list(part) for part in zip(*wanted, strict=True)))
    guard = Extent("page", bases, lens, sorted(pages))
    if inside:
        assert guard.permit(blocks).total == sum(size for _, size in wanted)
    else:
        with pytest.raises(OutsideRequest):
            guard.permit(blocks)
