"""Staging over live sockets: field reports S1 to S7, by raw frames where the row has them."""

from __future__ import annotations

import time
from typing import Any, TypeVar

import numpy as np
import pytest
from tests.pdwire.managers.fleet import (
    PATIENCE_S,
    Bytes,
    Fleet,
    PlayedPrefill,
    alive,
    counter,
    found,
    holds,
    loopback,
    pages,
    settled,
    wait_until,
)
from tests.pdwire.managers.staged import (
    HEAD,
    HEADS,
    LAYERS,
    NEEDS_TORCH,
    TOKENS,
    Request,
    Side,
    decode_side,
    drained,
    numbers,
    page_bytes,
    prefill_side,
    requests,
    staged,
    staging,
    untouched,
)

from pdwire.codec import Message
from pdwire.managers.receiver import CommonKVReceiver
from pdwire.rooms import KVPoll
from pdwire.wire import layout
from pdwire.wire.common import StagingRsp, Watermark
from pdwire.wire.nixl import NotifAux, NotifStg

pytestmark = NEEDS_TORCH
ROOM = 7
M = TypeVar("M", StagingRsp, Watermark)


class Played:
    """Two prefill ranks that the test plays, and the live decode rank that stages for them."""

    def __init__(self, fleet: Fleet, backend: str, ring: int, **config: Any) -> None:  # noqa: ANN401
        self.side = decode_side(fleet, backend, 1, staging_bytes=ring * page_bytes(), **config)
        [self.decode] = self.side.managers
        self.ranks = fleet.played_prefill(self.decode, 2)
        self._engine = fleet.engine(backend)
        self._lengths: dict[int, int] = {}

    def receive(self, room: int, dst: Any) -> CommonKVReceiver:  # noqa: ANN401
        """A room that is waiting for its data."""
        receiver: CommonKVReceiver = self.decode.receiver(self.ranks[0].address, room)
        receiver.init()
        receiver.send_metadata(dst, aux_index=room % 8)
        found(receiver)
        self._lengths[room] = len(dst)
        return receiver

    def ask(self, room: int, chunk: int, size: int, rank: int = 0, **facts: Any) -> None:  # noqa: ANN401
        """STAGING_REQ, as one rank says it."""
        asked: dict[str, Any] = {
            "room": room,
            "chunk_idx": chunk,
            "chunk_num_pages": size,
            "requester_pp_rank": 0,
        }
        asked["session_id"] = self.decode.engine.session_id
        self.ranks[rank].tell("STAGING_REQ", **(asked | facts))

    def place(self, room: int, chunk: int, size: int) -> StagingRsp:
        """Ask for a chunk; both ranks are told the same."""
        self.ask(room, chunk, size)
        answers = self.answers()
        assert answers[0] == answers[1]
        assert (answers[0].room, answers[0].chunk_idx) == (room, chunk)
        return answers[0]

    def answers(self) -> list[StagingRsp]:
        """What both ranks are told next."""
        return [hear(rank, StagingRsp) for rank in self.ranks]

    def ready(self, room: int, chunk: int, start: int, size: int, rank: int) -> None:
        """Say that one rank has written its part: by notification, where the release does."""
        facts: dict[str, Any] = {"room": room, "chunk_idx": chunk}
        facts |= {"page_start": start, "num_pages": size}
        session, release = self.decode.engine.session_id, self.decode.config.release
        if self.decode.backend == "mooncake" or release == "0.5.23":
            self.ranks[rank].tell("CHUNK_READY", writer_id=session, prefill_rank=rank, **facts)
            return
        is_last = start + size == self._lengths[room]
        text = NotifStg(chunk_id=chunk, is_last=is_last, pp_rank=rank, agent_name=session, **facts)
        self._notify("NOTIF_STG", text)

    def _notify(self, tag: str, text: Message) -> None:
        session, release = self.decode.engine.session_id, self.decode.config.release
        [frame] = layout("nixl", tag, release=release).encode(text)
        self._engine.add_peer(session)
        self._engine.notify(session, frame)

    def fill(self, place: StagingRsp, size: int, seed: int) -> Bytes:
        """Write a chunk into the ring: ``[writer, slot, token, head, byte]``, what is written."""
        shape = (2, 2 * LAYERS, size * TOKENS, HEADS // 2, HEAD)
        written: Bytes = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
        ring: Bytes = self.decode._ring.numpy()  # type: ignore[union-attr]
        ring[place.offset : place.offset + written.nbytes] = written.ravel()
        return written

    def holds(self, written: Bytes, dst: list[int]) -> bool:
        """Whether the pages hold what was written to the ring."""
        [mem] = self.side.memories
        wanted = written.transpose(1, 2, 0, 3, 4).reshape(2 * LAYERS, len(dst), -1)
        return all((region[dst] == each).all() for region, each in zip(mem.kv, wanted, strict=True))

    def succeed(self, room: int) -> None:
        """Both ranks report Success, or, where the release has no such word, the last row."""
        if self.decode.backend == "nixl" and self.decode.config.release < "0.5.20":
            self._notify("NOTIF_AUX", NotifAux(room=room))
            return
        for rank in self.ranks:
            rank.status(room, KVPoll.Success)

    def drop(self, kind: str) -> int:
        """How many messages were dropped for this reason."""
        return counter(self.decode, "dropped", kind)


def hear(rank: PlayedPrefill, kind: type[M]) -> M:
    """The next message of a class; others, such as watermarks that are repeated, are skipped."""
    ends = time.monotonic() + PATIENCE_S
    while time.monotonic() < ends:
        if isinstance(found := rank.hear(), kind):
            return found
    raise AssertionError(f"no {kind.__name__} within {PATIENCE_S:g} s")


def mark(rank: PlayedPrefill, at_least: tuple[int, int]) -> Watermark:
    """Hear watermarks until one is as far as this."""
    found = hear(rank, Watermark)
    while (found.round, found.tail) < at_least:
        found = hear(rank, Watermark)
    return found


# ------------------------------------------------------------------------------ S1


def test_s1_a_request_for_a_place_before_its_room_is_answered_when_the_room_comes(
    fleet: Fleet, backend: str
) -> None:
    played = Played(fleet, backend, 16)
    played.ask(ROOM, 0, 2)
    wait_until(lambda: staging(played.decode, "parked") == 1)
    receiver = played.receive(ROOM, pages(4, 5))
    answers = played.answers()
    assert [(a.offset, a.round, a.end) for a in answers] == [(0, 0, 2 * page_bytes())] * 2
    assert staging(played.decode, "parked") == 0
    written = played.fill(answers[0], 2, 1)
    for rank in (0, 1):
        played.ready(ROOM, 0, 0, 2, rank)
    played.succeed(ROOM)
    assert settled(receiver) == [KVPoll.Success]
    assert played.holds(written, [4, 5])
    receiver.clear()


def test_s1_a_request_whose_room_never_comes_is_kept_no_longer_than_its_deadline(
    fleet: Fleet, backend: str
) -> None:
    played = Played(fleet, backend, 16)
    for room in range(5):
        played.ask(room, 0, 2)
    wait_until(lambda: staging(played.decode, "parked") == 5)
    core: Any = played.decode._decode_staging  # type: ignore[union-attr]
    with played.decode._staging_lock:  # type: ignore[union-attr]
        core.tick(time.monotonic() + 61)
    assert staging(played.decode, "parked") == 0
    assert staging(played.decode, "dropped-staging-req-expired") == 5
    assert staging(played.decode, "ring-places") == 0


# ------------------------------------------------------------------------------ S2


def test_s2_the_same_request_twice_has_the_same_answer_twice(fleet: Fleet, backend: str) -> None:
    played = Played(fleet, backend, 16)
    receiver = played.receive(ROOM, pages(4, 5, 6))
    first = played.place(ROOM, 0, 2)
    other = played.place(ROOM, 1, 1)
    assert played.place(ROOM, 0, 2) == first
    played.ask(ROOM, 0, 2, rank=1)  # the other rank of the stage asks as well
    assert played.answers() == [first, first]
    assert (first.offset, first.end) == (0, 2 * page_bytes())
    assert (other.offset, other.end) == (2 * page_bytes(), 3 * page_bytes())
    assert staging(played.decode, "ring-places") == 2
    receiver.abort()
    receiver.clear()


# ------------------------------------------------------------------------------ S3


def test_s3_a_place_that_does_not_fit_behind_the_head_begins_a_round(
    fleet: Fleet, backend: str
) -> None:
    """The row itself, in tenths of the ring: 6 are given and freed, 7 are at 0 of round 1."""
    played = Played(fleet, backend, 10)
    receiver = played.receive(ROOM, pages(*range(6)))
    place = played.place(ROOM, 0, 6)
    assert (place.offset, place.round) == (0, 0)
    for number in (0, 1):
        played.ready(ROOM, 0, 0, 6, number)
    played.succeed(ROOM)
    assert settled(receiver) == [KVPoll.Success]
    receiver.clear()
    for rank in played.ranks:
        assert mark(rank, (1, 0)) == Watermark(
            round=1, tail=0, session_id=played.decode.engine.session_id
        )

    receiver = played.receive(ROOM + 1, pages(*range(7)))
    place = played.place(ROOM + 1, 0, 7)
    assert (place.offset, place.round, place.end) == (0, 1, 7 * page_bytes())
    receiver.abort()
    receiver.clear()


def test_s3_a_small_ring_goes_around_for_many_requests(fleet: Fleet, backend: str) -> None:
    source = prefill_side(fleet, backend, 2)
    target = decode_side(fleet, backend, 1, staging_bytes=10 * page_bytes())
    lengths = [6, 7, 3, 4, 5, 9, 10, 2, 8, 7]
    for request in requests(source, target, lengths):
        request.begin().send(5).succeed()
    assert staged(source) == 2 * sum(-(-n // 4) for n in lengths)
    assert target.managers[0]._decode_staging.ring.watermark.round >= 5  # type: ignore[union-attr]
    drained(source, target)


# ------------------------------------------------------------------------------ S4


@pytest.mark.parametrize("release", ["0.5.16", "0.5.19", "0.5.23"])
@pytest.mark.parametrize("verdict_first", [False, True])
def test_s4_chunks_in_any_order_and_success_around_them(
    fleet: Fleet, backend: str, release: str, verdict_first: bool
) -> None:
    played = Played(fleet, backend, 16, release=release)
    receiver = played.receive(ROOM, pages(9, 4, 5))
    places = [played.place(ROOM, 0, 2), played.place(ROOM, 1, 1)]
    written = [played.fill(places[0], 2, 1), played.fill(places[1], 1, 2)]
    if verdict_first:
        played.succeed(ROOM)
    for rank in (1, 0):
        played.ready(ROOM, 1, 2, 1, rank)
        played.ready(ROOM, 0, 0, 2, rank)
    if not verdict_first:
        played.succeed(ROOM)
    assert settled(receiver) == [KVPoll.Success]
    assert played.holds(written[0], [9, 4])
    assert played.holds(written[1], [5])
    receiver.clear()
    drained(played.side)


def test_s4_success_is_withheld_until_every_chunk_was_scattered(fleet: Fleet, backend: str) -> None:
    played = Played(fleet, backend, 16)
    receiver = played.receive(ROOM, pages(9, 4, 5))
    places = [played.place(ROOM, 0, 2), played.place(ROOM, 1, 1)]
    played.ready(ROOM, 1, 2, 1, 0)
    played.ready(ROOM, 1, 2, 1, 1)
    played.succeed(ROOM)
    wait_until(lambda: counter(played.decode, "messages", "KV_STATUS") == 2)
    played.ready(ROOM, 0, 0, 2, 1)
    wait_until(lambda: counter(played.decode, "messages", "CHUNK_READY") == 3)
    assert receiver.poll() is KVPoll.Transferring
    written = played.fill(places[0], 2, 1)
    played.ready(ROOM, 0, 0, 2, 0)
    assert settled(receiver) == [KVPoll.Success]
    assert played.holds(written, [9, 4])
    receiver.clear()


@pytest.mark.parametrize("backend", ["mooncake"])
@pytest.mark.parametrize("release", ["0.5.16", "0.5.17"])
def test_s4_a_last_chunk_that_only_the_verdict_announces(
    fleet: Fleet, backend: str, release: str
) -> None:
    """Mooncake before 0.5.18 says CHUNK_READY of every chunk but the last."""
    played = Played(fleet, backend, 16, release=release)
    receiver = played.receive(ROOM, pages(9, 4, 5))
    places = [played.place(ROOM, 0, 2), played.place(ROOM, 1, 1)]
    written = [played.fill(places[0], 2, 1), played.fill(places[1], 1, 2)]
    for rank in (0, 1):
        played.ready(ROOM, 0, 0, 2, rank)
    played.succeed(ROOM)
    assert settled(receiver) == [KVPoll.Success]
    assert played.holds(written[0], [9, 4])
    assert played.holds(written[1], [5])
    receiver.clear()
    drained(played.side)


# ------------------------------------------------------------------------------ S5


@pytest.mark.parametrize(("chunk", "size"), [(3, 1), (0, 4), (1_000_000, 1), (1_000_000, 3)])
def test_s5_a_request_for_a_chunk_that_the_room_cannot_have(
    fleet: Fleet, backend: str, chunk: int, size: int
) -> None:
    played = Played(fleet, backend, 16)
    receiver = played.receive(ROOM, pages(4, 5, 6))
    played.ask(ROOM, chunk, size)
    wait_until(lambda: played.drop("staging-req-no-such-chunk") == 1)
    assert staging(played.decode, "ring-places") == 0
    assert played.place(ROOM, 0, 3).offset == 0
    receiver.abort()
    receiver.clear()


@pytest.mark.parametrize(
    ("chunk", "size"),
    [(b"2000000000", b"1"), (b"-1", b"1"), (b"0", b"0"), (b"0", b"-1"), (b"0", b"2000000000")],
)
def test_s5_a_request_with_numbers_that_no_release_writes(
    fleet: Fleet, backend: str, chunk: bytes, size: bytes
) -> None:
    played = Played(fleet, backend, 16)
    receiver = played.receive(ROOM, pages(4, 5, 6))
    facts = {"room": ROOM, "chunk_idx": 77, "chunk_num_pages": 88, "requester_pp_rank": 0}
    facts["session_id"] = played.decode.engine.session_id  # type: ignore[assignment]
    frames = played.decode.build("STAGING_REQ", dict(facts), played.decode.config.release)
    swap = {b"77": chunk, b"88": size}
    played.ranks[0].say(*(swap.get(frame, frame) for frame in frames))
    wait_until(lambda: counter(played.decode, "dropped") == 1)
    assert staging(played.decode, "ring-places") == 0
    assert played.place(ROOM, 0, 3).offset == 0
    receiver.abort()
    receiver.clear()


@pytest.mark.parametrize("chunk", [2_000_000_000, 2, b"-1"])
def test_s5_an_answer_for_a_chunk_that_nobody_asked_for(
    fleet: Fleet, backend: str, chunk: int | bytes
) -> None:
    source = prefill_side(fleet, backend, 2)
    target = decode_side(fleet, backend, 1)
    [request] = requests(source, target, [8])
    request.begin()
    prefill, decode = source.managers[0], target.managers[0]
    facts: dict[str, object] = {"room": request.room, "offset": 0, "round": 0}
    facts |= {"chunk_idx": 77, "end": 100, "session_id": decode.engine.session_id}
    frames = decode.build("STAGING_RSP", facts, decode.config.release)
    number = chunk if isinstance(chunk, bytes) else b"%d" % chunk
    before = counter(prefill, "dropped")
    fleet.ear().say(prefill.endpoint, [number if f == b"77" else f for f in frames])
    wait_until(lambda: counter(prefill, "dropped") == before + 1)
    request.send().succeed()
    drained(source, target)


@pytest.mark.parametrize("release", ["0.5.19", "0.5.23"])
@pytest.mark.parametrize(("start", "size"), [(2, 2), (0, 3), (2_000_000_000, 1)])
def test_s5_pages_that_the_room_does_not_have_fail_it_with_the_numbers(
    fleet: Fleet, backend: str, release: str, start: int, size: int
) -> None:
    played = Played(fleet, backend, 16, release=release)
    receiver = played.receive(ROOM, pages(4, 5, 6))
    other = played.receive(ROOM + 1, pages(7, 8))
    played.place(ROOM, 0, 2)
    place = played.place(ROOM + 1, 0, 2)
    before = played.side.memories[0].copy()
    played.ready(ROOM, 0, start, size, 0)
    assert settled(receiver) == [KVPoll.Failed]
    assert f"staged chunk 0: {size} pages" in str(receiver.failure_reason)
    assert not played.side.memories[0].changed(before)
    receiver.clear()
    if size == 3:  # longer than its place: what lay behind it is not to be trusted
        assert settled(other) == [KVPoll.Failed]
        assert other.failure_reason == f"room {ROOM} wrote over its staged bytes"
    else:
        written = played.fill(place, 2, 1)
        for rank in (0, 1):
            played.ready(ROOM + 1, 0, 0, 2, rank)
        played.succeed(ROOM + 1)
        assert settled(other) == [KVPoll.Success]
        assert played.holds(written, [7, 8])
    other.clear()
    assert alive(played.decode)


# ------------------------------------------------------------------------------ S6


def test_s6_a_chunk_larger_than_the_ring_is_answered_oversized(fleet: Fleet, backend: str) -> None:
    played = Played(fleet, backend, 2)
    receiver = played.receive(ROOM, pages(4, 5, 6, 7))
    large, small = played.place(ROOM, 0, 3), played.place(ROOM, 1, 1)
    assert large.offset == -2
    assert (small.offset, small.end) == (0, page_bytes())
    assert staging(played.decode, "chunks-oversized") == 1
    written = played.fill(small, 1, 1)
    for rank in (0, 1):
        played.ready(ROOM, 1, 3, 1, rank)
    played.succeed(ROOM)
    assert settled(receiver) == [KVPoll.Success]
    assert played.holds(written, [7])
    receiver.clear()
    drained(played.side)


@pytest.mark.parametrize("release", ["0.5.16", "0.5.19", "0.5.23"])
def test_s6_what_does_not_fit_the_ring_goes_slice_by_slice(
    fleet: Fleet, backend: str, release: str
) -> None:
    """Chunks of four pages do not fit a ring of three; the last one, of one page, does."""
    source = prefill_side(fleet, backend, 2)
    target = decode_side(fleet, backend, 1, staging_bytes=3 * page_bytes(), release=release)
    live = [request.begin().send(3) for request in requests(source, target, [9, 4, 5])]
    for request in live:
        request.succeed()
    assert (staged(source), staged(source, "oversized")) == (2 * 2, 2 * 4)
    drained(source, target)


def test_s6_what_does_not_fit_the_own_buffer_is_never_asked_for(fleet: Fleet, backend: str) -> None:
    source = prefill_side(fleet, backend, 2, staging_bytes=page_bytes())  # of its half, two pages
    target = decode_side(fleet, backend, 1)
    live = [request.begin().send(3) for request in requests(source, target, [9, 4, 6])]
    for request in live:
        request.succeed()
    assert (staged(source), staged(source, "oversized")) == (2 * 2, 2 * 4)
    assert counter(target.managers[0], "messages", "STAGING_REQ") == 2 * 2
    drained(source, target)


# ------------------------------------------------------------------------------ S7


def used(side: Side) -> int:
    """Places that are taken in the ring of the side's first rank."""
    return staging(side.managers[0], "ring-places")


def test_s7_an_abort_while_a_chunk_is_being_written(fleet: Fleet, backend: str) -> None:
    """Its place is kept until the writer has acknowledged; then the rooms behind it go on."""
    source = prefill_side(fleet, backend, 2)
    target = decode_side(fleet, backend, 1, staging_bytes=6 * page_bytes())
    first, second = requests(source, target, [4, 4])
    loopback(source.managers[0]).hold()
    first.begin().send()
    holds(source.managers[0], 1)
    second.begin().send()
    wait_until(lambda: used(target) == 2)

    [receiver] = first.receivers
    receiver.abort("the client went away")
    assert settled(receiver) == [KVPoll.Failed]
    assert receiver.failure_reason == "the client went away"
    assert not receiver.pages_released()
    assert used(target) == 2
    loopback(source.managers[0]).let_go()
    wait_until(receiver.pages_released)

    second.succeed()
    first.clear()
    drained(source, target)
    assert target.managers[0]._decode_staging.ring.watermark > (0, 0)  # type: ignore[union-attr]


@pytest.mark.parametrize("end", ["abort", "clear"])
def test_s7_a_room_that_the_prefill_side_gives_up(fleet: Fleet, backend: str, end: str) -> None:
    source = prefill_side(fleet, backend, 2)
    target = decode_side(fleet, backend, 1, staging_bytes=6 * page_bytes())
    first, second = requests(source, target, [9, 9])
    first.begin()
    for sender in first.senders:  # one chunk of three: the others have places nobody writes
        sender.send(first.src[:4])
    wait_until(lambda: staged(source) == 2)
    second.begin().send()
    wait_until(lambda: used(target) >= 2)
    for sender in first.senders:
        sender.abort("out of memory") if end == "abort" else sender.clear()
    first.reasons()
    second.succeed()
    first.clear()
    drained(source, target)


def test_s7_a_room_whose_write_fails(fleet: Fleet, backend: str) -> None:
    source = prefill_side(fleet, backend, 2)
    target = decode_side(fleet, backend, 1, staging_bytes=6 * page_bytes())
    for request in requests(source, target, [9, 9, 9]):
        loopback(source.managers[1]).fail_next("the cable")
        request.begin().send()
        reasons = request.reasons()
        assert "the engine failed: the cable" in reasons[1]
        request.clear()
        after = Request(
            room=900 + request.room,
            source=source,
            target=target,
            src=numbers(6, 64, request.room),
            dst=request.dst[:6],
        )
        after.begin().send().succeed()
    drained(source, target)


@pytest.mark.parametrize("wrong", [64, -1])
def test_s7_a_page_that_decode_has_not_is_never_announced(
    fleet: Fleet, backend: str, wrong: int
) -> None:
    """Its scheduler's own mistake, told to it before a peer hears of the pages."""
    source = prefill_side(fleet, backend, 2)
    target = decode_side(fleet, backend, 1, staging_bytes=6 * page_bytes())
    bad, good = requests(source, target, [4, 9])
    bad.dst[2] = wrong
    before = [mem.copy() for mem in target.memories]
    bad.begin()
    wait_until(lambda: bad.receivers[0].poll() is KVPoll.Failed)
    assert bad.receivers[0].failure_reason == f"page {wrong} of 64"
    untouched(target, before, numbers(0, 64, 0))
    settled(*bad.senders)
    bad.clear()
    good.begin().send().succeed()
    drained(source, target)
