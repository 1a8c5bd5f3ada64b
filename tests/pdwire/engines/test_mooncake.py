"""The Mooncake engine on a fake of the native one: what is asked of it, and when."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pdwire.engines import (
    EngineError,
    EngineUnsettled,
    MooncakeEngine,
    Region,
    wait,
)
from pdwire.engines import mooncake as module
from pdwire.plan import Blocks

if TYPE_CHECKING:
    from .conftest import FakeNative

RAM = Region(address=1 << 40, length=1 << 40)
PEER = "10.0.0.2:17000"


def started(native: FakeNative, **kwargs: object) -> MooncakeEngine:
    engine = MooncakeEngine("10.0.0.1", **kwargs)  # type: ignore[arg-type]
    engine.register([RAM])
    engine.add_peer(PEER)
    assert native.registered
    return engine


def blocks(count: int, size: int = 10) -> Blocks:
    return Blocks.of([RAM.address + n * size for n in range(count)], range(count), size)


@pytest.mark.parametrize(
    ("host", "session", "ipv6"),
    [("10.0.0.1", "10.0.0.1:15000", None), ("fd00::1", "[fd00::1]:15000", "1")],
)
def test_a_session_is_host_and_port(
    native: FakeNative, host: str, session: str, ipv6: str | None
) -> None:
    engine = MooncakeEngine(host, protocol="rdma", device="mlx5_0")
    assert (engine.session_id, engine.metadata) == (session, b"")
    assert native.started == (host, "P2PHANDSHAKE", "rdma", "mlx5_0")
    assert os.environ.get("MC_USE_IPV6") == ipv6


def test_an_engine_that_does_not_start_says_why(native: FakeNative) -> None:
    native.codes["initialize"] = -5
    with pytest.raises(EngineError, match=r"does not start on 10\.0\.0\.9 over tcp: code -5"):
        MooncakeEngine("10.0.0.9")


def test_regions_are_registered_once_and_closed_once(native: FakeNative) -> None:
    engine = started(native)
    other = Region(address=0, length=0)
    engine.register([RAM, other])
    engine.deregister([RAM])
    assert native.registered == {RAM.address: RAM.length}
    engine.deregister([RAM])
    assert native.registered == {}


def test_refused_regions_are_not_open(native: FakeNative) -> None:
    engine = MooncakeEngine("10.0.0.1")
    native.codes["register"] = -7
    with pytest.raises(EngineError, match=r"refuses 1 regions: code -7"):
        engine.register([RAM])
    assert native.registered == {}
    engine.add_peer(PEER)
    with pytest.raises(EngineError, match=r"no registered DRAM region"):
        engine.write(PEER, blocks(1))


def test_over_tcp_blocks_go_one_by_one_in_a_window(native: FakeNative) -> None:
    engine = started(native)
    native.done_at_once = False
    transfer = engine.write(PEER, blocks(1000))
    assert native.most_under_way == module.TRANSFER_WINDOW
    while not transfer.poll():
        native.states |= dict.fromkeys(native.states, 1)
    assert len(native.pieces) == 1000
    assert native.pieces[1] == (PEER, RAM.address, 0, 10)
    assert native.most_under_way == module.TRANSFER_WINDOW
    assert native.batches == []


def test_many_transfers_to_one_peer_never_fill_the_engines_queue(native: FakeNative) -> None:
    engine = started(native)
    native.done_at_once = False
    transfers = [engine.write(PEER, blocks(200)) for _ in range(20)]
    while not all(transfer.poll() for transfer in transfers):
        native.states |= dict.fromkeys(native.states, 1)
    assert native.most_under_way == module.PEER_WINDOW
    assert len(native.pieces) == 4000


def test_a_peer_added_again_keeps_its_queue(native: FakeNative) -> None:
    engine = started(native)
    native.done_at_once = False
    engine.write(PEER, blocks(module.PEER_WINDOW))
    engine.write(PEER, blocks(module.PEER_WINDOW))
    engine.add_peer(PEER)
    for _ in range(4):
        engine.write(PEER, blocks(module.PEER_WINDOW))
    assert native.most_under_way == module.PEER_WINDOW


def test_long_blocks_are_cut(native: FakeNative) -> None:
    engine = started(native)
    wait(engine.write(PEER, blocks(1, 9 << 20)), 1)
    assert [piece[3] for piece in native.pieces.values()] == [4 << 20, 4 << 20, 1 << 20]


def test_nothing_empty_reaches_the_engine(native: FakeNative) -> None:
    engine = started(native)
    assert engine.write(PEER, Blocks.none()).poll()
    assert engine.write(PEER, Blocks.of([0], [0], 0)).poll()
    wait(engine.write(PEER, Blocks.of([0, RAM.address], [0, 5], [0, 8])), 1)
    assert list(native.pieces.values()) == [(PEER, RAM.address, 5, 8)]


def test_elsewhere_blocks_go_in_bounded_batches(native: FakeNative) -> None:
    engine = started(native, protocol="rdma")
    wait(engine.write(PEER, blocks(600)), 1)
    assert native.batches == [256, 256, 88]
    assert native.pieces == {}


def test_rdma_without_a_device_is_tcp(native: FakeNative) -> None:
    native.devices = []
    wait(started(native, protocol="rdma").write(PEER, blocks(600)), 1)
    assert native.batches == []
    assert len(native.pieces) == 600


def test_a_failed_batch_may_still_be_written_and_ends_the_transfer(native: FakeNative) -> None:
    engine = started(native, protocol="rdma")
    native.codes["batch"] = -1
    transfer = engine.write(PEER, blocks(600))
    with pytest.raises(
        EngineUnsettled, match=r"writing 256 blocks to peer '10.0.0.2:17000' failed"
    ):
        transfer.poll()
    assert native.batches == [256]


def test_there_are_no_notifications(native: FakeNative) -> None:
    engine = started(native)
    assert engine.notifications() == []
    with pytest.raises(EngineError, match=r"no notifications"):
        engine.write(PEER, Blocks.none(), notify=b"x")
    with pytest.raises(EngineError, match=r"cannot notify '10.0.0.2:17000' of 1 bytes"):
        engine.notify(PEER, b"x")


def test_forgotten_peers_are_unknown(native: FakeNative) -> None:
    engine = started(native)
    engine.forget_peer(PEER)
    engine.forget_peer(PEER)
    with pytest.raises(EngineError, match=r"unknown peer '10.0.0.2:17000'"):
        engine.write(PEER, Blocks.none())


def test_closing_waits_for_what_is_under_way_but_not_for_ever(
    native: FakeNative, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "DRAIN_S", 0.01)
    engine = started(native)
    native.done_at_once = False
    engine.write(PEER, blocks(3))
    engine.close()
    assert native.registered == {}
    assert len(native.states) == 3
    engine.close()
