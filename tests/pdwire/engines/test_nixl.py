"""What only NIXL does: metadata, notifications, peers that come back under their old name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pdwire.engines import Engine, EngineError, NixlEngine, Region, wait
from pdwire.plan import Blocks

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Memory, Process

pytestmark = pytest.mark.engine


@pytest.fixture
def engine(engine_of: Callable[[str], Engine]) -> Engine:
    return engine_of("nixl")


def told(peer: Process, count: int) -> list[Any]:
    """Notifications in order; each answer takes what is there, so this asks until all are."""
    found: list[Any] = []
    for _ in range(10_000):
        found += peer.ask("take")
        if len(found) >= count:
            break
    return found


def test_notifications_arrive_once_in_order_behind_their_bytes(
    engine: Engine, start_peer: type[Process], random_bytes: Callable[[int], Memory]
) -> None:
    source = random_bytes(1 << 16)
    engine.register([source.region])
    with start_peer("nixl", 1 << 16) as peer:
        engine.add_peer(peer.session_id, peer.metadata)
        every = Blocks.of([source.address], [peer.address], [1 << 16])
        wait(engine.write(peer.session_id, every, notify=b"7_kv_0"), 30)
        assert told(peer, 1) == [[engine.session_id, "7_kv_0"]]
        assert peer.ask("sum") == source.crc
        wait(engine.write(peer.session_id, Blocks.none(), notify=b"no bytes"), 30)
        engine.notify(peer.session_id, b"just so")
        assert told(peer, 2) == [[engine.session_id, t] for t in ("no bytes", "just so")]
        assert peer.ask("take") == []
        engine.forget_peer(peer.session_id)
    engine.deregister([source.region])


def test_requests_of_bounded_size_notify_once_at_the_end(
    engine: Engine,
    start_peer: type[Process],
    random_bytes: Callable[[int], Memory],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pdwire.engines.nixl.BATCH_BLOCKS", 10)
    source = random_bytes(25 * 64)
    engine.register([source.region])
    with start_peer("nixl", 25 * 64) as peer:
        engine.add_peer(peer.session_id, peer.metadata)
        offsets = range(0, 25 * 64, 64)
        src = [source.address + at for at in offsets]
        blocks = Blocks.of(src, [peer.address + at for at in offsets], 64)
        wait(engine.write(peer.session_id, blocks, notify=b"all"), 30)
        assert told(peer, 1) == [[engine.session_id, "all"]]
        assert peer.ask("sum") == source.crc
        assert peer.ask("take") == []
        engine.forget_peer(peer.session_id)
    engine.deregister([source.region])


def test_a_peer_that_comes_back_under_its_old_name_replaces_the_old_one(
    engine: Engine, start_peer: type[Process], random_bytes: Callable[[int], Memory]
) -> None:
    source = random_bytes(4096)
    engine.register([source.region])
    for _ in range(2):
        with start_peer("nixl", 4096, "decode-0") as peer:
            assert peer.session_id == "decode-0"
            engine.add_peer("decode-0", peer.metadata)
            engine.add_peer("decode-0", peer.metadata)
            blocks = Blocks.of([source.address], [peer.address], [4096])
            wait(engine.write("decode-0", blocks), 30)
            assert peer.ask("sum") == source.crc
    engine.forget_peer("decode-0")
    with pytest.raises(EngineError, match=r"unknown peer 'decode-0'"):
        engine.write("decode-0", Blocks.none())
    engine.deregister([source.region])


def test_metadata_of_nobody_or_of_somebody_else_is_refused(
    engine: Engine, start_peer: type[Process]
) -> None:
    with pytest.raises(EngineError, match=r"metadata of peer 'x'"):
        engine.add_peer("x", b"\x00garbage")
    with start_peer("nixl", 4096, "somebody") as peer:
        with pytest.raises(EngineError, match=r"metadata of peer 'x' is that of 'somebody'"):
            engine.add_peer("x", peer.metadata)
        for name in ("x", "somebody"):
            with pytest.raises(EngineError, match=r"unknown peer"):
                engine.notify(name, b"hello")


def test_metadata_grows_with_what_is_registered(
    engine: Engine, zeros: Callable[[int], Memory]
) -> None:
    memory = zeros(4096)
    before = len(engine.metadata)
    engine.register([memory.region, Region(address=0, length=0)])
    engine.register([memory.region])
    assert len(engine.metadata) > before
    engine.deregister([memory.region])
    assert len(engine.metadata) > before
    engine.deregister([memory.region])
    assert len(engine.metadata) == before


def test_a_kind_of_memory_that_the_plugin_lacks_is_refused_and_nothing_stays_open(
    engine: Engine, zeros: Callable[[int], Memory]
) -> None:
    memory = zeros(8192)
    plain = Region(address=memory.address, length=4096)
    strange = Region(address=memory.address + 4096, length=4096, kind="OBJ")
    with pytest.raises(EngineError, match=r"NIXL refuses 2 regions"):
        engine.register([plain, strange])
    engine.register([plain])
    engine.deregister([plain])


@pytest.mark.usefixtures("engine")
def test_a_closed_engine_leaves_no_thread_behind() -> None:
    """UCX's threads spin: a process that makes engines one after another would drown in them."""
    before = _threads()
    kept = []
    for _ in range(2):
        kept.append(NixlEngine())
        assert _threads() > before
        kept[-1].close()
        kept[-1].close()
    assert _threads() == before


def _threads() -> int:
    return sum(1 for _ in Path("/proc/self/task").iterdir())
