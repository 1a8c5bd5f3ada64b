from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdwire.plan import dcp_blocks, dcp_token_plan

if TYPE_CHECKING:
    from .conftest import Carry

TOKEN, POOL = 2, 12


@st.composite
def requests(draw: st.DrawFn) -> tuple[int, int, int, int, list[int], list[int]]:
    """(page size, ranks, prefix pages, tokens, prefill pages, decode pages behind the prefix)."""
    page_size, dcp_size = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    prefix = draw(st.integers(0, 2))
    src_pages = draw(st.permutations(range(POOL)))[: draw(st.integers(1, 6))]
    tokens = draw(st.integers((len(src_pages) - 1) * page_size, len(src_pages) * page_size))
    needed = -(-len(src_pages) // dcp_size)
    return (
        page_size,
        dcp_size,
        prefix,
        tokens,
        src_pages,
        draw(st.permutations(range(POOL)))[:needed],
    )


@given(requests(), st.integers(1, 6))
def test_every_rank_keeps_its_own_tokens_in_chunks_of_any_size(
    carry: Carry, request: tuple[int, int, int, int, list[int], list[int]], chunk: int
) -> None:
    page_size, dcp_size, prefix, tokens, src_pages, dst_pages = request
    source = np.arange(POOL * page_size * TOKEN, dtype=np.uint8)
    rows = source.reshape(-1, TOKEN)
    for rank in range(dcp_size):
        target = np.zeros_like(source)
        for begin in range(0, len(src_pages), chunk):
            plan = dcp_token_plan(
                src_pages[begin : begin + chunk],
                dst_pages,
                page_size=page_size,
                dcp_size=dcp_size,
                dcp_rank=rank,
                src_page_offset=begin,
                decode_prefix_len=prefix * page_size * dcp_size,
                num_kv_tokens=max(0, min(chunk * page_size, tokens - begin * page_size)),
            )
            carry(dcp_blocks([0], [0], [TOKEN], plan), source, target)
        wanted = np.zeros_like(rows)
        for token in range(rank, tokens, dcp_size):
            src = src_pages[token // page_size] * page_size + token % page_size
            kept = token // dcp_size
            wanted[dst_pages[kept // page_size] * page_size + kept % page_size] = rows[src]
        assert (target.reshape(-1, TOKEN) == wanted).all()


def test_one_rank_of_one_gets_whole_runs() -> None:
    plan = dcp_token_plan([2, 3], [5, 6], page_size=4, dcp_size=1, dcp_rank=0)
    blocks = dcp_blocks([0, 1000], [0, 1000], [8, 8], plan)
    assert blocks.src.tolist() == [64, 1064]
    assert blocks.size.tolist() == [64, 64]


def test_rows_far_into_a_pool_need_64_bits() -> None:
    plan = dcp_token_plan([400_000], [300_000], page_size=64, dcp_size=2, dcp_rank=1)
    blocks = dcp_blocks([0], [0], [1152], plan)
    assert blocks.src[0] == (400_000 * 64 + 1) * 1152
    assert blocks.dst[0] == 300_000 * 64 * 1152


@pytest.mark.parametrize(
    ("kwargs", "what"),
    [
        ({"decode_prefix_len": 12}, r"prefix of 12 tokens does not end on a virtual page of 8"),
        ({"decode_prefix_len": -8}, r"prefix of -8 tokens"),
        ({"dcp_rank": 2}, r"DCP rank 2 of 2"),
        ({"dcp_rank": -1}, r"DCP rank -1 of 2"),
        ({"dcp_size": 0, "dcp_rank": 0}, r"DCP rank 0 of 0"),
        ({"num_kv_tokens": 9}, r"9 tokens in 2 source pages of 4"),
        ({"num_kv_tokens": -1}, r"-1 tokens in 2"),
        ({"src_page_offset": 2}, r"row 7 lies beyond 1 destination pages of 4"),
        ({"dst_pages": []}, r"row 3 lies beyond 0 destination pages"),
    ],
)
def test_what_does_not_fit_is_refused_with_numbers(kwargs: dict[str, object], what: str) -> None:
    given = {"src_pages": [0, 1], "dst_pages": [0], "page_size": 4, "dcp_size": 2, "dcp_rank": 1}
    assert len(dcp_token_plan(**given)) == 4  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=what):
        dcp_token_plan(**(given | kwargs))  # type: ignore[arg-type]


def test_a_chunk_without_tokens_is_an_empty_plan() -> None:
    plan = dcp_token_plan([], [0], page_size=4, dcp_size=2, dcp_rank=1)
    assert len(plan) == 0
    assert len(dcp_blocks([0], [0], [8], plan)) == 0
