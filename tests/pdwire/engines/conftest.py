"""Memory, engines whose native part is a fake, and peers in processes of their own."""

from __future__ import annotations

import json
import select
import signal
import subprocess
import sys
import types
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from numpy.typing import NDArray

from pdwire.engines import Engine, EngineMissing, MooncakeEngine, NixlEngine, Region

DEADLINE_S = 60.0


@dataclass(frozen=True)
class Memory:
    """An array that stays where it is, and its region."""

    array: NDArray[np.uint8]

    @property
    def address(self) -> int:
        return int(self.array.ctypes.data)

    @property
    def region(self) -> Region:
        return Region(address=self.address, length=len(self.array))

    @property
    def crc(self) -> int:
        return zlib.crc32(self.array.data)


def random_memory(size: int, seed: int = 0) -> Memory:
    return Memory(np.random.default_rng(seed).integers(1, 256, size, np.uint8))


def empty_memory(size: int) -> Memory:
    return Memory(np.zeros(size, np.uint8))


@pytest.fixture(scope="session")
def random_bytes() -> Callable[..., Memory]:
    return random_memory


@pytest.fixture(scope="session")
def zeros() -> Callable[[int], Memory]:
    return empty_memory


class Process:
    """``peer.py`` with one engine; leaving the ``with`` block kills it."""

    def __init__(self, engine: str, size: int, name: str = "") -> None:
        script = Path(__file__).with_name("peer.py")
        self._process = subprocess.Popen(
            [sys.executable, str(script), engine, str(size), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.session_id, metadata, self.address = self._answer()
        self.metadata = bytes.fromhex(metadata)
        self.size = size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()

    def ask(self, command: str) -> Any:  # noqa: ANN401 - whatever JSON holds
        assert self._process.stdin
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        return self._answer()

    def stop(self) -> None:
        """Freezes it: it reads nothing and answers nothing, but is not gone."""
        self._process.send_signal(signal.SIGSTOP)

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

    def end(self) -> int:
        """Lets it close its engine and leave; its exit code."""
        self._process.communicate(timeout=DEADLINE_S)
        return self._process.returncode

    def _answer(self) -> Any:  # noqa: ANN401 - whatever JSON holds
        out = self._process.stdout
        assert out
        ready, _, _ = select.select([out], [], [], DEADLINE_S)
        line = out.readline() if ready else ""
        if not line:
            self.kill()
            pytest.fail(f"the peer said nothing within {DEADLINE_S:g} s or ended")
        return json.loads(line)


def own_engine(name: str) -> Engine:
    """An engine of this process; a test without the package is skipped, and says why."""
    try:
        if name == "nixl":
            return NixlEngine()
        return MooncakeEngine("127.0.0.1", piecewise=name != "mooncake in batches")
    except EngineMissing as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def start_peer() -> type[Process]:
    return Process


@pytest.fixture(scope="session")
def engine_of() -> Iterator[Callable[[str], Engine]]:
    """One engine of each kind for the whole session: starting one takes a second."""
    made: dict[str, Engine] = {}

    def engine(name: str) -> Engine:
        if name not in made:
            made[name] = own_engine(name)
        return made[name]

    yield engine
    for one in made.values():
        one.close()


class FakeNative:
    """``mooncake.engine.TransferEngine`` as far as it is used: writes end when told."""

    def __init__(self) -> None:
        self.started: tuple[str, ...] = ()
        self.registered: dict[int, int] = {}
        self.pieces: dict[int, tuple[str, int, int, int]] = {}
        self.states: dict[int, int] = {}
        self.batches: list[int] = []
        self.codes: dict[str, int] = {}
        self.devices = ["mlx5_0"]
        self.done_at_once = True
        self.most_under_way = 0

    def initialize(self, *arguments: str) -> int:
        self.started = arguments
        return self.codes.get("initialize", 0)

    def get_local_topology(self) -> str:
        return json.dumps({"cpu:0": [[], self.devices]})

    def get_rpc_port(self) -> int:
        return 15_000

    def batch_register_memory(self, addresses: list[int], lengths: list[int]) -> int:
        self.registered |= dict(zip(addresses, lengths, strict=True))
        return self.codes.get("register", 0)

    def batch_unregister_memory(self, addresses: list[int]) -> int:
        for address in addresses:
            del self.registered[address]
        return 0

    def transfer_submit_write(self, session: str, src: int, dst: int, size: int) -> int:
        if "submit" in self.codes:
            return self.codes["submit"]
        handle = len(self.pieces) + 1
        self.pieces[handle] = (session, src, dst, size)
        self.states[handle] = 1 if self.done_at_once else 0
        self.most_under_way = max(self.most_under_way, len(self.states))
        return handle

    def transfer_check_status(self, handle: int) -> int:
        state = self.states[handle]
        if state:
            del self.states[handle]  # asking once more would be a KeyError
        return state

    def batch_transfer_sync_write(self, _: str, src: list[int], *rest: list[int]) -> int:
        assert all(len(src) == len(other) for other in rest)
        self.batches.append(len(src))
        return self.codes.get("batch", 0)


@pytest.fixture
def native(monkeypatch: pytest.MonkeyPatch) -> FakeNative:
    monkeypatch.setenv("MC_USE_IPV6", "")
    monkeypatch.delenv("MC_USE_IPV6")  # and whatever a test sets is gone after it
    fake = FakeNative()
    module = types.ModuleType("mooncake.engine")
    module.TransferEngine = lambda: fake  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mooncake", types.ModuleType("mooncake"))
    monkeypatch.setitem(sys.modules, "mooncake.engine", module)
    return fake
