"""The life of a room over live sockets: field reports R1 to R10, and V6."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.pdwire.managers.fleet import (
    Fleet,
    Manager,
    Pair,
    PlayedDecode,
    alive,
    begin,
    counter,
    found,
    hand_over,
    holds,
    loopback,
    memory,
    pages,
    ready,
    settled,
    wait_until,
    with_limits,
)

from pdwire.managers.receiver import CommonKVReceiver
from pdwire.managers.sender import CommonKVSender
from pdwire.rooms import KVPoll

REASONS = {"mooncake": "prefill rank 0 failed"}
"""What decode learns where the backend's status carries no reason."""


def asked(decode: Manager, address: str, room: int) -> CommonKVReceiver:
    """A receiver that has sent its metadata."""
    receiver = decode.receiver(address, room)
    receiver.init()
    receiver.send_metadata(pages(4, 5), aux_index=3)
    found(receiver)
    return receiver


def opened(prefill: Manager, room: int, num_pages: int = 2) -> CommonKVSender:
    """A sender that knows its size."""
    sender = prefill.sender(room)
    sender.init(num_pages, aux_index=1)
    return sender


def registered(fleet: Fleet, prefill: Manager) -> PlayedDecode:
    decode = fleet.played_decode(prefill)
    decode.register()
    return decode


def handled(manager: Manager, messages: int) -> None:
    """Wait until so many messages have been read, well-formed ones or not."""
    errors = {"UnknownMessageError", "FrameCountError", "FrameValueError", "InvariantError"}

    def seen() -> int:
        return counter(manager, "messages") + sum(counter(manager, "dropped", e) for e in errors)

    wait_until(lambda: seen() >= messages, f"{messages} messages")


def test_r1_failed_is_final(fleet: Fleet, backend: str) -> None:
    decode = fleet.decode(backend, memory(2))
    [prefill] = fleet.played_prefill(decode)
    receiver = asked(decode, prefill.address, 7)

    prefill.status(7, KVPoll.Failed, "no memory" if backend == "nixl" else None)
    prefill.status(7, KVPoll.Success)
    handled(decode, 2)

    assert receiver.poll() is KVPoll.Failed
    assert receiver.failure_reason == REASONS.get(backend, "no memory")
    assert counter(decode, "dropped", "status-done-room") == 1


def test_r2_a_status_of_an_unknown_room_creates_none(fleet: Fleet, backend: str) -> None:
    decode = fleet.decode(backend, memory(2))
    [prefill] = fleet.played_prefill(decode)

    prefill.status(7, KVPoll.Failed)
    handled(decode, 1)

    assert decode.decode_side().status(7) is None
    assert counter(decode, "dropped", "status-unknown-room") == 1
    receiver = asked(decode, prefill.address, 7)
    assert receiver.poll() is KVPoll.Transferring


def test_r3_metadata_from_another_endpoint_is_refused_and_the_first_is_untouched(
    fleet: Fleet, backend: str
) -> None:
    prefill = fleet.prefill(backend, memory(1))
    first, second = registered(fleet, prefill), registered(fleet, prefill)
    sender = opened(prefill, 7)
    first.ask(7, pages(4, 5), 3)
    ready(sender)

    second.ask(7, pages(6, 7), 2)
    answer = second.hear()
    before = second.memory.copy()
    sender.send(pages(0, 1))

    assert (answer.room, answer.status) == (7, KVPoll.Failed)
    assert settled(sender) == [KVPoll.Success]
    assert first.hear().status == KVPoll.Success
    assert not second.memory.changed(before)
    assert second.ear.is_silent()
    assert counter(prefill, "dropped", "metadata-foreign") == 1


def test_r3_a_refused_endpoint_cannot_abort_the_room(fleet: Fleet, backend: str) -> None:
    prefill = fleet.prefill(backend, memory(1))
    first, second = registered(fleet, prefill), registered(fleet, prefill)
    sender = opened(prefill, 7)
    first.ask(7, pages(4, 5), 3)
    ready(sender)
    second.ask(7, pages(6, 7), 2)
    second.hear()

    host, port = second.ear.endpoint
    second.say(b"ABORT", b"7", host.encode(), b"%d" % port, b"1")
    wait_until(lambda: counter(prefill, "messages", "ABORT") == 1)
    sender.send(pages(0, 1))

    assert settled(sender) == [KVPoll.Success]


def test_r4_a_cleared_room_begins_a_clean_new_life(pair: Pair) -> None:
    for round_ in range(3):
        src, dst = pages(round_, round_ + 1), pages(9 - round_, 20 + round_)
        hand_over(pair.prefill, pair.decode, 7, src, dst)
        for source, target in zip(pair.source.kv, pair.target.kv, strict=True):
            np.testing.assert_array_equal(source[src], target[dst])
    assert counter(pair.prefill, "messages", "TransferInfo") == 3
    assert pair.prefill.prefill_side().status(7) is None
    assert pair.decode.decode_side().status(7) is None


def test_r4_a_failed_room_begins_a_clean_new_life(pair: Pair) -> None:
    sender, receiver = begin(pair.prefill, pair.decode, 7, pages(4, 5))
    sender.abort("out of memory")
    assert settled(sender, receiver) == [KVPoll.Failed, KVPoll.Failed]
    wait_until(receiver.pages_released, "every rank has acknowledged")
    sender.clear()
    receiver.clear()

    hand_over(pair.prefill, pair.decode, 7, pages(1, 2), pages(4, 5))


class TestUnopenedRooms:
    """R5: metadata of rooms that nobody opened."""

    @pytest.fixture
    def prefill(self, fleet: Fleet, backend: str) -> Manager:
        limits = with_limits(unopened_rooms=100, unopened_s=0.4)
        return fleet.prefill(backend, memory(1), limits=limits)

    def test_r5_they_are_capped_counted_and_expire(self, fleet: Fleet, prefill: Manager) -> None:
        decode = registered(fleet, prefill)
        one, many = decode.metadata(1_000_000, pages(4, 5), 3), 3_000
        for room in range(many):
            decode.say(*(b"%d" % (1_000_000 + room) if f == b"1000000" else f for f in one))
        wait_until(lambda: counter(prefill, "messages", "TransferInfo") == many)

        capped = counter(prefill, "dropped", "unopened-cap")
        assert counter(prefill, "rooms", "rooms-parked") <= 100
        wait_until(lambda: counter(prefill, "rooms", "rooms-parked") == 0, "they expire")
        assert counter(prefill, "rooms", "unopened-expired") == many - capped
        assert capped > 0
        assert decode.hear().status == KVPoll.Failed
        assert alive(prefill)


@pytest.mark.parametrize("how", ["abort", "clear", "deadline"])
def test_r6_every_real_endpoint_learns_that_and_why_a_room_failed(
    fleet: Fleet, backend: str, how: str
) -> None:
    waiting_s = 0.2 if how == "deadline" else 60
    prefill = fleet.prefill(backend, memory(1), limits=with_limits(waiting_s=waiting_s))
    ranks = [registered(fleet, prefill) for _ in range(3)]
    dummy = ranks.pop()
    sender = opened(prefill, 7)
    for rank in ranks:
        rank.ask(7, pages(4, 5), 3, required_dst_info_num=3)
    blank = {"dst_kv_indices": pages(), "is_dummy": True}
    blank |= {"dst_aux_index": None} if backend == "mooncake" else {}
    dummy.ask(7, pages(), 3, required_dst_info_num=3, **blank)
    ready(sender)

    if how != "deadline":
        sender.abort("no memory left") if how == "abort" else sender.clear()
    verdicts = [rank.hear() for rank in ranks]

    assert settled(sender) == [KVPoll.Failed]
    assert [(v.room, v.status) for v in verdicts] == [(7, KVPoll.Failed)] * 2
    told = {
        "abort": "no memory left",
        "clear": "the prefill side gave the request up",
        "deadline": "the first chunk was not sent within 0.2 s",
    }[how]
    assert {v.failure_reason for v in verdicts} == {None if backend == "mooncake" else told}
    assert dummy.ear.is_silent()


def test_r6_decode_fails_with_the_reason_of_prefill(pair: Pair, backend: str) -> None:
    sender, receiver = begin(pair.prefill, pair.decode, 7, pages(4, 5))
    sender.abort("no memory left")
    assert settled(receiver) == [KVPoll.Failed]
    assert receiver.failure_reason == REASONS.get(backend, "no memory left")
    assert sender.failure_reason == "no memory left"
    assert "room 7" in str(receiver.failure_exception())


class TestDeadlines:
    """R7: whatever a room waits for, it does not wait for ever."""

    @pytest.fixture
    def config(self) -> dict[str, Any]:
        return {"limits": with_limits(bootstrap_s=0.3, waiting_s=0.3, write_s=0.3)}

    def test_r7_rank_1_of_2_never_says_how_it_ended(
        self, fleet: Fleet, backend: str, config: dict[str, Any]
    ) -> None:
        decode = fleet.decode(backend, memory(2), **config)
        first, _ = fleet.played_prefill(decode, ranks=2)
        receiver = asked(decode, first.address, 7)
        first.status(7, KVPoll.Success)
        first.status(7, KVPoll.Success)  # the same rank twice is one rank

        assert settled(receiver) == [KVPoll.Failed]
        assert receiver.failure_reason == "not everything arrived within 0.3 s"
        assert not receiver.pages_released()  # rank 1 may still write

    def test_r7_metadata_is_never_sent(self, pair: Pair) -> None:
        receiver = pair.decode.receiver(pair.prefill.bootstrap_address, 7)
        receiver.init()
        sender = opened(pair.prefill, 7)

        assert settled(sender, receiver) == [KVPoll.Failed, KVPoll.Failed]
        assert receiver.failure_reason == "metadata was not sent within 0.3 s"
        assert receiver.pages_released()  # nobody was ever told of them

    def test_r7_a_receiver_that_is_never_initialised(self, pair: Pair) -> None:
        receiver = pair.decode.receiver(pair.prefill.bootstrap_address, 7)
        assert settled(receiver) == [KVPoll.Failed]
        assert receiver.failure_reason == "the prefill side was not found within 0.3 s"

    def test_r7_a_sender_that_never_sends(self, pair: Pair) -> None:
        sender, receiver = begin(pair.prefill, pair.decode, 7, pages(4, 5))
        assert settled(sender, receiver) == [KVPoll.Failed, KVPoll.Failed]

    def test_r7_a_sender_that_stops_half_way(self, pair: Pair) -> None:
        sender, receiver = begin(pair.prefill, pair.decode, 7, pages(4, 5))
        sender.send(pages(1))
        assert settled(sender, receiver) == [KVPoll.Failed, KVPoll.Failed]
        # Both sides have the same patience; whoever loses it first tells the other.
        told = "the transfer did not go on within 0.3 s", "aborted by the decode side"
        assert sender.failure_reason in told

    def test_r7_a_transfer_that_never_ends(self, pair: Pair) -> None:
        loopback(pair.prefill).hold()
        sender, receiver = begin(pair.prefill, pair.decode, 7, pages(4, 5))
        sender.send(pages(1, 2))
        assert settled(sender, receiver) == [KVPoll.Failed, KVPoll.Failed]
        loopback(pair.prefill).let_go()

    def test_r7_deadlines_pass_under_a_flood(self, pair: Pair) -> None:
        receiver = pair.decode.receiver(pair.prefill.bootstrap_address, 7)
        receiver.init()
        ear = pair.fleet.ear()

        def floods() -> bool:
            for _ in range(500):
                ear.say(pair.decode.endpoint, [b"x"])
            return receiver.poll() is KVPoll.Failed

        wait_until(floods, "the deadline passes although messages never stop")


@pytest.mark.parametrize("backend", ["mooncake", "nixl", "mori"])
def test_r8_metadata_of_a_stranger_is_answered_and_nothing_raises_later(
    fleet: Fleet, backend: str
) -> None:
    prefill = fleet.prefill(backend, memory(1))
    stranger = fleet.played_decode(prefill)
    sender = opened(prefill, 7)

    stranger.ask(7, pages(4, 5), 3)
    answer = stranger.hear()

    assert (answer.room, answer.status) == (7, KVPoll.Failed)
    assert answer.failure_reason == (
        None if backend == "mooncake" else f"unknown peer {stranger.name}"
    )
    assert settled(sender) == [KVPoll.Failed]
    assert sender.failure_reason == f"unknown peer {stranger.name}"
    sender.send(pages(0, 1))
    sender.clear()

    stranger.register()
    sender = opened(prefill, 7)
    stranger.ask(7, pages(4, 5), 3)
    ready(sender)
    sender.send(pages(0, 1))
    assert settled(sender) == [KVPoll.Success]
    assert counter(prefill, "loop_errors") == 0


def test_r8_a_decode_that_was_forgotten_registers_again_and_the_room_is_as_good_as_new(
    fleet: Fleet, backend: str
) -> None:
    prefill = fleet.prefill(backend, memory(1), limits=with_limits(peers=1))
    first, second = fleet.decode(backend, memory(2)), fleet.decode(backend, memory(3))
    hand_over(prefill, first, 1, pages(1, 2), pages(4, 5))
    hand_over(prefill, second, 2, pages(1, 2), pages(4, 5))  # takes the only place

    sender = opened(prefill, 7)
    receiver = asked(first, prefill.bootstrap_address, 7)
    assert settled(sender, receiver) == [KVPoll.Failed, KVPoll.Failed]
    assert sender.failure_reason == f"unknown peer {first.engine.session_id}"
    wait_until(receiver.pages_released, "its abort was answered")
    sender.clear()
    receiver.clear()

    hand_over(prefill, first, 7, pages(1, 2), pages(4, 5))


STATE = ((1, 8, 32), (2, 8, 16))


def test_r9_state_that_decode_has_no_place_for_is_refused_before_anything_moves(
    fleet: Fleet, backend: str
) -> None:
    source, target = memory(1, state=STATE), memory(2)
    prefill, decode = fleet.prefill(backend, source), fleet.decode(backend, target)
    sender, receiver = begin(prefill, decode, 7, pages(4, 5))
    before = target.copy()

    sender.send(pages(1, 2), [pages(3), pages(2, 4)])

    assert settled(sender, receiver) == [KVPoll.Failed, KVPoll.Failed]
    assert sender.failure_reason == "state components: 2 sent of 2, 0 announced of 0"
    assert not target.changed(before)
    assert counter(prefill, "bytes") == 0


def test_r9_more_pages_than_decode_announced_are_refused_before_anything_moves(
    pair: Pair,
) -> None:
    sender, receiver = begin(pair.prefill, pair.decode, 7, pages(4, 5), num_pages=3)
    before = pair.target.copy()

    sender.send(pages(1))  # would fit; the request as a whole does not
    sender.send(pages(2, 3))

    assert settled(sender, receiver) == [KVPoll.Failed, KVPoll.Failed]
    assert "decode announced 2" in str(sender.failure_reason)
    assert not pair.target.changed(before)


def test_r10_a_peer_that_was_marked_failed_is_good_again_once_it_registers(
    fleet: Fleet, backend: str
) -> None:
    prefill = fleet.prefill(backend, memory(1))
    decode = registered(fleet, prefill)
    for room in range(3):
        loopback(prefill).fail_next("link down")
        sender = opened(prefill, room)
        decode.ask(room, pages(4, 5), 3)
        ready(sender)
        sender.send(pages(0, 1))
        assert settled(sender) == [KVPoll.Failed]
        assert sender.failure_reason == "the engine failed: link down"
        decode.hear()

    sender = opened(prefill, 3)
    decode.ask(3, pages(4, 5), 3)
    assert settled(sender) == [KVPoll.Failed]
    assert str(sender.failure_reason).endswith("link down")

    decode.register()
    sender = opened(prefill, 4)
    decode.ask(4, pages(4, 5), 3)
    ready(sender)
    sender.send(pages(0, 1))
    assert settled(sender) == [KVPoll.Success]


def test_r10_a_decode_manager_registers_again_by_itself(pair: Pair) -> None:
    for room in range(3):
        sender, receiver = begin(pair.prefill, pair.decode, room, pages(4, 5))
        loopback(pair.prefill).fail_next("link down")
        sender.send(pages(1, 2))
        assert settled(sender, receiver) == [KVPoll.Failed, KVPoll.Failed]

    hand_over(pair.prefill, pair.decode, 3, pages(1, 2), pages(4, 5))


class TestRestart:
    """V6: the decode side comes back at the same endpoint or under the same name."""

    def test_v6_another_name_at_the_same_endpoint(self, fleet: Fleet, backend: str) -> None:
        prefill = fleet.prefill(backend, memory(1))
        decode = registered(fleet, prefill)
        old = decode.engine
        waiting = opened(prefill, 7)
        decode.ask(7, pages(4, 5), 3)
        ready(waiting)

        decode.engine = fleet.engine(backend)
        decode.register()

        assert settled(waiting) == [KVPoll.Failed]
        assert waiting.failure_reason == f"decode restarted: {old.session_id}"
        assert old.session_id not in prefill.prefill_side().peers
        assert counter(prefill, "rooms", "peers") == 1
        assert decode.ear.is_silent()  # the new process knows nothing of that room

    def test_v6_the_same_name_with_other_memory(self, fleet: Fleet, backend: str) -> None:
        prefill = fleet.prefill(backend, memory(1))
        decode = registered(fleet, prefill)
        waiting = opened(prefill, 7)
        decode.ask(7, pages(4, 5), 3)
        ready(waiting)

        other = memory(9).args.kv_data_ptrs
        decode.register(dst_kv_ptrs=other)

        assert settled(waiting) == [KVPoll.Failed]
        assert waiting.failure_reason == f"decode restarted: {decode.name}"
        known = prefill.prefill_side().peers[decode.name]
        assert known.kv_ptrs == other

    def test_v6_the_same_registration_again_disturbs_nothing(
        self, fleet: Fleet, backend: str
    ) -> None:
        prefill = fleet.prefill(backend, memory(1))
        decode = registered(fleet, prefill)
        waiting = opened(prefill, 7)
        decode.ask(7, pages(4, 5), 3)
        ready(waiting)

        decode.register()
        waiting.send(pages(0, 1))

        assert settled(waiting) == [KVPoll.Success]

    def test_v6_old_pages_are_not_written_into_the_memory_of_the_new_process(
        self, fleet: Fleet, backend: str
    ) -> None:
        prefill = fleet.prefill(backend, memory(1), transfer_threads=1)
        decode = registered(fleet, prefill)
        first, second = opened(prefill, 1), opened(prefill, 2)
        for room in (1, 2):
            decode.ask(room, pages(4, 5), 3)
        ready(first)
        ready(second)
        loopback(prefill).hold()
        first.send(pages(0, 1))  # occupies the transfer thread
        holds(prefill, 1)
        second.send(pages(2, 3))  # waits behind it

        new = memory(9)
        before = new.copy()
        decode.register(dst_kv_ptrs=new.args.kv_data_ptrs)
        loopback(prefill).let_go()

        assert settled(first, second) == [KVPoll.Failed, KVPoll.Failed]
        wait_until(lambda: counter(prefill, "rooms", "writing") == 0, "both writes are over")
        assert not new.changed(before)
