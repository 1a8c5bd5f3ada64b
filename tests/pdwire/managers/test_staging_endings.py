"""Staging when a side ends, comes back, or says things again: rings drain, nothing stalls."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from tests.pdwire.managers.fleet import Fleet, counter, holds, loopback, settled, wait_until
from tests.pdwire.managers.staged import (
    NEEDS_TORCH,
    Request,
    Side,
    decode_side,
    drained,
    nothing,
    numbers,
    page_bytes,
    prefill_side,
    requests,
    staged,
    staging,
)

from pdwire.engines import LoopbackEngine
from pdwire.rooms import KVPoll

pytestmark = NEEDS_TORCH


def midway(source: Side, target: Side) -> list[Request]:
    """Four rooms, none of which can end: a chunk of the first is being written, and held."""
    live = list(requests(source, target, [9, 4, 7, 5]))
    for prefill in source.managers:
        loopback(prefill).hold()
    for request in live:
        request.begin().send()
    for prefill in source.managers:
        holds(prefill, 1)
    return live


def late_writes_are_over(side: Side) -> None:
    """Let the time pass that a place is kept for a writer that cannot be asked any more."""
    for manager in side.managers:
        with manager._staging_lock:  # type: ignore[union-attr]
            manager._decode_staging.tick(time.monotonic() + 31)  # type: ignore[union-attr]


def test_a_prefill_side_that_is_closed_midway(fleet: Fleet, backend: str) -> None:
    source = prefill_side(fleet, backend, 2)
    target = decode_side(fleet, backend, 1, staging_bytes=6 * page_bytes())
    live = midway(source, target)
    for prefill in source.managers:
        prefill.close()
    for request in live:
        [receiver] = request.receivers
        assert settled(receiver) == [KVPoll.Failed]
        assert receiver.failure_reason
        receiver.clear()
    late_writes_are_over(target)
    drained(target)

    again = prefill_side(fleet, backend, 2)
    for request in requests(again, target, [9, 4, 7]):
        request.begin().send().succeed()
    assert staged(again) == 2 * 6
    drained(again, target)


def test_a_prefill_side_that_no_longer_answers(fleet: Fleet, backend: str) -> None:
    """What the heartbeat finds: no word comes from there, and places are kept for a while."""
    source = prefill_side(fleet, backend, 2)
    target = decode_side(fleet, backend, 1, staging_bytes=6 * page_bytes())
    live = midway(source, target)
    [decode] = target.managers
    for prefill in source.managers:
        prefill.loop.stop()
    decode.decode_side().lost(source.address, "the prefill side is gone")
    for request in live:
        [receiver] = request.receivers
        assert settled(receiver) == [KVPoll.Failed]
        assert receiver.failure_reason == "the prefill side is gone"
        receiver.clear()
    assert staging(decode, "rooms") == 0
    assert staging(decode, "held") == staging(decode, "ring-places") > 0
    late_writes_are_over(target)
    drained(target)
    for prefill in source.managers:
        loopback(prefill).let_go()


def test_a_decode_side_that_is_closed_midway(fleet: Fleet, backend: str) -> None:
    source = prefill_side(fleet, backend, 2)
    target = decode_side(fleet, backend, 1, staging_bytes=6 * page_bytes())
    live = midway(source, target)
    [decode] = target.managers
    decode.close()
    for prefill in source.managers:
        loopback(prefill).let_go()
    for request in live:
        for sender in request.senders:
            assert settled(sender) == [KVPoll.Failed]
            assert sender.failure_reason
        request.clear()
    for prefill in source.managers:
        wait_until(partial(nothing, prefill, "rooms"))

    again = decode_side(fleet, backend, 1, staging_bytes=6 * page_bytes())
    for request in requests(source, again, [9, 4, 7]):
        request.begin().send().succeed()
    drained(source, again)


def test_a_decode_side_that_restarts_begins_its_ring_anew(fleet: Fleet, backend: str) -> None:
    """The same name, another life: its watermark is at the start, whatever the last one's was."""
    source = prefill_side(fleet, backend, 2)
    target = decode_side(fleet, backend, 1, staging_bytes=6 * page_bytes())
    for request in requests(source, target, [9, 9, 9]):
        request.begin().send().succeed()
    [old] = target.managers
    [prefill, _] = source.managers
    core: Any = prefill._prefill_staging  # type: ignore[union-attr]
    assert core.watermark(old.engine.session_id).round > 2
    hung = next(requests(source, target, [9], first=300)).begin()
    old.close()

    again = decode_side(
        fleet, backend, 1, staging_bytes=6 * page_bytes(), engine=_named(fleet, target)
    )
    assert again.managers[0].engine.session_id == old.engine.session_id
    live = [request.begin() for request in requests(source, again, [9, 4, 7], first=400)]
    assert core.watermark(old.engine.session_id) is None  # forgotten, and nobody asked yet
    for request in live:
        request.send()
    for request in live:
        request.succeed()
    for sender in hung.senders:
        assert settled(sender) == [KVPoll.Failed]
        sender.clear()
    drained(source, again)


def _named(fleet: Fleet, side: Side) -> LoopbackEngine:
    return LoopbackEngine(side.managers[0].engine.session_id, fabric=fleet.fabric)


def test_a_registration_that_is_repeated_changes_nothing(fleet: Fleet, backend: str) -> None:
    """A decode rank registers again after any failed room; rooms beside it go on."""
    source = prefill_side(fleet, backend, 2)
    target = decode_side(fleet, backend, 1, staging_bytes=6 * page_bytes())
    warm = next(requests(source, target, [9, 9])).begin().send()
    warm.succeed()
    live = [request.begin() for request in requests(source, target, [9, 4, 7], first=200)]
    doomed, *others = live
    for sender in doomed.senders:
        sender.abort("out of memory")
    doomed.reasons()
    extra = Request(
        room=500, source=source, target=target, src=numbers(4, 64, 3), dst=doomed.dst[:4]
    )
    [prefill, _] = source.managers
    loopback(prefill).hold()
    for request in others:
        request.send()
    holds(prefill, 1)
    before = counter(prefill, "messages", "KVArgsRegisterInfo")
    extra.begin()  # registers again, for a room was failed by the prefill side
    assert counter(prefill, "messages", "KVArgsRegisterInfo") == before + 1
    loopback(prefill).let_go()
    extra.send()
    for request in [*others, extra]:
        request.succeed()
    doomed.clear()
    drained(source, target)


def test_pages_that_are_not_whole_heads_fail_with_the_numbers(fleet: Fleet, backend: str) -> None:
    source = prefill_side(fleet, backend, 2)
    target = decode_side(fleet, backend, 1)
    [decode] = target.managers
    decode.args = replace(decode.args, total_kv_head_num=3)
    receiver = decode.receiver(source.address, 7)
    receiver.init()
    receiver.send_metadata(numbers(4, 64, 1), aux_index=1)
    assert settled(receiver) == [KVPoll.Failed]
    assert receiver.failure_reason == (
        "staging: a page of 256 bytes does not split into 12 heads of tokens"
    )
    receiver.clear()


@pytest.mark.parametrize("sent", [3, 4, 8])
def test_a_request_shorter_than_decode_announced_ends(
    fleet: Fleet, backend: str, sent: int
) -> None:
    """Decode waits for nine pages in three chunks; it is told at once if one never comes."""
    source = prefill_side(fleet, backend, 1)
    target = decode_side(fleet, backend, 2)
    [request] = requests(source, target, [9])
    [prefill] = source.managers
    receivers = [decode.receiver(source.address, 7) for decode in target.managers]
    for receiver in receivers:
        receiver.init()
    sender = prefill.sender(7)
    sender.init(sent, aux_index=1)
    for receiver in receivers:
        receiver.send_metadata(request.dst, aux_index=2)
    wait_until(lambda: sender.poll() is not KVPoll.Bootstrapping)
    sender.send(request.src[:sent])
    ends = settled(sender, *receivers)
    assert ends == [KVPoll.Failed] * 3
    assert "decode announced 9 pages" in str(sender.failure_reason)
    sender.clear()
    for receiver in receivers:
        receiver.clear()
    drained(source, target)
