"""Processes that end as they should not: without ``close()``, or forked (field report A15)."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

ENGINES = [
    "loopback",
    pytest.param("mooncake", marks=pytest.mark.engine),
    pytest.param("nixl", marks=pytest.mark.engine),
]
PATIENCE_S = 120.0

SIDES = """
import os, sys, time
import numpy as np
from pdwire.engines import Fabric, LoopbackEngine
from pdwire.managers import (
    DisaggregationMode, KVArgs, KVPoll, ManagerConfig, MooncakeKVManager, NixlKVManager,
)
kind = sys.argv[1]
PAGE = 1 << 16
def side(seed, mode, manager):
    array = np.full((64, PAGE), seed, np.uint8)
    args = KVArgs(
        kv_data_ptrs=(array.ctypes.data,), kv_data_lens=(array.nbytes,), kv_item_lens=(PAGE,),
        page_size=4,
    )
    engine = LoopbackEngine(f"127.0.0.1:{seed}") if kind == "loopback" else None
    made = manager(args, mode, ManagerConfig(is_mla=True), engine=engine)
    return array, made
manager = NixlKVManager if kind == "nixl" else MooncakeKVManager
a, prefill = side(1, DisaggregationMode.PREFILL, manager)
b, decode = side(2, DisaggregationMode.DECODE, manager)
def send(room):
    receiver = decode.receiver(prefill.bootstrap_address, room)
    receiver.init()
    sender = prefill.sender(room)
    sender.init(64, aux_index=0)
    receiver.send_metadata(np.arange(64, dtype=np.int32), aux_index=0)
    ends = time.monotonic() + 60
    while sender.poll() is KVPoll.Bootstrapping and time.monotonic() < ends:
        time.sleep(0.001)
    sender.send(np.arange(64, dtype=np.int32))
    return sender
"""


def run(kind: str, script: str) -> subprocess.CompletedProcess[str]:
    if kind != "loopback" and find_spec(kind) is None:
        pytest.skip(f"{kind} is not installed")
    return subprocess.run(
        [sys.executable, "-c", SIDES + script, kind],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.mark.parametrize("kind", ENGINES)
def test_a15_a_process_with_transfers_in_flight_ends_without_close(kind: str) -> None:
    """Field report A15: SIGABRT."""
    ended = run(
        kind,
        """
if kind == "loopback":
    prefill.engine.hold()
senders = [send(room) for room in range(8)]
print("ends", flush=True)
""",
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert "ends" in ended.stdout


@pytest.mark.parametrize("kind", ENGINES)
def test_a15_close_in_a_forked_child_returns_and_takes_nothing_from_the_parent(kind: str) -> None:
    """Field report A15: it hung."""
    ended = run(
        kind,
        """
child = os.fork()
if child == 0:
    prefill.close()
    decode.close()
    prefill.engine.close()
    decode.engine.close()
    os._exit(7)
ends = time.monotonic() + 60
while (done := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < ends:
    time.sleep(0.01)
print("child", os.waitstatus_to_exitcode(done[1]) if done[0] else "hangs", flush=True)
sender = send(1)
while sender.poll() not in {KVPoll.Success, KVPoll.Failed}:
    time.sleep(0.001)
print(sender.poll().name, (a == b).all(), flush=True)
decode.close()
prefill.close()
""",
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert "child 7" in ended.stdout
    assert "Success True" in ended.stdout
