"""The prefill side: a good life, the R rows of the field reports, deferred allocation."""

from __future__ import annotations

import pytest
from tests.pdwire.rooms.cases import (
    HOST,
    LIMITS,
    PEER_A,
    PEER_B,
    PEER_C,
    A,
    B,
    C,
    MakeInfo,
    Rooms,
    abort,
    ack,
    dropped,
    ready_room,
    told,
    write,
)

from pdwire.rooms import Drop, KVPoll, RoomError, SendStatus
from pdwire.wire.common import Bootstrap

# ------------------------------------------------------------------ a good life


def test_a_room_lives_from_open_to_success(rooms: Rooms, info: MakeInfo) -> None:
    assert rooms.status(7) is None
    rooms.open(7, 0)
    assert rooms.status(7) is KVPoll.Bootstrapping
    assert rooms.on_transfer_info(info(prefix=64), PEER_A, 1) == []
    assert rooms.status(7) is KVPoll.WaitingForInput
    assert rooms.prefix_len(7) == 64
    ticket = write(rooms)
    assert rooms.status(7) is KVPoll.Transferring
    assert rooms.end_write(ticket, 2) == []
    assert told(rooms.finish(7, 3)) == {A: (KVPoll.Success, None)}
    assert rooms.status(7) is KVPoll.Success
    assert rooms.infos(7) == {}
    assert rooms.close(7, 4) == []
    assert rooms.status(7) is None


def test_metadata_may_come_before_the_sender(rooms: Rooms, info: MakeInfo) -> None:
    assert rooms.on_transfer_info(info(), PEER_A, 0) == []
    assert rooms.status(7) is None
    rooms.open(7, 1)
    assert rooms.status(7) is KVPoll.WaitingForInput
    assert list(rooms.infos(7)) == [PEER_A]


def test_a_room_waits_for_every_decode_rank(rooms: Rooms, info: MakeInfo) -> None:
    rooms.open(7, 0)
    rooms.on_transfer_info(info(expected=2), PEER_A, 0)
    assert rooms.status(7) is KVPoll.Bootstrapping
    assert rooms.begin_write(7, PEER_A, 0) is None
    rooms.on_transfer_info(info(port=5001, expected=2), PEER_B, 0)
    assert rooms.status(7) is KVPoll.WaitingForInput


def test_success_waits_for_writes_that_are_out(rooms: Rooms, info: MakeInfo) -> None:
    ready_room(rooms, info)
    ticket = write(rooms)
    assert rooms.finish(7, 1) == []
    assert rooms.status(7) is KVPoll.Transferring
    assert rooms.begin_write(7, PEER_A, 1) is None, "everything was submitted"
    assert told(rooms.end_write(ticket, 2)) == {A: (KVPoll.Success, None)}


def test_the_last_peer_finishes_the_room_and_dummies_hear_nothing(
    rooms: Rooms, info: MakeInfo
) -> None:
    rooms.register_peer(PEER_C, C, 0)
    rooms.open(7, 0)
    rooms.on_transfer_info(info(expected=3, dummy=True, prefix=0), PEER_A, 0)
    rooms.on_transfer_info(info(port=5001, expected=3, prefix=16), PEER_B, 0)
    rooms.on_transfer_info(info(port=5002, expected=3, prefix=16), PEER_C, 0)
    assert rooms.prefix_len(7) == 16, "a dummy's 0 says nothing"
    assert rooms.finish_peer(7, PEER_B, 1) == []
    effects = rooms.finish_peer(7, PEER_C, 1)
    assert told(effects) == {B: (KVPoll.Success, None), C: (KVPoll.Success, None)}
    assert {e.peer for e in effects if isinstance(e, SendStatus)} == {PEER_B, PEER_C}


def test_a_room_of_dummies_succeeds_silently(rooms: Rooms, info: MakeInfo) -> None:
    rooms.open(7, 0)
    rooms.on_transfer_info(info(dummy=True), PEER_A, 0)
    assert rooms.finish(7, 1) == []
    assert rooms.status(7) is KVPoll.Success


def test_a_waiting_room_takes_a_repeat_and_a_writing_one_does_not(
    rooms: Rooms, info: MakeInfo
) -> None:
    ready_room(rooms, info)
    before = rooms.infos(7)
    assert rooms.on_transfer_info(info(pages=(8, 9)), PEER_A, 1) == []
    assert list(rooms.infos(7)[PEER_A].dst_kv_indices) == [8, 9]
    assert list(before[PEER_A].dst_kv_indices) == [4, 5], "a worker's view stands"
    write(rooms)
    assert rooms.on_transfer_info(info(), PEER_A, 1) == [Drop(kind="metadata-late")]
    assert list(rooms.infos(7)[PEER_A].dst_kv_indices) == [8, 9]


def test_an_open_room_cannot_be_opened(rooms: Rooms) -> None:
    rooms.open(7, 0)
    with pytest.raises(RoomError, match="room 7 is already open: bootstrapping"):
        rooms.open(7, 0)


# ------------------------------------------------------------------------ R rows


def test_r1_failed_is_final(rooms: Rooms, info: MakeInfo) -> None:
    ready_room(rooms, info)
    ticket = write(rooms)
    assert told(rooms.fail(7, "out of memory", 1)) == {A: (KVPoll.Failed, "out of memory")}
    assert dropped(rooms.finish(7, 1)) == ["finish-room-not-writable"]
    assert dropped(rooms.fail(7, "again", 1)) == ["fail-room-not-active"]
    assert rooms.begin_write(7, PEER_A, 1) is None
    assert rooms.end_write(ticket, 2) == []
    assert rooms.status(7) is KVPoll.Failed
    assert rooms.reason(7) == "out of memory"


@pytest.mark.parametrize(
    ("port", "peer"), [(5001, PEER_B), (5001, PEER_A)], ids=["other rank", "same id"]
)
def test_r3_a_second_endpoint_is_refused_and_cannot_abort_the_first(
    rooms: Rooms, info: MakeInfo, port: int, peer: str
) -> None:
    ready_room(rooms, info)
    effects = rooms.on_transfer_info(info(port=port), peer, 1)
    assert dropped(effects) == ["metadata-foreign"]
    [(place, (status, reason))] = told(effects).items()
    assert (place, status) == (B, KVPoll.Failed)
    assert reason in {
        "the room belongs to another decode rank",
        "that peer answers at another endpoint",
    }
    assert all(e.courtesy for e in effects if isinstance(e, SendStatus))
    effects = rooms.on_abort(abort(place=B), 2)
    assert effects == [Drop(kind="abort-foreign"), ack(B)]
    assert rooms.status(7) is KVPoll.WaitingForInput
    assert list(rooms.infos(7)) == [PEER_A]


def test_r3_a_refusal_never_tells_a_live_party_that_it_failed(rooms: Rooms, info: MakeInfo) -> None:
    ready_room(rooms, info)
    effects = rooms.on_transfer_info(info(), PEER_B, 1)  # another id that claims A's endpoint
    assert effects == [Drop(kind="metadata-foreign")]
    assert rooms.on_transfer_info(info(), "stranger:1", 1) == [Drop(kind="metadata-unusable-peer")]
    assert told(rooms.on_abort(abort(), 1)) == {}
    assert rooms.status(7) is KVPoll.Failed, "A itself may abort"


def test_ranks_that_expect_different_numbers_of_ranks_are_foreign(
    rooms: Rooms, info: MakeInfo
) -> None:
    rooms.open(7, 0)
    rooms.on_transfer_info(info(expected=2), PEER_A, 0)
    effects = rooms.on_transfer_info(info(port=5001, expected=3), PEER_B, 0)
    assert dropped(effects) == ["metadata-foreign"]
    rooms.on_transfer_info(info(expected=1), PEER_A, 0)  # alone it may correct itself
    assert rooms.status(7) is KVPoll.WaitingForInput
    effects = rooms.on_transfer_info(info(expected=2), PEER_A, 0)
    assert effects == [Drop(kind="metadata-foreign")]
    assert rooms.status(7) is KVPoll.WaitingForInput


@pytest.mark.parametrize("end", ["success", "failed"])
@pytest.mark.parametrize("is_cleared", [True, False])
def test_r4_the_same_room_again_is_a_clean_new_life(
    rooms: Rooms, info: MakeInfo, end: str, is_cleared: bool
) -> None:
    ready_room(rooms, info)
    first = rooms.finish(7, 1) if end == "success" else rooms.fail(7, "no", 1)
    assert len(told(first)) == 1
    if is_cleared:
        rooms.close(7, 1)
    rooms.open(7, 2)
    assert rooms.status(7) is KVPoll.Bootstrapping
    assert rooms.reason(7) is None
    assert rooms.infos(7) == {}
    rooms.on_transfer_info(info(), PEER_A, 3)
    write(rooms)
    rooms.end_write(write(rooms), 3)
    assert rooms.status(7) is KVPoll.Transferring


def test_r4_a_write_of_the_last_life_does_not_count_for_the_new_one(
    rooms: Rooms, info: MakeInfo
) -> None:
    ready_room(rooms, info)
    old = write(rooms)
    rooms.fail(7, "no", 1)
    rooms.close(7, 1)
    ready_room(rooms, info)
    new = write(rooms)
    assert rooms.finish(7, 2) == []
    assert rooms.end_write(old, 3, ok=False) == []
    assert rooms.status(7) is KVPoll.Transferring
    assert told(rooms.end_write(new, 3)) == {A: (KVPoll.Success, None)}
    assert rooms.on_transfer_info(info(), PEER_A, 4) == [Drop(kind="metadata-done-room")]
    assert rooms.infos(7) == {}


def test_a_failed_write_fails_the_room_with_its_reason(rooms: Rooms, info: MakeInfo) -> None:
    ready_room(rooms, info)
    effects = rooms.end_write(write(rooms), 1, ok=False, reason="connection reset")
    assert told(effects) == {A: (KVPoll.Failed, "connection reset")}
    ready_room(rooms, info)
    rooms.end_write(write(rooms), 1, ok=False)
    assert rooms.reason(7) == f"a write to {PEER_A} failed"


def test_r5_rooms_nobody_opened_are_capped_counted_and_expire(rooms: Rooms, info: MakeInfo) -> None:
    refused = 0
    for room in range(100_000):
        refused += len(told(rooms.on_transfer_info(info(room), PEER_A, 0)))
    assert refused == 100_000 - 3
    counts = rooms.counts()
    assert (counts["rooms-parked"], counts["dropped-unopened-cap"]) == (3, 99_997)
    assert rooms.tick(29) == []
    reasons = {e.reason for e in rooms.tick(30) if isinstance(e, SendStatus)}
    assert reasons == {"the prefill side got no request of that room"}
    counts = rooms.counts()
    assert (counts["rooms-parked"], counts["unopened-expired"]) == (0, 3)
    rooms.open(1, 31)
    assert rooms.status(1) is KVPoll.Bootstrapping


def test_r6_every_endpoint_that_is_no_dummy_hears_the_reason(rooms: Rooms, info: MakeInfo) -> None:
    rooms.register_peer(PEER_C, C, 0)
    rooms.open(7, 0)
    rooms.on_transfer_info(info(expected=3, dummy=True), PEER_A, 0)
    rooms.on_transfer_info(info(port=5001, expected=3), PEER_B, 0)
    rooms.on_transfer_info(info(port=5002, expected=3), PEER_C, 0)
    reason = (KVPoll.Failed, "out of memory")
    assert told(rooms.fail(7, "out of memory", 1)) == {B: reason, C: reason}


def test_r6_an_abort_by_one_rank_is_told_to_the_other(rooms: Rooms, info: MakeInfo) -> None:
    rooms.open(7, 0)
    rooms.on_transfer_info(info(expected=2), PEER_A, 0)
    rooms.on_transfer_info(info(port=5001, expected=2), PEER_B, 0)
    effects = rooms.on_abort(abort(), 1)
    assert told(effects) == {B: (KVPoll.Failed, "aborted by the decode side")}
    assert effects[-1] == ack(A)


def test_r6_closing_a_room_that_is_not_done_fails_it(rooms: Rooms, info: MakeInfo) -> None:
    ready_room(rooms, info)
    reason = "the prefill side gave the request up"
    assert told(rooms.close(7, 1)) == {A: (KVPoll.Failed, reason)}
    assert dropped(rooms.close(7, 1)) == ["close-unknown-room"]


def test_r6_metadata_that_comes_after_the_failure_hears_of_it(rooms: Rooms, info: MakeInfo) -> None:
    rooms.open(7, 0)
    assert rooms.fail(7, "out of memory", 1) == []
    effects = rooms.on_transfer_info(info(), PEER_A, 2)
    assert told(effects) == {A: (KVPoll.Failed, "out of memory")}


@pytest.mark.parametrize(
    ("stage", "seconds", "reason"),
    [
        ("open", 10, "metadata did not come from every rank within 10 s"),
        ("ready", 20, "the first chunk was not sent within 20 s"),
        ("writing", 5, "the transfer did not go on within 5 s"),
        ("between", 5, "the transfer did not go on within 5 s"),
    ],
)
def test_r7_every_state_that_waits_has_a_deadline(
    rooms: Rooms, info: MakeInfo, stage: str, seconds: float, reason: str
) -> None:
    rooms.open(7, 100)
    if stage != "open":
        rooms.on_transfer_info(info(), PEER_A, 100)
    if stage == "writing":
        write(rooms, now=100)
    if stage == "between":
        rooms.end_write(write(rooms, now=100), 100)
    assert rooms.tick(100 + seconds - 0.1) == []
    effects = rooms.tick(100 + seconds)
    assert rooms.status(7) is KVPoll.Failed
    assert rooms.reason(7) == reason
    assert told(effects) == ({} if stage == "open" else {A: (KVPoll.Failed, reason)})
    assert rooms.tick(10_000) == []


def test_r7_writes_that_go_on_are_not_late(rooms: Rooms, info: MakeInfo) -> None:
    ready_room(rooms, info)
    for now in range(0, 40, 4):
        rooms.end_write(write(rooms, now=now), now)
        assert rooms.tick(now) == []
    assert rooms.status(7) is KVPoll.Transferring


def test_r8_an_unknown_peer_is_told_so_and_leaves_nothing_behind(
    rooms: Rooms, info: MakeInfo
) -> None:
    effects = rooms.on_transfer_info(info(port=6000), "stranger:1", 0)
    assert told(effects) == {(HOST, 6000): (KVPoll.Failed, "unknown peer stranger:1")}
    assert rooms.counts()["rooms-parked"] == 0
    rooms.open(7, 1)
    assert rooms.status(7) is KVPoll.Bootstrapping


def test_r8_an_open_room_that_only_a_stranger_asks_for_fails(rooms: Rooms, info: MakeInfo) -> None:
    rooms.open(7, 0)
    rooms.on_transfer_info(info(port=6000), "stranger:1", 0)
    assert rooms.status(7) is KVPoll.Failed
    assert rooms.reason(7) == "unknown peer stranger:1"


def test_r8_a_stranger_does_not_touch_a_room_of_others(rooms: Rooms, info: MakeInfo) -> None:
    ready_room(rooms, info)
    effects = rooms.on_transfer_info(info(port=6000), "stranger:1", 0)
    assert (HOST, 6000) in told(effects)
    assert rooms.status(7) is KVPoll.WaitingForInput


def test_r10_a_registration_lifts_the_mark(rooms: Rooms, info: MakeInfo) -> None:
    ready_room(rooms, info)
    why = (KVPoll.Failed, "connection reset")
    assert told(rooms.mark_peer_failed(PEER_A, "connection reset", 1)) == {A: why}
    rooms.open(8, 1)
    effects = rooms.on_transfer_info(info(8), PEER_A, 1)
    assert told(effects) == {A: (KVPoll.Failed, f"peer {PEER_A} failed: connection reset")}
    assert rooms.register_peer(PEER_A, A, 2) == []
    rooms.open(9, 2)
    assert rooms.on_transfer_info(info(9), PEER_A, 2) == []
    assert rooms.status(9) is KVPoll.WaitingForInput
    assert dropped(rooms.mark_peer_failed("nobody", "x", 2)) == ["failed-mark-unknown-peer"]


# ------------------------------------------------------------- deferred allocation


def bootstrap(place: tuple[str, int] = A) -> Bootstrap:
    return Bootstrap(room=7, decode_ip=place[0], decode_port=place[1])


@pytest.mark.parametrize("is_early", [True, False])
def test_who_waits_for_the_forward_pass_hears_of_it_once(
    rooms: Rooms, info: MakeInfo, is_early: bool
) -> None:
    if is_early:
        assert rooms.on_bootstrap(bootstrap(), 0) == []
    rooms.open(7, 0)
    effects = rooms.ready(7, 9)
    if not is_early:
        effects = rooms.on_bootstrap(bootstrap(), 9)
    assert told(effects) == {A: (KVPoll.WaitingForInput, None)}
    assert rooms.ready(7, 9) == rooms.on_bootstrap(bootstrap(), 9) == []
    assert rooms.tick(18.9) == [], "decode allocates now, and has the whole time for it"
    rooms.on_transfer_info(info(), PEER_A, 18.9)
    assert rooms.status(7) is KVPoll.WaitingForInput


def test_who_waits_for_the_forward_pass_hears_of_a_failure(rooms: Rooms) -> None:
    rooms.open(7, 0)
    rooms.on_bootstrap(bootstrap(), 0)
    failure = (KVPoll.Failed, "out of memory")
    assert told(rooms.fail(7, "out of memory", 1)) == {A: failure}
    assert told(rooms.on_bootstrap(bootstrap(B), 2)) == {B: failure}


def test_one_endpoint_waits_for_a_room_and_such_rooms_are_capped(rooms: Rooms) -> None:
    rooms.on_bootstrap(bootstrap(), 0)
    effects = rooms.on_bootstrap(bootstrap(B), 0)
    assert told(effects) == {B: (KVPoll.Failed, "another decode rank waits for it")}
    for room in range(10, 20):
        rooms.on_bootstrap(Bootstrap(room=room, decode_ip=HOST, decode_port=5000), 0)
    assert rooms.counts()["rooms-parked"] == 3
    assert rooms.counts()["dropped-bootstrap-refused"] == 9


def test_a_room_that_is_done_has_no_more_readiness(rooms: Rooms, info: MakeInfo) -> None:
    ready_room(rooms, info)
    rooms.finish(7, 0)
    assert rooms.on_bootstrap(bootstrap(), 1) == []
    assert dropped(rooms.ready(7, 1)) == ["ready-room-not-waiting"]


# ------------------------------------------------------------------ what is kept


def test_a_finished_room_leaves_nothing_but_a_bounded_memory(rooms: Rooms, info: MakeInfo) -> None:
    for room in range(100):
        rooms.open(room, room)
        rooms.on_transfer_info(info(room), PEER_A, room)
        rooms.end_write(write(rooms, room=room), room)
        rooms.finish(room, room)
        rooms.on_abort(abort(room, generation=room), room)
        rooms.close(room, room)
    assert rooms.counts()["rooms-doomed"] == LIMITS.remembered
    rooms.tick(10_000)
    counts = rooms.counts()
    assert {name: n for name, n in counts.items() if n} == {"peers": 2}
    desk, ledger = rooms._desk, rooms._ledger
    assert len(desk._latest) == LIMITS.remembered
    assert not ledger._trails
    assert not desk._writing
    assert not desk._pending
    assert not rooms._tickets
