"""The prefill side, message by message."""

# A message is built with whatever a test wants to be different about it.
# ruff: noqa: ANN401

from __future__ import annotations

from typing import Any

import pytest

from pdwire.staging import (
    ChunkGrid,
    ChunkState,
    Drop,
    Effect,
    Mark,
    Oversized,
    Place,
    PrefillStaging,
    Ready,
    SendStagingReq,
    StagingLayout,
    StagingLimits,
    Waiting,
    WaitingFor,
)
from pdwire.wire.common import StagingRsp, Watermark

LAYOUT = StagingLayout(
    prefill_tp=2,
    decode_tp=1,
    decode_rank=0,
    total_kv_heads=2,
    page_size=1,
    head_bytes=1,
    layers=1,
)  # four bytes a page, two of them ours
DECODE = ("10.0.0.2", 5000)
SESSION = "10.0.0.2:17000"
GRID = ChunkGrid(10, 4)


def want(prefill: PrefillStaging, room: int = 7, **more: Any) -> list[Effect]:
    session = more.pop("session", SESSION)
    arguments: dict[str, Any] = {"grid": GRID, "layout": LAYOUT, "ring_size": 100, "now": 0.0}
    return prefill.want(room, session, DECODE, **(arguments | more))


def rsp(
    chunk: int, offset: int, round_: int, end: int, room: int = 7, session_id: str = SESSION
) -> StagingRsp:
    return StagingRsp(
        room=room,
        chunk_idx=chunk,
        offset=offset,
        round=round_,
        end=end,
        session_id=session_id,
    )


def mark(round_: int, tail: int, session: str = SESSION) -> Watermark:
    return Watermark(round=round_, tail=tail, session_id=session)


def asked(effects: list[Effect]) -> list[tuple[int, int]]:
    """Chunk and pages of every STAGING_REQ."""
    return [
        (e.message.chunk_idx, e.message.chunk_num_pages)
        for e in effects
        if isinstance(e, SendStagingReq)
    ]


def state(prefill: PrefillStaging, chunk: int = 0) -> ChunkState:
    return prefill.state(7, chunk, SESSION)


def test_every_chunk_is_asked_for_once_with_the_decode_ranks_own_session() -> None:
    prefill = PrefillStaging()
    effects = want(prefill, pp_rank=3)
    assert asked(effects) == [(0, 4), (1, 4), (2, 2)]
    first = effects[0]
    assert isinstance(first, SendStagingReq)
    assert (first.endpoint, first.peer, first.message.session_id) == (DECODE, SESSION, SESSION)
    assert (first.message.room, first.message.requester_pp_rank) == (7, 3)
    assert want(prefill) == []
    assert state(prefill) == Waiting(WaitingFor.ANSWER)


def test_a_room_without_pages_asks_for_nothing() -> None:
    assert want(PrefillStaging(), grid=ChunkGrid(0, 4)) == []


def test_what_is_too_large_for_either_side_is_never_asked_for() -> None:  # S6
    assert asked(want(PrefillStaging(), ring_size=15)) == [(2, 2)]
    prefill = PrefillStaging()
    assert asked(want(prefill, buffer_size=7)) == [(2, 2)]
    assert state(prefill) == Oversized()


def test_an_answer_of_minus_two_is_oversized_for_good() -> None:  # S6
    prefill = PrefillStaging()
    want(prefill)
    assert prefill.on_staging_rsp(rsp(0, -2, 0, -1), 0.0) == []
    assert state(prefill) == Oversized()
    prefill.on_staging_rsp(rsp(0, 0, 0, 16), 0.0)
    assert state(prefill) == Oversized()


def test_a_place_of_round_zero_is_ready_at_once() -> None:
    prefill = PrefillStaging()
    want(prefill)
    prefill.on_staging_rsp(rsp(1, 16, 0, 32), 0.0)
    assert state(prefill, 1) == Ready(Place(0, 16, 32))
    assert state(prefill, 0) == Waiting(WaitingFor.ANSWER)


def test_a_later_round_waits_for_the_watermark() -> None:
    prefill = PrefillStaging()
    want(prefill)
    prefill.on_staging_rsp(rsp(0, 0, 1, 16), 0.0)
    assert state(prefill) == Waiting(WaitingFor.WATERMARK)
    prefill.on_watermark(mark(0, 15), 0.0)
    assert state(prefill) == Waiting(WaitingFor.WATERMARK)
    prefill.on_watermark(mark(0, 16), 0.0)
    assert state(prefill) == Ready(Place(1, 0, 16))


def test_watermarks_only_grow() -> None:
    prefill = PrefillStaging()
    want(prefill)
    prefill.on_watermark(mark(1, 20), 0.0)
    prefill.on_watermark(mark(0, 90), 0.0)
    prefill.on_watermark(mark(1, 10), 0.0)
    assert prefill.watermark(SESSION) == Mark(1, 20)


def test_a_watermark_is_of_its_own_session_only() -> None:
    prefill = PrefillStaging()
    want(prefill)
    want(prefill, session="10.0.0.4:17000")
    prefill.on_watermark(mark(3, 0, "10.0.0.4:17000"), 0.0)
    assert prefill.watermark(SESSION) == Mark(0, 0)
    dropped = prefill.on_watermark(mark(3, 0, "stranger:1"), 0.0)
    assert dropped == [Drop(kind="watermark-unknown-session")]
    assert prefill.watermark("stranger:1") is None


def test_a_place_behind_the_watermark_was_taken_back() -> None:
    prefill = PrefillStaging()
    want(prefill)
    prefill.on_staging_rsp(rsp(0, 0, 0, 16), 0.0)
    prefill.on_watermark(mark(0, 16), 0.0)
    assert state(prefill) == Waiting(WaitingFor.ROOM_END)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (rsp(0, 0, 0, 16, room=8), "staging-rsp-unknown-room"),
        (rsp(0, 0, 0, 16, session_id="10.0.0.2:16000"), "staging-rsp-unknown-room"),
        (rsp(3, 0, 0, 16), "staging-rsp-unknown-chunk"),  # S5
        (rsp(-1, 0, 0, 16), "staging-rsp-unknown-chunk"),
        (rsp(2_000_000_000, -2, 0, -1), "staging-rsp-unknown-chunk"),
        (rsp(0, 0, 0, 15), "staging-rsp-outside-ring"),
        (rsp(0, 90, 0, 106), "staging-rsp-outside-ring"),
        (rsp(0, -1, 0, 15), "staging-rsp-outside-ring"),
        (rsp(0, 32, 0, 16), "staging-rsp-outside-ring"),
        (rsp(0, 0, 0, 16), "staging-rsp-stale"),
    ],
)
def test_places_that_are_not_to_be_written_to_are_refused(message: StagingRsp, kind: str) -> None:
    prefill = PrefillStaging()
    want(prefill)
    prefill.on_watermark(mark(0, 4), 0.0)
    assert prefill.on_staging_rsp(message, 0.0) == [Drop(kind=kind)]
    assert state(prefill) == Waiting(WaitingFor.ANSWER)
    assert prefill.counts()[f"dropped-{kind}"] == 1


def test_the_same_answer_twice_is_fine_an_older_one_is_stale_a_newer_one_counts() -> None:
    prefill = PrefillStaging()
    want(prefill)
    prefill.on_staging_rsp(rsp(0, 16, 0, 32), 0.0)
    assert prefill.on_staging_rsp(rsp(0, 16, 0, 32), 0.0) == []
    assert prefill.on_staging_rsp(rsp(0, 0, 0, 16), 0.0) == [Drop(kind="staging-rsp-stale")]
    assert prefill.on_staging_rsp(rsp(0, 48, 0, 64), 0.0) == []
    assert state(prefill) == Ready(Place(0, 48, 64))


def test_answers_of_a_rooms_last_life_are_stale_in_its_next() -> None:
    prefill = PrefillStaging()
    want(prefill)
    prefill.on_staging_rsp(rsp(0, 16, 0, 32), 0.0)
    prefill.close_room(7)
    assert prefill.on_staging_rsp(rsp(0, 16, 0, 32), 0.0) == [Drop(kind="staging-rsp-unknown-room")]
    want(prefill)
    assert prefill.on_staging_rsp(rsp(0, 16, 0, 32), 0.0) == [Drop(kind="staging-rsp-stale")]
    prefill.on_staging_rsp(rsp(0, 32, 0, 48), 0.0)
    assert state(prefill) == Ready(Place(0, 32, 48))


def test_how_many_last_lives_are_remembered_is_bounded() -> None:
    prefill = PrefillStaging(StagingLimits(remembered=1))
    for room in (7, 8):
        want(prefill, room)
        prefill.on_staging_rsp(rsp(0, 16, 0, 32, room=room), 0.0)
        prefill.close_room(room)
    want(prefill)
    assert prefill.on_staging_rsp(rsp(0, 16, 0, 32), 0.0) == []


def test_what_has_no_answer_is_asked_for_again_and_again() -> None:
    prefill = PrefillStaging(StagingLimits(ask_again_s=5.0))
    want(prefill)
    prefill.on_staging_rsp(rsp(1, 0, 0, 16), 0.0)
    assert prefill.tick(4.9) == []
    assert asked(prefill.tick(5.0)) == [(0, 4), (2, 2)]
    assert prefill.tick(9.9) == []
    prefill.on_staging_rsp(rsp(0, 16, 0, 32), 9.9)
    assert asked(prefill.tick(10.0)) == [(2, 2)]
    prefill.on_staging_rsp(rsp(2, -2, 0, -1), 10.0)
    assert prefill.tick(15.0) == []


def test_a_closed_room_is_not_asked_for_again() -> None:
    prefill = PrefillStaging(StagingLimits(ask_again_s=5.0))
    want(prefill)
    prefill.close_room(7)
    want(prefill, now=1.0)
    assert prefill.tick(5.0) == []
    assert len(asked(prefill.tick(6.0))) == 3


def test_a_decode_rank_that_registers_again_begins_anew() -> None:
    prefill = PrefillStaging()
    want(prefill)
    want(prefill, 8)
    want(prefill, 8, session="10.0.0.4:17000")
    prefill.on_watermark(mark(5, 50), 0.0)
    prefill.on_staging_rsp(rsp(0, 60, 5, 76), 0.0)
    prefill.close_room(7)
    prefill.forget(SESSION)
    assert prefill.watermark(SESSION) is None
    assert prefill.state(8, 0, SESSION) == Waiting(WaitingFor.ASK)
    assert prefill.state(8, 0, "10.0.0.4:17000") == Waiting(WaitingFor.ANSWER)
    want(prefill)
    prefill.on_staging_rsp(rsp(0, 0, 0, 16), 0.0)
    assert state(prefill) == Ready(Place(0, 0, 16))


def test_a_chunk_that_the_grid_lacks_is_an_error() -> None:
    prefill = PrefillStaging()
    want(prefill)
    with pytest.raises(IndexError):
        state(prefill, 3)


def test_counts_say_what_there_is() -> None:
    prefill = PrefillStaging()
    want(prefill)
    prefill.on_staging_rsp(rsp(0, 0, 0, 16), 0.0)
    prefill.on_staging_rsp(rsp(1, -2, 0, -1), 0.0)
    assert prefill.counts() == {
        "rooms": 1,
        "sessions": 1,
        "chunks-unanswered": 1,
        "chunks-placed": 1,
        "chunks-oversized": 1,
    }


def test_a6_a_watermark_beyond_every_place_counts_once_a_place_proves_it() -> None:
    """Other prefill ranks share the ring, so it may be true; this rank has been idle, perhaps."""
    prefill = PrefillStaging()
    want(prefill)
    assert prefill.on_watermark(mark(9, 50), 0.0) == [Drop(kind="watermark-beyond-places")]
    assert prefill.watermark(SESSION) == Mark(0, 0)
    prefill.on_staging_rsp(rsp(0, 60, 9, 76), 0.0)
    assert prefill.watermark(SESSION) == Mark(9, 50)
    assert state(prefill) == Ready(Place(9, 60, 76))


def test_a6_a_watermark_that_a_place_contradicts_is_forgotten() -> None:
    prefill = PrefillStaging()
    want(prefill)
    prefill.on_staging_rsp(rsp(0, 0, 0, 16), 0.0)
    prefill.on_watermark(mark(999_999_999, 0), 0.0)
    assert state(prefill) == Ready(Place(0, 0, 16)), "nothing was taken back"
    prefill.on_staging_rsp(rsp(1, 0, 2, 16), 0.0)
    assert state(prefill, 1) == Waiting(WaitingFor.WATERMARK)
    prefill.on_watermark(mark(2, 0), 0.0)
    assert state(prefill, 1) == Ready(Place(2, 0, 16))


def test_a6_watermarks_that_move_by_a_round_are_followed_without_a_place() -> None:
    prefill = PrefillStaging()
    want(prefill)
    for round_ in range(1, 100):
        assert prefill.on_watermark(mark(round_, 0), 0.0) == []
    assert prefill.watermark(SESSION) == Mark(99, 0)
