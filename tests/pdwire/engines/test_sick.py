"""Real engines whose peers are stopped or gone: what others pay, and what stays (A2, A5)."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pdwire.engines import Engine, EngineError, NixlEngine, wait
from pdwire.engines.door import Door
from pdwire.plan import Blocks

if TYPE_CHECKING:
    from .conftest import Memory, Process

SIZE = 1 << 20
SOON_S = 20.0


def write(engine: Engine, source: Memory, peer: Process, count: int = 16, size: int = 4096) -> None:
    steps = np.arange(count, dtype=np.int64) * size
    blocks = Blocks.of(source.address + steps, peer.address + steps, size)
    wait(engine.write(peer.session_id, blocks), SOON_S)


@pytest.mark.engine
@pytest.mark.parametrize("name", ["mooncake", "nixl"])
def test_a2_a_stopped_peer_that_was_never_written_to_holds_up_nobody(
    name: str,
    engine_of: Callable[[str], Engine],
    start_peer: type[Process],
    random_bytes: Callable[..., Memory],
) -> None:
    """Field report A2: Mooncake's handshake with it kept every write for 60 s."""
    engine, source = engine_of(name), random_bytes(SIZE)
    engine.register([source.region])
    with (
        start_peer(name, SIZE) as stopped,
        start_peer(name, SIZE) as known,
        start_peer(name, SIZE) as new,
    ):
        for peer in (stopped, known, new):
            engine.add_peer(peer.session_id, peer.metadata)
        write(engine, source, known)
        stopped.stop()
        failed: list[EngineError] = []

        def hang() -> None:
            try:
                write(engine, source, stopped)
            except EngineError as error:
                failed.append(error)

        thread = Thread(target=hang, name="pdwire-test-hang", daemon=True)
        thread.start()
        began = monotonic()
        for _ in range(20):
            write(engine, source, known)
        write(engine, source, new)
        assert monotonic() - began < 5
        if name == "mooncake":
            thread.join(SOON_S)
            assert "does not answer" in str(failed[0])
        stopped.kill()
        thread.join(SOON_S)
        assert not thread.is_alive()
        for peer in (stopped, known, new):
            engine.forget_peer(peer.session_id)
    engine.deregister([source.region])


@pytest.mark.engine
def test_a5_what_dead_peers_had_is_given_back(
    start_peer: type[Process], random_bytes: Callable[..., Memory]
) -> None:
    """Field report A5: eight of nine files of each stayed, one of every UCX worker."""
    pytest.importorskip("nixl")
    engine, source = NixlEngine(), random_bytes(SIZE)
    engine.register([source.region])
    counts: list[int] = []
    for _ in range(4):
        with start_peer("nixl", SIZE) as peer:
            engine.add_peer(peer.session_id, peer.metadata)
            write(engine, source, peer)
            peer.kill()
        engine.forget_peer(peer.session_id)
        ends = monotonic() + 2.0  # a worker closes a file when it comes to it
        while counts and files() - counts[0] > 2 and monotonic() < ends:
            sleep(0.01)
        counts.append(files())
    engine.close()
    assert counts[-1] - counts[0] <= 2, counts  # not 24


def files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def settled(door: Door) -> str | None:
    """What it comes to, polled."""
    ends = monotonic() + SOON_S
    while not door.is_open and monotonic() < ends:
        if (refusal := door.refusal()) is not None:
            return refusal
    return None


def test_a2_a_door_that_nobody_answers_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdwire.engines.door.PATIENCE_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        door = Door(f"127.0.0.1:{server.getsockname()[1]}")
        assert settled(door) == "does not answer"
        assert not door.is_open
        began = monotonic()
        assert door.refusal() == "does not answer"  # for a while, without asking again
        assert monotonic() - began < 0.1
        door.shut()


def test_a2_a_door_is_open_when_the_other_side_hangs_up_or_nobody_is_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        door = Door(f"127.0.0.1:{server.getsockname()[1]}")
        assert door.refusal() is None
        accepted, _ = server.accept()
        accepted.close()
        assert settled(door) is None
        assert door.is_open
        port = server.getsockname()[1]
    for nowhere in (f"127.0.0.1:{port}", "no port", "127.0.0.1:99999"):
        gone = Door(nowhere)
        assert settled(gone) is None
        assert gone.is_open  # the engine finds out by itself, at once
