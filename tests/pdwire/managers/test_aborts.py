"""Aborts over live sockets: field reports A1 to A3."""

from __future__ import annotations

from typing import Any

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
from pdwire.wire.common import AbortNotification

EVERY = pytest.mark.parametrize("backend", ["mooncake", "nixl", "mori", "ascend"])


def waiting(prefill: Manager, decode: PlayedDecode, room: int = 7) -> CommonKVSender:
    """A sender whose room has its metadata."""
    sender = prefill.sender(room)
    sender.init(2, aux_index=1)
    decode.ask(room, pages(4, 5), 3)
    ready(sender)
    return sender


def abort(decode: PlayedDecode, room: int = 7, generation: int | None = None) -> None:
    """Say ABORT as the row spells it."""
    host, port = decode.ear.endpoint
    last = [] if generation is None else [b"%d" % generation]
    decode.say(b"ABORT", b"%d" % room, host.encode(), b"%d" % port, *last)


class TestInFlight:
    """A1: an abort while a chunk is being written."""

    def test_a1_pages_come_back_when_the_write_has_ended(self, pair: Pair) -> None:
        sender, receiver = begin(pair.prefill, pair.decode, 7, pages(4, 5))
        loopback(pair.prefill).hold()
        sender.send(pages(1, 2))
        holds(pair.prefill, 1)

        receiver.abort("the client went away")
        assert settled(sender, receiver) == [KVPoll.Failed, KVPoll.Failed]
        assert receiver.failure_reason == "the client went away"
        assert sender.failure_reason == "aborted by the decode side"
        assert counter(pair.prefill, "rooms", "acks-owed") == 1
        assert not receiver.pages_released()

        loopback(pair.prefill).let_go()
        wait_until(receiver.pages_released, "the rank has acknowledged")
        assert counter(pair.decode, "messages", "ABORT_ACK") == 1

    def test_a1_clearing_the_receiver_does_not_give_its_pages_back(self, pair: Pair) -> None:
        sender, receiver = begin(pair.prefill, pair.decode, 7, pages(4, 5))
        loopback(pair.prefill).hold()
        sender.send(pages(1, 2))
        holds(pair.prefill, 1)

        receiver.clear()
        assert settled(sender) == [KVPoll.Failed]
        assert not receiver.pages_released()

        loopback(pair.prefill).let_go()
        wait_until(receiver.pages_released, "the rank has acknowledged")

    def test_a1_a_queued_chunk_is_not_written_after_the_abort(self, pair: Pair) -> None:
        sender, receiver = begin(pair.prefill, pair.decode, 7, pages(4, 5, 6))
        loopback(pair.prefill).hold()
        sender.send(pages(1))
        sender.send(pages(2, 3))  # the same thread, behind the first
        holds(pair.prefill, 1)
        before = [region[[5, 6]] for region in pair.target.kv]

        receiver.abort()
        assert settled(sender) == [KVPoll.Failed]
        loopback(pair.prefill).let_go()
        wait_until(receiver.pages_released, "the rank has acknowledged")

        after = [region[[5, 6]] for region in pair.target.kv]
        assert all((a == b).all() for a, b in zip(before, after, strict=True))

    def played(self, fleet: Fleet, backend: str, **limits: Any) -> tuple[Any, CommonKVReceiver]:  # noqa: ANN401
        decode = fleet.decode(backend, memory(2), limits=with_limits(**limits))
        ranks = fleet.played_prefill(decode, ranks=2)
        receiver = decode.receiver(ranks[0].address, 7)
        receiver.init()
        receiver.send_metadata(pages(4, 5), aux_index=3)
        found(receiver)
        receiver.abort()
        return ranks, receiver

    def test_a1_every_rank_that_could_write_has_to_acknowledge(
        self, fleet: Fleet, backend: str
    ) -> None:
        (first, second), receiver = self.played(fleet, backend)
        heard = [rank.hear_until("AbortNotification") for rank in (first, second)]
        generation = heard[0].generation
        assert [h.room for h in heard] == [7, 7]
        assert generation == heard[1].generation
        decode = first.decode

        answers = [
            (first, {"prefill_rank": 0, "generation": generation}),
            (first, {"prefill_rank": 0, "generation": generation}),  # twice is once
            (second, {"prefill_rank": 1}),  # V5: proves nothing
            (second, {"prefill_rank": 1, "generation": generation + 1}),  # of no abort of ours
        ]
        for rank, facts in answers:
            rank.tell("ABORT_ACK", room=7, **facts)
        wait_until(lambda: counter(decode, "messages", "ABORT_ACK") == len(answers))
        assert not receiver.pages_released()

        second.tell("ABORT_ACK", room=7, prefill_rank=1, generation=generation)
        wait_until(receiver.pages_released, "both have acknowledged")

    def test_a1_or_a_long_timeout_has_passed(self, fleet: Fleet, backend: str) -> None:
        (first, _), receiver = self.played(fleet, backend, abort_release_s=0.5)
        assert not receiver.pages_released()
        wait_until(receiver.pages_released, "the long timeout has passed")
        assert counter(first.decode, "rooms", "released-by-timeout") == 1


@EVERY
def test_a2_an_abort_is_acknowledged_once_drained(fleet: Fleet, backend: str) -> None:
    prefill = fleet.prefill(backend, memory(1))
    decode = fleet.played_decode(prefill)
    decode.register()
    sender = waiting(prefill, decode)
    loopback(prefill).hold()
    sender.send(pages(0, 1))
    holds(prefill, 1)

    abort(decode, generation=1)
    assert settled(sender) == [KVPoll.Failed]
    assert decode.ear.is_silent()
    loopback(prefill).let_go()

    assert decode.ear.hear() == [b"ABORT_ACK", b"7", b"0", b"1"]


@EVERY
def test_a2_an_idle_room_and_an_unknown_one_are_acknowledged_at_once(
    fleet: Fleet, backend: str
) -> None:
    prefill = fleet.prefill(backend, memory(1))
    decode = fleet.played_decode(prefill)
    decode.register()
    sender = waiting(prefill, decode)

    abort(decode, generation=1)
    abort(decode, room=8, generation=2)
    heard = [decode.ear.hear(), decode.ear.hear()]

    assert heard == [[b"ABORT_ACK", b"7", b"0", b"1"], [b"ABORT_ACK", b"8", b"0", b"2"]]
    assert sender.poll() is KVPoll.Failed


def test_a2_a_double_and_a_stale_abort_are_not_acknowledged_again(
    fleet: Fleet, backend: str
) -> None:
    prefill = fleet.prefill(backend, memory(1))
    decode = fleet.played_decode(prefill)
    decode.register()
    for generation in (5, 5, 4, 6):
        abort(decode, generation=generation)

    assert decode.ear.hear() == [b"ABORT_ACK", b"7", b"0", b"5"]
    assert decode.ear.hear() == [b"ABORT_ACK", b"7", b"0", b"6"]
    assert counter(prefill, "dropped", "abort-double") == 2


def test_a2_an_abort_that_overtakes_its_metadata_is_not_forgotten(
    fleet: Fleet, backend: str
) -> None:
    prefill = fleet.prefill(backend, memory(1))
    decode = fleet.played_decode(prefill)
    decode.register()
    abort(decode, generation=1)
    decode.ask(7, pages(4, 5), 3)
    assert decode.ear.hear() == [b"ABORT_ACK", b"7", b"0", b"1"]
    assert decode.hear().status == KVPoll.Failed

    sender = prefill.sender(7)
    assert sender.poll() is KVPoll.Failed


BAD_ADDRESSES = [
    [b"10.0.0.2", b"0"],
    [b"10.0.0.2", b"70000"],
    [b"10.0.0.2", b"port"],
    [b"no host", b"5000"],
    [b"", b"5000"],
    [b"\xff\xfe", b"5000"],
    [b"10.0.0.2", b"5000", b"first"],
    [b"10.0.0.2"],
]


@EVERY
@pytest.mark.parametrize("address", BAD_ADDRESSES, ids=repr)
def test_a3_a_bad_address_is_refused_and_the_room_aborted(
    fleet: Fleet, backend: str, address: list[bytes]
) -> None:
    prefill = fleet.prefill(backend, memory(1))
    decode = fleet.played_decode(prefill)
    decode.register()
    sender = waiting(prefill, decode)

    decode.say(b"ABORT", b"7", *address)

    assert settled(sender) == [KVPoll.Failed]
    assert sender.failure_reason == "aborted by the decode side"
    assert counter(prefill, "dropped", "abort-bad-address") == 1
    assert counter(prefill, "dropped") == 1
    assert decode.hear().status == KVPoll.Failed  # whoever asked for the room hears of it
    assert counter(prefill, "sent", "ABORT_ACK") == 0
    assert alive(prefill)


def test_a3_an_abort_of_no_room_gives_nothing_up(fleet: Fleet, backend: str) -> None:
    prefill = fleet.prefill(backend, memory(1))
    decode = fleet.played_decode(prefill)
    decode.register()
    sender = waiting(prefill, decode)

    decode.say(b"ABORT", b"seven", b"10.0.0.2", b"0")
    wait_until(lambda: counter(prefill, "dropped") == 1)
    sender.send(pages(0, 1))

    assert settled(sender) == [KVPoll.Success]


def test_an_abort_of_a_release_without_generations_releases_by_timeout_alone(
    fleet: Fleet, backend: str
) -> None:
    limits = with_limits(abort_release_s=0.5)
    prefill = fleet.prefill(backend, memory(1))
    decode = fleet.decode(backend, memory(2), release="0.5.21", limits=limits)
    sender, receiver = begin(prefill, decode, 7, pages(4, 5))
    receiver.abort()
    assert settled(sender) == [KVPoll.Failed]
    wait_until(lambda: counter(decode, "messages", "ABORT_ACK") == 1)
    assert not receiver.pages_released()
    wait_until(receiver.pages_released, "the long timeout has passed")


def test_a_strangers_late_abort_of_a_finished_room_is_acknowledged_and_costs_nothing(
    pair: Pair,
) -> None:
    """Field report A12: otherwise anybody ends the next life of any number, again and again."""
    hand_over(pair.prefill, pair.decode, 7, pages(1, 2), pages(4, 5))
    ear = pair.fleet.ear()
    host, port = ear.endpoint
    told = AbortNotification(room=7, decode_ip=host, decode_port=port, generation=1)
    ear.say(pair.prefill.endpoint, told.to_zmq())
    assert ear.hear() == [b"ABORT_ACK", b"7", b"0", b"1"]
    hand_over(pair.prefill, pair.decode, 7, pages(1, 2), pages(4, 6))


def test_a_peers_late_abort_of_a_finished_room_costs_one_refusal_at_most(pair: Pair) -> None:
    """It may have overtaken its metadata, so the number's next life is refused, once."""
    hand_over(pair.prefill, pair.decode, 7, pages(1, 2), pages(4, 5))
    host, port = pair.decode.endpoint
    told = AbortNotification(room=7, decode_ip=host, decode_port=port, generation=1)
    ear = pair.fleet.ear()
    ear.say(pair.prefill.endpoint, told.to_zmq())
    wait_until(lambda: counter(pair.prefill, "messages", "ABORT") == 1)

    sender, receiver = begin(pair.prefill, pair.decode, 7, pages(4, 5))
    assert settled(sender, receiver) == [KVPoll.Failed, KVPoll.Failed]
    assert sender.failure_reason == "aborted by the decode side"
    wait_until(receiver.pages_released, "its abort was answered")
    sender.clear()
    receiver.clear()
    hand_over(pair.prefill, pair.decode, 7, pages(1, 2), pages(4, 5))


@pytest.mark.parametrize(("release", "said"), [("0.5.15.post1", 0), ("0.5.16", 1)])
def test_no_abort_is_sent_to_a_release_whose_loop_ends_on_it(
    fleet: Fleet, release: str, said: int
) -> None:
    decode = fleet.decode("nixl", memory(2), release=release)
    (prefill,) = fleet.played_prefill(decode)
    receiver = decode.receiver(prefill.address, 7)
    receiver.init()
    receiver.send_metadata(pages(4, 5), aux_index=3)
    found(receiver)
    receiver.abort("the client went away")
    assert counter(decode, "unsaid", "ABORT") == 1 - said
    # Sockets keep their order: an abort would have come before what is sent now.
    other = decode.receiver(prefill.address, 8)
    other.init()
    other.send_metadata(pages(6), aux_index=4)
    heard = [type(prefill.hear()).__name__ for _ in range(3 + said)]
    assert heard.count("AbortNotification") == said
    assert heard[-1] == "TransferInfo"
