"""``pdwire bench transfer``: ours, a real release's managers and the bare engine, in turns.

Rules: one machine, one run, turns A B C A B C; the managers run in a process per side and
start each turn with the metadata of all rooms and end it when every room is Success on both
sides; the bare engine writes the same pages, merged, from one process into another. Ratios
are of medians; times are of this machine and say nothing about another.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from pdwire.engines import Engine, Region, wait
from pdwire.plan import page_blocks
from pdwire_conformance.bench.target import engine_of
from pdwire_conformance.interop.handover import Handover, Room
from pdwire_conformance.interop.options import OURS, Options

__all__ = ["CASES", "Case", "Measured", "measure_case", "sizes"]

_REGIONS = 4
"""Two layers, K and V."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row: bytes of a page in one region, how pages lie, rooms at once, bytes in all."""

    page: int
    scattered: bool
    rooms: int
    total: int

    @property
    def pages(self) -> int:
        """Pages of all rooms together."""
        return self.total // (self.page * _REGIONS)

    @property
    def name(self) -> str:
        """For people."""
        size = f"{self.page >> 10} KiB" if self.page < 1 << 20 else f"{self.page >> 20} MiB"
        return f"{size}, {'scattered' if self.scattered else 'contiguous'}, {self.rooms} room(s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Seconds per turn of each side, in the order of the turns."""

    case: Case
    seconds: dict[str, list[float]]

    def speed(self, side: str) -> float:
        """GB/s of the median turn."""
        return self.case.total / median(self.seconds[side]) / 1e9


def sizes(*, quick: bool) -> list[Case]:
    """The cases: 4 KiB, 64 KiB and 1 MiB; contiguous and scattered; 1 and 16 rooms."""
    total = 16 << 20 if quick else 128 << 20
    return [
        Case(page=page, scattered=scattered, rooms=rooms, total=total >> (2 * (page == 4096)))
        for page in (4 << 10, 64 << 10, 1 << 20)
        for scattered in (False, True)
        for rooms in ((1,) if quick else (1, 16))
        if total // (page * _REGIONS) >= rooms
    ]


CASES = sizes(quick=False)


def measure_case(
    backend: str, case: Case, *, release: str, turns: int, say: Callable[[str], None]
) -> Measured:
    """All sides in turns; each has one turn before those that count."""
    say(f"{backend} {case.name}: starting")
    with (
        _managers(OURS, backend, case) as ours,
        _managers(release, backend, case) as theirs,
        _bare(backend, case) as bare,
    ):
        sides = {"ours": ours, f"SGLang {release}": theirs, "engine": bare}
        seconds: dict[str, list[float]] = {name: [] for name in sides}
        for turn in range(turns + 1):
            say(f"{backend} {case.name}: turn {turn} of {turns}")
            for name, run in sides.items():
                taken = run(turn)
                if turn:
                    seconds[name].append(taken)
    return Measured(case=case, seconds=seconds)


def _order(case: Case) -> tuple[list[int], list[int]]:
    if not case.scattered:
        return list(range(case.pages)), list(range(case.pages))
    rng = np.random.default_rng(11)
    return rng.permutation(case.pages).tolist(), rng.permutation(case.pages).tolist()


def _rooms(case: Case, turn: int) -> list[Room]:
    source, target = _order(case)
    each = case.pages // case.rooms
    return [
        Room(
            number=1 + turn * case.rooms + n,
            chunks=(tuple(source[n * each : (n + 1) * each]),),
            pages=tuple(target[n * each : (n + 1) * each]),
            row=n,
            source_row=n,
        )
        for n in range(case.rooms)
    ]


def _options(release: str, backend: str, role: str, case: Case) -> Options:
    page_size = 16 if case.page <= 64 << 10 else 256
    heads = max(1, case.page // (page_size * 128 * 2))
    return Options(
        release=release,
        backend=backend,
        role=role,
        layers=_REGIONS // 2,
        heads=heads,
        head_dim=case.page // (page_size * heads * 2),
        page_size=page_size,
        pages=case.pages,
        aux_rows=max(16, case.rooms),
    )


@contextmanager
def _managers(release: str, backend: str, case: Case) -> Iterator[Callable[[int], float]]:
    """Both sides of one kind of manager; a turn is all rooms from metadata to Success."""
    prefill = [_options(release, backend, "prefill", case)]
    decode = [_options(release, backend, "decode", case)]
    with Handover(prefill, [decode]) as sides:
        sides.fill(1)

        def turn(number: int) -> float:
            rooms = _rooms(case, number)
            began = time.perf_counter()
            for room in rooms:
                sides.open(room)
            told = sides.settle(*rooms, deadline_s=120)
            taken = time.perf_counter() - began
            for number_, ends in told.items():
                for side, (status, reason) in ends.items():
                    if status != "Success":
                        raise RuntimeError(f"room {number_} on {side}: {status} {reason}")
            sides.clear(*rooms)
            return taken

        yield turn


@contextmanager
def _bare(backend: str, case: Case) -> Iterator[Callable[[int], float]]:
    """The engine alone, from this process into another one."""
    size = case.total
    source = np.ones(size, np.uint8)
    with _target(backend, size) as told:
        engine: Engine = engine_of(backend)
        try:
            engine.register([Region(address=source.ctypes.data, length=source.nbytes)])
            engine.add_peer(told["session"], bytes.fromhex(told["metadata"]))
            here, there = source.ctypes.data, int(told["address"])
            region = size // _REGIONS
            src, dst = (np.array(pages, np.int64) for pages in _order(case))
            blocks = page_blocks(
                [here + n * region for n in range(_REGIONS)],
                [there + n * region for n in range(_REGIONS)],
                [case.page] * _REGIONS,
                src,
                dst,
            ).merged()

            def turn(_: int) -> float:
                began = time.perf_counter()
                wait(engine.write(told["session"], blocks), 120)
                return time.perf_counter() - began

            yield turn
        finally:
            engine.close()


@contextmanager
def _target(backend: str, size: int) -> Iterator[dict[str, Any]]:
    command = [sys.executable, "-m", "pdwire_conformance.bench.target", backend, str(size)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:  # engines print, too
            if line.startswith(b"@"):
                yield json.loads(line[1:])
                return
        raise RuntimeError(f"the receiving process of {backend} ended early")
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
