"""Who gives way when there is no place left for rooms that nobody has opened."""

from __future__ import annotations

import pytest
from tests.pdwire.rooms.cases import (
    PEER_A,
    PEER_B,
    A,
    B,
    MakeInfo,
    Rooms,
    abort,
    ack,
    dropped,
    ready_room,
    told,
)

from pdwire.rooms import KVPoll, PrefillRooms, RoomLimits
from pdwire.rooms.holds import first_generation
from pdwire.rooms.prints import fingerprint, weight
from pdwire.rooms.shares import Shares
from pdwire.wire.common import Bootstrap


def test_who_has_less_displaces_the_newest_of_who_has_most() -> None:
    shares = Shares(4, 1_000)
    for room in range(4):
        assert shares.fits(10)
        shares.add(room, "a", 10, waits=False)
    assert not shares.fits(10)
    assert shares.displaced_by("a", 10, waits=False) is None
    assert shares.displaced_by("b", 10, waits=False) == 3
    shares.remove(3)
    shares.add(10, "b", 10, waits=False)
    assert shares.displaced_by("b", 10, waits=False) == 2
    shares.remove(2)
    shares.add(11, "b", 10, waits=False)
    assert shares.displaced_by("b", 10, waits=False) is None, "two each is fair"
    assert shares.displaced_by("c", 10, waits=False) in {1, 11}
    assert shares.size == 40


def test_bytes_are_shared_as_rooms_are() -> None:
    shares = Shares(100, 1_000)
    shares.add(1, "a", 900, waits=False)
    shares.add(2, "b", 90, waits=False)
    assert not shares.fits(20)
    assert shares.displaced_by("b", 1_001, waits=False) is None, "more than all there is"
    assert shares.displaced_by("b", 100, waits=False) is None, "the other would have nothing left"
    shares.add(3, "a", 10, waits=False)
    assert shares.displaced_by("b", 100, waits=False) == 3


def test_who_only_waits_gives_way_to_metadata_and_displaces_none() -> None:
    shares = Shares(2, 1_000)
    shares.add(1, "a", 10, waits=False)
    shares.add(2, "w", 0, waits=True)
    assert shares.displaced_by("a", 10, waits=False) == 2
    assert shares.displaced_by("v", 0, waits=True) is None
    shares.remove(2)
    shares.add(3, "a", 10, waits=False)
    assert shares.displaced_by("v", 0, waits=True) is None


def test_who_is_displaced_hears_of_it_and_may_come_again(rooms: Rooms, info: MakeInfo) -> None:
    for room in (1, 2, 3):
        rooms.on_transfer_info(info(room), PEER_A, 0)
    effects = rooms.on_transfer_info(info(7, port=5001), PEER_B, 1)
    reason = "too many rooms wait to be opened on the prefill side"
    assert told(effects) == {A: (KVPoll.Failed, reason)}
    assert rooms.counts()["unopened-displaced"] == 1
    rooms.on_abort(abort(3), 2)  # the answer to that; it dooms nothing
    assert rooms.counts()["rooms-doomed"] == 0
    rooms.open(7, 2)
    assert rooms.status(7) is KVPoll.WaitingForInput
    assert rooms.on_transfer_info(info(3), PEER_A, 3) == []


def test_metadata_that_grows_keeps_to_the_bytes(info: MakeInfo) -> None:
    rooms: Rooms = PrefillRooms(RoomLimits(unopened_bytes=10_000))
    rooms.register_peer(PEER_A, A, 0)
    assert rooms.on_transfer_info(info(pages=(1,)), PEER_A, 0) == []
    large = info(pages=tuple(range(3_000)))
    assert dropped(rooms.on_transfer_info(large, PEER_A, 0)) == ["unopened-cap"]
    assert rooms.on_transfer_info(info(pages=tuple(range(2_000))), PEER_A, 0) == []
    assert rooms._ledger._shares.size == weight(info(pages=tuple(range(2_000))))
    rooms.open(7, 1)
    assert rooms._ledger._shares.size == 0


def test_a_waiter_whose_metadata_came_is_none_any_more(rooms: Rooms, info: MakeInfo) -> None:
    rooms.on_bootstrap(Bootstrap(room=7, decode_ip=A[0], decode_port=A[1]), 0)
    rooms.on_transfer_info(info(), PEER_A, 0)
    for room in (1, 2, 3):
        rooms.on_transfer_info(info(room, port=5001), PEER_B, 0)
    rooms.open(7, 1)
    assert rooms.status(7) is KVPoll.WaitingForInput


def test_fingerprints_differ_where_one_field_does(info: MakeInfo) -> None:
    same = [info(), info()]
    others = [info(8), info(port=5001), info(prefix=0), info(pages=(4, 6)), info(expected=2)]
    assert len({fingerprint(one) for one in [*same, *others]}) == 1 + len(others)
    assert weight(info(pages=tuple(range(1_000)))) - weight(info(pages=())) == 4_000


def test_generations_of_later_processes_are_higher_and_fit_the_wire() -> None:
    now = 1.8e9
    assert first_generation(now, 2**32 - 1) < first_generation(now + 0.002, 0)
    assert first_generation(now, 1) != first_generation(now, 2)
    assert 0 < first_generation(0, 0) < first_generation(4e9, 2**32) + 2**40 < 2**63


@pytest.mark.parametrize("who", [B, ("10.9.9.9", 1)])
def test_a12_an_abort_by_no_party_is_about_itself_alone(
    rooms: Rooms, info: MakeInfo, who: tuple[str, int]
) -> None:
    ready_room(rooms, info)
    effects = rooms.on_abort(abort(place=who), 1)
    assert dropped(effects) == ["abort-stranger"]
    assert rooms.status(7) is KVPoll.WaitingForInput
    assert dropped(rooms.on_abort(abort(place=who), 1)) == ["abort-stranger"]
    rooms.finish(7, 2)
    rooms.close(7, 2)
    assert rooms.counts()["rooms-doomed"] == 0


def test_a12_metadata_that_its_own_abort_has_overtaken_is_refused_all_the_same(
    rooms: Rooms, info: MakeInfo
) -> None:
    ready_room(rooms, info)
    assert rooms.on_abort(abort(place=B, generation=3), 1)[-1] == ack(B, 3)
    rooms.finish(7, 2)
    rooms.close(7, 2)
    effects = rooms.on_transfer_info(info(port=5001, pages=(8, 9)), PEER_B, 3)
    assert told(effects) == {B: (KVPoll.Failed, "aborted by the decode side")}
    assert rooms.counts()["rooms-parked"] == 0
