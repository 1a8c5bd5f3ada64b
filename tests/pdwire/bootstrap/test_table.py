"""What the server knows, without HTTP."""

from __future__ import annotations

import pytest
from tests.pdwire.bootstrap.raw_http import rank

from pdwire.bootstrap.table import BootstrapTable, Refused


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"attn_tp_rank": 2}, "attn_tp_rank 2 is outside attn_tp_size 2"),
        ({"attn_cp_rank": 1}, "attn_cp_rank 1 is outside attn_cp_size 1"),
        ({"pp_rank": 3}, "pp_rank 3 is outside pp_size 1"),
        ({"attn_dp_rank": 1}, "dp_rank 1 is outside dp_size 1"),
        ({"system_dp_size": 2, "system_dp_rank": 2}, "dp_rank 2 is outside dp_size 2"),
    ],
)
def test_a_rank_outside_its_sizes_is_refused(facts: dict[str, int], told: str) -> None:
    table = BootstrapTable()
    with pytest.raises(Refused, match=told) as caught:
        table.register(rank(attn_tp_size=2, **facts))
    assert caught.value.status == 400
    with pytest.raises(Refused, match="no prefill rank"):
        table.server_info()


@pytest.mark.parametrize(
    "facts",
    [
        {"attn_tp_size": 4},
        {"attn_cp_size": 2},
        {"pp_size": 2},
        {"page_size": 1},
        {"kv_cache_dtype": "fp8"},
        {"kv_layout": "other"},
        {"decode_allocation_policy": "prefill_complete"},
        {"dsv41_spec_layout": {"draft": 1}},
        {"attn_dp_size": 2},
        {"system_dp_size": 2},
    ],
    ids=lambda facts: next(iter(facts)),
)
def test_a_rank_that_contradicts_the_first_changes_nothing(facts: dict[str, object]) -> None:
    table = BootstrapTable()
    table.register(rank())
    before = table.server_info(), table.rank_info(0, 0, 0, 0)
    with pytest.raises(Refused, match="the first rank said") as caught:
        table.register(rank(rank_port=1, **facts))
    assert caught.value.status == 400
    assert (table.server_info(), table.rank_info(0, 0, 0, 0)) == before


def test_replicas_and_attention_groups_count_as_dp_ranks() -> None:
    replicas, groups = BootstrapTable(), BootstrapTable()
    for dp in (0, 1):
        replicas.register(rank(system_dp_size=2, system_dp_rank=dp, rank_port=7000 + dp))
        groups.register(rank(attn_dp_size=2, attn_dp_rank=dp, rank_port=7000 + dp))
    for table in (replicas, groups):
        assert table.server_info().dp_size == 2
        assert [table.rank_info(dp, 0, 0, 0).rank_port for dp in (0, 1)] == [7000, 7001]


def test_a_rank_of_another_role_is_not_entered() -> None:
    table = BootstrapTable()
    table.register(rank(role="Decode"))
    with pytest.raises(Refused, match="no prefill rank"):
        table.server_info()


def test_rooms_are_forgotten_oldest_first() -> None:
    table = BootstrapTable(most_rooms=3)
    for room in (1, 2, 3, 1, 4):
        table.note_dp_rank(room, room)
    assert table.dp_ranks((1, 2, 3, 4)) == {"1": 1, "3": 3, "4": 4}
