"""What the notes of the bootstrap server's bodies claim, said by the releases themselves.

``live`` tests are skipped where a release's wheel cannot be had.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pdwire_conformance.peers.adapters._http_side import (
    Equal,
    ReadKeys,
    RefusedError,
    query_request,
)
from pdwire_conformance.peers.client import Peer
from pdwire_conformance.peers.errors import PeerError

Ask = Callable[[str], Peer]

PUT: dict[str, Any] = {
    "attn_tp_size": 8,
    "attn_tp_rank": 3,
    "attn_cp_size": 2,
    "attn_cp_rank": 1,
    "attn_dp_size": 4,
    "attn_dp_rank": 2,
    "pp_size": 2,
    "pp_rank": 1,
    "system_dp_size": 1,
    "system_dp_rank": 0,
    "rank_ip": "fe80::1",
    "rank_port": 17000,
    "page_size": 64,
    "kv_cache_dtype": "bfloat16",
    "load_balance_method": "round_robin",
}
INFO: dict[str, Any] = {
    "attn_tp_size": 8,
    "attn_cp_size": 2,
    "dp_size": 4,
    "pp_size": 2,
    "page_size": 64,
    "kv_cache_dtype": "bfloat16",
    "follow_bootstrap_room": False,
}


def test_reads_are_noted_with_their_defaults() -> None:
    keys = ReadKeys({"a": 1, "b": 2})
    assert keys["a"] == 1
    assert keys.get("c", 9) == 9
    assert keys.read == {"a": 1, "c": 9}
    with pytest.raises(RefusedError, match="'d'"):
        keys["d"]


def test_of_a_repeated_query_key_the_first_counts() -> None:
    assert query_request(b"a=1&b=&a=2").query.get("a") == "1"


def test_a_side_that_agrees_with_everything() -> None:
    said = "bfloat16"
    assert said == Equal()
    differs = said != Equal()
    assert differs is False


@pytest.mark.live
def test_a_registration_reaches_the_server_unchanged(peer: Ask) -> None:
    real = peer("0.5.12")
    (body,) = real.encode("nixl", "ROUTE_PUT", PUT)
    assert json.loads(body) == PUT
    assert real.decode("nixl", "ROUTE_PUT", [body]) == PUT


@pytest.mark.live
@pytest.mark.parametrize("key", ["kv_cache_dtype", "page_size", "attn_cp_rank"])
def test_a_demanded_key_is_missed(peer: Ask, key: str) -> None:
    body = json.dumps({name: value for name, value in PUT.items() if name != key})
    with pytest.raises(PeerError, match=key):
        peer("0.5.12").decode("mooncake", "ROUTE_PUT", [body.encode()])


@pytest.mark.live
def test_lack_of_a_load_balance_method_means_following_the_room(peer: Ask) -> None:
    body = json.dumps({name: PUT[name] for name in PUT if name != "load_balance_method"})
    values = peer("0.5.19").decode("mori", "ROUTE_PUT", [body.encode()])
    assert values["load_balance_method"] == "follow_bootstrap_room"
    assert values["enable_dsa_cache_layer_split"] is False
    assert values["prefill_http_port"] is None


@pytest.mark.live
def test_queries_of_old_and_new(peer: Ask) -> None:
    ranks = {"prefill_dp_rank": 1, "target_tp_rank": 2, "target_pp_rank": 3}
    (old,) = peer("0.5.6").encode("mooncake", "ROUTE_GET", ranks)
    assert old == b"engine_rank=2&target_dp_group=1&target_pp_rank=3"
    (new,) = peer("0.5.12").encode("mooncake", "ROUTE_GET", ranks | {"prefill_cp_rank": 0})
    assert new == b"prefill_dp_rank=1&prefill_cp_rank=0&target_tp_rank=2&target_pp_rank=3"
    with pytest.raises(PeerError, match="400"):
        peer("0.5.12").decode("mooncake", "ROUTE_GET", [old])


@pytest.mark.live
def test_minus_one_throughout_asks_for_the_prefill_side(peer: Ask) -> None:
    query = b"prefill_dp_rank=-1&prefill_cp_rank=-1&target_tp_rank=-1&target_pp_rank="
    real = peer("0.5.12")
    assert real.decode("mooncake", "ROUTE_GET", [query + b"-1"])["asks_server_info"] is True
    mixed = real.decode("mooncake", "ROUTE_GET", [query + b"0"])
    assert mixed["asks_server_info"] is False
    assert mixed["target_pp_rank"] == 0


@pytest.mark.live
def test_a_decode_side_refuses_an_answer_with_a_key_that_it_does_not_know(peer: Ask) -> None:
    (body,) = peer("0.5.19").encode(
        "mooncake",
        "ROUTE_SERVER_INFO",
        INFO | {"enable_dsa_cache_layer_split": False, "prefill_http_port": 30000},
    )
    assert peer("0.5.19").decode("mooncake", "ROUTE_SERVER_INFO", [body])["dp_size"] == 4
    with pytest.raises(PeerError, match="takes the answer for none"):
        peer("0.5.12").decode("mooncake", "ROUTE_SERVER_INFO", [body])


@pytest.mark.live
def test_the_server_sends_the_decode_sides_notes_as_null(peer: Ask) -> None:
    (body,) = peer("0.5.12").encode("nixl", "ROUTE_SERVER_INFO", INFO)
    assert {name: value for name, value in json.loads(body).items() if name not in INFO} == {
        "target_tp_rank": None,
        "target_tp_ranks": None,
        "target_cp_ranks": None,
        "target_pp_ranks": None,
        "required_dst_info_num": None,
        "required_prefill_response_num": None,
    }


@pytest.mark.live
def test_what_is_none_is_left_out_from_0_5_21_on(peer: Ask) -> None:
    more = {
        "enable_dsa_cache_layer_split": False,
        "prefill_http_port": None,
        "dsv41_spec_layout": None,
        "kv_layout": None,
        "decode_allocation_policy": "early",
        "enable_kv_cache_sharding": False,
    }
    real = peer("0.5.23")
    (body,) = real.encode("nixl", "ROUTE_SERVER_INFO", INFO | more)
    assert {"dsv41_spec_layout", "kv_layout"}.isdisjoint(json.loads(body))
    assert json.loads(body)["prefill_http_port"] is None
    assert real.decode("nixl", "ROUTE_SERVER_INFO", [body]) == INFO | more


@pytest.mark.live
def test_rooms_and_their_dp_ranks(peer: Ask) -> None:
    real = peer("0.5.19")
    rooms = {"bootstrap_rooms": [2**63 - 1, 0]}
    assert real.decode("mori", "QUERY_DP_RANKS", real.encode("mori", "QUERY_DP_RANKS", rooms)) == (
        rooms
    )
    ranks = {"dp_ranks": {str(2**63 - 1): 3, "0": 0}}
    (body,) = real.encode("mori", "QUERY_DP_RANKS_RSP", ranks)
    assert json.loads(body) == ranks["dp_ranks"]
    assert real.decode("mori", "QUERY_DP_RANKS_RSP", [body]) == ranks
    one = {"bootstrap_room": 7, "dp_rank": 3}
    assert real.decode(
        "mori", "REGISTER_DP_RANK", real.encode("mori", "REGISTER_DP_RANK", one)
    ) == (one)


@pytest.mark.live
def test_before_0_5_10_nobody_asks_for_dp_ranks(peer: Ask) -> None:
    said = peer("0.5.6").hello()
    assert "QUERY_DP_RANKS" not in said["backends"]["mooncake"]["encode"]
    assert {
        entry["why"]
        for entry in said["unavailable"]
        if entry["message"] == "QUERY_DP_RANKS" and entry["backend"] == "mooncake"
    } == {"0.5.6 has no table of DP ranks"}
