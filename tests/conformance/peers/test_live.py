"""Real releases, one process each, through the client: what no stand-in can show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pdwire_conformance.peers.client import Peer
from pdwire_conformance.peers.errors import PeerError, PeerUnavailable

pytestmark = pytest.mark.live

RELEASES = ("0.5.12", "0.5.16", "0.5.19", "0.5.23")

_METADATA: dict[str, Any] = {
    "room": 2**63 - 1,
    "endpoint": "fe80::1",
    "dst_port": 5000,
    "mooncake_session_id": "[fe80::1]:17000",
    "dst_kv_indices": [4, 5],
    "dst_aux_index": 3,
    "dst_state_indices": [[7], [], [8, 9]],
    "required_dst_info_num": 1,
    "is_dummy": False,
    "decode_prefix_len": 64,
    "dst_device_kv_indices": [2**31 - 1],
}
_REGISTRATION: dict[str, Any] = {
    "endpoint": "10.0.0.2",
    "dst_port": 5000,
    "mooncake_session_id": "10.0.0.2:17000",
    "dst_kv_ptrs": [1 << 63, 2],
    "dst_aux_ptrs": [3],
    "dst_state_data_ptrs": [[4, 5], []],
    "dst_tp_rank": 1,
    "dst_attn_tp_size": 2,
    "dst_kv_item_len": 128,
    "dst_state_item_lens": [[6, 7], []],
    "dst_state_dim_per_tensor": [],
    "enable_hisparse": True,
    "dst_kv_layer_ids": [0, 1],
    "dst_state_layer_ids": [[2**32 - 1], []],
    "staging_base_ptr": 4096,
    "staging_total_size": 65536,
    "dst_dcp_size": 4,
    "dst_dcp_rank": 3,
    "staging_slot_layer_ids": [9],
    "dst_kv_item_lens": [128, 256],
}


@pytest.fixture(scope="module", params=RELEASES)
def peer(request: pytest.FixtureRequest) -> Iterator[Peer]:
    try:
        with Peer(request.param) as started:
            yield started
    except PeerUnavailable as error:
        pytest.skip(f"sglang {request.param}: {error}")


def _newer(peer: Peer, release: str) -> bool:
    return [int(part) for part in peer.release.split(".")] >= [
        int(part) for part in release.split(".")
    ]


def test_whatever_is_unavailable_is_the_release_s_doing(peer: Peer) -> None:
    faults = [one for one in peer.hello()["unavailable"] if one["why"].startswith("runner fault")]
    assert faults == []


@pytest.mark.parametrize("backend", ["mooncake", "ascend"])
def test_a_release_reads_the_metadata_that_it_sends(peer: Peer, backend: str) -> None:
    frames = peer.encode(backend, "TransferInfo", _METADATA)
    assert frames[0] == b"9223372036854775807"
    assert frames[4] == b"\x04\0\0\0\x05\0\0\0"
    values = peer.decode(backend, "TransferInfo", frames)
    assert len(values) == len(frames) + 1  # and the flag that no frame carries
    assert values == {name: _METADATA[name] for name in values}


@pytest.mark.parametrize("backend", ["mooncake", "ascend"])
def test_a_release_reads_the_registration_that_it_sends(peer: Peer, backend: str) -> None:
    frames = peer.encode(backend, "KVArgsRegisterInfo", _REGISTRATION)
    staging = {"0.5.12": 13, "0.5.16": 12}.get(peer.release, 14)
    assert frames[staging] == (4096).to_bytes(8, "little")
    assert frames[staging + 1] == b"65536"
    values = peer.decode(backend, "KVArgsRegisterInfo", frames)
    assert len(values) == len(frames) - 1  # all but the constant one in front
    assert values == {name: _REGISTRATION[name] for name in values}


def test_staging_that_is_off_reads_as_zeros(peer: Peer) -> None:
    off = {"staging_base_ptr": 0, "staging_total_size": 0, "staging_slot_layer_ids": []}
    frames = peer.encode("mooncake", "KVArgsRegisterInfo", _REGISTRATION | off)
    values = peer.decode("mooncake", "KVArgsRegisterInfo", frames)
    assert (values["staging_base_ptr"], values["staging_total_size"]) == (0, 0)


def test_a_dummy_rank_s_metadata_has_no_indices(peer: Peer) -> None:
    dummy: dict[str, Any] = {"dst_kv_indices": [], "dst_aux_index": None, "is_dummy": True}
    dummy |= {"dst_state_indices": [], "dst_device_kv_indices": []}
    values = peer.decode(
        "mooncake", "TransferInfo", peer.encode("mooncake", "TransferInfo", _METADATA | dummy)
    )
    assert values["is_dummy"] is True
    assert values["dst_aux_index"] is None
    assert values["room"] == _METADATA["room"]


@pytest.mark.parametrize("backend", ["mooncake", "ascend", "nixl"])
def test_staging_messages_pass_through_the_real_loops(peer: Peer, backend: str) -> None:
    asks_rank = backend != "nixl" and _newer(peer, "0.5.18")
    request = {"room": 7, "chunk_idx": 2, "chunk_num_pages": 3, "session_id": "h:1"}
    request["requester_pp_rank"] = 5 if asks_rank else None
    frames = peer.encode(backend, "STAGING_REQ", request)
    assert frames[:5] == [b"STAGING_REQ", b"7", b"2", b"3", b"h:1"]
    assert frames[5:] == ([b"5"] if asks_rank else [])
    values = peer.decode(backend, "STAGING_REQ", frames)
    assert values == {name: request[name] for name in values}

    answer = {"room": 7, "chunk_idx": 2, "offset": 96, "round": 1, "end": 128, "session_id": "h:1"}
    frames = peer.encode(backend, "STAGING_RSP", answer)
    assert frames == [b"STAGING_RSP", b"7", b"2", b"96", b"1", b"128", b"h:1"]
    assert peer.decode(backend, "STAGING_RSP", frames) == answer

    mark = {"round": 0, "tail": 0, "session_id": "h:1"}
    frames = peer.encode(backend, "WATERMARK", mark)
    assert frames == [b"WATERMARK", b"0", b"0", b"h:1"]
    assert peer.decode(backend, "WATERMARK", frames) == mark


def test_a_chunk_that_is_ready_is_read_without_its_last_frame(peer: Peer) -> None:
    chunk = {"room": 7, "chunk_idx": 2, "page_start": 64, "num_pages": 3, "writer_id": "h:1"}
    frames = peer.encode("mooncake", "CHUNK_READY", chunk | {"prefill_rank": 9})
    assert frames == [b"CHUNK_READY", b"7", b"2", b"64", b"3", b"h:1", b"9"]
    assert peer.decode("mooncake", "CHUNK_READY", frames) == chunk


@pytest.mark.parametrize("status", [0, 1, 2, 3, 4])
def test_every_status_is_read_not_only_those_that_are_acted_on(peer: Peer, status: int) -> None:
    sent = {"room": 7, "status": status, "prefill_rank": 3, "failure_reason": None}
    frames = peer.encode("mooncake", "KV_STATUS", sent)
    assert frames == [b"7", b"%d" % status, b"3"]
    values = peer.decode("mooncake", "KV_STATUS", frames)
    assert values == {name: sent[name] for name in values}


def test_aux_data_is_handed_over_with_its_bytes(peer: Peer) -> None:
    sent = {"room": 7, "buffer_index": 2, "aux_index": 3, "data": {"hex": "8005ff"}}
    for backend in ("mooncake", "mori"):
        frames = peer.encode(backend, "AUX_DATA", sent)
        assert frames == [b"AUX_DATA", b"7", b"2", b"3", b"\0\0\0\x03", b"\x80\x05\xff"]
        assert peer.decode(backend, "AUX_DATA", frames) == sent


def test_an_abort_and_its_acknowledgement(peer: Peer) -> None:
    if not _newer(peer, "0.5.13"):
        pytest.skip("no ABORT before 0.5.13")
    abort = {"room": 7, "decode_ip": "10.0.0.2", "decode_port": 5000, "generation": None}
    frames = peer.encode("mooncake", "ABORT", abort)
    assert frames == [b"ABORT", b"7", b"10.0.0.2", b"5000"]
    values = peer.decode("mooncake", "ABORT", frames)
    assert values == {name: abort[name] for name in values}
    bare = {"room": 7, "prefill_rank": None, "generation": None}
    assert peer.encode("mooncake", "ABORT_ACK", bare) == [b"ABORT_ACK", b"7"]


@pytest.mark.parametrize(
    ("message", "frames"),
    [
        ("TransferInfo", [b"7"]),
        ("KVArgsRegisterInfo", [b"None"]),
        ("STAGING_REQ", [b"STAGING_REQ", b"7", b"0"]),
        ("AUX_DATA", [b"AUX_DATA", b"7", b"0", b"0", b"\0\0\0\x03", b"four"]),
        ("KV_STATUS", [b"\xff\xfe"]),
    ],
)
def test_what_a_release_refuses_is_its_own_error(
    peer: Peer, message: str, frames: list[bytes]
) -> None:
    with pytest.raises(PeerError):
        peer.decode("mooncake", message, frames)


def test_the_real_code_is_timed_in_its_own_process(peer: Peer) -> None:
    frames = peer.encode("mooncake", "TransferInfo", _METADATA)
    assert 0 < peer.bench("mooncake", "TransferInfo", frames=frames, number=10) < 10
    assert 0 < peer.bench("mooncake", "TransferInfo", values=_METADATA, number=10) < 10
