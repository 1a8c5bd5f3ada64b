from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdwire.plan import head_slice
from pdwire.staging import StagingLayout, head_bytes, slot_pairs

TWO_TO_ONE = StagingLayout(
    prefill_tp=2,
    decode_tp=1,
    decode_rank=0,
    total_kv_heads=8,
    page_size=16,
    head_bytes=128,
    layers=3,
)


def test_each_writer_has_its_own_part_of_a_chunk() -> None:
    part = 5 * 16 * 4 * 128 * 3 * 2
    assert TWO_TO_ONE.writers == 2
    assert TWO_TO_ONE.heads == 4
    assert TWO_TO_ONE.writer_bytes(5) == part
    assert TWO_TO_ONE.chunk_bytes(5) == 2 * part
    assert TWO_TO_ONE.writes(0, 5) == [(0, 0, part)]
    assert TWO_TO_ONE.writes(1, 5) == [(0, part, part)]
    assert [TWO_TO_ONE.dst_head(0), TWO_TO_ONE.dst_head(1)] == [0, 4]


def test_a_prefill_rank_of_many_has_the_part_of_its_rank_within_the_decode_rank() -> None:
    layout = replace(TWO_TO_ONE, prefill_tp=8, decode_tp=4, decode_rank=3)
    assert [layout.writer_of(rank) for rank in (6, 7)] == [0, 1]


def test_one_writer_sends_what_the_decode_rank_keeps() -> None:
    layout = replace(TWO_TO_ONE, prefill_tp=1, decode_tp=4, decode_rank=2)
    assert (layout.writers, layout.heads, layout.src_head, layout.dst_head(0)) == (1, 2, 4, 0)


def test_a_pipeline_stage_writes_its_slots_between_those_of_the_others() -> None:
    pairs = slot_pairs([2, 2], [0, 1, 2, 0, 1, 2])
    assert pairs == [(0, 2), (1, 5)]
    slot = TWO_TO_ONE.slot_bytes(1)
    base = TWO_TO_ONE.writer_bytes(1)
    assert TWO_TO_ONE.writes(1, 1, pairs) == [
        (0, base + 2 * slot, slot),
        (slot, base + 5 * slot, slot),
    ]


def test_a_layer_that_the_decode_side_lacks_is_named() -> None:
    with pytest.raises(ValueError, match="1 slots too few for layer 7"):
        slot_pairs([7, 7], [7, 8])


@given(
    prefill_tp=st.sampled_from([1, 2, 4, 8, 16]),
    decode_tp=st.sampled_from([1, 2, 4, 8, 16]),
    heads=st.sampled_from([1, 2, 4, 8, 16, 48]),
    data=st.data(),
)
def test_heads_are_those_of_the_plan(
    prefill_tp: int, decode_tp: int, heads: int, data: st.DataObject
) -> None:
    rank = data.draw(st.integers(0, decode_tp - 1))
    layout = replace(
        TWO_TO_ONE,
        prefill_tp=prefill_tp,
        decode_tp=decode_tp,
        decode_rank=rank,
        total_kv_heads=heads,
    )
    first = rank * layout.writers if layout.writers > 1 else rank * prefill_tp // decode_tp
    for prefill_rank in range(first, first + layout.writers):
        cut = head_slice(prefill_tp, decode_tp, prefill_rank, rank, heads)
        writer = layout.writer_of(prefill_rank)
        ours = (layout.src_head, layout.dst_head(writer), layout.heads)
        assert ours == (cut.src_head, cut.dst_head, cut.heads)


def test_bytes_of_a_head() -> None:
    assert head_bytes(16 * 4 * 128, page_size=16, tp=2, total_kv_heads=8) == 128
    assert head_bytes(16 * 1 * 128, page_size=16, tp=16, total_kv_heads=8) == 128


@pytest.mark.parametrize("item_len", [0, 16 * 4 * 128 + 1])
def test_a_page_of_no_whole_heads_is_an_error(item_len: int) -> None:
    with pytest.raises(ValueError, match=f"a page of {item_len} bytes"):
        head_bytes(item_len, page_size=16, tp=2, total_kv_heads=8)


@pytest.mark.parametrize("name", ["prefill_tp", "decode_tp", "page_size", "head_bytes", "layers"])
def test_a_size_of_nothing_is_an_error(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is 0"):
        replace(TWO_TO_ONE, **{name: 0})


def test_a_negative_rank_is_an_error() -> None:
    with pytest.raises(ValueError, match="decode_rank is -1"):
        replace(TWO_TO_ONE, decode_rank=-1)
