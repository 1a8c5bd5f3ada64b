"""A loop must survive anything that arrives: field reports L1 to L6, at live managers' ports."""

from __future__ import annotations

import pytest
import zmq
from tests.pdwire.managers.fleet import (
    Fleet,
    Manager,
    Pair,
    PlayedDecode,
    alive,
    counter,
    hand_over,
    memory,
    pages,
    ready,
    settled,
    wait_until,
)

from pdwire.rooms import KVPoll

TAGS = {"mooncake": b"", "nixl": b"NixlMsgGuard", "mori": b"MoriMsgGuard"}


def status_frames(backend: str, room: int, status: int, rank: int) -> list[bytes]:
    numbers = [b"%d" % room, b"%d" % status, b"%d" % rank]
    return numbers if backend == "mooncake" else [b"KV_STATUS", *numbers, b""]


def dropped(manager: Manager, at_least: int) -> None:
    wait_until(lambda: counter(manager, "dropped") >= at_least, f"{at_least} drops")


def test_l1_a_message_of_one_letter_is_counted_and_the_room_completes(
    fleet: Fleet, backend: str
) -> None:
    decode = fleet.decode(backend, memory(2))
    [prefill] = fleet.played_prefill(decode)
    receiver = decode.receiver(prefill.address, 7)
    receiver.init()
    receiver.send_metadata(pages(4, 5), aux_index=3)
    wait_until(lambda: receiver.poll() is KVPoll.Transferring, "the ranks are found")

    prefill.say(b"x")
    prefill.say(*status_frames(backend, room=7, status=4, rank=0))

    assert settled(receiver) == [KVPoll.Success]
    assert counter(decode, "dropped") == 1
    assert counter(decode, "messages", "KV_STATUS") == 1
    assert alive(decode)


def short_and_foreign(decode: PlayedDecode) -> list[list[bytes]]:
    """L2, in the words of the backend: what follows its guard is what the row lists.

    Seven frames behind the guard are a whole request of the first NIXL releases; five are none.
    """
    guard = [TAGS[decode.prefill.backend]] * (decode.prefill.backend != "mooncake")
    whole = decode.metadata(7, pages(4, 5), 3)
    return [
        [*guard, b"7"],
        [*guard, b"None"],
        whole[: 5 + len(guard)] if guard else whole[:7],
        [b"\xff\xfe"],
        [b""],
    ]


def test_l2_short_and_foreign_messages_are_typed_errors_and_the_next_registration_works(
    fleet: Fleet, backend: str
) -> None:
    prefill = fleet.prefill(backend, memory(1))
    decode = fleet.played_decode(prefill)
    bad = short_and_foreign(decode)
    for frames in bad:
        decode.say(*frames)
    prefill.prefill_side().handle([])  # what no socket can carry

    decode.register()
    sender = prefill.sender(7)
    sender.init(2, aux_index=1)
    decode.ask(7, pages(4, 5), 3)
    ready(sender)
    sender.send(pages(0, 1))

    assert settled(sender) == [KVPoll.Success]
    counts = prefill.health()["counters"]
    assert isinstance(counts, dict)
    errors = {"UnknownMessageError", "FrameCountError", "FrameValueError", "InvariantError"}
    assert set(counts["dropped"]) <= errors
    assert sum(counts["dropped"].values()) == len(bad) + 1
    assert "loop_errors" not in counts


@pytest.mark.parametrize("backend", ["mooncake", "nixl", "mori", "ascend"])
def test_l3_l4_an_abort_without_guard_is_taken_by_every_backend(fleet: Fleet, backend: str) -> None:
    prefill = fleet.prefill(backend, memory(1))
    decode = fleet.played_decode(prefill)
    decode.register()
    sender = prefill.sender(7)
    sender.init(2, aux_index=1)
    decode.ask(7, pages(4, 5), 3)
    ready(sender)
    host, port = decode.ear.endpoint

    decode.say(b"ABORT", b"7", host.encode(), b"%d" % port)

    assert settled(sender) == [KVPoll.Failed]
    assert sender.failure_reason == "aborted by the decode side"
    assert counter(prefill, "dropped") == 0


@pytest.mark.parametrize("backend", ["mooncake", "nixl", "mori", "ascend"])
def test_l3_an_unguarded_tag_that_nobody_knows_is_dropped(fleet: Fleet, backend: str) -> None:
    prefill = fleet.prefill(backend, memory(1))
    decode = fleet.played_decode(prefill)

    decode.say(b"ABOLISH", b"7", b"10.0.0.2", b"5000")
    decode.register()

    assert counter(prefill, "dropped", "UnknownMessageError") == 1
    assert counter(prefill, "dropped") == 1


def test_l5_a_short_staging_request_is_a_typed_error(fleet: Fleet, backend: str) -> None:
    decode = fleet.decode(backend, memory(2))
    [prefill] = fleet.played_prefill(decode)

    prefill.say(b"STAGING_REQ", b"7", b"0")
    dropped(decode, 1)

    assert counter(decode, "dropped", "FrameCountError") == 1
    assert alive(decode)


STAGING = [
    ("decode", "STAGING_REQ"),
    ("decode", "CHUNK_READY"),
    ("prefill", "STAGING_RSP"),
    ("prefill", "WATERMARK"),
]


@pytest.mark.parametrize(("side", "message"), STAGING)
def test_l5_staging_messages_where_staging_is_off_are_dropped(
    pair: Pair, samples: object, side: str, message: str
) -> None:
    from pdwire.wire import layout

    manager = pair.prefill if side == "prefill" else pair.decode
    codec = layout(manager.wire_backend, message, release=manager.config.release)
    assert callable(samples)
    drawn = [frames for _, frames in samples(codec)]
    ear = pair.fleet.ear()
    for frames in drawn:
        ear.say(manager.endpoint, frames)

    dropped(manager, len(drawn))
    hand_over(pair.prefill, pair.decode, 8, pages(1, 2), pages(4, 5))

    assert counter(manager, "dropped") == len(drawn)
    assert counter(manager, "messages", message) == len(drawn)
    assert counter(manager, "loop_errors") == 0


@pytest.mark.parametrize("side", ["prefill", "decode"])
def test_l6_a_socket_that_fails_is_rebuilt_on_the_same_port(pair: Pair, side: str) -> None:
    manager = pair.prefill if side == "prefill" else pair.decode
    before = manager.loop.port
    hand_over(pair.prefill, pair.decode, 1, pages(1, 2), pages(4, 5))

    manager.loop._socket.close(linger=0)  # the loop finds it closed under its feet
    wait_until(lambda: counter(manager, "loop_errors") > 0, "the loop has noticed")
    hand_over(pair.prefill, pair.decode, 2, pages(3, 4), pages(6, 7))

    assert alive(manager)
    assert manager.loop.port == before
    assert counter(manager, "loop_errors") < 10


@pytest.mark.parametrize("side", ["prefill", "decode"])
def test_l6_a_loop_that_cannot_go_on_ends_with_a_reason_and_fails_its_rooms(
    pair: Pair, side: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = pair.prefill if side == "prefill" else pair.decode
    sender = pair.prefill.sender(3)
    receiver = pair.decode.receiver(pair.prefill.bootstrap_address, 3)
    receiver.init()

    def refuse(_: object) -> None:
        raise zmq.ZMQError(zmq.EADDRINUSE)

    monkeypatch.setattr(manager.loop, "_bind", refuse)
    manager.loop._socket.close(linger=0)
    wait_until(lambda: manager.loop.dead, "the loop has given up")
    wait_until(lambda: not manager.loop.alive, "its thread has ended")
    end = sender if side == "prefill" else receiver

    assert settled(end) == [KVPoll.Failed]
    assert "socket" in str(end.failure_reason)
    assert not alive(manager)
    assert counter(manager, "loop_errors") < 20
