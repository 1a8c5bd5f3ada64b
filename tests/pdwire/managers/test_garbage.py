"""Ten thousand malformed or foreign messages against each loop of each manager.

What is sent is refused by the codecs, which the test asks first, so the counts are known
exactly: every message is dropped once, by a typed error, and nothing else happens. Messages
that are well-formed but fit no room, from endpoints that nobody knows, come in a test of
their own.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.pdwire.managers.fleet import (
    Ear,
    Fleet,
    Manager,
    Pair,
    alive,
    counter,
    found,
    hand_over,
    memory,
    pages,
    wait_until,
)

from pdwire.codec import Codec
from pdwire.errors import WireError
from pdwire.rooms import KVPoll
from pdwire.wire import layouts, recognise
from pdwire.wire.common import AbortAck, AbortNotification, AuxData

Frames = list[bytes]
MANY = 10_000
DISTINCT = 2_000
HUGE = 4 << 20
EVERY = ["mooncake", "nixl", "mori", "ascend"]
ERRORS = {"UnknownMessageError", "FrameCountError", "FrameValueError", "InvariantError"}
ERRORS |= {"AmbiguousMessageError"}


@pytest.fixture(params=EVERY)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["prefill", "decode"])
def victim(request: pytest.FixtureRequest, pair: Pair) -> Manager:
    return pair.prefill if request.param == "prefill" else pair.decode


# ------------------------------------------------------------------- bad frames


def random_frames(rng: Random, _: Frames) -> Frames:
    return [rng.randbytes(rng.randrange(40)) for _ in range(rng.randrange(1, 25))]


def empty(rng: Random, _: Frames) -> Frames:
    return [b""] * rng.randrange(1, 30)


def lacks_a_frame(rng: Random, frames: Frames) -> Frames:
    at = rng.randrange(len(frames))
    return [*frames[:at], *frames[at + 1 :]] or [b""]


def doubles_a_frame(rng: Random, frames: Frames) -> Frames:
    at = rng.randrange(len(frames))
    return [*frames[:at], frames[at], *frames[at:]]


def swapped(rng: Random, frames: Frames) -> Frames:
    mixed = list(frames)
    rng.shuffle(mixed)
    return mixed


def other(rng: Random, frames: Frames, change: Callable[[bytes], bytes]) -> Frames:
    at = rng.randrange(len(frames))
    return [*frames[:at], change(frames[at]), *frames[at + 1 :]]


def truncated(rng: Random, frames: Frames) -> Frames:
    return other(rng, frames, lambda frame: frame[: rng.randrange(len(frame) + 1)])


def flipped(rng: Random, frames: Frames) -> Frames:
    def flip(frame: bytes) -> bytes:
        at = rng.randrange(len(frame) + 1)
        return frame[:at] + rng.randbytes(1) + frame[at + 1 :]

    return other(rng, frames, flip)


def no_text(rng: Random, frames: Frames) -> Frames:
    return other(rng, frames, lambda _: b"\xff\xfe\x80")


def long_number(rng: Random, frames: Frames) -> Frames:
    return other(rng, frames, lambda _: b"9" * rng.randrange(19, 5000))


def a_pickle(rng: Random, frames: Frames) -> Frames:
    return other(rng, frames, lambda frame: b"\x80\x05" + frame)


def many_frames(rng: Random, frames: Frames) -> Frames:
    return frames * rng.randrange(10, 40)


def as_it_is(_: Random, frames: Frames) -> Frames:
    return list(frames)


SPOILT: list[Callable[[Random, Frames], Frames]]
SPOILT = [random_frames, empty, lacks_a_frame, doubles_a_frame, swapped, truncated, flipped]
SPOILT += [no_text, long_number, a_pickle, many_frames, as_it_is]


def huge(rng: Random, frames: Frames) -> list[Frames]:
    """A few messages with a frame of megabytes."""
    blob = rng.randbytes(HUGE)
    digits = b"7" * HUGE
    return [[blob], [*frames, blob], [digits], [frames[0], digits], [digits, *frames]]


def is_refused(frames: Frames, backend: str, direction: str) -> bool:
    """Whether the codecs refuse it; what reads two ways is refused by a stranger's socket too."""
    try:
        recognise(frames, backend=backend, direction=direction).codec.decode(frames)
    except WireError:
        return True
    return False


@pytest.fixture(scope="session")
def garbage(
    samples: Callable[[Codec[Any]], list[tuple[Any, Frames]]],
) -> Callable[[str, str], list[Frames]]:
    """Refused messages for a backend and direction: every codec's, spoilt in every way."""
    valid = [
        frames
        for codec in layouts()
        if codec.transport == "zmq"
        for _, frames in samples(codec)[:4]
    ]

    @cache
    def made(backend: str, direction: str) -> list[Frames]:
        rng = Random(f"{backend} {direction}")  # noqa: S311  # repeatable, nothing secret
        found: list[Frames] = []
        while len(found) < DISTINCT:
            frames = rng.choice(SPOILT)(rng, rng.choice(valid))
            # An ABORT that only lacks a good address is not refused but obeyed (A3).
            is_abort = frames[0] == b"ABORT" and len(frames) > 1
            if not is_abort and is_refused(frames, backend, direction):
                found.append(frames)
        request = max(valid, key=len)
        large = [f for f in huge(rng, request) if is_refused(f, backend, direction)]
        return found + large

    return made


def stream(distinct: list[Frames], count: int) -> Iterator[Frames]:
    """So many messages; the large ones, which stand last, come once."""
    small = distinct[:DISTINCT]
    yield from distinct[DISTINCT:]
    for n in range(count - (len(distinct) - DISTINCT)):
        yield small[n % DISTINCT]


def fire(ear: Ear, victim: Manager, messages: Iterator[Frames]) -> None:
    for frames in messages:
        ear.say(victim.endpoint, frames)


def refusals(manager: Manager) -> int:
    return sum(manager.counters.count("dropped", error) for error in ERRORS)


def test_ten_thousand_messages_that_are_none(
    pair: Pair, victim: Manager, garbage: Callable[[str, str], list[Frames]]
) -> None:
    hand_over(pair.prefill, pair.decode, 1, pages(1, 2), pages(4, 5))
    before = counter(victim, "messages")
    way = "decode -> prefill" if victim is pair.prefill else "prefill -> decode"
    distinct = garbage(victim.wire_backend, way)
    ear = pair.fleet.ear()

    fire(ear, victim, stream(distinct, MANY // 2))
    wait_until(lambda: refusals(victim) == MANY // 2, "the first half is dropped")
    gc.collect()
    tracemalloc.start()
    try:
        fire(ear, victim, stream(distinct, MANY // 2))
        wait_until(lambda: refusals(victim) == MANY, "all of it is dropped")
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert counter(victim, "dropped") == MANY
    assert counter(victim, "messages") == before
    assert counter(victim, "loop_errors") == 0
    assert kept < 256 * 1024
    assert alive(victim)
    hand_over(pair.prefill, pair.decode, 2, pages(1, 2), pages(4, 5))
    for source, target in zip(pair.source.kv, pair.target.kv, strict=True):
        np.testing.assert_array_equal(source[[1, 2]], target[[4, 5]])


STRANGERS = 2_000


def test_decode_is_told_of_rooms_that_it_never_had(fleet: Fleet, backend: str) -> None:
    decode = fleet.decode(backend, memory(2))
    [prefill] = fleet.played_prefill(decode)
    for n in range(STRANGERS):
        prefill.status(10_000 + n, KVPoll(n % 5), rank=n)
        ack = AbortAck(room=10_000 + n, prefill_rank=0, generation=n)
        prefill.say(*ack.to_zmq())
        if backend != "nixl":
            row = AuxData(room=10_000 + n, buffer_index=0, aux_index=0, data=b"x" * 16)
            prefill.say(*row.to_zmq())
    sent = STRANGERS * (2 if backend == "nixl" else 3)
    wait_until(lambda: counter(decode, "messages") == sent, "everything is read")

    assert counter(decode, "dropped") == sent
    assert counter(decode, "loop_errors") == 0
    receiver = decode.receiver(prefill.address, 7)
    receiver.init()
    receiver.send_metadata(pages(4, 5), aux_index=3)
    found(receiver)
    prefill.status(7, KVPoll.Success)
    wait_until(lambda: receiver.poll() is KVPoll.Success, "a valid room succeeds")


def test_strangers_of_many_endpoints_take_nothing_from_peers(fleet: Fleet, backend: str) -> None:
    target = memory(2)
    prefill = fleet.prefill(backend, memory(1))
    stranger = fleet.played_decode(prefill)
    one = stranger.metadata(1_000_000, pages(4, 5), 3)
    mine = b"%d" % stranger.ear.endpoint[1]
    for n in range(STRANGERS):
        port = b"%d" % (1024 + n)
        told = {b"1000000": b"%d" % (1_000_000 + n), mine: port}
        stranger.say(*(told.get(frame, frame) for frame in one))
        left = AbortNotification(
            room=2_000_000 + n, decode_ip="127.0.0.1", decode_port=1024 + n, generation=1
        )
        stranger.say(*left.to_zmq())
    wait_until(lambda: counter(prefill, "messages") == 2 * STRANGERS, "everything is read")

    assert counter(prefill, "dropped", "metadata-unusable-peer") == STRANGERS
    assert counter(prefill, "loop_errors") == 0
    assert len(prefill.outbox._peers.lines) == 0
    assert len(prefill.outbox._strangers.lines) <= 64
    decode = fleet.decode(backend, target)
    hand_over(prefill, decode, 7, pages(1, 2), pages(4, 5))
