"""``pdwire bench staging``: TP 2 → 1 with pages of one token, through the ring and by slices.

Both are our managers, a process per rank, in turns of one run. A slice is one block per
token and region; staging gathers them first and writes a chunk in one transfer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

from pdwire_conformance.interop.handover import Handover, Room
from pdwire_conformance.interop.options import OURS, Options

__all__ = ["TOKENS", "measure_staging", "ratio"]

TOKENS = 4096
"""Tokens, and so pages, of a turn's one request: 4 layers, 8 heads of 64, bf16 -> 33.6 MB."""


def measure_staging(
    backend: str, *, turns: int, say: Callable[[str], None]
) -> dict[str, list[float]]:
    """Seconds per turn, ``staged`` and ``slices``; one turn of each is not counted."""
    seconds: dict[str, list[float]] = {"staged": [], "slices": []}
    with _sides(backend, 64) as staged, _sides(backend, 0) as slices:
        for turn in range(turns + 1):
            say(f"{backend}: turn {turn} of {turns}")
            for name, run in (("staged", staged), ("slices", slices)):
                taken = run(turn)
                if turn:
                    seconds[name].append(taken)
    return seconds


def ratio(seconds: dict[str, list[float]]) -> float:
    """How many times as long as staging slices take, of the median turns."""
    return median(seconds["slices"]) / median(seconds["staged"])


@contextmanager
def _sides(backend: str, staging: int) -> Iterator[Callable[[int], float]]:
    def options(role: str, tp_size: int, rank: int) -> Options:
        return Options(
            release=OURS,
            backend=backend,
            role=role,
            tp_size=tp_size,
            tp_rank=rank,
            staging=staging,
            chunk_pages=TOKENS // 4,
            layers=4,
            heads=8,
            head_dim=64,
            page_size=1,
            pages=TOKENS,
        )

    prefill = [options("prefill", 2, rank) for rank in range(2)]
    with Handover(prefill, [[options("decode", 1, 0)]]) as sides:
        sides.fill(1)

        def turn(number: int) -> float:
            pages = tuple(range(TOKENS))
            quarter = TOKENS // 4
            chunks = tuple(pages[n : n + quarter] for n in range(0, TOKENS, quarter))
            room = Room(number=1 + number, chunks=chunks, pages=pages[::-1])
            began = time.perf_counter()
            sides.open(room)
            ends = sides.settle(room, deadline_s=120)[room.number]
            taken = time.perf_counter() - began
            for side, (status, reason) in ends.items():
                if status != "Success":
                    raise RuntimeError(f"{side}: {status} {reason}")
            sides.clear(room)
            return taken

        yield turn
