"""The prefill side: decode ranks that restart (V6) and that give up (A1 to A3)."""

from __future__ import annotations

import pytest
from tests.pdwire.rooms.cases import (
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

from pdwire.rooms import Drop, KVPoll, PeerGone, SendAbortAck

# ------------------------------------------------------------------- V6: restarts


@pytest.mark.parametrize(
    ("peer", "place", "changed", "gone"),
    [
        ("10.0.0.2:17999", A, False, [PeerGone(peer=PEER_A)]),
        (PEER_A, C, False, []),
        (PEER_A, A, True, []),
    ],
    ids=["another id", "another endpoint", "other memory"],
)
def test_v6_a_restarted_decode_rank_replaces_itself(
    rooms: Rooms,
    info: MakeInfo,
    peer: str,
    place: tuple[str, int],
    changed: bool,
    gone: list[PeerGone],
) -> None:
    rooms.open(7, 0)
    rooms.on_transfer_info(info(expected=2), PEER_A, 0)
    rooms.on_transfer_info(info(port=5001, expected=2), PEER_B, 0)
    rooms.on_transfer_info(info(8), PEER_A, 0)
    rooms.open(9, 0)
    rooms.on_transfer_info(info(9, port=5001), PEER_B, 0)
    effects = rooms.register_peer(peer, place, 1, changed=changed)
    reason = f"decode restarted: {PEER_A}"
    assert told(effects) == {B: (KVPoll.Failed, reason)}, "the new process knows nothing of room 7"
    assert [e for e in effects if isinstance(e, PeerGone)] == gone
    assert rooms.reason(7) == reason
    rooms.open(8, 1)
    assert rooms.reason(8) == reason
    assert rooms.status(9) is KVPoll.WaitingForInput
    assert rooms.is_peer(peer)
    assert rooms.is_peer(PEER_A) == (peer == PEER_A)
    rooms.open(10, 1)
    rooms.on_transfer_info(info(10), peer, 1)
    assert rooms.status(10) is KVPoll.WaitingForInput


def test_v6_a_repeated_registration_touches_no_room(rooms: Rooms, info: MakeInfo) -> None:
    ready_room(rooms, info)
    assert rooms.register_peer(PEER_A, A, 1) == []
    assert rooms.status(7) is KVPoll.WaitingForInput


def test_v6_generations_of_a_restarted_rank_begin_anew(rooms: Rooms) -> None:
    rooms.open(7, 0)
    assert rooms.on_abort(abort(generation=9), 0) == [ack(generation=9)]
    rooms.close(7, 0)
    rooms.register_peer("10.0.0.2:17999", A, 1)
    rooms.open(7, 1)
    assert rooms.on_abort(abort(generation=1), 2) == [ack(generation=1)]
    assert rooms.status(7) is KVPoll.Failed


def test_too_many_peers_make_place_from_the_oldest_idle_one(rooms: Rooms, info: MakeInfo) -> None:
    ready_room(rooms, info)
    assert rooms.register_peer(PEER_C, C, 1) == []
    assert rooms.register_peer("d:1", ("d", 1), 1) == [PeerGone(peer=PEER_B)]
    assert rooms.is_peer(PEER_A), "a room needs it"
    assert rooms.counts()["peers"] == 3


# ------------------------------------------------------------------------ A rows


def test_a1_the_answer_waits_until_the_write_has_ended(rooms: Rooms, info: MakeInfo) -> None:
    ready_room(rooms, info)
    first, second = write(rooms), write(rooms)
    assert rooms.on_abort(abort(), 1) == []
    assert rooms.status(7) is KVPoll.Failed
    assert rooms.begin_write(7, PEER_A, 1) is None
    assert rooms.end_write(first, 2) == []
    assert rooms.end_write(second, 2) == [ack()]
    assert rooms.end_write(second, 2) == [Drop(kind="write-ended-twice")]


def test_a1_the_answer_waits_although_the_room_was_closed_and_lives_again(
    rooms: Rooms, info: MakeInfo
) -> None:
    ready_room(rooms, info)
    ticket = write(rooms)
    rooms.on_abort(abort(), 1)
    assert rooms.close(7, 1) == []
    rooms.open(7, 2)
    assert rooms.counts()["acks-owed"] == 1
    assert rooms.end_write(ticket, 3) == [ack()]
    assert rooms.status(7) is KVPoll.Bootstrapping


def test_a1_a_write_nobody_can_vouch_for_keeps_the_answer_back(
    rooms: Rooms, info: MakeInfo
) -> None:
    ready_room(rooms, info)
    first, second = write(rooms), write(rooms)
    rooms.on_abort(abort(generation=1), 1)
    assert rooms.end_write(first, 2, ok=False, settled=False) == []
    assert rooms.end_write(second, 2) == []
    rooms.close(7, 4)
    ready_room(rooms, info)
    assert rooms.on_abort(abort(generation=3), 5) == [ack(generation=3)]


def test_a1_a_new_life_does_not_answer_for_what_the_last_left_unsettled(
    rooms: Rooms, info: MakeInfo
) -> None:
    ready_room(rooms, info)
    first, second = write(rooms), write(rooms)
    rooms.on_abort(abort(generation=1), 1)
    rooms.end_write(first, 2, ok=False, settled=False)
    rooms.close(7, 2)
    rooms.open(7, 3)
    assert rooms.end_write(second, 4) == [], "the first may still write to those pages"


def test_a2_each_endpoint_gets_its_latest_generation_once(rooms: Rooms, info: MakeInfo) -> None:
    ready_room(rooms, info)
    ticket = write(rooms)
    rooms.on_abort(abort(generation=1), 1)
    rooms.on_abort(abort(place=B, generation=5), 1)
    assert rooms.on_abort(abort(generation=3), 1) == []
    assert rooms.on_abort(abort(generation=2), 1) == [Drop(kind="abort-double")]
    assert rooms.on_abort(abort(generation=3), 1) == [Drop(kind="abort-double")]
    assert rooms.end_write(ticket, 2) == [ack(A, 3), ack(B, 5)]
    assert rooms.on_abort(abort(generation=3), 3) == [Drop(kind="abort-double")]


@pytest.mark.parametrize("life", ["unknown", "closed", "success", "failed"])
def test_a2_a_room_with_nothing_in_flight_is_answered_at_once(
    rooms: Rooms, info: MakeInfo, life: str
) -> None:
    if life != "unknown":
        ready_room(rooms, info)
        rooms.finish(7, 1)
    if life == "failed":
        rooms.open(7, 1)
        rooms.fail(7, "no", 1)
    if life == "closed":
        rooms.close(7, 1)
    before = rooms.status(7)
    assert rooms.on_abort(abort(generation=None), 2) == [ack(generation=None)]
    assert rooms.on_abort(abort(generation=1), 2) == [ack(generation=1)]
    assert rooms.status(7) is before


def test_a2_a_double_does_not_harm_the_next_life(rooms: Rooms, info: MakeInfo) -> None:
    ready_room(rooms, info)
    rooms.on_abort(abort(), 1)
    rooms.close(7, 1)
    ready_room(rooms, info)
    assert rooms.on_abort(abort(), 2) == [Drop(kind="abort-double")]
    assert rooms.status(7) is KVPoll.WaitingForInput


def test_an_abort_overtakes_its_metadata(rooms: Rooms, info: MakeInfo) -> None:
    assert rooms.on_abort(abort(), 0) == [ack()]
    effects = rooms.on_transfer_info(info(), PEER_A, 1)
    assert told(effects) == {A: (KVPoll.Failed, "aborted by the decode side")}
    rooms.open(7, 2)
    assert rooms.status(7) is KVPoll.Failed
    assert rooms.reason(7) == "aborted by the decode side"


def test_an_abort_before_the_sender_lets_the_metadata_go(rooms: Rooms, info: MakeInfo) -> None:
    rooms.on_transfer_info(info(expected=2), PEER_A, 0)
    rooms.on_transfer_info(info(port=5001, expected=2), PEER_B, 0)
    effects = rooms.on_abort(abort(), 1)
    assert told(effects) == {B: (KVPoll.Failed, "aborted by the decode side")}
    assert rooms.counts()["rooms-parked"] == 0
    rooms.open(7, 2)
    assert rooms.status(7) is KVPoll.Failed


def test_what_an_abort_left_behind_is_forgotten_in_time_and_bounded(rooms: Rooms) -> None:
    for room in range(10):
        rooms.on_abort(abort(room), 0)
    assert rooms.counts()["rooms-doomed"] == 4
    rooms.tick(30)
    assert rooms.counts()["rooms-doomed"] == 0
    rooms.open(9, 31)
    assert rooms.status(9) is KVPoll.Bootstrapping


@pytest.mark.parametrize("is_closed", [True, False])
def test_who_was_told_of_a_failure_aborts_and_dooms_no_new_life(
    rooms: Rooms, info: MakeInfo, is_closed: bool
) -> None:
    ready_room(rooms, info)
    rooms.fail(7, "out of memory", 1)
    if is_closed:
        rooms.close(7, 1)
    assert rooms.on_abort(abort(), 2) == [ack()]
    ready_room(rooms, info)
    assert rooms.status(7) is KVPoll.WaitingForInput


def test_whose_late_metadata_was_answered_may_abort_too(rooms: Rooms, info: MakeInfo) -> None:
    rooms.open(7, 0)
    rooms.fail(7, "out of memory", 1)
    rooms.on_transfer_info(info(), PEER_A, 2)
    rooms.close(7, 2)
    rooms.on_abort(abort(), 3)
    ready_room(rooms, info)
    assert rooms.status(7) is KVPoll.WaitingForInput


@pytest.mark.parametrize("is_closed", [True, False])
@pytest.mark.parametrize("end", ["success", "failed", "aborted"])
def test_an_abort_that_the_last_life_does_not_explain_dooms_the_next(
    rooms: Rooms, info: MakeInfo, end: str, is_closed: bool
) -> None:
    ready_room(rooms, info)
    if end == "success":
        rooms.finish(7, 1)
    else:
        rooms.fail(7, "out of memory", 1) if end == "failed" else rooms.on_abort(abort(), 1)
    if end == "failed":
        rooms.on_abort(abort(), 1)
    if is_closed:
        rooms.close(7, 1)
    assert rooms.on_abort(abort(generation=2), 2) == [ack(generation=2)]
    if not is_closed:
        rooms.close(7, 2)
    effects = rooms.on_transfer_info(info(), PEER_A, 3)  # overtaken by that abort
    assert told(effects) == {A: (KVPoll.Failed, "aborted by the decode side")}
    rooms.open(7, 4)
    assert rooms.status(7) is KVPoll.Failed


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_failure_explains_one_abort_of_each_endpoint(
    rooms: Rooms, info: MakeInfo, is_closed: bool
) -> None:
    ready_room(rooms, info)
    rooms.fail(7, "out of memory", 1)
    if is_closed:
        rooms.close(7, 1)
    rooms.on_abort(abort(generation=1), 2)
    rooms.on_abort(abort(generation=2), 2)
    if not is_closed:
        rooms.close(7, 2)
    assert rooms.counts()["rooms-doomed"] == 1


def test_an_abort_of_parked_metadata_is_not_the_answer_to_an_old_failure(
    rooms: Rooms, info: MakeInfo
) -> None:
    ready_room(rooms, info)
    rooms.fail(7, "out of memory", 1)
    rooms.close(7, 1)
    rooms.on_transfer_info(info(), PEER_A, 2)
    assert rooms.on_abort(abort(), 3) == [ack()]
    rooms.open(7, 4)
    assert rooms.status(7) is KVPoll.Failed, "its pages are given back already"


def test_an_abort_is_not_explained_for_ever(rooms: Rooms, info: MakeInfo) -> None:
    ready_room(rooms, info)
    rooms.fail(7, "out of memory", 1)
    rooms.close(7, 1)
    rooms.tick(31)
    rooms.on_abort(abort(), 31)
    assert rooms.counts()["rooms-doomed"] == 1


@pytest.mark.parametrize("how", ["expired", "doomed"])
def test_who_was_told_that_nobody_opened_the_room_aborts_too(
    rooms: Rooms, info: MakeInfo, how: str
) -> None:
    rooms.on_transfer_info(info(expected=2), PEER_A, 0)
    if how == "expired":
        assert A in told(rooms.tick(30))
    else:
        rooms.on_transfer_info(info(port=5001, expected=2), PEER_B, 0)
        assert A in told(rooms.on_abort(abort(place=B), 30))
        rooms.open(7, 30)
        rooms.close(7, 30)
    rooms.on_abort(abort(), 31)
    ready_room(rooms, info)
    assert rooms.status(7) is KVPoll.WaitingForInput


def test_an_abort_of_metadata_that_came_after_the_room_was_closed(
    rooms: Rooms, info: MakeInfo
) -> None:
    """Field report H3: it was answered, so its abort is explained, and nothing of it is kept."""
    rooms.open(7, 0)
    rooms.close(7, 0)
    effects = rooms.on_transfer_info(info(), PEER_A, 1)
    assert told(effects) == {A: (KVPoll.Failed, "the prefill side gave the request up")}
    assert rooms.on_abort(abort(), 2) == [ack()]
    rooms.open(7, 3)
    assert rooms.status(7) is KVPoll.Bootstrapping
    assert rooms.infos(7) == {}


@pytest.mark.parametrize("how", ["no address in the message", "an address that does not decode"])
def test_a3_a_bad_address_aborts_the_room_and_is_not_answered(
    rooms: Rooms, info: MakeInfo, how: str
) -> None:
    ready_room(rooms, info)
    if how.startswith("no"):
        effects = rooms.on_abort(abort(place=None, generation=None), 1)
    else:
        effects = rooms.on_abort_without_address(7, 1)
        assert dropped(effects) == ["abort-bad-address"]
    assert rooms.status(7) is KVPoll.Failed
    assert told(effects) == {A: (KVPoll.Failed, "aborted by the decode side")}
    assert not [e for e in effects if isinstance(e, SendAbortAck)]


def test_strangers_cannot_fill_the_list_of_those_who_wait_for_an_answer(
    rooms: Rooms, info: MakeInfo
) -> None:
    ready_room(rooms, info)
    ticket = write(rooms)
    for port in range(1, 2001):
        rooms.on_abort(abort(place=("stranger", port)), 1)
    assert rooms.counts()["acks-owed"] == 1024
    assert rooms.counts()["dropped-abort-too-many-endpoints"] == 2000 - 1024
    assert len(rooms.end_write(ticket, 2)) == 1024
