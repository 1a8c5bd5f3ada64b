"""A write lands only where its request asked: whole shapes, every byte of decode compared.

For whatever two sides look like, a room ends in one of two ways: it succeeds, and decode's memory
is what the model says and nothing else has changed; or it fails on both sides with a reason, and
no byte outside of what the request announced has changed. Shapes that fit succeed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import example, given, settings
from tests.pdwire.managers.fleet import FINAL, Bytes, Fleet, wait_until
from tests.pdwire.managers.shapes import (
    ROWS,
    SLOTS,
    Rank,
    Shape,
    decode_ranks,
    fill,
    prefill_ranks,
    shapes,
)

from pdwire.frames import I32Array
from pdwire.managers.receiver import CommonKVReceiver
from pdwire.managers.sender import CommonKVSender
from pdwire.rooms import KVPoll

ROOM = 7


class Handed:
    """One room of a shape over live managers."""

    def __init__(self, fleet: Fleet, shape: Shape) -> None:
        rng = np.random.default_rng((shape.seed, 1))
        self.shape = shape
        self.sources, self.targets = prefill_ranks(shape), decode_ranks(shape)
        self.src = _some(rng, SLOTS["prefill"], shape.num_pages)
        held = -(-shape.num_pages // shape.dcp)
        self.dst = [_some(rng, SLOTS["decode"], held) for _ in self.targets]
        if shape.dcp == 1:
            self.dst = [self.dst[0]] * len(self.targets)
        self.rows = int(rng.integers(ROWS)), int(rng.integers(1, ROWS))
        self.items = [
            (_some(rng, items, n := int(rng.integers(1, 3))), _some(rng, items, n))
            for _, items, _ in shape.state
        ]
        server = fleet.server()
        config: dict[str, Any] = {"is_mla": shape.mla, "chunked_prefill_size": 2 * shape.tokens}
        ring = 1 << 16
        self.prefill = [
            fleet.prefill(
                shape.backend,
                rank.memory,
                bootstrap=server,
                parallel=rank.parallel,
                release=shape.release,
                staging_bytes=ring if shape.staged[0] else 0,
                **config,
            )
            for rank in self.sources
        ]
        self.decode = [
            fleet.decode(
                shape.backend,
                rank.memory,
                parallel=rank.parallel,
                release=shape.release,
                staging_bytes=ring if shape.staged[1] else 0,
                **config,
            )
            for rank in self.targets
        ]
        self.address = server.address
        self.before = [rank.memory.copy() for rank in self.targets]

    def run(self) -> tuple[list[CommonKVSender], list[CommonKVReceiver]]:
        """The room, from opening to its end."""
        shape = self.shape
        senders: list[CommonKVSender] = [manager.sender(ROOM) for manager in self.prefill]
        receivers: list[CommonKVReceiver] = [m.receiver(self.address, ROOM) for m in self.decode]
        for sender in senders:
            sender.init(shape.num_pages, aux_index=self.rows[0])
        for receiver, dst in zip(receivers, self.dst, strict=True):
            receiver.init()
            receiver.send_metadata(
                dst,
                aux_index=self.rows[1],
                state_indices=[put for _, put in self.items],
                decode_prefix_len=shape.prefix * shape.tokens * shape.dcp,
            )
        for sender in senders:
            wait_until(lambda s=sender: self._may_send(s, receivers), "metadata")  # type: ignore[misc]
            self._send(sender)
        ends: list[CommonKVSender | CommonKVReceiver] = [*senders, *receivers]
        wait_until(
            lambda: (
                any(end.poll() is KVPoll.Failed for end in ends)
                or all(end.poll() is KVPoll.Success for end in ends)
            ),
            "the room is over",
        )
        for end in ends:  # as a router does: not every release tells every rank of the other side
            if any(other.poll() is KVPoll.Failed for other in ends):
                end.abort("another rank failed")
        wait_until(lambda: all(end.poll() in FINAL for end in ends), "every rank is done")
        return senders, receivers

    @staticmethod
    def _may_send(sender: CommonKVSender, receivers: list[CommonKVReceiver]) -> bool:
        over = any(receiver.poll() is KVPoll.Failed for receiver in receivers)
        return over or sender.poll() is not KVPoll.Bootstrapping

    def _send(self, sender: CommonKVSender) -> None:
        begin = 0
        for end in self.shape.cuts:
            if sender.poll() in FINAL or sender.poll() is KVPoll.Bootstrapping:
                return
            last = end == self.shape.num_pages
            sender.send(self.src[begin:end], [taken for taken, _ in self.items] if last else None)
            begin = end

    def expect(self, nth: int) -> list[Bytes]:
        """What a decode rank's memory has to be after success."""
        shape, rank = self.shape, self.targets[nth]
        now = rank.memory.copy()
        for region, old in zip(rank.memory.everything(), self.before[nth], strict=True):
            region[:] = old
        try:
            fill(
                shape,
                rank,
                self.sources,
                src=self.src,
                dst=self.dst[nth],
                rows=self.rows,
                items=self.items,
            )
        except ValueError as error:
            raise AssertionError("sides whose lengths differ have succeeded") from error
        wanted = rank.memory.copy()
        for region, old in zip(rank.memory.everything(), now, strict=True):
            region[:] = old
        return wanted

    def strayed(self, nth: int) -> list[str]:
        """Regions of a decode rank in which a byte changed that the room did not announce."""
        rank, before = self.targets[nth], self.before[nth]
        announced = _announced(rank, self.dst[nth], self.rows[1], [put for _, put in self.items])
        return [
            f"region {n}: rows {sorted(set(np.flatnonzero((a != b).any(axis=1))) - rows)}"
            for n, (a, b, rows) in enumerate(
                zip(rank.memory.everything(), before, announced, strict=True)
            )
            if set(np.flatnonzero((a != b).any(axis=1))) - rows
        ]


def pages_of(*numbers: int) -> I32Array:
    """Page indices."""
    return np.array(numbers, np.int32)


def _some(rng: np.random.Generator, most: int, count: int) -> I32Array:
    return rng.permutation(most)[:count].astype(np.int32)


def _announced(rank: Rank, dst: I32Array, row: int, items: list[I32Array]) -> list[set[int]]:
    state = [
        set(items[n].tolist()) if n < len(items) else set()
        for n, part in enumerate(rank.memory.state)
        for _ in part
    ]
    return [*([set(dst.tolist())] * len(rank.kv)), *([{row}] * len(rank.memory.aux)), *state]


def fits(shape: Shape) -> bool:
    """Whether the sides fit and the wire says all that it takes to know."""
    uniform = shape.mla or shape.key == shape.value
    several = shape.draft and (shape.draft_heads, shape.draft_head) != (shape.heads, shape.key)
    known = shape.release == "0.5.23"
    pipelined = len(shape.stages) > 1
    even = not shape.draft and not shape.state and len(set(shape.stages)) == 1
    placed = shape.ids or not pipelined or even
    sliced = shape.src_tp != shape.dst_tp and not shape.mla
    whole = not sliced or not shape.draft or not shape.draft_here or not several
    return shape.misfit is None and known and placed and whole and (uniform or known)


def whole(**facts: object) -> Shape:
    """A plain shape with some facts replaced."""
    plain: dict[str, object] = {
        "backend": "mooncake",
        "release": "0.5.23",
        "mla": False,
        "stages": (2,),
        "src_tp": 1,
        "dst_tp": 1,
        "dcp": 1,
        "heads": 2,
        "tokens": 4,
        "key": 8,
        "value": 8,
        "draft": 0,
        "draft_here": False,
        "draft_heads": 2,
        "draft_head": 8,
        "ids": False,
        "staged": (False, False),
        "state": (),
        "aux": (16, 64),
        "prefix": 0,
        "num_pages": 4,
        "cuts": (2, 4),
        "misfit": None,
        "seed": 5,
    }
    return Shape(**(plain | facts))  # type: ignore[arg-type]


P1 = whole(src_tp=2, key=16, value=8, staged=(True, True))
P2 = whole(mla=True, dst_tp=2, dcp=2, misfit="page")
P3 = whole(misfit="row")
P4 = whole(release="0.5.20", key=16, value=4, misfit="value")
P5 = whole(stages=(4, 2))
P6 = whole(draft=2)


@example(P1)
@example(P2)
@example(whole(backend="nixl", mla=True, dst_tp=2, dcp=2, misfit="page"))
@example(P3)
@example(P4)
@example(P5)
@example(P6)
@example(whole(draft=1, draft_here=True, draft_head=4, src_tp=2, draft_heads=4))
@example(whole(stages=(2, 1), draft=1))
@example(whole(backend="nixl", stages=(2, 1), ids=True, state=((1, 4, 8),)))
@settings(max_examples=max(20, settings.default.max_examples // 3) if settings.default else 20)
@given(shapes())
def test_a_room_lands_where_it_asked_or_fails_on_both_sides(shape: Shape) -> None:
    with Fleet() as fleet:
        room = Handed(fleet, shape)
        senders, receivers = room.run()
        ends: list[CommonKVSender | CommonKVReceiver] = [*senders, *receivers]
        reasons = [end.failure_reason for end in ends]
        if all(receiver.poll() is KVPoll.Success for receiver in receivers):
            for nth, rank in enumerate(room.targets):
                for n, (a, b) in enumerate(
                    zip(rank.memory.everything(), room.expect(nth), strict=True)
                ):
                    np.testing.assert_array_equal(a, b, f"decode rank {nth}, region {n}")
            assert all(sender.poll() is KVPoll.Success for sender in senders), reasons
        else:
            assert not fits(shape), reasons
            assert any(sender.poll() is KVPoll.Failed for sender in senders), reasons
            assert all(end.failure_reason for end in ends if end.poll() is KVPoll.Failed)
        assert not [stray for nth in range(len(room.targets)) for stray in room.strayed(nth)]
