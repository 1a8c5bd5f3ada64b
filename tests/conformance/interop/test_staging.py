"""What the stand-in for a scheduler does for a release's staging."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from pdwire_conformance.interop.host_torch import rows_into_pack
from pdwire_conformance.interop.memory import Memory
from pdwire_conformance.interop.options import Options
from pdwire_conformance.interop.staging import Staging
from pdwire_conformance.peers.loader import LoadedRelease

pytest.importorskip("torch", reason="torch is not installed: make engines")


class Handler:
    """A release's handler: what it was told, and what it says."""

    def __init__(self, scheduler: Any) -> None:  # noqa: ANN401
        self.table = scheduler.req_to_token_pool.req_to_token
        self.rooms: dict[int, Any] = {}
        self.done = self.failed = False
        self.advanced = 0

    def register_decode_req(self, room: int, request: object) -> None:
        self.rooms[room] = request

    def unregister_decode_req(self, room: int) -> None:
        del self.rooms[room]

    def is_done(self, _: object) -> bool:
        return self.done

    def is_failed(self, _: object) -> bool:
        return self.failed

    def advance_scatter(self, _: object) -> None:
        self.advanced += 1


class Manager:
    """A release's manager, as far as staging goes."""

    def __init__(self) -> None:
        self._staging_ctx = SimpleNamespace(prefetch_requested=set())
        self.transfer_infos: dict[int, dict[str, Any]] = {}
        self.given: tuple[Any, ...] = ()

    def set_kv_buffer_tensors(self, *given: object) -> None:
        self.given = given

    def _prefetch_staging_reqs(self, room: int) -> None:
        self._staging_ctx.prefetch_requested |= {(room, 0, "d"), (room, 1, "d")}


def made(role: str) -> tuple[Staging, Manager, Memory]:
    options = Options(release="0.5.19", backend="mooncake", role=role, staging=1, pages=8)
    memory, manager = Memory(options), Manager()
    handler = SimpleNamespace(create=lambda _, scheduler, __: Handler(scheduler))
    peer = SimpleNamespace(attribute=lambda *_: handler)
    return Staging(cast("LoadedRelease", peer), options, memory, manager), manager, memory


def received(staging: Staging, prefix_len: int = 0) -> Any:  # noqa: ANN401
    receiver = SimpleNamespace(require_staging=True)
    staging.expect(7, receiver, np.array([5, 2]), prefix_len)
    return staging._handler


def test_tensors_are_views_of_the_registered_memory_k_before_v() -> None:
    _, manager, memory = made("prefill")
    keys, values, page_size = manager.given
    assert page_size == 16
    assert keys[0].shape == (8 * 16, 4, 16)
    addresses = [tensor.data_ptr() for tensor in (*keys, *values)]
    assert addresses == [region.address for region in memory.kv]


def test_a_room_s_tokens_stand_behind_its_prefix() -> None:
    staging, _, _ = made("decode")
    handler = received(staging, prefix_len=32)
    request = handler.rooms[7].req
    row = handler.table[request.kv.req_pool_idx]
    assert request.kv.cache_protected_len == 32
    assert row[32:64].tolist() == [*range(80, 96), *range(32, 48)]
    assert not row[:32].any()


def test_success_waits_for_the_scatter() -> None:
    staging, _, _ = made("decode")
    handler = received(staging)
    assert staging.status(7, 4) == 3
    assert handler.advanced == 1
    handler.done = True
    assert staging.status(7, 4) == 4


def test_a_scatter_that_never_came_is_a_failure() -> None:
    staging, _, _ = made("decode")
    received(staging).failed = True
    assert staging.status(7, 4) == 0


def test_a_room_that_needs_no_staging_is_left_alone() -> None:
    staging, _, _ = made("decode")
    staging.expect(7, SimpleNamespace(require_staging=False), np.array([1]), 0)
    assert staging._handler.rooms == {}
    assert staging.status(7, 4) == 4
    staging.close(7)


def test_a_closed_room_is_taken_from_the_handler() -> None:
    staging, _, _ = made("decode")
    handler = received(staging)
    staging.close(7)
    assert handler.rooms == {}


def test_nothing_is_sent_before_every_place_is_told() -> None:
    staging, manager, _ = made("prefill")
    info = SimpleNamespace(staging=None)
    manager.transfer_infos[7] = {"d": info}
    assert staging.ready(7)
    staging.ask_ahead(7)
    assert not staging.ready(7)
    info.staging = SimpleNamespace(offsets=[0])
    assert not staging.ready(7)
    info.staging.offsets = [0, -1]
    assert not staging.ready(7)
    info.staging.offsets = [0, -2]
    assert staging.ready(7)


def test_rows_of_each_region_go_behind_one_another() -> None:
    import torch

    regions = [np.arange(12, dtype=np.uint8).reshape(6, 2), np.arange(100, 112, dtype=np.uint8)]
    pack = torch.zeros(8, dtype=torch.uint8)
    rows_into_pack(
        [int(each.ctypes.data) for each in regions], torch.tensor([4, 1]), pack, [2, 1], [2, 2]
    )
    assert pack.tolist() == [8, 9, 2, 3, 108, 102, 0, 0]


_HOST = """
import threading
from pdwire_conformance.interop import host_torch
host_torch.install()
import torch
def told():
    made = torch.empty(4, dtype=torch.int16, device=torch.device("cuda", 0)).fill_(3)
    return str(made.device), made.to("cuda:0").sum().item(), torch.arange(3, device="cuda").tolist()
said = [told()]
thread = threading.Thread(target=lambda: said.append(told()))
thread.start()
thread.join()
stream = torch.get_device_module("cuda").Stream(device="cuda")
with torch.cuda.stream(stream):
    stream.synchronize()
print(said)
"""


def test_host_memory_says_that_it_is_a_gpu_s_in_every_thread() -> None:
    # In a process of its own: torch stays so for good.
    command = [sys.executable, "-c", _HOST]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    once = "('cuda:0', 12, [0, 1, 2])"
    assert done.stdout.strip() == f"[{once}, {once}]", done.stderr[-2000:]
