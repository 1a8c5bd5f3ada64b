"""What the notes of NIXL's notification tags claim, said by the releases themselves.

``live`` tests are skipped where a release's wheel cannot be had.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pdwire_conformance.peers.client import Peer
from pdwire_conformance.peers.errors import InexpressibleError, PeerError

Ask = Callable[[str], Peer]

KV: dict[str, Any] = {"room": 7, "chunk_id": 3, "is_last": True, "pp_rank": 2}
PART: dict[str, Any] = KV | {"part_idx": 1, "num_parts": 3}
STG: dict[str, Any] = KV | {
    "chunk_idx": 9,
    "page_start": 128,
    "num_pages": 64,
    "agent_name": "a_b__c",
}


@pytest.mark.live
@pytest.mark.parametrize(
    ("release", "message", "values", "text"),
    [
        ("0.5.6", "NOTIF_KV", KV, "7_kv_3_1"),
        ("0.5.12", "NOTIF_KV", KV, "7_kv_3_1_2"),
        ("0.5.19", "NOTIF_KV", KV, "7_kv_3_1_2"),
        ("0.5.19", "NOTIF_KV", PART, "7_kv_3_1_2_part_1_3"),
        ("0.5.19", "NOTIF_KV", PART | {"part_idx": 0, "num_parts": 1}, "7_kv_3_1_2_part_0_1"),
        ("0.5.6", "NOTIF_AUX", {"room": 7}, "7_aux"),
        ("0.5.12", "NOTIF_AUX", {"room": 7, "pp_rank": 2}, "7_aux_nokv_2"),
        ("0.5.19", "NOTIF_AUX", {"room": 7}, "7_aux"),
        ("0.5.19", "NOTIF_AUX", {"room": 7, "pp_rank": 2, "expected": 5}, "7_aux_nokv_2_5"),
        ("0.5.12", "NOTIF_STATE", {"room": 7, "pp_rank": 2, "component": 4}, "7_state_2_4"),
        ("0.5.12", "NOTIF_STG", STG, "7_stg_3_1_2_9_128_64_a_b__c"),
        ("0.5.19", "NOTIF_STG", STG, "7_stg_3_1_2_9_128_64_a_b__c"),
    ],
)
def test_a_release_writes_the_text_and_reads_it_back(
    peer: Ask, release: str, message: str, values: dict[str, Any], text: str
) -> None:
    real = peer(release)
    assert real.encode("nixl", message, values) == [text.encode()]
    read = real.decode("nixl", message, [text.encode()])
    assert {name: read[name] for name in values if name in read} == {
        name: value for name, value in values.items() if name in read
    }
    assert read["room"] == 7


@pytest.mark.live
def test_nobody_reads_which_state_component_landed(peer: Ask) -> None:
    assert peer("0.5.19").decode("nixl", "NOTIF_STATE", [b"7_state_2_4"]) == {
        "room": 7,
        "pp_rank": 2,
    }


@pytest.mark.live
def test_a_text_without_its_rank_reads_as_rank_0(peer: Ask) -> None:
    assert peer("0.5.19").decode("nixl", "NOTIF_KV", [b"7_kv_3_1"])["pp_rank"] == 0


@pytest.mark.live
def test_an_older_no_kv_text_reads_as_no_chunks(peer: Ask) -> None:
    read = peer("0.5.19").decode("nixl", "NOTIF_AUX", [b"7_aux_nokv_2"])
    assert read == {"room": 7, "pp_rank": 2, "expected": 0}


@pytest.mark.live
def test_a_count_of_chunks_cannot_be_sent_without_a_rank(peer: Ask) -> None:
    with pytest.raises(InexpressibleError):
        peer("0.5.19").encode("nixl", "NOTIF_AUX", {"room": 7, "expected": 5})


@pytest.mark.live
def test_a_tag_that_the_release_does_not_know_is_dropped(peer: Ask) -> None:
    with pytest.raises(PeerError, match="DroppedError"):
        peer("0.5.6").decode("nixl", "NOTIF_KV", [b"7_state_2"])


@pytest.mark.live
def test_0_5_23_has_no_notifications(peer: Ask) -> None:
    said = peer("0.5.23").hello()
    reasons = [entry["why"] for entry in said["unavailable"] if "NOTIF" in entry["message"]]
    assert reasons == ["0.5.23 writes without notifications"] * 8
