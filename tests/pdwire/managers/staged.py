"""Sides of unequal TP for staging tests, requests between them, and what must come out.

What a decode rank must hold is worked out here from heads and layers alone, out of the prefill
ranks' arrays: nothing of the package's layouts, plans or copies is used for it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.pdwire.managers.fleet import (
    Bytes,
    Fleet,
    Manager,
    Memory,
    counter,
    memory,
    place,
    ready,
    settled,
    wait_until,
)

from pdwire.frames import I32Array
from pdwire.managers.receiver import CommonKVReceiver
from pdwire.managers.sender import CommonKVSender
from pdwire.rooms import KVPoll

NEEDS_TORCH = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed: make engines"
)
HEADS, HEAD, TOKENS, LAYERS = 4, 16, 4, 2
"""KV heads of the model, bytes of one, tokens of a page, layers."""
RING = 1 << 16


def page_bytes(decode_tp: int = 1) -> int:
    """Bytes that a page takes in the ring of a decode rank."""
    return TOKENS * HEADS * HEAD * LAYERS * 2 // decode_tp


def tokens_of(pages: int) -> int:
    """The chunked prefill size that makes chunks of so many pages."""
    return pages * TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One engine: its ranks, pipeline stage by stage, and their memory."""

    managers: list[Manager]
    memories: list[Memory]
    tp: int
    pp: int = 1
    address: str = ""

    @property
    def heads(self) -> int:
        """Heads of each rank."""
        return HEADS // self.tp

    def head(self, slot: int, page: int, head: int) -> Bytes:
        """One head of a page out of whichever rank holds it, ``[token, byte]``."""
        kind, layer = divmod(slot, LAYERS)
        stage, inside = divmod(layer, LAYERS // self.pp)
        rank = stage * self.tp + head // self.heads
        region = self.memories[rank].kv[kind * (LAYERS // self.pp) + inside]
        cells: Bytes = region[page].reshape(TOKENS, self.heads, HEAD)
        return cells[:, head % self.heads]


def _memory(seed: int, tp: int, layers: range, slots: int, rows: int) -> Memory:
    return memory(
        seed,
        layers=len(layers),
        slots=slots,
        item=TOKENS * HEADS // tp * HEAD,
        rows=rows,
        page_size=TOKENS,
        total_kv_head_num=HEADS,
        kv_layer_ids=(*layers, *layers),
        prefill_start_layer=layers.start,
    )


def prefill_side(
    fleet: Fleet,
    backend: str,
    tp: int,
    *,
    pp: int = 1,
    slots: int = 64,
    rows: int = 64,
    **config: Any,  # noqa: ANN401
) -> Side:
    """A prefill engine whose ranks share a bootstrap server; staged unless told otherwise."""
    server = fleet.server()
    config = {"staging_bytes": RING, "chunked_prefill_size": tokens_of(4)} | config
    managers, memories = [], []
    for stage in range(pp):
        layers = range(stage * LAYERS // pp, (stage + 1) * LAYERS // pp)
        for rank in range(tp):
            mem = _memory(10 + stage * tp + rank, tp, layers, slots, rows)
            parallel = place(tp=tp, tp_rank=rank, pp=pp, pp_rank=stage)
            manager = fleet.prefill(backend, mem, bootstrap=server, parallel=parallel, **config)
            memories.append(mem)
            managers.append(manager)
    return Side(managers=managers, memories=memories, tp=tp, pp=pp, address=server.address)


def decode_side(
    fleet: Fleet,
    backend: str,
    tp: int,
    *,
    slots: int = 64,
    rows: int = 64,
    **config: Any,  # noqa: ANN401
) -> Side:
    """A decode engine; staged unless told otherwise."""
    config = {"staging_bytes": RING} | config
    memories = [_memory(90 + rank, tp, range(LAYERS), slots, rows) for rank in range(tp)]
    managers = [
        fleet.decode(backend, mem, parallel=place(tp=tp, tp_rank=rank), **config)
        for rank, mem in enumerate(memories)
    ]
    return Side(managers=managers, memories=memories, tp=tp)


@dataclass(kw_only=True)
class Request:
    """One room between two sides: a sender per prefill rank, a receiver per decode rank."""

    room: int
    source: Side
    target: Side
    src: I32Array
    dst: I32Array
    row: int = 0
    senders: list[CommonKVSender] = field(default_factory=list)
    receivers: list[CommonKVReceiver] = field(default_factory=list)

    def begin(self, prefix: int = 0) -> Request:
        """Open the room everywhere, and wait until every prefill rank may send."""
        self.receivers = [m.receiver(self.source.address, self.room) for m in self.target.managers]
        for receiver in self.receivers:
            receiver.init()
        self.senders = [m.sender(self.room) for m in self.source.managers]
        for sender in self.senders:
            sender.init(len(self.src), aux_index=self.row)
        for receiver in self.receivers:
            receiver.send_metadata(self.dst, aux_index=self.row, decode_prefix_len=prefix)
        for sender in self.senders:
            ready(sender)
        return self

    def send(self, *sizes: int) -> Request:
        """Send the pages in pieces of these sizes, and whatever is left in one more."""
        for part in np.split(self.src, np.cumsum(sizes)):
            if len(part) or not len(self.src):
                for sender in self.senders:
                    sender.send(part)
        return self

    def ends(self) -> list[CommonKVSender | CommonKVReceiver]:
        """Every end."""
        return [*self.senders, *self.receivers]

    def succeed(self) -> None:
        """Wait for the end, which is a good one, compare the pages, and clear."""
        verdicts = settled(*self.ends())
        reasons = [end.failure_reason for end in self.ends()]
        assert verdicts == [KVPoll.Success] * len(verdicts), (self.room, reasons)
        self.check()
        self.clear()

    def reasons(self) -> list[str]:
        """Wait for the end, which is a bad one everywhere, and say why."""
        verdicts = settled(*self.ends())
        reasons = [str(end.failure_reason) for end in self.ends()]
        assert verdicts == [KVPoll.Failed] * len(verdicts), (self.room, verdicts, reasons)
        return reasons

    def check(self) -> None:
        """Every decode rank holds every token's heads."""
        for rank, mem in enumerate(self.target.memories):
            for slot, region in enumerate(mem.kv):
                for src, dst in zip(self.src.tolist(), self.dst.tolist(), strict=True):
                    cells = region[dst].reshape(TOKENS, self.target.heads, HEAD)
                    for n in range(self.target.heads):
                        wanted = self.source.head(slot, src, rank * self.target.heads + n)
                        np.testing.assert_array_equal(cells[:, n], wanted)

    def clear(self) -> None:
        """Forget it everywhere."""
        for end in self.ends():
            end.clear()


def numbers(count: int, slots: int, seed: int) -> I32Array:
    """Page indices in no order."""
    order = np.random.default_rng(seed).permutation(slots)
    return order[:count].astype(np.int32)


def requests(
    source: Side, target: Side, lengths: Sequence[int], *, first: int = 100
) -> Iterator[Request]:
    """Requests of these numbers of pages; no two share a destination page."""
    slots = len(target.memories[0].kv[0])
    free = numbers(slots, slots, 7)
    assert sum(lengths) <= slots
    for n, length in enumerate(lengths):
        dst, free = free[:length], free[length:]
        src = numbers(length, len(source.memories[0].kv[0]), n)
        yield Request(room=first + n, source=source, target=target, src=src, dst=dst, row=n % 64)


def staging(manager: Manager, name: str) -> int:
    """One number of a manager's staging gauge."""
    return counter(manager, "staging", name)


def staged(side: Side, kind: str = "staged") -> int:
    """How many chunks the ranks of a side have written that way."""
    return sum(counter(manager, "staging_chunks", kind) for manager in side.managers)


def untouched(side: Side, before: Sequence[list[Bytes]], *used: I32Array) -> None:
    """No KV page but those used has changed."""
    spared = np.ones(len(side.memories[0].kv[0]), bool)
    spared[np.concatenate(used)] = False
    for mem, old in zip(side.memories, before, strict=True):
        for now, then in zip(mem.kv, old, strict=False):
            np.testing.assert_array_equal(now[spared], then[spared])


EMPTY = ("rooms", "ring-places", "ring-used", "chunks-awaited", "scattering", "held", "parked")


def nothing(manager: Any, name: str) -> bool:  # noqa: ANN401
    """Whether a manager keeps none of these."""
    return not staging(manager, name)


def drained(*sides: Side) -> None:
    """Wait until no rank of these sides keeps anything of any room."""
    for side in sides:
        for manager in side.managers:
            for name in EMPTY:
                wait_until(partial(nothing, manager, name), f"no {name} are left")
