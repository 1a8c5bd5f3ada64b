"""What NIXL's notes claim of the releases, said by the releases themselves.

Each release is the first or last of a layout; ``live`` tests are skipped where its wheel
cannot be had.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pdwire_conformance.peers.client import Peer
from pdwire_conformance.peers.errors import InexpressibleError, PeerError

Ask = Callable[[str], Peer]

REQUEST: dict[str, Any] = {
    "room": 7,
    "endpoint": "::1",
    "dst_port": 5000,
    "agent_name": "agentA",
    "dst_kv_indices": [4, 5],
    "dst_aux_index": 3,
    "required_dst_info_num": 1,
    "dst_state_indices": [[1], []],
    "decode_prefix_len": 0,
    "is_dummy": False,
}
NOTHING: dict[str, Any] = {"dst_kv_indices": [], "dst_state_indices": []}
REGISTRATION: dict[str, Any] = {
    "endpoint": "10.0.0.2",
    "dst_port": 5000,
    "agent_name": "agentA",
    "agent_metadata": {"hex": "00ff"},
    "gpu_id": 0,
    "decode_tp_size": 1,
    "decode_tp_rank": 0,
    "dst_kv_ptrs": [2**63, 1],
    "dst_kv_item_len": 8,
    "dst_kv_item_lens": [8, 16],
    "dst_kv_mem_kinds": ["DRAM", "VRAM"],
    "dst_kv_layer_ids": [],
    "dst_num_slots": 9,
    "dst_aux_ptrs": [],
    "dst_state_data_ptrs": [],
    "dst_state_item_lens": [],
    "dst_state_dim_per_tensor": [],
    "dst_state_layer_ids": [],
    "dst_state_data_lens": [],
    "staging_base_ptr": 0,
    "staging_total_size": 0,
    "dst_dcp_size": 1,
    "dst_dcp_rank": 0,
}


def there_and_back(peer: Ask, release: str, message: str, values: dict[str, Any]) -> dict[str, Any]:
    """What the release's decoder makes of what its own encoder sends."""
    real = peer(release)
    return real.decode("nixl", message, real.encode("nixl", message, values))


@pytest.mark.live
@pytest.mark.parametrize(("release", "kept"), [("0.5.16", False), ("0.5.19", True)])
def test_a_dummy_with_a_prefix_is_told_only_by_its_frame(
    peer: Ask, release: str, kept: bool
) -> None:
    dummy = REQUEST | NOTHING | {"decode_prefix_len": 64, "is_dummy": True}
    assert there_and_back(peer, release, "TransferInfo", dummy)["is_dummy"] is kept


@pytest.mark.live
@pytest.mark.parametrize(("release", "dummy"), [("0.5.16", True), ("0.5.23", False)])
def test_a_rank_without_pages_reads_as_a_dummy_until_a_frame_says_no(
    peer: Ask, release: str, dummy: bool
) -> None:
    assert there_and_back(peer, release, "TransferInfo", REQUEST | NOTHING)["is_dummy"] is dummy


@pytest.mark.live
@pytest.mark.parametrize("release", ["0.5.12", "0.5.23"])
def test_a_missing_auxiliary_index_is_sent_as_none_and_not_read(peer: Ask, release: str) -> None:
    real = peer(release)
    frames = real.encode("nixl", "TransferInfo", REQUEST | {"dst_aux_index": None})
    assert frames[6] == b"None"
    with pytest.raises(PeerError, match="invalid literal for int"):
        real.decode("nixl", "TransferInfo", frames)


@pytest.mark.live
def test_item_lengths_and_kinds_must_match_the_pointers(peer: Ask) -> None:
    real = peer("0.5.23")
    frames = real.encode("nixl", "KVArgsRegisterInfo", REGISTRATION)
    with pytest.raises(PeerError, match="dst_kv_item_lens length mismatch"):
        real.decode("nixl", "KVArgsRegisterInfo", [*frames[:19], b"\0" * 8, *frames[20:]])
    with pytest.raises(PeerError, match="Unsupported NIXL KV memory kind"):
        real.decode("nixl", "KVArgsRegisterInfo", [*frames[:18], b"VRAM,FOO", *frames[19:]])


@pytest.mark.live
def test_an_empty_frame_repeats_length_and_kind_for_every_pointer(peer: Ask) -> None:
    real = peer("0.5.16")
    frames = real.encode("nixl", "KVArgsRegisterInfo", REGISTRATION)
    values = real.decode("nixl", "KVArgsRegisterInfo", [*frames[:18], b"", b""])
    assert values["dst_kv_mem_kinds"] == ["VRAM", "VRAM"]
    assert values["dst_kv_item_lens"] == [8, 8]


@pytest.mark.live
def test_what_the_encoder_derives_cannot_be_contradicted(peer: Ask) -> None:
    real = peer("0.5.23")
    for wrong in ({"dst_kv_item_len": 9}, {"dst_num_slots": None}):
        with pytest.raises(InexpressibleError):
            real.encode("nixl", "KVArgsRegisterInfo", REGISTRATION | wrong)


@pytest.mark.live
def test_status_is_tagged_and_a_foreign_tag_is_dropped(peer: Ask) -> None:
    values = {"room": 7, "status": 0, "prefill_rank": 3, "failure_reason": "größe"}
    real = peer("0.5.23")
    frames = real.encode("nixl", "KV_STATUS", values)
    assert frames == [b"KV_STATUS", b"7", b"0", b"3", "größe".encode()]
    assert real.decode("nixl", "KV_STATUS", frames) == values
    with pytest.raises(PeerError, match="DroppedError"):
        real.decode("nixl", "KV_STATUS", [b"STATUS", *frames[1:]])


@pytest.mark.live
def test_no_status_messages_before_0_5_20(peer: Ask) -> None:
    real = peer("0.5.19")
    lacking = [
        (entry["message"], entry["why"])
        for entry in real.hello()["unavailable"]
        if entry["backend"] == "nixl" and entry["message"] == "KV_STATUS"
    ]
    assert lacking == [("KV_STATUS", "0.5.19 sends no status messages with NIXL")] * 2
