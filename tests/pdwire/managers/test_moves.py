"""What moves: bytes on the decode side against what numpy says should be there.

A model's cache is one array per region, ``[page, token, head, byte]``; every rank holds the
heads and layers that are its own. The expectation is cut from the whole model, never from
what a planner says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.pdwire.managers.fleet import (
    Fleet,
    Manager,
    Memory,
    begin,
    counter,
    hand_over,
    loopback,
    memory,
    pages,
    place,
    settled,
    wait_until,
)

from pdwire.frames import I32Array
from pdwire.managers.receiver import CommonKVReceiver
from pdwire.managers.sender import CommonKVSender
from pdwire.rooms import KVPoll, RoomError

PAGE = 4
BYTES = 8
"""Of one head of one token."""
SLOTS = 24
LAYERS = 4
EVERY = ["mooncake", "nixl", "mori", "ascend"]

Model = NDArray[np.uint8]


def model(heads: int, seed: int = 3) -> Model:
    """A cache, ``[K or V, layer, page, token, head, byte]``."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (2, LAYERS, SLOTS, PAGE, heads, BYTES), dtype=np.uint8)


def own_heads(heads: int, tp: int, rank: int) -> slice:
    """The heads of a rank; with fewer heads than ranks neighbours hold the same one."""
    if heads >= tp:
        share = heads // tp
        return slice(rank * share, (rank + 1) * share)
    head = rank // (tp // heads)
    return slice(head, head + 1)


def holding(part: Model, **facts: Any) -> Memory:  # noqa: ANN401
    """A rank's memory with that part of a cache in it."""
    regions = part.reshape(-1, *part.shape[2:])
    item = regions[0][0].size
    mem = memory(5, layers=len(regions) // 2, slots=SLOTS, item=item, page_size=PAGE, **facts)
    for region, values in zip(mem.kv, regions, strict=True):
        region[:] = values.reshape(SLOTS, item)
    return mem


def held(mem: Memory, like: Model) -> Model:
    """What a rank's memory holds, in the shape of a part of a cache."""
    return np.stack(mem.kv).reshape(like.shape)


@dataclass(kw_only=True)
class Ranks:
    """The ranks of both sides and their memory, all of one room."""

    prefill: list[Manager]
    decode: list[Manager]
    sources: list[Memory]
    targets: list[Memory]

    def open(
        self,
        room: int,
        num_pages: int,
        dst: list[I32Array],
        **asked: Any,  # noqa: ANN401
    ) -> tuple[list[CommonKVSender], list[CommonKVReceiver]]:
        """A sender and a receiver on every rank, ready for the first chunk."""
        address = self.prefill[0].bootstrap_address
        receivers: list[CommonKVReceiver] = [m.receiver(address, room) for m in self.decode]
        senders: list[CommonKVSender] = [m.sender(room) for m in self.prefill]
        for sender in senders:
            sender.init(num_pages, aux_index=1)
        for receiver, where in zip(receivers, dst, strict=True):
            receiver.init()
            receiver.send_metadata(where, aux_index=2, **asked)
        wait_until(lambda: all(s.poll() is not KVPoll.Bootstrapping for s in senders), "metadata")
        return senders, receivers

    def move(
        self,
        room: int,
        src: I32Array,
        dst: I32Array,
        chunks: int = 2,
        **asked: Any,  # noqa: ANN401
    ) -> None:
        """One room over all ranks, in chunks."""
        senders, receivers = self.open(room, len(src), [dst] * len(self.decode), **asked)
        for part in np.array_split(src, chunks):
            for sender in senders:
                sender.send(part)
        ends: list[CommonKVSender | CommonKVReceiver] = [*senders, *receivers]
        assert settled(*ends) == [KVPoll.Success] * len(ends), [e.failure_reason for e in ends]
        for end in ends:
            end.clear()


def ranks(
    fleet: Fleet,
    backend: str,
    sources: list[tuple[Memory, dict[str, Any]]],
    targets: list[tuple[Memory, dict[str, Any]]],
) -> Ranks:
    """Live managers, the prefill ones at one bootstrap server."""
    server = fleet.server()
    return Ranks(
        prefill=[fleet.prefill(backend, m, bootstrap=server, **config) for m, config in sources],
        decode=[fleet.decode(backend, m, **config) for m, config in targets],
        sources=[m for m, _ in sources],
        targets=[m for m, _ in targets],
    )


SRC, DST = pages(0, 1, 2, 7, 9, 8), pages(5, 6, 20, 21, 3, 11)


def with_pages(before: Model, whole: Model, src: I32Array, dst: I32Array) -> Model:
    """What decode should hold after those pages have arrived."""
    after = before.copy()
    after[:, :, dst] = whole[:, :, src]
    return after


@pytest.mark.parametrize("backend", EVERY)
def test_equal_ranks_hand_over_pages_and_rows(fleet: Fleet, backend: str) -> None:
    source, target = memory(1), memory(2)
    prefill, decode = fleet.prefill(backend, source), fleet.decode(backend, target)
    expected = target.copy()
    for n, region in enumerate(source.kv):
        expected[n][DST] = region[SRC]
    for n, rows in enumerate(source.aux):
        expected[len(source.kv) + n][2] = rows[1]

    hand_over(prefill, decode, 7, SRC, DST)

    assert not target.changed(expected)


TENSOR = [
    # prefill TP, decode TP, KV heads
    (2, 1, 4),
    (1, 2, 4),
    (4, 2, 4),
    (2, 4, 8),
    (4, 2, 2),  # fewer heads than prefill ranks
    (2, 4, 2),  # fewer heads than decode ranks
    (4, 1, 1),
]


@pytest.mark.parametrize(("src_tp", "dst_tp", "heads"), TENSOR)
def test_ranks_of_unequal_tp_hand_over_heads(
    fleet: Fleet, backend: str, src_tp: int, dst_tp: int, heads: int
) -> None:
    whole, empty = model(heads), model(heads, seed=4)
    facts = {"total_kv_head_num": heads}
    sources = [
        (
            holding(whole[..., own_heads(heads, src_tp, r), :], **facts),
            {"parallel": place(tp=src_tp, tp_rank=r)},
        )
        for r in range(src_tp)
    ]
    targets = [
        (
            holding(empty[..., own_heads(heads, dst_tp, r), :], **facts),
            {"parallel": place(tp=dst_tp, tp_rank=r)},
        )
        for r in range(dst_tp)
    ]
    group = ranks(fleet, backend, sources, targets)

    group.move(7, SRC, DST)

    after = with_pages(empty, whole, SRC, DST)
    for r, target in enumerate(group.targets):
        expected = after[..., own_heads(heads, dst_tp, r), :]
        np.testing.assert_array_equal(held(target, expected), expected)
        np.testing.assert_array_equal(target.aux[0][2], group.sources[0].aux[0][1])


def latent(seed: int) -> list[NDArray[np.uint8]]:
    """An MLA cache: one region per layer, ``[page, token, byte]``."""
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 256, (SLOTS, PAGE, BYTES), dtype=np.uint8) for _ in range(LAYERS)]


def mla(layers: list[NDArray[np.uint8]], **facts: Any) -> Memory:  # noqa: ANN401
    mem = memory(
        5,
        layers=len(layers),
        slots=SLOTS,
        item=PAGE * BYTES,
        mla=True,
        page_size=PAGE,
        **facts,
    )
    for region, values in zip(mem.kv, layers, strict=True):
        region[:] = values.reshape(SLOTS, -1)
    return mem


@pytest.mark.parametrize("backend", EVERY)
@pytest.mark.parametrize(("src_tp", "dst_tp"), [(2, 1), (4, 2), (1, 2)])
def test_with_mla_one_rank_writes_and_the_others_get_dummies(
    fleet: Fleet, backend: str, src_tp: int, dst_tp: int
) -> None:
    whole, empty = latent(1), latent(2)
    group = ranks(
        fleet,
        backend,
        [
            (mla(whole), {"is_mla": True, "parallel": place(tp=src_tp, tp_rank=r)})
            for r in range(src_tp)
        ],
        [
            (mla(empty), {"is_mla": True, "parallel": place(tp=dst_tp, tp_rank=r)})
            for r in range(dst_tp)
        ],
    )

    group.move(7, SRC, DST)

    for target in group.targets:
        for region, source, before in zip(target.kv, whole, empty, strict=True):
            expected = before.copy()
            expected[DST] = source[SRC]
            np.testing.assert_array_equal(region.reshape(expected.shape), expected)
    wrote = [counter(manager, "bytes", "written") > 0 for manager in group.prefill]
    writers = range(0, src_tp, max(1, src_tp // dst_tp))
    assert wrote == [r in writers for r in range(src_tp)]


@pytest.mark.parametrize("ids", [True, False], ids=["layer-ids", "start-layer"])
def test_the_stages_of_a_pipeline_write_their_own_layers(
    fleet: Fleet, backend: str, ids: bool
) -> None:
    heads, half = 2, LAYERS // 2
    whole, empty = model(heads), model(heads, seed=4)
    layers = [*range(half)], [*range(half, LAYERS)]
    sources = [
        (
            holding(
                whole[:, own],
                prefill_start_layer=own[0],
                kv_layer_ids=(*own, *own) if ids else (),
            ),
            {"parallel": place(pp=2, pp_rank=stage)},
        )
        for stage, own in enumerate(layers)
    ]
    every = tuple(range(LAYERS))
    target = holding(empty, kv_layer_ids=(*every, *every) if ids else ())
    group = ranks(fleet, backend, sources, [(target, {})])

    group.move(7, SRC, DST)

    expected = with_pages(empty, whole, SRC, DST)
    np.testing.assert_array_equal(held(target, expected), expected)
    np.testing.assert_array_equal(target.aux[0][2], group.sources[1].aux[0][1])


def test_the_stages_of_an_mla_pipeline_write_their_own_layers(fleet: Fleet, backend: str) -> None:
    whole, empty, half = latent(1), latent(2), LAYERS // 2
    sources = [
        (
            mla(whole[first : first + half], prefill_start_layer=first),
            {"is_mla": True, "parallel": place(pp=2, pp_rank=stage)},
        )
        for stage, first in enumerate((0, half))
    ]
    group = ranks(fleet, backend, sources, [(mla(empty), {"is_mla": True})])

    group.move(7, SRC, DST)

    for region, source, before in zip(group.targets[0].kv, whole, empty, strict=True):
        expected = before.copy()
        expected[DST] = source[SRC]
        np.testing.assert_array_equal(region.reshape(expected.shape), expected)


STATE = ((1, 8, 32), (2, 6, 16))


@pytest.mark.parametrize("backend", EVERY)
class TestPrefixAndState:
    """A part of the request, or all of it, is there already; state and row move all the same."""

    def sides(self, fleet: Fleet, backend: str) -> tuple[Memory, Memory, Manager, Manager]:
        source, target = memory(1, state=STATE), memory(2, state=STATE)
        return source, target, fleet.prefill(backend, source), fleet.decode(backend, target)

    def test_two_components_of_state(self, fleet: Fleet, backend: str) -> None:
        source, target, prefill, decode = self.sides(fleet, backend)
        moved = [pages(3, 4, 1), pages(5, 0)]
        places = [pages(7, 0, 2), pages(1, 2)]
        expected = [[r.copy() for r in part] for part in target.state]
        for n, part in enumerate(source.state):
            for m, region in enumerate(part):
                expected[n][m][places[n]] = region[moved[n]]

        sender, receiver = begin(prefill, decode, 7, DST, state_indices=places)
        sender.send(SRC[:4])
        sender.send(SRC[4:], moved)

        assert settled(sender, receiver) == [KVPoll.Success, KVPoll.Success]
        for found, wanted in zip(target.state, expected, strict=True):
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(a, b)

    def test_a_partial_prefix_is_not_sent(self, fleet: Fleet, backend: str) -> None:
        source, target, prefill, decode = self.sides(fleet, backend)
        expected = target.copy()
        for n, region in enumerate(source.kv):
            expected[n][DST[2:]] = region[SRC[2:]]

        sender, receiver = begin(
            prefill, decode, 7, DST[2:], aux=(1, 2), decode_prefix_len=2 * PAGE
        )
        assert sender.decode_prefix_len == 2 * PAGE
        sender.send(SRC[2:])

        assert settled(sender, receiver) == [KVPoll.Success, KVPoll.Success]
        assert all(
            (a == b).all() for a, b in zip(target.kv, expected[: len(target.kv)], strict=True)
        )

    def test_a_full_hit_still_moves_row_and_state(self, fleet: Fleet, backend: str) -> None:
        """Field report E1: no pages, but not a dummy."""
        source, target, prefill, decode = self.sides(fleet, backend)
        before = [region.copy() for region in target.kv]
        where = [pages(7), pages(1)]
        sender, receiver = begin(
            prefill, decode, 7, pages(), decode_prefix_len=6 * PAGE, state_indices=where
        )
        sender.send(pages(), [pages(3), pages(5)])

        assert settled(sender, receiver) == [KVPoll.Success, KVPoll.Success]
        np.testing.assert_array_equal(target.aux[1][2], source.aux[1][1])
        np.testing.assert_array_equal(target.state[0][0][7], source.state[0][0][3])
        np.testing.assert_array_equal(target.state[1][1][1], source.state[1][1][5])
        assert all((a == b).all() for a, b in zip(target.kv, before, strict=True))


@pytest.mark.parametrize("chunks", [1, 3])
@pytest.mark.parametrize("prefix", [0, 2], ids=["whole", "prefix"])
def test_ranks_of_a_shared_context_keep_the_tokens_of_their_residue(
    fleet: Fleet, backend: str, prefix: int, chunks: int
) -> None:
    """Decode context parallelism over two ranks; a page there holds tokens of two here."""
    whole, empty, dcp = latent(1), latent(2), 2
    source = (mla(whole), {"is_mla": True})
    targets = [
        (mla(empty), {"is_mla": True, "parallel": place(tp=dcp, tp_rank=r, dcp=dcp, dcp_rank=r)})
        for r in range(dcp)
    ]
    group = ranks(fleet, backend, [source], targets)
    src, dst = pages(0, 1, 2, 7, 9, 8), [pages(5, 6, 3), pages(20, 21, 11)]
    known = prefix * PAGE * dcp

    senders, receivers = group.open(7, len(src), dst, decode_prefix_len=known)
    for part in np.array_split(src, chunks):
        senders[0].send(part)

    ends: list[CommonKVSender | CommonKVReceiver] = [*senders, *receivers]
    assert settled(*ends) == [KVPoll.Success] * 3, [e.failure_reason for e in ends]
    for rank, target in enumerate(group.targets):
        for region, cache, before in zip(target.kv, whole, empty, strict=True):
            tokens = cache[src].reshape(-1, BYTES)[rank::dcp]  # the prefix ends on a whole page
            expected = before.copy()
            rows = np.concatenate([expected[page] for page in dst[rank]])
            rows[: len(tokens)] = tokens
            expected[dst[rank]] = rows.reshape(len(dst[rank]), PAGE, BYTES)
            np.testing.assert_array_equal(region.reshape(expected.shape), expected)


@pytest.mark.parametrize("backend", ["mooncake", "mori", "ascend"])
def test_rows_go_over_the_control_plane_where_asked(fleet: Fleet, backend: str) -> None:
    source, target = memory(1), memory(2)
    prefill = fleet.prefill(backend, source, aux_over_tcp=True)
    decode = fleet.decode(backend, target)
    for room in range(8):
        sender, receiver = begin(prefill, decode, room, pages(4, 5), aux=(room, 7 - room))
        sender.send(pages(1, 2))
        assert settled(sender, receiver) == [KVPoll.Success, KVPoll.Success]
    assert counter(decode, "messages", "AUX_DATA") == 16
    for found, sent in zip(target.aux, source.aux, strict=True):
        np.testing.assert_array_equal(found, sent[::-1])


def test_a_row_that_cannot_be_sent_fails_the_room(fleet: Fleet) -> None:
    prefill = fleet.prefill("mooncake", memory(1), aux_over_tcp=True)
    decode = fleet.decode("mooncake", memory(2))
    sender, _ = begin(prefill, decode, 7, pages(4, 5))
    prefill.outbox.close()
    sender.send(pages(1, 2))
    assert settled(sender) == [KVPoll.Failed]
    assert "auxiliary buffer 0 could not be sent" in str(sender.failure_reason)


@pytest.mark.parametrize("backend", EVERY)
class TestNothing:
    """Field report F12: no regions, and regions of no length."""

    def test_no_regions_at_all(self, fleet: Fleet, backend: str) -> None:
        nothing: dict[str, Any] = {"kv_data_ptrs": (), "kv_data_lens": (), "kv_item_lens": ()}
        source, target = memory(1, **nothing), memory(2, **nothing)
        prefill, decode = fleet.prefill(backend, source), fleet.decode(backend, target)
        hand_over(prefill, decode, 7, pages(1, 2), pages(4, 5))
        np.testing.assert_array_equal(target.aux[0][2], source.aux[0][1])

    def test_a_region_without_bytes_is_skipped(self, fleet: Fleet, backend: str) -> None:
        sides = []
        for seed in (1, 2):
            mem = memory(seed)
            ptrs, lens = list(mem.args.kv_data_ptrs), list(mem.args.kv_data_lens)
            ptrs[1], lens[1] = 0, 0  # the item length still says what a page would be
            sides.append(memory(seed, kv_data_ptrs=tuple(ptrs), kv_data_lens=tuple(lens)))
            sides[-1].kv[:], sides[-1].aux[:] = mem.kv, mem.aux
        source, target = sides
        args = [m.args for m in sides]
        assert args[0].kv_data_ptrs[0] == source.kv[0].ctypes.data
        prefill, decode = fleet.prefill(backend, source), fleet.decode(backend, target)
        before = target.kv[1].copy()
        sender, receiver = begin(prefill, decode, 7, pages(4, 5), aux=(0, 0))
        sender.send(pages(1, 2))
        assert settled(sender, receiver) == [KVPoll.Success] * 2, sender.failure_reason
        np.testing.assert_array_equal(target.kv[0][[4, 5]], source.kv[0][[1, 2]])
        np.testing.assert_array_equal(target.kv[1], before)

    def test_no_rows(self, fleet: Fleet, backend: str) -> None:
        source, target = memory(1, aux=()), memory(2, aux=())
        prefill, decode = fleet.prefill(backend, source), fleet.decode(backend, target)
        hand_over(prefill, decode, 7, pages(1, 2), pages(4, 5), aux=(0, 0))
        np.testing.assert_array_equal(target.kv[0][[4, 5]], source.kv[0][[1, 2]])

    def test_a_request_without_pages(self, fleet: Fleet, backend: str) -> None:
        source, target = memory(1), memory(2)
        prefill, decode = fleet.prefill(backend, source), fleet.decode(backend, target)
        hand_over(prefill, decode, 7, pages(), pages())
        np.testing.assert_array_equal(target.aux[0][2], source.aux[0][1])


@pytest.mark.parametrize("backend", EVERY)
def test_many_rooms_at_once(fleet: Fleet, backend: str) -> None:
    source, target = memory(1, slots=64, rows=32), memory(2, slots=64, rows=32)
    prefill = fleet.prefill(backend, source, transfer_threads=3)
    decode = fleet.decode(backend, target)
    order = np.random.default_rng(0).permutation(64).astype(np.int32)
    rooms = range(32)
    ends = [
        begin(prefill, decode, room, order[2 * room : 2 * room + 2], aux=(room, 31 - room))
        for room in rooms
    ]
    for half in (0, 1):
        for room in rooms:
            ends[room][0].send(pages(2 * room + half))
    flat = [end for both in ends for end in both]
    assert settled(*flat) == [KVPoll.Success] * 64
    for a, b in zip(source.kv, target.kv, strict=True):
        np.testing.assert_array_equal(b[order], a)
    for a, b in zip(source.aux, target.aux, strict=True):
        np.testing.assert_array_equal(b[::-1], a)


def test_a_room_that_fails_leaves_the_others_alone(fleet: Fleet, backend: str) -> None:
    prefill, decode = fleet.prefill(backend, memory(1)), fleet.decode(backend, memory(2))
    ends = [
        begin(prefill, decode, room, pages(2 * room, 2 * room + 1), aux=(1, room))
        for room in range(6)
    ]
    loopback(prefill).fail_next("link down")
    ends[3][0].send(pages(6, 7))
    assert settled(*ends[3]) == [KVPoll.Failed, KVPoll.Failed]
    for room in (0, 1, 2, 4, 5):
        ends[room][0].send(pages(2 * room, 2 * room + 1))
        assert settled(*ends[room]) == [KVPoll.Success, KVPoll.Success]


class TestSender:
    """What a scheduler may not do is said to it at once."""

    def test_more_pages_than_announced(self, fleet: Fleet, backend: str) -> None:
        prefill, decode = fleet.prefill(backend, memory(1)), fleet.decode(backend, memory(2))
        sender, _ = begin(prefill, decode, 7, pages(4, 5))
        with pytest.raises(ValueError, match="3 pages sent of 2"):
            sender.send(pages(1, 2, 3))

    def test_pages_before_decode_has_said_where_they_go(self, fleet: Fleet, backend: str) -> None:
        prefill = fleet.prefill(backend, memory(1))
        sender = prefill.sender(7)
        sender.init(2, aux_index=1)
        with pytest.raises(RoomError, match="decode has not said where"):
            sender.send(pages(1, 2))

    def test_a_room_that_is_open(self, fleet: Fleet, backend: str) -> None:
        prefill = fleet.prefill(backend, memory(1))
        prefill.sender(7)
        with pytest.raises(RoomError, match="already open"):
            prefill.sender(7)
