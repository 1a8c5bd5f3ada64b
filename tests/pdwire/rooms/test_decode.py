"""The decode side, row by row of the field reports, and what they do not name."""

from __future__ import annotations

import pytest

from pdwire.rooms import DecodeRooms, Drop, Effect, KVPoll, RoomError, RoomLimits, SendAbort
from pdwire.wire.common import AbortAck
from pdwire.wire.mooncake import KVStatus

P0, P1 = ("10.1.0.1", 7000), ("10.1.0.2", 7000)
HERE, THERE = "10.1.0.1:8998", "10.1.0.9:8998"
LIMITS = RoomLimits(bootstrap_s=10, waiting_s=20, abort_release_s=600)


@pytest.fixture
def rooms() -> DecodeRooms:
    return DecodeRooms(LIMITS)


def said(status: KVPoll, rank: int = 0, room: int = 7, reason: str | None = None) -> KVStatus:
    return KVStatus(room=room, status=int(status), prefill_rank=rank, failure_reason=reason)


def acked(rank: int | None, generation: int | None, room: int = 7) -> AbortAck:
    return AbortAck(room=room, prefill_rank=rank, generation=generation)


def aborts(generation: int, *places: tuple[str, int], room: int = 7) -> list[Effect]:
    return [SendAbort(room=room, prefill=place, generation=generation) for place in places]


def sent_room(rooms: DecodeRooms, expected: int = 2, now: float = 0) -> int:
    life = rooms.open(7, HERE, now, endpoints=[P0, P1], expected=expected)
    assert rooms.sent_metadata(7, now)
    return life


# ------------------------------------------------------------------ a good life


def test_a_room_lives_from_open_to_success(rooms: DecodeRooms) -> None:
    assert rooms.status(7) is None
    rooms.open(7, HERE, 0)
    assert rooms.status(7) is KVPoll.Bootstrapping
    assert not rooms.sent_metadata(7, 0)
    assert rooms.resolved(7, [P0, P1, P0], 2, 1) == []
    assert rooms.status(7) is KVPoll.WaitingForInput
    assert rooms.pages_released(7)
    assert rooms.sent_metadata(7, 2)
    assert rooms.status(7) is KVPoll.Transferring
    assert not rooms.pages_released(7)
    assert rooms.on_status(said(KVPoll.Success, 0), 3) == []
    assert rooms.on_status(said(KVPoll.Success, 0), 3) == [], "the same rank counts once"
    assert rooms.status(7) is KVPoll.Transferring
    assert rooms.on_status(said(KVPoll.Success, 1), 3) == []
    assert rooms.status(7) is KVPoll.Success
    assert rooms.pages_released(7)
    assert rooms.close(7, 4) == []
    assert rooms.status(7) is None
    assert rooms.tick(10_000) == []
    assert not any(rooms.counts().values())


def test_with_deferred_allocation_a_room_waits_for_the_word_of_a_rank(rooms: DecodeRooms) -> None:
    rooms.open(7, HERE, 0)
    assert rooms.on_status(said(KVPoll.WaitingForInput), 1) == [Drop(kind="status-out-of-turn")]
    rooms.resolved(7, [P0], 1, 5, deferred=True)
    assert rooms.status(7) is KVPoll.Bootstrapping
    assert rooms.tick(24) == []
    assert rooms.on_status(said(KVPoll.WaitingForInput), 24) == []
    assert rooms.status(7) is KVPoll.WaitingForInput
    assert rooms.on_status(said(KVPoll.WaitingForInput), 24) == [Drop(kind="status-out-of-turn")]


@pytest.mark.parametrize("comes_first", ["status", "scatter"])
def test_s4_success_waits_for_staging_in_either_order(rooms: DecodeRooms, comes_first: str) -> None:
    sent_room(rooms, expected=1)
    rooms.hold_success(7)
    if comes_first == "status":
        rooms.on_status(said(KVPoll.Success), 1)
        assert rooms.status(7) is KVPoll.Transferring
        assert not rooms.pages_released(7)
        rooms.release_success(7, 2)
    else:
        rooms.release_success(7, 1)
        assert rooms.status(7) is KVPoll.Transferring
        rooms.on_status(said(KVPoll.Success), 2)
    assert rooms.status(7) is KVPoll.Success


def test_a_notification_ends_a_room_too_and_staging_holds_it_as_well(rooms: DecodeRooms) -> None:
    assert rooms.mark_arrived(7, 0) == [Drop(kind="arrived-room-not-transferring")]
    sent_room(rooms)
    rooms.hold_success(7)
    rooms.mark_arrived(7, 1)
    assert rooms.status(7) is KVPoll.Transferring
    rooms.release_success(7, 1)
    assert rooms.status(7) is KVPoll.Success
    rooms.close(7, 1)
    rooms.hold_success(7)
    assert rooms.release_success(7, 2) == [Drop(kind="release-unknown-room")]


@pytest.mark.parametrize("expected", [0, 3])
def test_answers_can_only_be_expected_of_ranks_that_are_asked(
    rooms: DecodeRooms, expected: int
) -> None:
    with pytest.raises(RoomError, match=f"{expected} answers expected of 2 prefill ranks"):
        rooms.open(7, HERE, 0, endpoints=[P0, P1, P0], expected=expected)
    assert rooms.status(7) is None
    rooms.open(7, HERE, 0)
    with pytest.raises(RoomError, match="of 0 prefill ranks"):
        rooms.resolved(7, [], 1, 0)
    with pytest.raises(RoomError, match="room 7 is already open: bootstrapping"):
        rooms.open(7, HERE, 0)


def test_ranks_are_resolved_once(rooms: DecodeRooms) -> None:
    sent_room(rooms)
    assert rooms.resolved(7, [P0], 1, 0) == [Drop(kind="resolved-room-not-bootstrapping")]
    assert not rooms.sent_metadata(7, 0)


# ------------------------------------------------------------------------ R rows


def test_r1_failed_is_final(rooms: DecodeRooms) -> None:
    sent_room(rooms, expected=1)
    rooms.on_status(said(KVPoll.Failed, reason="out of memory"), 1)
    assert rooms.on_status(said(KVPoll.Success), 2) == [Drop(kind="status-done-room")]
    assert rooms.mark_arrived(7, 2) == [Drop(kind="arrived-room-not-transferring")]
    assert rooms.abort(7, "too", 2) == [Drop(kind="abort-room-not-active")]
    assert rooms.status(7) is KVPoll.Failed
    assert rooms.reason(7) == "out of memory"


@pytest.mark.parametrize("status", list(KVPoll))
def test_r2_a_status_for_an_unknown_room_creates_nothing(
    rooms: DecodeRooms, status: KVPoll
) -> None:
    assert rooms.on_status(said(status), 0) == [Drop(kind="status-unknown-room")]
    assert rooms.status(7) is None
    assert rooms.counts() == {"dropped-status-unknown-room": 1, "pages-held": 0}


@pytest.mark.parametrize("status", [KVPoll.Bootstrapping, KVPoll.Transferring])
def test_a_status_that_says_nothing_changes_nothing(rooms: DecodeRooms, status: KVPoll) -> None:
    sent_room(rooms)
    assert rooms.on_status(said(status), 0) == [Drop(kind="status-out-of-turn")]
    assert rooms.status(7) is KVPoll.Transferring


def test_success_before_any_metadata_is_out_of_turn(rooms: DecodeRooms) -> None:
    rooms.open(7, HERE, 0, endpoints=[P0], expected=1)
    assert rooms.on_status(said(KVPoll.Success), 0) == [Drop(kind="status-out-of-turn")]
    rooms.sent_metadata(7, 0)
    assert rooms.status(7) is KVPoll.Transferring


@pytest.mark.parametrize("end", [KVPoll.Success, KVPoll.Failed])
@pytest.mark.parametrize("is_cleared", [True, False])
def test_r4_the_same_room_again_is_a_clean_new_life(
    rooms: DecodeRooms, end: KVPoll, is_cleared: bool
) -> None:
    sent_room(rooms, expected=1)
    rooms.on_status(said(end), 1)
    if is_cleared:
        rooms.close(7, 1)
    sent_room(rooms, expected=1, now=2)
    assert rooms.status(7) is KVPoll.Transferring
    assert rooms.reason(7) is None
    rooms.on_status(said(KVPoll.Success), 3)
    assert rooms.status(7) is KVPoll.Success


@pytest.mark.parametrize(
    ("stage", "seconds", "reason"),
    [
        ("open", 10, "the prefill side was not found within 10 s"),
        ("deferred", 20, "the prefill side was not ready within 20 s"),
        ("resolved", 20, "metadata was not sent within 20 s"),
        ("sent", 20, "not everything arrived within 20 s"),
        ("held", 20, "not everything arrived within 20 s"),
    ],
)
def test_r7_every_state_that_waits_has_a_deadline(
    rooms: DecodeRooms, stage: str, seconds: float, reason: str
) -> None:
    rooms.open(7, HERE, 100)
    if stage != "open":
        rooms.resolved(7, [P0, P1], 1, 100, deferred=stage == "deferred")
    if stage in {"sent", "held"}:
        rooms.sent_metadata(7, 100)
    if stage == "held":
        rooms.hold_success(7)
        rooms.on_status(said(KVPoll.Success), 100)
    assert rooms.tick(100 + seconds - 0.1) == []
    effects = rooms.tick(100 + seconds)
    assert rooms.status(7) is KVPoll.Failed
    assert rooms.reason(7) == reason
    assert effects == ([] if stage == "open" else aborts(1, P0, P1))
    assert rooms.pages_released(7) == (stage not in {"sent", "held"})


def test_r7_no_word_of_rank_1_of_2(rooms: DecodeRooms) -> None:
    sent_room(rooms)
    rooms.on_status(said(KVPoll.Success, 0), 1)
    assert rooms.tick(20) == aborts(1, P0, P1)
    assert rooms.reason(7) == "not everything arrived within 20 s"


def test_a_lost_prefill_side_fails_its_rooms_and_no_others(rooms: DecodeRooms) -> None:
    sent_room(rooms)
    rooms.open(8, THERE, 0, endpoints=[P0], expected=1)
    rooms.open(9, HERE, 0)
    assert rooms.prefill_down(HERE, "no heartbeat", 1) == aborts(1, P0, P1)
    assert rooms.reason(7) == rooms.reason(9) == "no heartbeat"
    assert rooms.status(8) is KVPoll.WaitingForInput


# ------------------------------------------------------------------------ A rows


@pytest.mark.parametrize("how", ["abort", "close", "status", "deadline", "lost prefill"])
def test_a1_pages_wait_for_every_rank_however_the_room_failed(rooms: DecodeRooms, how: str) -> None:
    life = sent_room(rooms)
    effects = {
        "abort": lambda: rooms.abort(7, "the user went away", 1),
        "close": lambda: rooms.close(7, 1),
        "status": lambda: rooms.on_status(said(KVPoll.Failed, 1), 1),
        "deadline": lambda: rooms.tick(20),
        "lost prefill": lambda: rooms.prefill_down(HERE, "no heartbeat", 1),
    }[how]()
    assert effects == aborts(1, P0, P1)
    assert not rooms.pages_released(7)
    assert not rooms.pages_released(7, life)
    assert rooms.on_abort_ack(acked(0, 1), 2) == []
    assert rooms.on_abort_ack(acked(0, 1), 2) == [], "the same rank counts once"
    assert not rooms.pages_released(7)
    assert rooms.counts()["pages-held"] == 1
    assert rooms.on_abort_ack(acked(1, 1), 2) == []
    assert rooms.pages_released(7)
    assert rooms.pages_released(7, life)
    assert rooms.on_abort_ack(acked(1, 1), 2) == [Drop(kind="ack-stale")]


def test_a1_pages_wait_although_the_room_is_forgotten_and_lives_again(rooms: DecodeRooms) -> None:
    old = sent_room(rooms, expected=1)
    rooms.abort(7, "the user went away", 1)
    rooms.close(7, 1)
    assert rooms.status(7) is None
    new = sent_room(rooms, expected=1)
    assert not rooms.pages_released(7, old)
    rooms.on_status(said(KVPoll.Success), 2)
    assert rooms.pages_released(7, new)
    assert not rooms.pages_released(7)
    rooms.on_abort_ack(acked(0, 1), 3)
    rooms.on_abort_ack(acked(1, 1), 3)
    assert rooms.pages_released(7, old)
    assert rooms.pages_released(7)


def test_a1_each_life_waits_for_its_own_generation(rooms: DecodeRooms) -> None:
    old = sent_room(rooms)
    assert rooms.abort(7, "first", 1) == aborts(1, P0, P1)
    new = sent_room(rooms, now=2)
    assert rooms.abort(7, "second", 2) == aborts(2, P0, P1)
    rooms.on_abort_ack(acked(0, 2), 3)
    rooms.on_abort_ack(acked(1, 2), 3)
    assert not rooms.pages_released(7, old)
    assert rooms.pages_released(7, new)


def test_a1_after_the_long_timeout_pages_are_released_without_proof(rooms: DecodeRooms) -> None:
    sent_room(rooms)
    rooms.abort(7, "the user went away", 1)
    rooms.tick(600)
    assert not rooms.pages_released(7)
    rooms.tick(601)
    assert rooms.pages_released(7)
    assert rooms.counts()["released-by-timeout"] == 1


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (acked(None, None), "ack-without-generation"),
        (acked(0, None), "ack-without-generation"),
        (acked(0, 2), "ack-stale"),
        (acked(0, 1, room=8), "ack-stale"),
    ],
    ids=["2 frames", "3 frames", "another generation", "another room"],
)
def test_v5_only_an_answer_to_this_abort_counts(
    rooms: DecodeRooms, message: AbortAck, kind: str
) -> None:
    rooms.open(7, HERE, 0, endpoints=[P0], expected=1)
    rooms.sent_metadata(7, 0)
    rooms.abort(7, "the user went away", 1)
    assert rooms.on_abort_ack(message, 2) == [Drop(kind=kind)]
    assert not rooms.pages_released(7)
    assert rooms.on_abort_ack(acked(0, 1), 2) == []
    assert rooms.pages_released(7)


def test_an_abort_before_metadata_is_told_and_holds_nothing(rooms: DecodeRooms) -> None:
    rooms.open(7, HERE, 0, endpoints=[P0, P1], expected=2)
    assert rooms.abort(7, "the user went away", 1) == aborts(1, P0, P1)
    assert rooms.pages_released(7)
    assert not rooms.sent_metadata(7, 1)
    rooms.open(8, HERE, 0)
    assert rooms.abort(8, "nobody to tell", 1) == []
    assert rooms.reason(8) == "nobody to tell"


def test_an_unknown_room_can_be_neither_aborted_nor_closed(rooms: DecodeRooms) -> None:
    assert rooms.abort(7, "x", 0) == [Drop(kind="abort-room-not-active")]
    assert rooms.close(7, 0) == [Drop(kind="close-unknown-room")]
    assert rooms.pages_released(7)


def test_a_failure_without_a_reason_gets_one(rooms: DecodeRooms) -> None:
    sent_room(rooms)
    rooms.on_status(said(KVPoll.Failed, 3), 1)
    assert rooms.reason(7) == "prefill rank 3 failed"


# ------------------------------------------------------ what is asked for, and by whom


def asked_room(rooms: DecodeRooms, *, answering: tuple[int, ...] = (0, 1)) -> int:
    life = rooms.open(7, HERE, 0)
    rooms.resolved(7, [P0, P1], len(answering), 0, asked=(0, 1), answering=answering)
    return life


def test_a9_a_dummy_may_fail_a_room_and_acknowledge_but_not_succeed_it(rooms: DecodeRooms) -> None:
    asked_room(rooms, answering=(1,))
    assert rooms.sent_metadata(7, 0)
    for rank in (0, 2):
        assert rooms.on_status(said(KVPoll.Success, rank), 1) == [Drop(kind="status-foreign-rank")]
    assert rooms.on_status(said(KVPoll.Failed, 2), 1) == [Drop(kind="status-foreign-rank")]
    assert rooms.on_status(said(KVPoll.Failed, 0, reason="unknown peer"), 1) == aborts(1, P0, P1)
    for rank in (2, 1, 1):
        rooms.on_abort_ack(acked(rank, 1), 2)
    assert not rooms.pages_released(7)
    rooms.on_abort_ack(acked(0, 1), 2)
    assert rooms.pages_released(7)


def test_a4_generations_begin_where_they_are_told_to() -> None:
    rooms = DecodeRooms(LIMITS, first_generation=500)
    sent_room(rooms)
    assert rooms.abort(7, "no", 1) == aborts(500, P0, P1)
    assert rooms.on_abort_ack(acked(0, 1), 1) == [Drop(kind="ack-stale")]


@pytest.mark.parametrize("row", [None, -1])
def test_p8_a_room_without_a_row_waits_for_none(rooms: DecodeRooms, row: int | None) -> None:
    asked_room(rooms)
    assert rooms.lend_row(7, row, [16, 0, 64], over_tcp=True) is None
    rooms.sent_metadata(7, 0)
    for rank in (0, 1):
        rooms.on_status(said(KVPoll.Success, rank), 1)
    assert rooms.status(7) is KVPoll.Success


def test_p8_buffers_without_bytes_are_not_waited_for_and_staging_is(rooms: DecodeRooms) -> None:
    asked_room(rooms)
    assert rooms.lend_row(7, 3, [16, 0, 64], over_tcp=True) is None
    rooms.sent_metadata(7, 0)
    rooms.hold_success(7)
    for rank in (0, 1):
        rooms.on_status(said(KVPoll.Success, rank), 1)
    rooms.on_row_refused(7, "too long", 1)
    assert rooms.status(7) is KVPoll.Transferring, "the right one may come while staging goes on"
    rooms.on_row(7, 0, 2)
    rooms.on_row(7, 2, 2)
    assert rooms.status(7) is KVPoll.Transferring
    rooms.release_success(7, 3)
    assert rooms.status(7) is KVPoll.Success
    assert rooms.on_row(7, 0, 4) == [Drop(kind="row-room-not-transferring")]
    assert rooms.on_row_refused(7, "late", 4) == [Drop(kind="row-room-not-transferring")]


def test_p8_what_did_not_come_is_named_when_the_time_is_over(rooms: DecodeRooms) -> None:
    asked_room(rooms)
    rooms.lend_row(7, 3, [16, 0, 64, 8], over_tcp=True)
    rooms.sent_metadata(7, 0)
    rooms.on_row(7, 2, 1)
    for rank in (0, 1):
        rooms.on_status(said(KVPoll.Success, rank), 1)
    rooms.tick(20)
    assert rooms.reason(7) == "aux buffers 0, 3 of 4 did not come within 20 s"


@pytest.mark.parametrize("end", ["success", "failed", "closed", "never sent"])
def test_p10_a_row_belongs_to_one_room_until_that_is_done(rooms: DecodeRooms, end: str) -> None:
    asked_room(rooms)
    rooms.lend_row(7, 3, [16])
    rooms.open(8, HERE, 0, endpoints=[P0], expected=1)
    if end != "never sent":
        rooms.sent_metadata(7, 0)
        assert rooms.lend_row(8, 3, [16]) == "aux row 3 belongs to room 7, which is not done"
        assert rooms.lend_row(8, 4, [16]) is None
    if end == "success":
        for rank in (0, 1):
            rooms.on_status(said(KVPoll.Success, rank), 1)
    elif end == "failed":
        rooms.abort(7, "no", 1)
    elif end == "closed":
        rooms.close(7, 1)
    assert rooms.lend_row(8, 3, [16]) is None
    assert rooms.counts().get("rows-refused", 0) == (end != "never sent")
