"""What Mori's notes claim of the releases, said by the releases themselves.

``live`` tests are skipped where a release's wheel cannot be had.
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
    "endpoint": "10.0.0.2",
    "dst_port": 5000,
    "engine_key": "io-decode-dp0-tp0",
    "dst_kv_indices": [4, 5],
    "dst_aux_index": 3,
    "required_dst_info_num": 1,
    "dst_state_indices": [],
    "decode_prefix_len": None,
    "is_dummy": False,
}
NOTHING: dict[str, Any] = {"dst_kv_indices": [], "dst_aux_index": -1}
FAILED: dict[str, Any] = {
    "room": 2**63 - 1,
    "status": 0,
    "prefill_rank": 3,
    "failure_reason": "größe",
}


def there_and_back(peer: Ask, release: str, values: dict[str, Any]) -> dict[str, Any]:
    """What the release's decoder makes of the metadata that its own encoder sends."""
    real = peer(release)
    frames = real.encode("mori", "TransferInfo", values)
    return real.decode("mori", "TransferInfo", frames)


@pytest.mark.live
def test_a_dummy_with_a_prefix_reads_as_not_dummy(peer: Ask) -> None:
    dummy = REQUEST | NOTHING | {"decode_prefix_len": 64, "is_dummy": True}
    assert there_and_back(peer, "0.5.23", dummy)["is_dummy"] is False


@pytest.mark.live
def test_a_rank_that_wants_only_state_reads_as_a_dummy(peer: Ask) -> None:
    values = there_and_back(peer, "0.5.23", REQUEST | NOTHING | {"dst_state_indices": [[5]]})
    assert values["is_dummy"] is True
    assert values["dst_state_indices"] == [[5]]


@pytest.mark.live
def test_state_is_one_flat_list_in_0_5_12(peer: Ask) -> None:
    real = peer("0.5.12")
    frames = real.encode("mori", "TransferInfo", REQUEST | {"dst_state_indices": [[5, -6]]})
    assert frames[7] == b"\x05\0\0\0\xfa\xff\xff\xff"
    with pytest.raises(InexpressibleError):
        real.encode("mori", "TransferInfo", REQUEST | {"dst_state_indices": [[5], [6]]})


@pytest.mark.live
@pytest.mark.parametrize("release", ["0.5.12", "0.5.19", "0.5.23"])
def test_status_stands_behind_the_guard_in_every_release(peer: Ask, release: str) -> None:
    """Until 0.5.19 this runs the real decode loop on the message."""
    real = peer(release)
    frames = real.encode("mori", "KV_STATUS", FAILED)
    assert frames == [b"MoriMsgGuard", b"9223372036854775807", b"0", b"3", "größe".encode()]
    assert real.decode("mori", "KV_STATUS", frames) == FAILED
    assert real.decode("mori", "KV_STATUS", frames[:4])["failure_reason"] is None


@pytest.mark.live
@pytest.mark.parametrize("release", ["0.5.19", "0.5.23"])
def test_a_reason_that_is_no_utf8(peer: Ask, release: str) -> None:
    """The loop of 0.5.19 drops the message; later ones replace the bytes."""
    message = [b"MoriMsgGuard", b"7", b"0", b"3", b"\xff"]
    real = peer(release)
    if release == "0.5.19":
        with pytest.raises(PeerError, match="UnicodeDecodeError"):
            real.decode("mori", "KV_STATUS", message)
    else:
        assert real.decode("mori", "KV_STATUS", message)["failure_reason"] == "\ufffd"


@pytest.mark.live
@pytest.mark.parametrize("release", ["0.5.19", "0.5.23"])
def test_a_message_without_the_guard_is_dropped(peer: Ask, release: str) -> None:
    real = peer(release)
    with pytest.raises(PeerError, match="DroppedError"):
        real.decode("mori", "KV_STATUS", [b"7", b"4", b"0", b""])


@pytest.mark.live
@pytest.mark.parametrize(("release", "kept"), [("0.5.19", False), ("0.5.23", True)])
def test_state_descriptions_may_be_nil_from_0_5_22(peer: Ask, release: str, kept: bool) -> None:
    """A region that the decode rank does not hold."""
    described = [[{"hex": "c0ff"}, None]]
    registration = {
        "endpoint": "10.0.0.2",
        "dst_port": 5000,
        "engine_desc": {"hex": "01"},
        "gpu_id": 0,
        "decode_tp_size": 1,
        "decode_tp_rank": 0,
        "dst_kv_item_len": 8,
        "dst_kv_mem_descs": [],
        "dst_aux_mem_descs": [],
        "dst_state_mem_descs": described,
        "dst_kv_layer_ids": [],
        "dst_state_item_lens": [],
        "dst_state_dim_per_tensor": [],
        "dst_state_layer_ids": [],
        "dst_dcp_size": 1,
        "dst_dcp_rank": 0,
    }
    real = peer(release)
    if not kept:
        with pytest.raises(PeerError, match="NoneType"):
            real.encode("mori", "KVArgsRegisterInfo", registration)
        return
    frames = real.encode("mori", "KVArgsRegisterInfo", registration)
    decoded = real.decode("mori", "KVArgsRegisterInfo", frames)
    assert decoded["dst_state_mem_descs"] == described
