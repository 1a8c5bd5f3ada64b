"""The hand-over part of the demo: our managers, real engines, a process per rank.

Prefill and decode ranks are separate processes with a model-like KV cache. Several requests
run at once; what each decode rank holds afterwards is compared page by page with what the
prefill ranks hold. The engine alone moves as many bytes in the same run, for comparison.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from pdwire.engines import EngineError, EngineMissing, Region, wait
from pdwire.plan import Blocks
from pdwire_conformance.bench.target import engine_of
from pdwire_conformance.interop.handover import Handover, Room
from pdwire_conformance.interop.options import OURS, Options

__all__ = ["LAYOUTS", "Row", "Shape", "engines", "hand_over", "raw_speed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The model's KV and the requests; by default 16 layers, 8 heads of 64, pages of 16."""

    layers: int = 16
    heads: int = 8
    head_dim: int = 64
    page_size: int = 16
    requests: int = 8
    pages: int = 12
    staging_mib: int = 64

    def options(self, backend: str, role: str, tp_size: int, rank: int, staging: int) -> Options:
        """One rank."""
        return Options(
            release=OURS,
            backend=backend,
            role=role,
            tp_size=tp_size,
            tp_rank=rank,
            staging=staging,
            layers=self.layers,
            heads=self.heads,
            head_dim=self.head_dim,
            page_size=self.page_size,
            pages=self.requests * self.pages,
            aux_rows=max(16, self.requests),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one layout of ranks did over one engine."""

    backend: str
    layout: str
    requests: int
    bytes: int
    seconds: float
    raw: float
    """GB/s of the engine alone, in the same run."""
    messages: dict[str, int] = field(default_factory=dict)
    faults: tuple[str, ...] = ()

    @property
    def speed(self) -> float:
        """GB/s, from the first request to the last one's Success."""
        return self.bytes / self.seconds / 1e9 if self.seconds else 0.0

    @property
    def holds(self) -> bool:
        """Every request succeeded and every page is equal."""
        return not self.faults


LAYOUTS: dict[str, tuple[int, int, bool]] = {
    "TP 1 → 1": (1, 1, False),
    "TP 2 → 1, staged": (2, 1, True),
    "TP 1 → 2, staged": (1, 2, True),
}
"""Name -> prefill TP, decode TP, through the staging ring."""


def engines() -> dict[str, str]:
    """Backend -> empty if its engine can be made here, else what to install."""
    return {backend: _missing(backend) for backend in ("mooncake", "nixl")}


def _missing(backend: str) -> str:
    try:
        engine_of(backend).close()
    except (EngineMissing, EngineError) as error:
        return str(error)
    return ""


def hand_over(
    backend: str, layout: str, shape: Shape, say: Callable[[str], None], *, raw: float
) -> Row:
    """All requests of one layout over one engine; ``say`` hears of progress."""
    prefill_tp, decode_tp, staged = LAYOUTS[layout]
    staging = shape.staging_mib if staged else 0
    prefill = [shape.options(backend, "prefill", prefill_tp, n, staging) for n in range(prefill_tp)]
    decode = [shape.options(backend, "decode", decode_tp, n, staging) for n in range(decode_tp)]
    say(f"{backend} {layout}: starting {prefill_tp + decode_tp} processes")
    with Handover(prefill, [decode]) as sides:
        sides.fill(1)
        rooms = list(_rooms(shape))
        _warm_up(sides, rooms[0])
        say(f"{backend} {layout}: {len(rooms)} requests")
        began = time.perf_counter()
        for room in rooms:
            sides.open(room)
        told = sides.settle(*rooms, deadline_s=60)
        seconds = time.perf_counter() - began
        faults = [
            f"room {number} on {side}: {status} {reason}"
            for number, ends in told.items()
            for side, (status, reason) in ends.items()
            if status != "Success"
        ]
        say(f"{backend} {layout}: comparing pages")
        for room in rooms if not faults else ():
            faults += sides.differences(room)
        moved = sum(sides.moved(room) for room in rooms)
        return Row(
            backend=backend,
            layout=layout,
            requests=len(rooms),
            bytes=moved,
            seconds=seconds,
            raw=raw,
            messages=_messages(sides),
            faults=tuple(faults),
        )


def _warm_up(sides: Handover, room: Room) -> None:
    """One request that is not counted: engines connect with the first one."""
    first = replace(room, number=1)
    sides.open(first)
    sides.settle(first, deadline_s=60)
    sides.clear(first)


def _rooms(shape: Shape) -> Iterator[Room]:
    """Requests of two chunks each on pages that no other request uses, not in order."""
    rng = np.random.default_rng(7)
    total = shape.requests * shape.pages
    source, target = rng.permutation(total), rng.permutation(total)
    for n in range(shape.requests):
        pages = source[n * shape.pages : (n + 1) * shape.pages].tolist()
        goal = target[n * shape.pages : (n + 1) * shape.pages].tolist()
        half = shape.pages // 2
        yield Room(
            number=100 + n,
            chunks=(tuple(pages[:half]), tuple(pages[half:])),
            pages=tuple(goal),
            source_row=n,
            row=shape.requests - 1 - n,
        )


def _messages(sides: Handover) -> dict[str, int]:
    """Control messages that arrived anywhere, by kind."""
    counted: Counter[str] = Counter()
    for side in [*sides.prefill, *(side for group in sides.decodes for side in group)]:
        health = side.ask("health")["health"]
        counted.update(health["counters"].get("messages", {}))
    return dict(sorted(counted.items()))


def raw_speed(backend: str, shape: Shape) -> float:
    """GB/s of the engine alone: the same pages, merged and written in one go."""
    size = 2 * shape.page_size * shape.heads * shape.head_dim
    count = shape.requests * shape.pages * shape.layers * 2
    source = np.ones(size * count, np.uint8)
    target = np.zeros(size * count, np.uint8)
    sender, receiver = engine_of(backend), engine_of(backend)
    try:
        sender.register([Region(address=source.ctypes.data, length=source.nbytes)])
        receiver.register([Region(address=target.ctypes.data, length=target.nbytes)])
        sender.add_peer(receiver.session_id, receiver.metadata)
        order = np.random.default_rng(7).permutation(count)
        blocks = Blocks.of(
            source.ctypes.data + order * size,
            target.ctypes.data + np.arange(count) * size,
            np.full(count, size),
        )
        best = 0.0
        for _ in range(3):
            began = time.perf_counter()
            wait(sender.write(receiver.session_id, blocks), 60)
            best = max(best, blocks.total / (time.perf_counter() - began) / 1e9)
        return best
    finally:
        sender.close()
        receiver.close()
