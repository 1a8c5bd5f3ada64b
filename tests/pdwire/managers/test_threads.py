"""What is left of a manager that was closed: nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import zmq
from tests.pdwire.managers.fleet import (
    MANAGERS,
    Fleet,
    Manager,
    Pair,
    begin,
    hand_over,
    holds,
    loopback,
    memory,
    pages,
    settled,
    wait_until,
    with_limits,
)

from pdwire.bootstrap.client import BootstrapError
from pdwire.engines import EngineError
from pdwire.managers import DisaggregationMode, ManagerConfig
from pdwire.rooms import KVPoll, RoomError

EVERY = pytest.mark.parametrize("backend", list(MANAGERS))


def ours() -> list[str]:
    """Names of the threads that this package has started."""
    return sorted(t.name for t in threading.enumerate() if t.name.startswith("pdwire-"))


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    assert ours() == []
    yield
    assert ours() == []


def is_free(port: int) -> bool:
    with zmq.Context() as context, context.socket(zmq.PULL) as socket:
        try:
            socket.bind(f"tcp://127.0.0.1:{port}")
        except zmq.ZMQError:
            return False
        return True


@EVERY
def test_every_thread_has_a_name_and_ends(fleet: Fleet, backend: str) -> None:
    prefill = fleet.prefill(backend, memory(1), transfer_threads=3)
    decode = fleet.decode(backend, memory(2))
    parts = ["decode-loop", "heartbeat", "prefill-loop", *(f"transfer-{n}" for n in range(3))]
    assert ours() == sorted(["pdwire-bootstrap", *(f"pdwire-{backend}-{part}" for part in parts)])
    hand_over(prefill, decode, 7, pages(1, 2), pages(4, 5))
    decode.close()
    prefill.close()
    assert ours() == []


@EVERY
def test_sockets_are_closed_and_ports_free(fleet: Fleet, backend: str) -> None:
    prefill, decode = fleet.prefill(backend, memory(1)), fleet.decode(backend, memory(2))
    hand_over(prefill, decode, 7, pages(1, 2), pages(4, 5))
    contexts = [c for m in (prefill, decode) for c in (m.loop._context, m.outbox._context)]
    for manager in (decode, prefill):
        manager.close()
        assert not manager.loop.alive
        wait_until(lambda manager=manager: is_free(manager.loop.port), "the port is free")  # type: ignore[misc]
    assert all(context.closed for context in contexts)


def test_closing_twice_is_closing(pair: Pair) -> None:
    for manager in (pair.prefill, pair.decode, pair.prefill, pair.decode):
        manager.close()


def test_closing_with_rooms_open_fails_them_here_and_there(pair: Pair, backend: str) -> None:
    sender, receiver = begin(pair.prefill, pair.decode, 7, pages(4, 5))
    pair.prefill.close()
    assert settled(sender, receiver) == [KVPoll.Failed, KVPoll.Failed]
    assert sender.failure_reason == "the manager was closed"
    told = "the manager was closed" if backend == "nixl" else "prefill rank 0 failed"
    assert receiver.failure_reason == told
    sender.clear()


def test_closing_decode_aborts_its_rooms(pair: Pair) -> None:
    sender, receiver = begin(pair.prefill, pair.decode, 7, pages(4, 5))
    pair.decode.close()
    assert settled(sender, receiver) == [KVPoll.Failed, KVPoll.Failed]
    assert sender.failure_reason == "aborted by the decode side"
    assert receiver.failure_reason == "the manager was closed"
    receiver.clear()


def test_a_closed_manager_opens_no_rooms(pair: Pair) -> None:
    address = pair.prefill.bootstrap_address
    pair.prefill.close()
    pair.decode.close()
    with pytest.raises(RoomError, match="the manager was closed"):
        pair.prefill.sender(7)
    with pytest.raises(RoomError, match="the manager was closed"):
        pair.decode.receiver(address, 7)


def test_closing_does_not_wait_for_a_transfer_that_never_ends(pair: Pair) -> None:
    sender, _ = begin(pair.prefill, pair.decode, 7, pages(4, 5))
    loopback(pair.prefill).hold()
    sender.send(pages(1, 2))
    holds(pair.prefill, 1)
    pair.prefill.close()
    assert sender.poll() is KVPoll.Failed
    assert [name for name in ours() if "prefill" in name or "transfer" in name] == []


def test_a_manager_that_finds_no_bootstrap_server_leaves_nothing(
    fleet: Fleet, backend: str
) -> None:
    source = memory(1)
    engine = fleet.engine(backend)
    with pytest.raises(BootstrapError):
        fleet.prefill(backend, source, engine=engine, bootstrap_port=1, http_timeout_s=1)
    assert ours() == []
    assert fleet.fabric.find(engine.session_id) is None


@pytest.mark.parametrize("backend", ["ascend", "mori"])
def test_a_backend_without_an_engine_says_so_and_leaves_nothing(backend: str) -> None:
    with pytest.raises(EngineError, match="pass one"):
        MANAGERS[backend](memory(1).args, DisaggregationMode.DECODE, ManagerConfig())


def test_memory_that_the_engine_refuses_leaves_nothing(fleet: Fleet, backend: str) -> None:
    source = memory(1)
    ptrs = list(source.args.kv_data_ptrs)
    ptrs[1] = ptrs[0] + 8  # overlaps the first region
    with pytest.raises(EngineError, match="overlap"):
        fleet.prefill(backend, memory(1, kv_data_ptrs=tuple(ptrs)))
    assert ours() == []


def test_a_decode_that_is_gone_fails_its_rooms_here_with_the_reason(
    pair: Pair, backend: str
) -> None:
    sender, _ = begin(pair.prefill, pair.decode, 7, pages(4, 5))
    loopback(pair.decode).close()  # as a process that was killed: nobody says goodbye
    sender.send(pages(1, 2))
    assert settled(sender) == [KVPoll.Failed]
    name = pair.decode.engine.session_id
    assert sender.failure_reason == f"the engine failed: peer {name!r} is gone"

    target = memory(3)
    again = pair.fleet.decode(backend, target)
    hand_over(pair.prefill, again, 8, pages(1, 2), pages(4, 5))
    assert (target.kv[0][[4, 5]] == pair.source.kv[0][[1, 2]]).all()


def test_one_side_goes_and_comes_back(fleet: Fleet, backend: str) -> None:
    """The server outlives the prefill rank; decode finds the new one by itself."""
    source, target, server = memory(1), memory(2), fleet.server()
    decode = fleet.decode(backend, target, heartbeat_s=0.1)
    for life in range(3):
        prefill = fleet.prefill(backend, source, bootstrap=server)
        wait_until(lambda p=prefill: tries(p, decode, server.address), f"life {life}")  # type: ignore[misc]
        prefill.close()


def tries(prefill: Manager, decode: Manager, address: str) -> bool:
    """One room; whether it went over. The first one after a restart may meet the old rank."""
    receiver = decode.receiver(address, 7)
    receiver.init()
    sender = prefill.sender(7)
    sender.init(2, aux_index=1)
    receiver.send_metadata(pages(4, 5), aux_index=2)
    wait_until(
        lambda: sender.poll() is not KVPoll.Bootstrapping or receiver.poll() is KVPoll.Failed
    )
    sender.send(pages(1, 2)) if sender.poll() is KVPoll.WaitingForInput else sender.abort()
    ends = settled(sender, receiver)
    sender.clear()
    receiver.clear()
    return ends == [KVPoll.Success, KVPoll.Success]


class TestLostPrefill:
    """The bootstrap server goes away with its prefill side."""

    @pytest.fixture
    def config(self) -> dict[str, Any]:
        return {"heartbeat_s": 0.1, "http_timeout_s": 1.0, "limits": with_limits(waiting_s=30)}

    def test_its_rooms_fail_and_say_why(self, pair: Pair) -> None:
        address = pair.prefill.bootstrap_address
        receiver = pair.decode.receiver(address, 7)
        receiver.init()
        wait_until(lambda: receiver.poll() is KVPoll.WaitingForInput, "the ranks are found")
        assert pair.prefill.bootstrap is not None
        pair.prefill.bootstrap.close()
        assert settled(receiver) == [KVPoll.Failed]
        assert receiver.failure_reason == f"the prefill side at {address} does not answer"
