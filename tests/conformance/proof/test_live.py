"""The proof itself, live: real releases in processes of their own, both directions."""

from __future__ import annotations

import os

import pytest

from pdwire_conformance.peers.client import Peer
from pdwire_conformance.peers.errors import PeerUnavailable
from pdwire_conformance.peers.wheels import fetch
from pdwire_conformance.proof.check import check_release

RELEASES = ("0.5.12", "0.5.16", "0.5.19", "0.5.23")
VALUES = int(os.environ.get("PDWIRE_LIVE_VALUES", "50"))


@pytest.mark.live
@pytest.mark.parametrize("release", RELEASES)
def test_release_and_codecs_agree(release: str) -> None:
    try:
        fetch(release)
    except PeerUnavailable as reason:
        pytest.skip(f"{release} cannot be had here: {reason}")
    with Peer(release) as peer:
        results = list(check_release(peer, values=VALUES, seed=1))
    assert [fault for result in results for fault in result.faults] == []
    compared = {(r.backend, r.message, r.direction) for r in results if r.values >= VALUES}
    for backend in ("mooncake", "nixl", "mori", "ascend"):
        for message in ("KVArgsRegisterInfo", "TransferInfo"):
            assert (backend, message, "peer-to-ours") in compared
            assert (backend, message, "ours-to-peer") in compared
