from __future__ import annotations

import sys
import types
from typing import Any

import pytest

from pdwire_conformance.interop.engine import TcpMooncake, without_gpu, without_rdma


class Native:
    """Mooncake's engine as far as a release calls it; notes its calls."""

    code = 0

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def initialize(self, *given: object) -> int:
        self.calls.append(given)
        return self.code

    def get_rpc_port(self) -> int:
        return 17000

    def batch_register_memory(self, *given: object) -> int:
        self.calls.append(given)
        return self.code

    def batch_transfer_sync_write(self, *given: object) -> int:
        self.calls.append(given)
        return self.code


class Agent:
    """NIXL's agent as far as kinds of memory go."""

    def get_reg_descs(self, descs: object, mem_type: str | None = None) -> tuple[object, ...]:
        return "reg", descs, mem_type

    def get_xfer_descs(self, descs: object, mem_type: str | None = None) -> tuple[object, ...]:
        return "xfer", descs, mem_type

    def prep_xfer_dlist(self, *given: object) -> tuple[object, ...]:
        return given


def module(monkeypatch: pytest.MonkeyPatch, name: str, **attributes: object) -> Any:  # noqa: ANN401
    package, _, last = name.rpartition(".")
    made = types.ModuleType(name)
    made.__dict__.update(attributes)
    parent = types.ModuleType(package)
    setattr(parent, last, made)
    monkeypatch.setitem(sys.modules, package, parent)
    monkeypatch.setitem(sys.modules, name, made)
    return made


@pytest.fixture
def mooncake(monkeypatch: pytest.MonkeyPatch) -> Any:  # noqa: ANN401
    native = type("TransferEngine", (Native,), {})
    return module(monkeypatch, "mooncake.engine", TransferEngine=native)


def test_a_release_that_asks_for_rdma_gets_tcp(mooncake: Any) -> None:  # noqa: ANN401
    without_rdma()
    made = mooncake.TransferEngine()
    assert made.initialize("127.0.0.1", "P2PHANDSHAKE", "rdma", "mlx5_0") == 0
    assert made.calls == [("127.0.0.1", "P2PHANDSHAKE", "tcp", "")]


def test_a_release_that_says_gpu_memory_means_the_host_s(monkeypatch: pytest.MonkeyPatch) -> None:
    api = module(monkeypatch, "nixl._api", nixl_agent=type("nixl_agent", (Agent,), {}))
    without_gpu()
    agent = api.nixl_agent()
    assert agent.get_reg_descs([1], "VRAM") == ("reg", [1], "DRAM")
    assert agent.get_xfer_descs([1], "DRAM") == ("xfer", [1], "DRAM")
    assert agent.get_xfer_descs([1]) == ("xfer", [1], None)
    assert agent.prep_xfer_dlist("peer", [1], "VRAM", ["UCX"]) == ("peer", [1], "DRAM", ["UCX"])


@pytest.mark.usefixtures("mooncake")
def test_the_shared_engine_is_named_as_peers_call_it() -> None:
    assert TcpMooncake("127.0.0.1").get_session_id() == "127.0.0.1:17000"


@pytest.mark.usefixtures("mooncake")
def test_a_transfer_hands_the_engine_s_code_back_and_a_registration_raises(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = TcpMooncake("127.0.0.1")
    assert engine.transfer_sync("h:1", 10, 20, 30) == 0
    assert engine.engine.calls[-1] == ("h:1", [10], [20], [30])
    monkeypatch.setattr(engine.engine, "code", -1, raising=False)
    assert engine.batch_transfer_sync("h:1", [10], [20], [30]) == -1
    with pytest.raises(RuntimeError, match="-1"):
        engine.register(10, 20)


def test_an_engine_that_does_not_start_is_no_engine(
    mooncake: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mooncake.TransferEngine, "code", -5)
    with pytest.raises(RuntimeError, match="did not start: -5"):
        TcpMooncake("127.0.0.1")
