"""What comes before its request, or after it is over: early metadata, late metadata, aborts."""

from __future__ import annotations

from typing import Any

import pytest
from tests.pdwire.managers.fleet import (
    Fleet,
    Manager,
    Pair,
    PlayedDecode,
    begin,
    counter,
    hand_over,
    memory,
    pages,
    ready,
    settled,
    wait_until,
    with_limits,
)

from pdwire.managers.sender import CommonKVSender
from pdwire.rooms import KVPoll
from pdwire.wire.common import AbortNotification, Bootstrap

EVERY = pytest.mark.parametrize("backend", ["mooncake", "nixl", "mori", "ascend"])


def registered(fleet: Fleet, prefill: Manager) -> PlayedDecode:
    decode = fleet.played_decode(prefill)
    decode.register()
    return decode


def opened(prefill: Manager, room: int = 7, num_pages: int = 2) -> CommonKVSender:
    sender = prefill.sender(room)
    sender.init(num_pages, aux_index=1)
    return sender


def heard(prefill: Manager, message: str, count: int) -> None:
    wait_until(lambda: counter(prefill, "messages", message) >= count, f"{count} {message}")


def abort(decode: PlayedDecode, room: int = 7, generation: int = 1) -> None:
    host, port = decode.ear.endpoint
    told = AbortNotification(room=room, decode_ip=host, decode_port=port, generation=generation)
    before = counter(decode.prefill, "messages", "ABORT")
    decode.say(*told.to_zmq())
    heard(decode.prefill, "ABORT", before + 1)


# ---------------------------------------------------------------------------- H3


@pytest.mark.parametrize("how", ["given up", "failed"])
def test_h3_metadata_for_a_room_that_failed_and_was_cleared_is_answered_with_its_reason(
    pair: Pair, how: str
) -> None:
    receiver = pair.decode.receiver(pair.prefill.bootstrap_address, 7)
    receiver.init()
    sender = opened(pair.prefill)
    if how == "failed":
        sender.abort("out of memory")
    sender.clear()

    receiver.send_metadata(pages(4, 5), aux_index=2)

    assert settled(receiver) == [KVPoll.Failed]
    if pair.prefill.backend == "nixl":  # Mooncake's statuses say no reason
        reason = "out of memory" if how == "failed" else "the prefill side gave the request up"
        assert receiver.failure_reason == reason
    wait_until(receiver.pages_released)
    receiver.clear()
    hand_over(pair.prefill, pair.decode, 7, pages(1, 2), pages(4, 5))


def test_h3_who_heard_of_the_failure_may_begin_the_number_again_at_once(pair: Pair) -> None:
    sender, receiver = begin(pair.prefill, pair.decode, 7, pages(4, 5))
    sender.abort("out of memory")
    assert settled(sender, receiver) == [KVPoll.Failed] * 2
    wait_until(receiver.pages_released)
    sender.clear()
    receiver.clear()
    again = pair.decode.receiver(pair.prefill.bootstrap_address, 7)
    again.init()
    again.send_metadata(pages(6, 7), aux_index=2)  # before the next sender
    heard(pair.prefill, "TransferInfo", 2)
    sender = opened(pair.prefill)
    ready(sender)
    sender.send(pages(1, 2))
    assert settled(sender, again) == [KVPoll.Success] * 2


# --------------------------------------------------------------------------- A14


@EVERY
def test_a14_metadata_that_comes_a_second_time_begins_no_other_request(
    fleet: Fleet, backend: str
) -> None:
    prefill = fleet.prefill(backend, memory(1))
    decode = registered(fleet, prefill)
    sender = opened(prefill)
    decode.ask(7, pages(4, 5), 3)
    ready(sender)
    sender.send(pages(0, 1))
    assert settled(sender) == [KVPoll.Success]
    assert decode.hear().status == KVPoll.Success
    sender.clear()

    decode.ask(7, pages(4, 5), 3)
    assert decode.hear().status == KVPoll.Failed
    assert counter(prefill, "dropped", "metadata-repeated") == 1
    before = decode.memory.copy()
    sender = opened(prefill)
    assert sender.poll() is KVPoll.Bootstrapping

    decode.ask(7, pages(8, 9), 5)
    ready(sender)
    sender.send(pages(2, 3))
    assert settled(sender) == [KVPoll.Success]
    for region, old in zip(decode.memory.kv, before, strict=False):
        assert (region[[4, 5]] == old[[4, 5]]).all()


def test_a14_other_metadata_of_a_number_that_is_used_again_is_a_request(fleet: Fleet) -> None:
    prefill = fleet.prefill("nixl", memory(1))
    decode = registered(fleet, prefill)
    for n in range(3):
        decode.ask(7, pages(4 + n, 9), 3)
        heard(prefill, "TransferInfo", n + 1)
        sender = opened(prefill)
        ready(sender)
        sender.send(pages(0, 1))
        assert settled(sender) == [KVPoll.Success]
        sender.clear()


def test_a14_the_same_metadata_is_a_request_after_a_while_or_behind_its_sender(
    fleet: Fleet,
) -> None:
    prefill = fleet.prefill("nixl", memory(1), limits=with_limits(repeated_s=0.05))
    decode = registered(fleet, prefill)
    for _ in range(3):
        sender = opened(prefill)
        decode.ask(7, pages(4, 5), 3)
        ready(sender)
        sender.send(pages(0, 1))
        assert settled(sender) == [KVPoll.Success]
        sender.clear()

    def early() -> bool:
        decode.ask(7, pages(4, 5), 3)
        return counter(prefill, "rooms", "rooms-parked") == 1

    wait_until(early)


# --------------------------------------------------------------------------- A11


@EVERY
@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize("what", ["prefix", "pages"])
def test_a11_decode_ranks_that_contradict_each_other_fail_the_room(
    fleet: Fleet, backend: str, is_open: bool, what: str
) -> None:
    prefill = fleet.prefill(backend, memory(1))
    decodes = [registered(fleet, prefill), registered(fleet, prefill)]
    sender = opened(prefill) if is_open else None
    facts: list[dict[str, Any]] = [
        {"decode_prefix_len": None if backend == "mori" else 0},
        {"decode_prefix_len": 64},
    ]
    lists = [pages(4, 5), pages(4, 5)]
    if what == "pages":
        facts, lists = [facts[0], facts[0]], [pages(4, 5), pages(4)]
    for n, decode in enumerate(decodes):
        decode.ask(7, lists[n], 3, required_dst_info_num=2, **facts[n])
        heard(prefill, "TransferInfo", n + 1)
    assert [decode.hear().status for decode in decodes] == [KVPoll.Failed] * 2
    sender = sender or opened(prefill)
    assert settled(sender) == [KVPoll.Failed]
    assert sender.failure_reason == (
        "decode ranks hold prefixes of 0 and 64 tokens"
        if what == "prefix"
        else "decode ranks announced 1 and 2 pages"
    )


# ---------------------------------------------------------------------------- H7


@EVERY
@pytest.mark.parametrize("is_open", [True, False])
def test_h7_a_peer_that_gives_up_before_its_metadata_ends_the_room_at_once(
    fleet: Fleet, backend: str, is_open: bool
) -> None:
    prefill = fleet.prefill(backend, memory(1))
    decode = registered(fleet, prefill)
    sender = opened(prefill) if is_open else None
    abort(decode)
    sender = sender or opened(prefill)
    assert settled(sender) == [KVPoll.Failed]
    assert sender.failure_reason == "aborted by the decode side"


# --------------------------------------------------------------------------- A12


@pytest.mark.parametrize("who", ["a stranger", "another peer"])
@pytest.mark.parametrize("is_open", [True, False])
def test_a12_only_who_is_party_to_a_room_ends_it(
    fleet: Fleet, backend: str, who: str, is_open: bool
) -> None:
    prefill = fleet.prefill(backend, memory(1))
    decode = registered(fleet, prefill)
    other = registered(fleet, prefill) if who == "another peer" else fleet.played_decode(prefill)
    sender = opened(prefill) if is_open else None
    decode.ask(7, pages(4, 5), 3)
    heard(prefill, "TransferInfo", 1)
    abort(other)
    sender = sender or opened(prefill)
    ready(sender)
    assert counter(prefill, "dropped", "abort-stranger") == 1
    sender.send(pages(0, 1))
    assert settled(sender) == [KVPoll.Success]


def test_a12_a_stranger_gives_up_no_number_ahead_of_its_request(fleet: Fleet, backend: str) -> None:
    prefill, decode = fleet.prefill(backend, memory(1)), fleet.decode(backend, memory(2))
    stranger = fleet.played_decode(prefill)
    for room in range(7, 10):
        abort(stranger, room)
    hand_over(prefill, decode, 7, pages(1, 2), pages(4, 5))
    sender = opened(prefill, 8)
    abort(stranger, 8, generation=2)
    assert sender.poll() is KVPoll.Bootstrapping
    assert counter(prefill, "rooms", "rooms-doomed") == 0


@pytest.mark.parametrize("is_peer", [True, False])
def test_a12_those_who_only_wait_keep_no_metadata_out(
    fleet: Fleet, backend: str, is_peer: bool
) -> None:
    prefill = fleet.prefill(backend, memory(1), limits=with_limits(unopened_rooms=50))
    flood = registered(fleet, prefill) if is_peer else fleet.played_decode(prefill)
    host, port = flood.ear.endpoint
    for room in range(1_000, 1_200):
        flood.say(*Bootstrap(room=room, decode_ip=host, decode_port=port).to_zmq())
    heard(prefill, "BOOTSTRAP", 200)
    assert counter(prefill, "rooms", "rooms-parked") == 50
    decode = registered(fleet, prefill)
    for room in range(7, 10):
        decode.ask(room, pages(4, 5), 3)
    heard(prefill, "TransferInfo", 3)
    for room in range(7, 10):
        sender = opened(prefill, room)
        ready(sender)
        sender.send(pages(0, 1))
        assert settled(sender) == [KVPoll.Success]
    assert counter(prefill, "rooms", "unopened-displaced") == 3


def test_a12_one_peers_early_metadata_keeps_no_other_peers_out(fleet: Fleet, backend: str) -> None:
    prefill = fleet.prefill(backend, memory(1), limits=with_limits(unopened_rooms=20))
    flood, decode = registered(fleet, prefill), registered(fleet, prefill)
    for room in range(1_000, 1_100):
        flood.ask(room, pages(4, 5), 3)
    heard(prefill, "TransferInfo", 100)
    for room in range(7, 12):
        decode.ask(room, pages(4, 5), 3)
    heard(prefill, "TransferInfo", 105)
    assert counter(prefill, "rooms", "rooms-parked") == 20
    for room in (*range(7, 12), 1_000):
        sender = opened(prefill, room)
        assert sender.poll() is KVPoll.WaitingForInput, room


def test_a12_early_metadata_is_bounded_in_bytes(fleet: Fleet, backend: str) -> None:
    limits = with_limits(unopened_bytes=1 << 20)
    prefill = fleet.prefill(backend, memory(1), limits=limits)
    flood, decode = registered(fleet, prefill), registered(fleet, prefill)
    large = pages(*range(50_000))  # 200 kB
    for room in range(1_000, 1_020):
        flood.ask(room, large, 3)
    heard(prefill, "TransferInfo", 20)
    assert counter(prefill, "rooms", "rooms-parked") == 5
    decode.ask(7, large, 3)
    heard(prefill, "TransferInfo", 21)
    assert counter(prefill, "rooms", "rooms-parked") == 5
    assert opened(prefill, 7, 50_000).poll() is KVPoll.WaitingForInput
    assert prefill.prefill_side().rooms._ledger._shares.size <= 1 << 20
