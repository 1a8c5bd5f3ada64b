"""Success means everything that was asked for: every rank, page, state component and row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.pdwire.managers.fleet import (
    Fleet,
    Pair,
    PlayedPrefill,
    begin,
    counter,
    hand_over,
    loopback,
    memory,
    pages,
    place,
    ready,
    settled,
    wait_until,
    with_limits,
)

from pdwire.managers.receiver import CommonKVReceiver
from pdwire.rooms import KVPoll
from pdwire.wire import layout
from pdwire.wire.nixl import NotifAux, NotifKV, NotifState

ROW = 3
COUNTED = "0.5.19"
"""A release of NIXL whose decode side counts notifications."""


def waiting(played: PlayedPrefill, **asked: Any) -> CommonKVReceiver:  # noqa: ANN401
    """Room 7, which waits for its data."""
    receiver: CommonKVReceiver = played.decode.receiver(played.address, 7)
    receiver.init()
    receiver.send_metadata(pages(4, 5), aux_index=ROW, **asked)
    wait_until(lambda: receiver.poll() is KVPoll.Transferring, "metadata was sent")
    return receiver


def tell_row(played: PlayedPrefill, buffer: int, data: bytes) -> None:
    before = counter(played.decode, "messages", "AUX_DATA")
    played.tell("AUX_DATA", room=7, buffer_index=buffer, aux_index=ROW, data=data)
    wait_until(lambda: counter(played.decode, "messages", "AUX_DATA") > before)


def told(played: PlayedPrefill, status: KVPoll, rank: int | None = None) -> None:
    before = counter(played.decode, "messages", "KV_STATUS")
    played.status(7, status, rank=rank)
    wait_until(lambda: counter(played.decode, "messages", "KV_STATUS") > before)


@pytest.mark.parametrize("backend", ["mooncake", "mori", "ascend"])
class TestRowsThatComeByMessages:
    """Field report P8."""

    @pytest.mark.parametrize("is_told", [True, False], ids=["configured", "learnt"])
    def test_success_waits_for_every_buffer_in_either_order(
        self, fleet: Fleet, backend: str, is_told: bool
    ) -> None:
        target = memory(2)
        [played] = fleet.played_prefill(fleet.decode(backend, target, aux_over_tcp=is_told))
        receiver = waiting(played)
        tell_row(played, 0, b"a" * 16)
        told(played, KVPoll.Success)
        assert receiver.poll() is KVPoll.Transferring
        tell_row(played, 1, b"b" * 64)
        assert settled(receiver) == [KVPoll.Success]
        assert bytes(target.aux[0][ROW]) == b"a" * 16
        assert bytes(target.aux[1][ROW]) == b"b" * 64

    def test_a_part_that_never_comes_is_named(self, fleet: Fleet, backend: str) -> None:
        limits = with_limits(waiting_s=0.3)
        decode = fleet.decode(backend, memory(2), aux_over_tcp=True, limits=limits)
        [played] = fleet.played_prefill(decode)
        receiver = waiting(played)
        tell_row(played, 0, b"a" * 16)
        told(played, KVPoll.Success)
        assert settled(receiver) == [KVPoll.Failed]
        assert receiver.failure_reason == "aux buffer 1 of 2 did not come within 0.3 s"

    @pytest.mark.parametrize(
        ("buffer", "size", "why"),
        [
            (0, 15, "15 bytes for a row of 16 in aux buffer 0"),
            (1, 65, "65 bytes for a row of 64 in aux buffer 1"),
            (2, 16, "aux buffer 2 of 2"),
        ],
    )
    def test_a_part_that_was_refused_is_no_part(
        self, fleet: Fleet, backend: str, buffer: int, size: int, why: str
    ) -> None:
        target = memory(2)
        [played] = fleet.played_prefill(fleet.decode(backend, target))
        receiver = waiting(played)
        before = target.copy()
        tell_row(played, buffer, b"x" * size)
        told(played, KVPoll.Success)
        assert settled(receiver) == [KVPoll.Failed]
        assert receiver.failure_reason == f"AUX_DATA refused: {why}"
        assert not target.changed(before)

    def test_the_right_part_may_come_after_a_wrong_one(self, fleet: Fleet, backend: str) -> None:
        [played] = fleet.played_prefill(fleet.decode(backend, memory(2)))
        receiver = waiting(played)
        tell_row(played, 0, b"x" * 17)
        tell_row(played, 0, b"x" * 16)
        tell_row(played, 1, b"x" * 64)
        told(played, KVPoll.Success)
        assert settled(receiver) == [KVPoll.Success]


class TestPages:
    """Field report P9: no release announces more pages than it is sent."""

    @pytest.mark.parametrize("sent", [0, 1, 3])
    def test_another_number_of_pages_than_announced_moves_nothing(
        self, pair: Pair, sent: int
    ) -> None:
        sender, receiver = begin(pair.prefill, pair.decode, 7, pages(4, 5), num_pages=sent)
        before = pair.target.copy()
        sender.send(pages(*range(sent)))
        assert settled(sender, receiver) == [KVPoll.Failed, KVPoll.Failed]
        reason = f"the request has {sent} pages, decode announced 2 pages"
        assert sender.failure_reason == reason
        if pair.prefill.backend == "nixl":  # Mooncake's statuses say no reason
            assert receiver.failure_reason == reason
        assert not pair.target.changed(before)

    @pytest.mark.parametrize("announced", [2, 4])
    def test_ranks_of_a_shared_context_announce_their_share_of_pages(
        self, fleet: Fleet, backend: str, announced: int
    ) -> None:
        prefill = fleet.prefill(backend, memory(1, mla=True), is_mla=True)
        here = place(tp=2, tp_rank=0, dcp=2, dcp_rank=0)
        decode = fleet.decode(backend, memory(2, mla=True), is_mla=True, parallel=here)
        receiver = decode.receiver(prefill.bootstrap_address, 7)
        receiver.init()
        sender = prefill.sender(7)
        sender.init(5, aux_index=1)
        receiver.send_metadata(pages(*range(announced)), aux_index=2)
        other = fleet.decode(
            backend,
            memory(3, mla=True),
            is_mla=True,
            parallel=place(tp=2, tp_rank=1, dcp=2, dcp_rank=1),
        )
        second = other.receiver(prefill.bootstrap_address, 7)
        second.init()
        second.send_metadata(pages(*range(announced)), aux_index=2)
        ready(sender)
        sender.send(pages(*range(5)))
        assert settled(sender) == [KVPoll.Failed]
        assert sender.failure_reason == (
            f"the request has 5 pages, 3 for each of 2 ranks, decode announced {announced} pages"
        )

    def test_a_row_that_decode_waits_for_and_nobody_has(self, pair: Pair) -> None:
        receiver = pair.decode.receiver(pair.prefill.bootstrap_address, 7)
        receiver.init()
        sender = pair.prefill.sender(7)
        sender.init(2)
        receiver.send_metadata(pages(4, 5), aux_index=2)
        ready(sender)
        before = pair.target.copy()
        sender.send(pages(1, 2))
        assert settled(sender, receiver) == [KVPoll.Failed, KVPoll.Failed]
        told = "decode waits for aux row 2, init was given no aux row to send"
        assert sender.failure_reason == told
        assert not pair.target.changed(before)


def test_a_row_of_two_live_rooms_is_refused_where_it_is_given(pair: Pair) -> None:
    """Field report P10: and it is free again once the first room is done."""
    sender, receiver = begin(pair.prefill, pair.decode, 7, pages(4, 5), aux=(1, 2))
    other = pair.decode.receiver(pair.prefill.bootstrap_address, 8)
    other.init()
    other.send_metadata(pages(6, 7), aux_index=2)
    assert settled(other) == [KVPoll.Failed]
    assert other.failure_reason == "aux row 2 belongs to room 7, which is not done"
    assert other.pages_released()
    sender.send(pages(1, 2))
    assert settled(sender, receiver) == [KVPoll.Success, KVPoll.Success]
    other.clear()
    hand_over(pair.prefill, pair.decode, 9, pages(1, 2), pages(6, 7), aux=(1, 2))
    np.testing.assert_array_equal(pair.target.aux[0][2], pair.source.aux[0][1])


@pytest.mark.parametrize("backend", ["mooncake", "nixl", "mori", "ascend"])
class TestRanks:
    """Field report A9: only ranks that were asked count, each once."""

    def test_a_success_of_a_rank_that_was_not_asked(self, fleet: Fleet, backend: str) -> None:
        first, second = fleet.played_prefill(fleet.decode(backend, memory(2)), ranks=2)
        receiver = waiting(first)
        told(first, KVPoll.Success)
        for rank in (99, 2, 0):
            told(first, KVPoll.Success, rank)
        assert receiver.poll() is KVPoll.Transferring
        assert counter(first.decode, "dropped", "status-foreign-rank") == 2
        told(second, KVPoll.Success)
        assert settled(receiver) == [KVPoll.Success]

    def test_a_failure_of_a_rank_that_was_not_asked(self, fleet: Fleet, backend: str) -> None:
        [played] = fleet.played_prefill(fleet.decode(backend, memory(2)))
        receiver = waiting(played)
        told(played, KVPoll.Failed, 1)
        assert receiver.poll() is KVPoll.Transferring
        told(played, KVPoll.Success)
        assert settled(receiver) == [KVPoll.Success]

    def test_an_acknowledgement_of_a_rank_that_was_not_asked(
        self, fleet: Fleet, backend: str
    ) -> None:
        first, second = fleet.played_prefill(fleet.decode(backend, memory(2)), ranks=2)
        receiver = waiting(first)
        receiver.abort()
        generation = first.hear_until("AbortNotification").generation
        for n, rank in enumerate((0, 99, 2, 0)):
            first.tell("ABORT_ACK", room=7, prefill_rank=rank, generation=generation)
            heard = n + 1
            wait_until(lambda: counter(first.decode, "messages", "ABORT_ACK") == heard)  # noqa: B023  # waited for here
        assert not receiver.pages_released()
        assert counter(first.decode, "dropped", "ack-foreign-rank") == 2
        second.tell("ABORT_ACK", room=7, prefill_rank=1, generation=generation)
        wait_until(receiver.pages_released)


def test_a_restarted_decode_rank_numbers_its_aborts_further_on(fleet: Fleet) -> None:
    """Field report A4: an old acknowledgement never fits a new abort."""
    generations = []
    for seed in (2, 3):
        decode = fleet.decode("mooncake", memory(seed))
        [played] = fleet.played_prefill(decode)
        receiver = waiting(played)
        receiver.abort()
        generations.append(played.hear_until("AbortNotification").generation)
        decode.close()
    assert 0 < generations[0] < generations[1] < 2**63


class TestStateComponents:
    """Field report A10: up to 0.5.22 each component has a notification, and each counts."""

    def say(self, fleet: Fleet, decode: Any, *texts: Any) -> None:  # noqa: ANN401
        engine = fleet.engine("nixl")
        engine.add_peer(decode.engine.session_id)
        names = {NotifAux: "NOTIF_AUX", NotifKV: "NOTIF_KV", NotifState: "NOTIF_STATE"}
        for text in texts:
            [frame] = layout("nixl", names[type(text)], release=COUNTED).encode(text)
            engine.notify(decode.engine.session_id, frame)

    def test_one_of_two_components_is_not_enough(self, fleet: Fleet) -> None:
        decode = fleet.decode("nixl", memory(2, state=((1, 8, 32), (1, 8, 16))), release=COUNTED)
        [played] = fleet.played_prefill(decode)
        receiver = waiting(played, state_indices=[pages(1), pages(2)])
        chunk = NotifKV(room=7, chunk_id=0, is_last=True, pp_rank=0)
        first = NotifState(room=7, pp_rank=0, component=0)
        foreign = NotifState(room=7, pp_rank=9, component=1)
        self.say(fleet, decode, chunk, NotifAux(room=7), first, first, foreign)
        wait_until(lambda: counter(decode, "messages", "NOTIF_STATE") == 3)
        assert receiver.poll() is KVPoll.Transferring
        self.say(fleet, decode, NotifState(room=7, pp_rank=0, component=1))
        assert settled(receiver) == [KVPoll.Success]

    @pytest.mark.parametrize("release", ["0.5.12", "0.5.16", "0.5.19", "0.5.22"])
    def test_our_prefill_rank_says_each_of_them(self, fleet: Fleet, release: str) -> None:
        state = ((1, 8, 32), (2, 8, 16), (1, 4, 8))
        source, target = memory(1, state=state), memory(2, state=state)
        facts: dict[str, Any] = {"mem_kind": "VRAM"} if release == "0.5.12" else {}
        target = memory(2, state=state, **facts)
        prefill = fleet.prefill("nixl", source, release=release)
        decode = fleet.decode("nixl", target, release=release)
        sender, receiver = begin(
            prefill, decode, 7, pages(4, 5), state_indices=[pages(1), pages(), pages(3)]
        )
        sender.send(pages(1, 2), [pages(2), pages(), pages(0)])
        assert settled(sender, receiver) == [KVPoll.Success] * 2, sender.failure_reason
        assert counter(decode, "messages", "NOTIF_STATE") == 2
        np.testing.assert_array_equal(target.state[2][0][3], source.state[2][0][0])
        assert loopback(prefill) is not None
