"""Nothing a peer sends moves a byte outside what was registered: field reports M1 to M3."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.pdwire.managers.fleet import (
    Bytes,
    Fleet,
    Memory,
    PlayedPrefill,
    alive,
    begin,
    counter,
    found,
    hand_over,
    memory,
    pages,
    ready,
    settled,
    wait_until,
)

from pdwire.managers.config import KVArgs
from pdwire.managers.memory import AuxMemory, OutOfBounds
from pdwire.managers.receiver import CommonKVReceiver
from pdwire.rooms import KVPoll
from pdwire.wire.common import AuxData

ROW = 3
"""The auxiliary row that room 7 has announced."""


class TestAuxData:
    """M1: a row that comes over the control plane."""

    @pytest.fixture(params=["mooncake", "mori"])
    def backend(self, request: pytest.FixtureRequest) -> str:
        """NIXL has no such message."""
        return str(request.param)

    @pytest.fixture
    def target(self) -> Memory:
        return memory(2)

    @pytest.fixture
    def prefill(self, fleet: Fleet, backend: str, target: Memory) -> PlayedPrefill:
        [prefill] = fleet.played_prefill(fleet.decode(backend, target))
        return prefill

    @pytest.fixture
    def receiver(self, prefill: PlayedPrefill) -> CommonKVReceiver:
        receiver: CommonKVReceiver = prefill.decode.receiver(prefill.address, 7)
        receiver.init()
        receiver.send_metadata(pages(4, 5), aux_index=ROW)
        found(receiver)
        return receiver

    def say(self, prefill: PlayedPrefill, **facts: Any) -> None:  # noqa: ANN401
        decode = prefill.decode
        before = counter(decode, "messages", "AUX_DATA")
        row = {"room": 7, "buffer_index": 0, "aux_index": ROW, "data": b"x" * 16}
        prefill.tell("AUX_DATA", **(row | facts))
        wait_until(lambda: counter(decode, "messages", "AUX_DATA") > before)

    def test_a_row_of_an_active_room_is_written(
        self, prefill: PlayedPrefill, receiver: CommonKVReceiver, target: Memory
    ) -> None:
        self.say(prefill, data=b"a" * 16)
        self.say(prefill, data=b"b" * 64, buffer_index=1)
        prefill.status(7, KVPoll.Success)
        assert settled(receiver) == [KVPoll.Success]
        assert bytes(target.aux[0][ROW]) == b"a" * 16
        assert bytes(target.aux[1][ROW]) == b"b" * 64

    @pytest.mark.parametrize(
        ("facts", "kind"),
        [
            ({"aux_index": 1_000_000}, "aux-foreign-row"),
            ({"aux_index": ROW + 1}, "aux-foreign-row"),  # of another room, perhaps
            ({"buffer_index": 2}, "aux-out-of-bounds"),
            ({"buffer_index": 2**31 - 1}, "aux-out-of-bounds"),
            ({"data": b"x" * 17}, "aux-out-of-bounds"),
            ({"data": b"x" * 64}, "aux-out-of-bounds"),
            ({"room": 8}, "aux-room-not-active"),
        ],
    )
    def test_m1_not_one_byte_is_written(
        self,
        prefill: PlayedPrefill,
        receiver: CommonKVReceiver,
        target: Memory,
        facts: dict[str, Any],
        kind: str,
    ) -> None:
        before = target.copy()
        self.say(prefill, **({"data": b"x" * 16} | facts))
        assert not target.changed(before)
        assert counter(prefill.decode, "dropped", kind) == 1
        assert receiver.poll() is KVPoll.Transferring
        assert alive(prefill.decode)

    def test_m1_metadata_that_is_not_sent_changes_no_row(
        self, prefill: PlayedPrefill, receiver: CommonKVReceiver, target: Memory
    ) -> None:
        receiver.send_metadata(pages(4, 5), aux_index=ROW + 1)  # a room has one answer
        before = target.copy()
        self.say(prefill, aux_index=ROW + 1)
        assert not target.changed(before)
        assert counter(prefill.decode, "sent", "TransferInfo") == 1

    @pytest.mark.parametrize("field", [b"buffer", b"row"])
    def test_m1_a_negative_number_is_no_number(
        self, prefill: PlayedPrefill, receiver: CommonKVReceiver, target: Memory, field: bytes
    ) -> None:
        before = target.copy()
        facts = {"room": 7, "buffer_index": 0, "aux_index": ROW, "data": b"x" * 16}
        decode = prefill.decode
        frames = decode.build("AUX_DATA", facts, decode.config.release)
        at = frames.index(b"0" if field == b"buffer" else b"%d" % ROW)
        frames[at] = b"-1"
        prefill.say(*frames)
        wait_until(lambda: counter(decode, "dropped", "FrameValueError") == 1)
        assert not target.changed(before)
        assert receiver.poll() is KVPoll.Transferring

    def test_m1_a_room_that_is_over_is_not_written(
        self, prefill: PlayedPrefill, receiver: CommonKVReceiver, target: Memory
    ) -> None:
        receiver.abort()
        before = target.copy()
        self.say(prefill)
        receiver.clear()
        self.say(prefill)
        assert not target.changed(before)
        assert counter(prefill.decode, "dropped", "aux-room-not-active") == 2

    @pytest.mark.parametrize("backend", ["mori"])  # Mooncake and NIXL always name a row
    def test_m1_a_room_without_a_row_has_none_written(
        self, prefill: PlayedPrefill, target: Memory
    ) -> None:
        receiver = prefill.decode.receiver(prefill.address, 7)
        receiver.init()
        receiver.send_metadata(pages(4, 5))
        found(receiver)
        before = target.copy()
        self.say(prefill, aux_index=0)
        assert not target.changed(before)
        assert counter(prefill.decode, "dropped", "aux-foreign-row") == 1


def test_m1_the_auxiliary_memory_knows_its_bounds() -> None:
    mem = memory(5, aux=(16, 0), rows=4)
    aux = AuxMemory(mem.args)
    assert aux.read(0, 3) == bytes(mem.aux[0][3])
    aux.write(0, 3, b"short")
    assert bytes(mem.aux[0][3])[:5] == b"short"
    before = mem.copy()
    for buffer, row, data in [(-1, 0, b""), (2, 0, b""), (0, 4, b""), (0, -1, b""), (1, 0, b"")]:
        with pytest.raises(OutOfBounds):
            aux.write(buffer, row, data)
    with pytest.raises(OutOfBounds, match="17 bytes for a row of 16"):
        aux.write(0, 0, b"x" * 17)
    assert not mem.changed(before)


def sparse(stride: int, slots: int) -> Memory:
    """A region of more than 2 GiB of which only what is touched exists."""
    region: Bytes = np.zeros((slots, stride), np.uint8)
    args = KVArgs(
        kv_data_ptrs=(region.ctypes.data,),
        kv_data_lens=(region.nbytes,),
        kv_item_lens=(stride,),
        page_size=4,
    )
    return Memory(kv=[region], aux=[], state=[], args=args)


def test_m2_addresses_are_64_bits_wide(fleet: Fleet, backend: str) -> None:
    page, stride = 254_201, 8448
    assert page * stride > 2**31
    source, target = sparse(stride, page + 1), sparse(stride, page + 1)
    source.kv[0][page] = np.arange(stride) % 251
    source.kv[0][3] = 7
    prefill = fleet.prefill(backend, source, is_mla=True)
    decode = fleet.decode(backend, target, is_mla=True)

    hand_over(prefill, decode, 7, pages(page, 3), pages(5, page), aux=(0, 0))

    np.testing.assert_array_equal(target.kv[0][5], source.kv[0][page])
    np.testing.assert_array_equal(target.kv[0][page], source.kv[0][3])


@pytest.mark.parametrize("page", [32, 1_000_000, 2**31 - 1])
def test_m3_a_page_beyond_what_the_peer_registered_is_refused(
    fleet: Fleet, backend: str, page: int
) -> None:
    prefill = fleet.prefill(backend, memory(1))
    decode = fleet.played_decode(prefill)
    decode.register()
    sender = prefill.sender(7)
    sender.init(2, aux_index=1)
    decode.ask(7, pages(4, page))
    ready(sender)
    before = decode.memory.copy()

    sender.send(pages(1, 2))

    assert settled(sender) == [KVPoll.Failed]
    assert not decode.memory.changed(before)
    if backend == "nixl":  # its registrations say how many pages there are
        assert sender.failure_reason == f"destination pages 4..{page} lie outside 0..31"
    else:
        assert "not registered all of the destination" in str(sender.failure_reason)


@pytest.mark.parametrize("page", [32, -1, 2**31 - 1])
def test_m3_a_decode_rank_does_not_announce_a_page_that_it_has_not(
    fleet: Fleet, backend: str, page: int
) -> None:
    prefill, decode = fleet.prefill(backend, memory(1)), fleet.decode(backend, memory(2))
    receiver = decode.receiver(prefill.bootstrap_address, 7)
    receiver.init()
    receiver.send_metadata(pages(4, page), aux_index=2)
    assert settled(receiver) == [KVPoll.Failed]
    assert receiver.failure_reason == f"page {page} of 32"
    assert counter(decode, "sent", "TransferInfo") == 0


def test_m3_a_page_below_the_pool_is_refused(fleet: Fleet, backend: str) -> None:
    prefill = fleet.prefill(backend, memory(1))
    decode = fleet.played_decode(prefill)
    decode.register()
    sender = prefill.sender(7)
    sender.init(2, aux_index=1)
    decode.ask(7, pages(4, -1), 3)
    ready(sender)
    before = decode.memory.copy()

    sender.send(pages(1, 2))

    assert settled(sender) == [KVPoll.Failed]
    assert "destination pages -1..4 lie outside 0" in str(sender.failure_reason)
    assert not decode.memory.changed(before)
    assert counter(prefill, "bytes") == 0


@pytest.mark.parametrize("wrong", [pages(1, 32), pages(-1, 2)])
def test_m3_a_page_that_this_side_does_not_have_fails_its_room_and_no_peer(
    fleet: Fleet,
    backend: str,
    wrong: Any,  # noqa: ANN401
) -> None:
    prefill, decode = fleet.prefill(backend, memory(1)), fleet.decode(backend, memory(2))
    for room in range(4):  # more often than a peer may fail
        sender, receiver = begin(prefill, decode, room, pages(4, 5))
        sender.send(wrong)
        assert settled(sender, receiver) == [KVPoll.Failed, KVPoll.Failed]
        assert "source pages" in str(sender.failure_reason)
    hand_over(prefill, decode, 4, pages(1, 2), pages(4, 5))


def test_m3_state_items_and_rows_outside_their_regions_are_refused(
    fleet: Fleet, backend: str
) -> None:
    state = ((1, 8, 32),)
    source, target = memory(1, state=state), memory(2, state=state)
    prefill, decode = fleet.prefill(backend, source), fleet.decode(backend, target)
    before = target.copy()
    cases = [(pages(8), pages(1), 1, "source items"), (pages(1), pages(1), 8, "aux rows here")]
    cases.append((pages(1), pages(8), 1, "item of state component 0 8 of 8"))
    for room, (src, dst, row, told) in enumerate(cases):
        sender, receiver = begin(
            prefill, decode, room, pages(4, 5), aux=(row, 2), state_indices=[dst]
        )
        sender.send(pages(1, 2), [src])
        assert settled(sender, receiver) == [KVPoll.Failed, KVPoll.Failed]
        # What decode has not, it does not announce: prefill only hears that the room is over.
        ends = receiver if told == "item of state component 0 8 of 8" else sender
        assert told in str(ends.failure_reason)
    assert not target.changed(before)


def test_pages_of_another_size_are_refused(fleet: Fleet, backend: str) -> None:
    prefill, decode = fleet.prefill(backend, memory(1)), fleet.decode(backend, memory(2, item=512))
    sender, receiver = begin(prefill, decode, 7, pages(4, 5))
    sender.send(pages(1, 2))
    assert settled(sender, receiver) == [KVPoll.Failed, KVPoll.Failed]
    assert sender.failure_reason == (
        "KV: pages of 256 bytes here, of 512 bytes there (region 0 here, region 0 there)"
    )


@pytest.mark.parametrize(
    ("backend", "release"), [("mooncake", "0.5.12"), ("mooncake", "0.5.16"), ("nixl", "0.5.16")]
)
def test_pages_of_another_size_are_refused_where_only_the_first_length_is_told(
    fleet: Fleet, backend: str, release: str
) -> None:
    target = memory(2, item=512)
    prefill = fleet.prefill(backend, memory(1))
    decode = fleet.decode(backend, target, release=release)
    sender, receiver = begin(prefill, decode, 7, pages(4, 5))
    before = target.copy()
    sender.send(pages(1, 2))
    assert settled(sender) == [KVPoll.Failed]
    assert sender.failure_reason == (
        "KV: pages of 256 bytes here, of 512 bytes there (region 0 here, region 0 there)"
    )
    assert not target.changed(before)
    receiver.clear()


def test_m1_a_nixl_decode_takes_no_rows_over_the_control_plane(fleet: Fleet) -> None:
    target = memory(2)
    decode = fleet.decode("nixl", target)
    [prefill] = fleet.played_prefill(decode)
    receiver = decode.receiver(prefill.address, 7)
    receiver.init()
    receiver.send_metadata(pages(4, 5), aux_index=ROW)
    found(receiver)
    before = target.copy()
    row = AuxData(room=7, buffer_index=0, aux_index=ROW, data=b"x" * 16)

    prefill.say(*row.to_zmq())
    wait_until(lambda: counter(decode, "dropped", "UnknownMessageError") == 1)

    assert not target.changed(before)
    with pytest.raises(ValueError, match="no message that carries auxiliary rows"):
        fleet.prefill("nixl", memory(1), aux_over_tcp=True)
