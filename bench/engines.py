"""GB/s of the transfer engines by size and number of pieces: ours beside the bare engine.

``python bench/engines.py mooncake`` (or ``nixl``) starts a peer of its own on this machine and
prints a Markdown table. All ways of one size run in turn, round after round, so that a busy moment
hits them alike; a cell is the median of the rounds, and the best in parentheses.
"""
# ruff: noqa: INP001, T201 - a script that prints

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter, sleep
from typing import Any

import numpy as np

from pdwire.engines import Engine, MooncakeEngine, NixlEngine, Region, wait
from pdwire.plan import Blocks

BUFFER = 256 << 20
MOVED = 64 << 20
SIZES = (4 << 10, 64 << 10, 1 << 20, 16 << 20)
MOST_PIECES = 4096
ROUNDS = 9

Way = Callable[[str, Blocks], None]


def ours(engine: Engine) -> Way:
    """What a manager does."""
    return lambda peer, blocks: wait(engine.write(peer, blocks), 60)


def mooncake_batches(native: Any, per_call: int) -> Way:  # noqa: ANN401 - untyped
    """The engine's own blocking call, so many pieces at a time."""

    def write(peer: str, blocks: Blocks) -> None:
        for batch in blocks.batches(per_call, 1 << 40):
            lists = [array.tolist() for array in (batch.src, batch.dst, batch.size)]
            if native.batch_transfer_sync_write(peer, *lists):
                raise SystemExit(f"a batch of {len(batch)} failed")

    return write


def nixl_request(agent: Any) -> Way:  # noqa: ANN401 - untyped
    """One request, asked without a pause until it is done."""

    def rows(address: Any, size: Any) -> Any:  # noqa: ANN401 - arrays
        return agent.get_xfer_descs(
            np.column_stack((address, size, np.zeros_like(size))).astype(np.uint64), "DRAM"
        )

    def write(peer: str, blocks: Blocks) -> None:
        source, target = rows(blocks.src, blocks.size), rows(blocks.dst, blocks.size)
        handle = agent.initialize_xfer("WRITE", source, target, peer)
        state = agent.transfer(handle)
        while state == "PROC":
            state = agent.check_xfer_state(handle)
        if state != "DONE":
            raise SystemExit(f"the request ended with {state}")
        handle.release()

    return write


def ways(kind: str) -> tuple[list[Engine], dict[str, tuple[Engine, Way]]]:
    """Engines to open memory to, and by title who writes how."""
    if kind == "mooncake":
        one = MooncakeEngine()
        native = one._engine  # noqa: SLF001 - the bare engine is what is compared with
        calls = {f"bare, {n} per call": (one, mooncake_batches(native, n)) for n in (1, 16, 256)}
        return [one], {"ours": (one, ours(one)), **calls}
    plain, threaded = NixlEngine(threads=0), NixlEngine()
    return [plain, threaded], {
        "ours, 8 UCX workers": (threaded, ours(threaded)),
        "bare, 8 UCX workers": (threaded, nixl_request(threaded._agent)),  # noqa: SLF001
        "ours, none": (plain, ours(plain)),
        "bare, none": (plain, nixl_request(plain._agent)),  # noqa: SLF001
    }


def scattered(src: int, dst: int, size: int) -> Blocks:
    """Pieces with gaps as long as they are, so that nothing can be merged."""
    count = min(MOVED // size, MOST_PIECES)
    offsets = np.arange(count, dtype=np.int64) * 2 * size % (BUFFER - size)
    return Blocks.of(src + offsets, dst + offsets, size)


@contextmanager
def peer_of(kind: str) -> Iterator[tuple[str, bytes, int]]:
    """A process with an engine and a buffer: session id, metadata, address."""
    command = [sys.executable, __file__, "--peer", kind]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **pipes) as process:  # type: ignore[call-overload]  # noqa: S603
        session, metadata, address = json.loads(process.stdout.readline())
        yield session, bytes.fromhex(metadata), address
        process.kill()


def serve(kind: str) -> None:
    """The peer's side: opens a buffer, then waits for its end."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    engine = MooncakeEngine() if kind == "mooncake" else NixlEngine(threads=0)
    memory = np.ones(BUFFER, np.uint8)
    engine.register([Region(address=memory.ctypes.data, length=BUFFER)])
    print(json.dumps([engine.session_id, engine.metadata.hex(), memory.ctypes.data]), file=out)
    out.flush()
    sys.stdin.read()


def measured(way: Way, peer: str, blocks: Blocks) -> float:
    """GB/s of one write."""
    begin = perf_counter()
    way(peer, blocks)
    return blocks.total / (perf_counter() - begin) / 1e9


def main(kind: str) -> None:
    """Measures one engine."""
    source = np.ones(BUFFER, np.uint8)
    engines, by_title = ways(kind)
    with peer_of(kind) as (session, metadata, address):
        for engine in engines:
            engine.register([Region(address=source.ctypes.data, length=BUFFER)])
            engine.add_peer(session, metadata)
        print("| Pieces | " + " | ".join(by_title) + " |")
        print("|---|" + "---|" * len(by_title))
        for size in SIZES:
            blocks = scattered(source.ctypes.data, address, size)
            rates: dict[str, list[float]] = {title: [] for title in by_title}
            for _ in range(ROUNDS):
                for title, (_, way) in by_title.items():
                    rates[title].append(measured(way, session, blocks))
                    sleep(0.01)
            cells = [f"{statistics.median(r):.2f} ({max(r):.2f})" for r in rates.values()]
            print(f"| {len(blocks)} × {size >> 10} KiB | " + " | ".join(cells) + " |", flush=True)
        for engine in engines:
            engine.close()


if __name__ == "__main__":
    serve(sys.argv[2]) if sys.argv[1] == "--peer" else main(sys.argv[1])
