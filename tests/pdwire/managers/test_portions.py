"""KV in portions is the KV of one plan, and nothing moves of what does not fit (P11)."""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pdwire.managers.fleet import pages, place

from pdwire.frames import I32Array
from pdwire.managers.config import KVArgs, ManagerConfig
from pdwire.managers.peers import Peer
from pdwire.managers.planner import Chunk, PlanError, Planner
from pdwire.managers.portions import PORTION_BLOCKS, kv_portions
from pdwire.plan import Permitted

PAGE_SIZE, TOKEN, SLOTS = 4, 8, 64
"""Tokens of a page, bytes of a token of one head, pages of a region."""


def sides(kind: str, regions: int = 2, slots: int = SLOTS) -> tuple[Planner, KVArgs, Peer]:
    """What plans, its memory, and the peer: equal TP, head slices, MLA, DCP."""
    heads, there = (2, 1) if kind == "heads" else (1, 1)
    item = PAGE_SIZE * TOKEN * heads
    args = KVArgs(
        kv_data_ptrs=tuple(n << 40 for n in range(1, regions + 1)),
        kv_data_lens=(item * slots,) * regions,
        kv_item_lens=(item,) * regions,
        page_size=PAGE_SIZE,
        total_kv_head_num=2 if kind == "heads" else 1,
    )
    is_mla = kind in {"mla", "dcp"}
    planner = Planner(args, ManagerConfig(is_mla=is_mla, parallel=place(tp=1)))
    size = PAGE_SIZE * TOKEN * there
    peer = Peer(
        id="d",
        endpoint=("127.0.0.1", 1),
        releases=("0.5.23",),
        tp_rank=1 if kind == "heads" else 0,
        tp_size=2 if kind == "heads" else 1,
        kv_ptrs=tuple(n << 50 for n in range(1, regions + 1)),
        kv_item_len=size,
        kv_item_lens=(size,) * regions,
        num_slots=slots,
        dcp_size=2 if kind == "dcp" else 1,
        dcp_rank=1 if kind == "dcp" else 0,
    )
    return planner, args, peer


def bytes_of(portions: list[Permitted]) -> dict[int, int]:
    """Destination byte -> source byte."""
    moved: dict[int, int] = {}
    for blocks in (portion.blocks for portion in portions):
        for src, dst, size in zip(
            blocks.src.tolist(), blocks.dst.tolist(), blocks.size.tolist(), strict=True
        ):
            moved |= zip(range(dst, dst + size), range(src, src + size), strict=True)
    return moved


def chunk_of(src: I32Array, start: int = 0, **facts: int | None) -> Chunk:
    made = Chunk(room=7, index=0, pages=src, start=start, is_last=True)
    return replace(made, **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["equal", "heads", "mla", "dcp"])
@given(data=st.data())
def test_p11_portions_move_what_one_plan_moves(kind: str, data: st.DataObject) -> None:
    """Field report P11: any page lists, runs and scattered, any bound."""
    planner, args, peer = sides(kind)
    count = data.draw(st.integers(1, 24), "pages")
    start = data.draw(st.integers(0, 6), "pages before")
    runs = data.draw(st.booleans(), "in runs")
    numbers = st.permutations(range(SLOTS))
    src = np.array(range(9, 9 + count) if runs else data.draw(numbers)[:count], np.int32)
    dst = np.array(range(30) if runs else data.draw(numbers)[:30], np.int32)
    most = data.draw(st.integers(1, 60), "bound")
    tokens = None
    if kind == "dcp":
        tokens = data.draw(st.none() | st.integers(0, count * PAGE_SIZE), "tokens")
    chunk = chunk_of(src, start, num_kv_tokens=tokens)
    whole = planner.kv(peer, chunk, dst)
    portions = list(kv_portions(planner, args, peer, chunk, dst, most=most))
    assert bytes_of(portions) == bytes_of([whole])
    assert sum(p.total for p in portions) == whole.total
    a_page = 2 * PAGE_SIZE
    assert max(map(len, portions)) <= max(most, a_page)


@pytest.mark.parametrize("kind", ["equal", "heads", "mla", "dcp"])
@pytest.mark.parametrize("side", ["here", "there"])
@pytest.mark.parametrize("at", [0, 17, 39])
@pytest.mark.parametrize("number", [-1, SLOTS])
def test_p11_one_page_outside_is_found_before_the_first_portion(
    kind: str, side: str, at: int, number: int
) -> None:
    """Field reports P11 and R9."""
    planner, args, peer = sides(kind)
    src, dst = np.arange(40, dtype=np.int32), np.arange(40, dtype=np.int32)[::-1].copy()
    (src if side == "here" else dst)[at] = number
    with pytest.raises(PlanError, match="lie outside"):
        kv_portions(planner, args, peer, chunk_of(src), dst, most=8)


@pytest.mark.parametrize("kind", ["equal", "heads", "mla", "dcp"])
def test_p11_too_few_destinations_are_found_before_the_first_portion(kind: str) -> None:
    planner, args, peer = sides(kind)
    src = np.arange(40, dtype=np.int32)
    with pytest.raises(PlanError):
        kv_portions(planner, args, peer, chunk_of(src), src[:15], most=8)


def test_p11_lengths_that_differ_are_found_before_the_first_portion() -> None:
    planner, args, peer = sides("equal")
    other = replace(peer, kv_item_len=64, kv_item_lens=(64, 64))
    src = np.arange(40, dtype=np.int32)
    with pytest.raises(PlanError, match="32 bytes here"):
        kv_portions(planner, args, other, chunk_of(src), src[::-1], most=8)


def test_p11_a_long_run_stays_one_portion() -> None:
    planner, args, peer = sides("equal", slots=1 << 20)
    src = np.arange(1 << 18, dtype=np.int32)
    assert [len(p) for p in kv_portions(planner, args, peer, chunk_of(src), src)] == [2]


def test_p11_a_hundred_thousand_scattered_pages_take_little_memory() -> None:
    """Field report P11: 131,072 pages of 120 regions took 740 MiB and 2.4 s before a byte moved."""
    planner, args, peer = sides("equal", regions=120, slots=1 << 18)
    src = np.arange(0, 1 << 18, 2, dtype=np.int32)
    tracemalloc.start()
    try:
        began = time.process_time()
        portions = kv_portions(planner, args, peer, chunk_of(src), src[::-1].copy())
        first = next(portions)
        took = time.process_time() - began
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(first) <= PORTION_BLOCKS
    assert peak < 32 << 20, peak
    assert took < 1.0, took
    assert len(first) + sum(map(len, portions)) == 120 * (1 << 17)


def test_no_pages_are_no_blocks() -> None:
    planner, args, peer = sides("equal")
    [blocks] = kv_portions(planner, args, peer, chunk_of(pages()), pages())
    assert not len(blocks)
