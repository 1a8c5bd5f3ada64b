"""The decode side, message by message; S1 to S7 by name."""

# A message is built with whatever a test wants to be different about it.
# ruff: noqa: ANN401

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pdwire.staging import (
    DecodeStaging,
    Drop,
    Effect,
    Place,
    PrefillRank,
    Scatter,
    SendStagingRsp,
    SendWatermark,
    StagingFailed,
    StagingLayout,
    StagingLimits,
)
from pdwire.wire.common import ChunkReady, StagingReq

LAYOUT = StagingLayout(
    prefill_tp=2,
    decode_tp=1,
    decode_rank=0,
    total_kv_heads=2,
    page_size=1,
    head_bytes=1,
    layers=1,
)  # four bytes a page
RANKS = tuple(PrefillRank(("10.0.0.1", 10 + rank)) for rank in range(2))
OTHERS = tuple(PrefillRank(("10.0.0.3", 10 + rank)) for rank in range(2))
SESSION = "10.0.0.2:17000"


def make(pages: int = 25, **limits: Any) -> DecodeStaging:
    return DecodeStaging(4 * pages, SESSION, StagingLimits(**limits))


def open_room(decode: DecodeStaging, room: int = 7, pages: int = 10, **more: Any) -> list[Effect]:
    arguments: dict[str, Any] = {
        "prefill": "p:1",
        "ranks": RANKS,
        "layout": LAYOUT,
        "writers": 2,
        "now": 0.0,
    }
    return decode.open_room(room, pages=list(range(100, 100 + pages)), **(arguments | more))


def req(chunk: int = 0, pages: int = 4, room: int = 7, **more: Any) -> StagingReq:
    return StagingReq(
        room=room, chunk_idx=chunk, chunk_num_pages=pages, **{"session_id": SESSION, **more}
    )


def ready(
    writer: int, chunk: int = 0, start: int = 0, pages: int = 4, room: int = 7, **more: Any
) -> ChunkReady:
    return ChunkReady(
        room=room,
        chunk_idx=chunk,
        page_start=start,
        num_pages=pages,
        prefill_rank=writer,
        **{"writer_id": SESSION, **more},
    )


def answers(effects: list[Effect]) -> list[tuple[int, int, int, int]]:
    """Port, offset, round, end of every STAGING_RSP."""
    return [
        (e.endpoint[1], e.message.offset, e.message.round, e.message.end)
        for e in effects
        if isinstance(e, SendStagingRsp)
    ]


def marks(effects: list[Effect]) -> list[tuple[int, int, int]]:
    """Port, round, tail of every WATERMARK."""
    return [
        (e.endpoint[1], e.message.round, e.message.tail)
        for e in effects
        if isinstance(e, SendWatermark)
    ]


def scatter_of(effects: list[Effect]) -> Scatter:
    (effect,) = effects
    assert isinstance(effect, Scatter)
    return effect


def place(decode: DecodeStaging, chunk: int = 0, pages: int = 4, room: int = 7) -> None:
    assert answers(decode.on_staging_req(req(chunk, pages, room), 0.0))


def write(decode: DecodeStaging, chunk: int = 0, start: int = 0, pages: int = 4) -> Scatter:
    assert decode.on_chunk_ready(ready(0, chunk, start, pages), 0.0) == []
    return scatter_of(decode.on_chunk_ready(ready(1, chunk, start, pages), 0.0))


# --------------------------------------------------------------------- requests


def test_a_request_is_answered_to_every_rank_which_hears_the_watermark_first_thing() -> None:
    decode = make()
    open_room(decode)
    effects = decode.on_staging_req(req(), 0.0)
    assert answers(effects) == [(10, 0, 0, 16), (11, 0, 0, 16)]
    assert marks(effects) == [(10, 0, 0), (11, 0, 0)]
    messages = [e.message for e in effects if isinstance(e, SendStagingRsp | SendWatermark)]
    assert {message.session_id for message in messages} == {SESSION}
    assert {e.prefill for e in effects if isinstance(e, SendStagingRsp)} == {"p:1"}
    assert marks(decode.on_staging_req(req(1), 0.0)) == []


def test_only_the_stage_that_asks_is_answered() -> None:
    decode = make()
    stages = [PrefillRank(("10.0.0.1", 10 + stage), stage) for stage in range(2)]
    open_room(decode, ranks=stages)
    effects = decode.on_staging_req(req(requester_pp_rank=1), 0.0)
    assert answers(effects) == [(11, 0, 0, 16)]
    assert marks(effects) == [(11, 0, 0)]


def test_a_request_for_another_session_was_meant_for_whoever_sat_here_before() -> None:
    decode = make()
    open_room(decode)
    dropped = decode.on_staging_req(req(session_id="10.0.0.2:16000"), 0.0)
    assert dropped == [Drop(kind="staging-req-foreign-session")]
    assert decode.ring.drained()


def test_s1_a_request_before_its_room_is_answered_when_the_room_opens() -> None:
    decode = make()
    assert decode.on_staging_req(req(), 0.0) == []
    assert decode.counts()["parked"] == 1
    assert answers(open_room(decode)) == [(10, 0, 0, 16), (11, 0, 0, 16)]
    assert decode.counts()["parked"] == 0


def test_s1_a_parked_request_expires_and_is_counted() -> None:
    decode = make(parked_s=5.0)
    decode.on_staging_req(req(), 0.0)
    decode.on_staging_req(req(1), 1.0)
    decode.tick(5.0)
    assert decode.counts()["parked"] == 1
    assert decode.counts()["dropped-staging-req-expired"] == 1
    decode.tick(6.0)
    assert decode.counts()["parked"] == 0
    assert open_room(decode) == []


def test_s1_what_is_parked_has_a_cap() -> None:
    decode = make(parked=3)
    for room in range(3):
        decode.on_staging_req(req(room=room), 0.0)
    dropped = decode.on_staging_req(req(room=3), 0.0)
    assert dropped == [Drop(kind="staging-req-too-many-parked")]


def test_s2_the_same_request_twice_gets_the_same_place() -> None:
    decode = make()
    open_room(decode)
    first = answers(decode.on_staging_req(req(), 0.0))
    place(decode, chunk=1)
    assert answers(decode.on_staging_req(req(), 1.0)) == first
    assert len(decode.ring) == 2


def test_s2_a_request_after_the_chunk_was_written_changes_nothing() -> None:
    decode = make()
    open_room(decode)
    place(decode)
    scatter = write(decode)
    late = [Drop(kind="staging-req-late")]
    assert decode.on_staging_req(req(), 0.0) == late
    decode.scattered(scatter, 0.0)
    assert decode.on_staging_req(req(), 0.0) == late
    assert decode.ring.drained()


def test_s3_sixty_freed_then_seventy_of_a_hundred() -> None:
    decode = make(pages=25)
    open_room(decode, pages=40)
    place(decode, pages=15)
    effects = decode.scattered(write(decode, pages=15), 0.0)
    assert marks(effects) == [(10, 1, 0), (11, 1, 0)]
    assert answers(decode.on_staging_req(req(1, 18), 0.0))[0] == (10, 0, 1, 72)


@pytest.mark.parametrize(
    ("chunk", "pages"), [(2_000_000_000, 1), (-1, 1), (10, 1), (0, 0), (0, -3), (0, 11)]
)
def test_s5_chunks_that_the_room_cannot_have_are_refused(chunk: int, pages: int) -> None:
    decode = make()
    open_room(decode, pages=10)
    dropped = decode.on_staging_req(req(chunk, pages), 0.0)
    assert dropped == [Drop(kind="staging-req-no-such-chunk")]
    assert decode.ring.drained()


def test_s5_all_chunks_together_have_no_more_pages_than_the_room() -> None:
    decode = make()
    open_room(decode, pages=10)
    place(decode, chunk=0, pages=6)
    dropped = decode.on_staging_req(req(1, 5), 0.0)
    assert dropped == [Drop(kind="staging-req-no-such-chunk")]
    place(decode, chunk=1, pages=4)


def test_a_chunk_does_not_change_its_size() -> None:
    decode = make()
    open_room(decode)
    place(decode)
    dropped = decode.on_staging_req(req(0, 5), 0.0)
    assert dropped == [Drop(kind="staging-req-no-such-chunk")]


def test_s6_a_chunk_larger_than_the_ring_is_answered_oversized_and_awaited_by_nobody() -> None:
    decode = make(pages=4)
    open_room(decode)
    assert answers(decode.on_staging_req(req(0, 5), 0.0)) == [(10, -2, 0, -1), (11, -2, 0, -1)]
    assert decode.complete(7)
    assert decode.on_chunk_ready(ready(0, 0, 0, 5), 0.0) == [Drop(kind="chunk-never-placed")]


# ----------------------------------------------------------------------- chunks


def test_a_chunk_is_scattered_when_all_writers_have_written_it() -> None:
    decode = make()
    open_room(decode)
    place(decode)
    place(decode, chunk=1)
    scatter = write(decode, chunk=1, start=4)
    assert (scatter.room, scatter.chunk_idx, scatter.place) == (7, 1, Place(0, 16, 32))
    assert (scatter.offset, scatter.size) == (16, 16)
    assert scatter.pages.tolist() == [104, 105, 106, 107]
    assert (scatter.page_start, scatter.num_pages) == (4, 4)


def test_s4_chunk_one_before_chunk_zero() -> None:
    decode = make()
    open_room(decode, pages=8)
    place(decode)
    place(decode, chunk=1)
    assert decode.scattered(write(decode, chunk=1, start=4), 0.0) == []
    assert not decode.complete(7)
    first = write(decode)
    assert decode.busy(7)
    decode.scattered(first, 0.0)
    assert decode.complete(7)
    assert not decode.busy(7)
    assert decode.ring.drained()


def test_a_chunk_may_be_shorter_than_its_place() -> None:
    decode = make()
    open_room(decode)
    place(decode)
    assert write(decode, pages=3).pages.tolist() == [100, 101, 102]


@pytest.mark.parametrize("again", [0, 1])
def test_a_writer_that_says_it_twice_counts_once(again: int) -> None:
    decode = make()
    open_room(decode)
    place(decode)
    decode.on_chunk_ready(ready(0), 0.0)
    if again:
        decode.on_chunk_ready(ready(1), 0.0)
    assert decode.on_chunk_ready(ready(again), 0.0) == [Drop(kind="chunk-doubled")]
    assert len(decode.ring) == 1


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (ready(0, room=8), "chunk-unknown-room"),
        (ready(0, chunk=1), "chunk-never-placed"),
        (ready(0, chunk=-1), "chunk-never-placed"),
        (ready(0, writer_id="10.0.0.2:16000"), "chunk-foreign-session"),
    ],
)
def test_chunks_that_nobody_waits_for_are_dropped(message: ChunkReady, kind: str) -> None:
    decode = make()
    open_room(decode)
    place(decode)
    assert decode.on_chunk_ready(message, 0.0) == [Drop(kind=kind)]
    assert decode.counts()[f"dropped-{kind}"] == 1


@pytest.mark.parametrize(
    ("start", "pages", "reason"),
    [
        (0, 5, "5 pages were written into a place for 4"),
        (0, 0, "0 pages were written"),
        (7, 4, "4 pages from 7 on, the room has 10"),
        (-1, 4, "4 pages from -1 on"),
    ],
)
def test_a_chunk_of_other_pages_than_were_agreed_fails_its_room(
    start: int, pages: int, reason: str
) -> None:
    decode = make()
    open_room(decode)
    place(decode)
    (failed,) = decode.on_chunk_ready(ready(0, 0, start, pages), 0.0)
    assert isinstance(failed, StagingFailed)
    assert failed.room == 7
    assert reason in failed.reason


def test_writers_that_disagree_fail_the_room() -> None:
    decode = make()
    open_room(decode)
    place(decode)
    decode.on_chunk_ready(ready(0, 0, 0, 4), 0.0)
    (failed,) = decode.on_chunk_ready(ready(1, 0, 4, 4), 0.0)
    assert isinstance(failed, StagingFailed)
    assert "writers disagree" in failed.reason


def test_who_writes_beyond_its_place_fails_those_whose_bytes_it_hit() -> None:
    decode = make()
    for room in (7, 8, 9):
        open_room(decode, room)
        place(decode, room=room)
    effects = decode.on_chunk_ready(ready(0, pages=6), 0.0)
    assert [e.room for e in effects if isinstance(e, StagingFailed)] == [7, 8]


def test_bytes_of_a_later_round_are_not_written_yet_and_so_not_hit() -> None:
    decode = make(pages=25)
    for room, pages in ((7, 4), (8, 18), (9, 4), (10, 4)):
        open_room(decode, room, pages=20)
        place(decode, pages=pages, room=room)
    assert decode.ring.used == 120  # room 10 lies over room 8, a round later
    effects = decode.on_chunk_ready(ready(0, pages=6), 0.0)
    assert [e.room for e in effects if isinstance(e, StagingFailed)] == [7, 8]


def test_a_notification_counts_like_a_message() -> None:
    decode = make()
    open_room(decode)
    place(decode)
    assert decode.on_chunk_written(7, 0, 0, 4, writer=0, now=0.0) == []
    scatter_of(decode.on_chunk_written(7, 0, 0, 4, writer=1, now=0.0))


def test_where_only_the_status_tells_of_the_last_chunk_it_is_scattered_then() -> None:
    decode = make()
    open_room(decode, pages=10, last_by_status=True)
    place(decode)
    place(decode, chunk=1)
    place(decode, chunk=2, pages=2)
    assert decode.on_writer_done(7, 0, 0.0) == []
    last = scatter_of(decode.on_writer_done(7, 1, 0.0))
    assert (last.chunk_idx, last.pages.tolist()) == (2, [108, 109])
    assert decode.on_writer_done(7, 1, 0.0) == []
    assert not decode.complete(7)  # chunks 0 and 1 are still to come


def test_elsewhere_a_status_tells_nothing_of_chunks() -> None:
    decode = make()
    open_room(decode)
    place(decode)
    assert decode.on_writer_done(7, 0, 0.0) == []
    assert decode.on_writer_done(8, 0, 0.0) == []
    assert write(decode).chunk_idx == 0


# --------------------------------------------------------------------- the end


def test_s7_a_quiet_room_frees_everything_and_the_watermark_moves() -> None:
    decode = make()
    open_room(decode)
    place(decode)
    place(decode, chunk=1)
    assert marks(decode.close_room(7, 0.0, quiet=True)) == [(10, 1, 0), (11, 1, 0)]
    assert decode.ring.drained()


def test_s7_a_room_that_may_still_be_written_holds_its_places_until_it_is_quiet() -> None:
    decode = make()
    open_room(decode)
    open_room(decode, 8)
    place(decode)
    place(decode, room=8)
    assert decode.close_room(7, 0.0, quiet=False) == []
    assert decode.counts()["held"] == 1
    assert decode.ring.watermark == (0, 0)
    assert marks(decode.writers_quiet(7, 1.0)) == [(10, 0, 16), (11, 0, 16)]
    assert decode.counts()["held"] == 0
    assert decode.writers_quiet(7, 1.0) == []


def test_s7_or_until_nobody_can_write_so_late() -> None:
    decode = make(late_write_s=30.0, remind_s=100.0)
    open_room(decode)
    place(decode)
    decode.close_room(7, 5.0, quiet=False)
    decode.tick(34.0)
    assert not decode.ring.drained()
    assert marks(decode.tick(35.0)) == [(10, 1, 0), (11, 1, 0)]


def test_s7_a_scatter_under_way_outlives_its_room_but_its_place_does_not_leak() -> None:
    decode = make()
    open_room(decode)
    place(decode)
    scatter = write(decode)
    assert decode.close_room(7, 0.0, quiet=True) == []
    assert decode.busy(7)
    open_room(decode)  # the same number begins anew
    place(decode)
    assert marks(decode.scattered(scatter, 0.0)) == [(10, 0, 16), (11, 0, 16)]
    assert not decode.complete(7)
    assert not decode.busy(7)


def test_closing_an_unknown_room_is_fine_and_makes_late_requests_late() -> None:
    decode = make()
    decode.on_staging_req(req(), 0.0)
    assert decode.close_room(7, 0.0, quiet=True) == []
    assert decode.counts()["parked"] == 0
    assert decode.on_staging_req(req(), 0.0) == [Drop(kind="staging-req-closed-room")]
    open_room(decode)
    place(decode)


def test_closed_rooms_are_remembered_up_to_a_cap() -> None:
    decode = make(remembered=2)
    for room in range(3):
        decode.close_room(room, 0.0, quiet=True)
    assert decode.on_staging_req(req(room=0), 0.0) == []
    assert decode.on_staging_req(req(room=2), 0.0) == [Drop(kind="staging-req-closed-room")]


def test_a_scatter_is_reported_once() -> None:
    decode = make()
    open_room(decode)
    place(decode)
    scatter = write(decode)
    decode.scattered(scatter, 0.0)
    with pytest.raises(KeyError):
        decode.scattered(scatter, 0.0)


def test_a_room_is_opened_once_and_has_writers() -> None:
    decode = make()
    open_room(decode)
    with pytest.raises(ValueError, match="room 7 is open"):
        open_room(decode)
    with pytest.raises(ValueError, match="0 writers"):
        open_room(decode, 8, writers=0)


# ------------------------------------------------------------------- watermarks


def test_the_watermark_is_repeated_while_places_are_taken() -> None:
    decode = make(remind_s=1.0)
    open_room(decode)
    place(decode)
    assert marks(decode.tick(0.0)) == [(10, 0, 0), (11, 0, 0)]
    assert decode.tick(0.9) == []
    assert len(marks(decode.tick(1.0))) == 2
    decode.scattered(write(decode), 1.5)
    assert decode.tick(9.0) == []


def test_every_engine_that_was_answered_hears_of_every_move() -> None:
    decode = make()
    open_room(decode)
    open_room(decode, 8, prefill="q:1", ranks=OTHERS)
    place(decode)
    place(decode, room=8)
    told = decode.scattered(write(decode), 0.0)
    hosts = [e.endpoint[0] for e in told if isinstance(e, SendWatermark)]
    assert hosts == ["10.0.0.1", "10.0.0.1", "10.0.0.3", "10.0.0.3"]


def test_who_is_gone_hears_nothing_until_it_asks_again() -> None:
    decode = make()
    open_room(decode)
    open_room(decode, 8, prefill="q:1", ranks=OTHERS)
    place(decode)
    place(decode, room=8)
    decode.forget_prefill("q:1")
    decode.forget_endpoint(RANKS[1].endpoint)
    assert marks(decode.scattered(write(decode), 0.0)) == [(10, 0, 16)]
    assert marks(decode.on_staging_req(req(room=8), 0.0)) == [(10, 0, 16), (11, 0, 16)]


def test_counts_say_what_there_is() -> None:
    decode = make()
    open_room(decode)
    place(decode)
    place(decode, chunk=1)
    write(decode)
    assert {name: count for name, count in decode.counts().items() if count} == {
        "rooms": 1,
        "chunks-awaited": 1,
        "scattering": 1,
        "told": 2,
        "ring-places": 2,
        "ring-used": 32,
        "ring-size": 100,
    }


def test_limits_are_positive() -> None:
    with pytest.raises(ValueError, match="parked_s must be positive, not 0"):
        replace(StagingLimits(), parked_s=0)


@pytest.mark.parametrize(("chunk", "pages"), [(9, 2), (5, 2), (1, 7), (3, 4)])
def test_a12_a_chunk_that_no_grid_has_is_refused(chunk: int, pages: int) -> None:
    decode = make()
    open_room(decode, pages=10)
    dropped = decode.on_staging_req(req(chunk, pages), 0.0)
    assert dropped == [Drop(kind="staging-req-no-such-chunk")]


def test_a12_what_a_stranger_asks_for_is_neither_counted_against_the_grid_nor_waited_for() -> None:
    decode = make()
    open_room(decode, pages=10)
    place(decode, chunk=9, pages=1)
    for chunk, pages in ((0, 4), (1, 4), (2, 2)):
        place(decode, chunk=chunk, pages=pages)
    for chunk, pages in ((0, 4), (1, 4), (2, 2)):
        assert not decode.complete(7)
        decode.scattered(write(decode, chunk, 4 * chunk, pages), 0.0)
    assert decode.complete(7)
    decode.close_room(7, 0.0, quiet=True)
    assert decode.ring.drained()


def test_a9_only_writers_that_were_asked_count() -> None:
    decode = make()
    open_room(decode, writer_ranks=(0, 1))
    place(decode)
    assert decode.on_chunk_ready(ready(0), 0.0) == []
    assert decode.on_chunk_ready(ready(99), 0.0) == [Drop(kind="chunk-foreign-writer")]
    assert decode.on_chunk_ready(ready(0), 0.0) == [Drop(kind="chunk-doubled")]
    assert scatter_of(decode.on_chunk_ready(ready(1), 0.0)).num_pages == 4
