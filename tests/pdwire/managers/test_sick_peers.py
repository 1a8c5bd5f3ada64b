"""A decode rank that takes nothing costs its own rooms, and nobody else's (H1, A2)."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

import pytest
from tests.pdwire.managers.fleet import (
    MANAGERS,
    Fleet,
    Manager,
    Memory,
    begin,
    counter,
    hand_over,
    loopback,
    memory,
    pages,
    settled,
    wait_until,
    with_limits,
)
from tests.pdwire.managers.staged import (
    NEEDS_TORCH,
    decode_side,
    prefill_side,
    requests,
    staged,
)

from pdwire.engines import Region
from pdwire.managers.receiver import CommonKVReceiver
from pdwire.managers.sender import CommonKVSender
from pdwire.rooms import KVPoll

EVERY = pytest.mark.parametrize("backend", list(MANAGERS))
WAYS = pytest.mark.parametrize("way", ["hold", "block"])
"""A write that is not over, and a call of the engine that does not come back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ward:
    """One prefill rank, and decode ranks of which the first is the sick one."""

    prefill: Manager
    decodes: list[Manager]
    targets: list[Memory]
    source: Memory

    @property
    def sick(self) -> str:
        return self.decodes[0].engine.session_id

    def fall_sick(self, way: str = "hold") -> None:
        getattr(loopback(self.prefill), way)(self.sick)

    def recover(self) -> None:
        loopback(self.prefill).let_go(self.sick)

    def open(self, decode: int, room: int) -> tuple[CommonKVSender, CommonKVReceiver]:
        """A room of two pages, sent."""
        row = (1, room % 8)  # a row has one room at a time
        sender, receiver = begin(self.prefill, self.decodes[decode], room, pages(4, 5), aux=row)
        sender.send(pages(1, 2))
        return sender, receiver


def ward(fleet: Fleet, backend: str, decodes: int, **config: object) -> Ward:
    source = memory(1)
    prefill = fleet.prefill(backend, source, **config)
    targets = [memory(2 + n) for n in range(decodes)]
    made = [fleet.decode(backend, target, **config) for target in targets]
    return Ward(prefill=prefill, decodes=made, targets=targets, source=source)


def writers() -> set[str]:
    return {t.name for t in threading.enumerate() if "-transfer-" in t.name}


@WAYS
@EVERY
def test_h1_eight_of_nine_decode_ranks_do_not_notice_the_ninth(
    fleet: Fleet, backend: str, way: str
) -> None:
    """Field report H1: those that shared its thread finished 3 to 5 rooms of 32."""
    sick = ward(fleet, backend, 9, transfer_threads=2)
    for n in range(9):
        hand_over(sick.prefill, sick.decodes[n], n, pages(1, 2), pages(4, 5))
    sick.fall_sick(way)
    stuck = [sick.open(0, 100 + n) for n in range(3)]
    began = time.monotonic()
    rooms = [sick.open(1 + n % 8, 200 + n) for n in range(32)]
    for ends in rooms:
        assert settled(*ends) == [KVPoll.Success, KVPoll.Success]
    assert time.monotonic() - began < 10
    assert [sender.poll() for sender, _ in stuck] == [KVPoll.Transferring] * 3
    sick.recover()
    for ends in stuck:
        assert settled(*ends) == [KVPoll.Success, KVPoll.Success]


def test_h1_as_many_hung_peers_as_threads_hold_none(fleet: Fleet, backend: str) -> None:
    """Field report H1, with more sick peers than there are threads."""
    many = ward(fleet, backend, 5, transfer_threads=2)
    for n in range(4):
        loopback(many.prefill).hold(many.decodes[n].engine.session_id)
    stuck = [many.open(n, n) for n in range(4)]
    assert settled(*many.open(4, 7)) == [KVPoll.Success, KVPoll.Success]
    assert counter(many.prefill, "transfers", "under-way") == 4
    for n in range(4):
        loopback(many.prefill).let_go(many.decodes[n].engine.session_id)
    for ends in stuck:
        assert settled(*ends) == [KVPoll.Success, KVPoll.Success]


def test_h1_a_thread_that_does_not_come_back_is_replaced_and_its_replacement_goes_again(
    fleet: Fleet, backend: str
) -> None:
    """Field report H1: an engine's call that blocks, on the only thread."""
    sick = ward(fleet, backend, 2, transfer_threads=1)
    before = writers()
    sick.fall_sick("block")
    stuck = sick.open(0, 1)
    assert settled(*sick.open(1, 2)) == [KVPoll.Success, KVPoll.Success]
    assert counter(sick.prefill, "transfers", "threads-lost") == 1
    assert len(writers()) == len(before) + 1
    sick.recover()
    assert settled(*stuck) == [KVPoll.Success, KVPoll.Success]
    wait_until(lambda: len(writers()) == len(before), "one thread again")
    assert counter(sick.prefill, "transfers", "threads-lost") == 0


@WAYS
def test_h1_what_waits_for_a_peer_that_takes_nothing_ends_at_once_with_the_reason(
    fleet: Fleet, backend: str, way: str
) -> None:
    """Not one write's deadline after another; what comes later hears it at once, until it lives."""
    limits = with_limits(write_s=1.0)
    sick = ward(fleet, backend, 2, limits=limits)
    sick.fall_sick(way)
    began = time.monotonic()
    stuck = [sick.open(0, n) for n in range(8)]
    for sender, receiver in stuck:
        assert settled(sender, receiver) == [KVPoll.Failed, KVPoll.Failed]
    assert time.monotonic() - began < 4
    late = sick.open(0, 100)
    assert settled(*late) == [KVPoll.Failed, KVPoll.Failed]
    assert late[0].failure_reason == f"peer {sick.sick} took nothing for 1 s"
    assert counter(sick.prefill, "transfers", "peers-left-alone") == 1

    sick.recover()
    wait_until(lambda: counter(sick.prefill, "transfers", "peers-left-alone") == 0)
    hand_over(sick.prefill, sick.decodes[0], 200, pages(1, 2), pages(4, 5))


def test_h1_a_hung_write_keeps_the_acknowledgement_back_until_the_engine_lets_go(
    fleet: Fleet, backend: str
) -> None:
    """The room ends by its deadline; its pages do not come back while they may be written."""
    sick = ward(fleet, backend, 1, limits=with_limits(write_s=0.5))
    sick.fall_sick()
    sender, receiver = sick.open(0, 7)
    assert settled(sender, receiver) == [KVPoll.Failed, KVPoll.Failed]
    wait_until(lambda: counter(sick.prefill, "messages", "ABORT") == 1, "decode has aborted")
    assert not receiver.pages_released()
    assert counter(sick.prefill, "rooms", "writing") == 1
    sick.recover()
    wait_until(receiver.pages_released, "the acknowledgement came")


def test_h1_a_peer_with_other_memory_does_not_wait_for_what_hung_before(
    fleet: Fleet, backend: str
) -> None:
    """The same id, another process: what was queued ends, what is under way is polled on."""
    prefill = fleet.prefill(backend, memory(1))
    decode = fleet.played_decode(prefill)
    decode.register()
    engine = loopback(prefill)
    engine.hold(decode.name)
    senders = [prefill.sender(room) for room in range(3)]
    for room, sender in enumerate(senders):
        sender.init(2, aux_index=1)
        decode.ask(room, pages(4, 5), 3)
        wait_until(lambda s=sender: s.poll() is KVPoll.WaitingForInput)  # type: ignore[misc]
        sender.send(pages(1, 2))
    wait_until(lambda: engine.held(decode.name) == 1)
    hung = engine._held_by.pop(decode.name)

    new = memory(9)
    engine_there = fleet.fabric.find(decode.name)
    assert engine_there is not None
    engine_there.memory.add([Region(address=a, length=n) for a, n in new.args.regions()])
    decode.register(dst_kv_ptrs=new.args.kv_data_ptrs, dst_aux_ptrs=new.args.aux_data_ptrs)
    assert settled(*senders) == [KVPoll.Failed] * 3
    again = prefill.sender(7)
    again.init(2, aux_index=1)
    decode.ask(7, pages(6, 7), 3)
    wait_until(lambda: again.poll() is KVPoll.WaitingForInput)
    again.send(pages(1, 2))
    assert settled(again) == [KVPoll.Success]
    assert counter(prefill, "rooms", "writing") == 1
    for transfer in hung:
        transfer.run()
    wait_until(lambda: counter(prefill, "rooms", "writing") == 0)


@WAYS
def test_h1_closing_with_sick_peers_takes_no_longer(fleet: Fleet, backend: str, way: str) -> None:
    sick = ward(fleet, backend, 3, transfer_threads=2)
    sick.fall_sick(way)
    ends = [sick.open(0, n) for n in range(4)]
    began = time.monotonic()
    if way == "block":
        with pytest.raises(RuntimeError, match="did not stop"):
            sick.prefill.close()
        sick.recover()
    else:
        sick.prefill.close()
    assert time.monotonic() - began < 15
    assert [sender.poll() for sender, _ in ends] == [KVPoll.Failed] * 4
    assert counter(sick.prefill, "rooms", "writing") == 0
    wait_until(lambda: not writers(), "every thread has ended")


def test_a5_the_engine_forgets_a_peer_that_failed_until_it_registers_again(
    fleet: Fleet, backend: str
) -> None:
    """Field report A5: what the engine keeps for a dead peer is given back."""
    sick = ward(fleet, backend, 1)
    engine = loopback(sick.prefill)
    hand_over(sick.prefill, sick.decodes[0], 0, pages(1, 2), pages(4, 5))
    rooms = [begin(sick.prefill, sick.decodes[0], n, pages(4, 5), aux=(1, n)) for n in range(1, 4)]
    for sender, receiver in rooms:
        engine.fail_next("the link is down")
        sender.send(pages(1, 2))
        assert settled(sender, receiver) == [KVPoll.Failed, KVPoll.Failed]
    wait_until(lambda: sick.sick not in engine._peers, "it is forgotten")
    hand_over(sick.prefill, sick.decodes[0], 7, pages(1, 2), pages(4, 5))
    assert sick.sick in engine._peers


def test_a5_the_engine_forgets_a_silent_peer_and_the_next_write_finds_it_again(
    fleet: Fleet, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Field report A5: nobody says that an idle peer is gone; its files go all the same."""
    monkeypatch.setattr("pdwire.managers.prefill_side._IDLE_S", 0.1)
    idle = ward(fleet, backend, 1)
    hand_over(idle.prefill, idle.decodes[0], 0, pages(1, 2), pages(4, 5))
    wait_until(lambda: idle.sick not in loopback(idle.prefill)._peers, "it is forgotten")
    hand_over(idle.prefill, idle.decodes[0], 1, pages(1, 2), pages(4, 5))


@NEEDS_TORCH
def test_h1_staged_rooms_of_others_go_on_while_hung_peers_hold_their_buffers(
    fleet: Fleet, backend: str
) -> None:
    """A hung peer holds one buffer; where that is the only one, another is made."""
    source = prefill_side(fleet, backend, 2, transfer_threads=1)
    hung, healthy = decode_side(fleet, backend, 1), decode_side(fleet, backend, 1)
    engines = [loopback(manager) for manager in source.managers]
    sick = hung.managers[0].engine.session_id
    for engine in engines:
        engine.hold(sick)
    stuck = list(requests(source, hung, [2, 2, 2]))
    for request in stuck:
        request.begin().send()
    wait_until(lambda: [engine.held(sick) for engine in engines] == [1, 1])
    for request in requests(source, healthy, [2, 2, 2, 2], first=200):
        request.begin().send().succeed()
    assert [engine.held(sick) for engine in engines] == [1, 1]
    for engine in engines:
        engine.let_go(sick)
    for request in stuck:
        request.succeed()
    assert staged(source) == 14
