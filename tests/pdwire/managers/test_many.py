"""Many rooms from many threads, ended in every way: nothing is lost, nothing is kept."""

from __future__ import annotations

import gc
import threading
import tracemalloc
from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.pdwire.managers.fleet import (
    FINAL,
    PATIENCE_S,
    Fleet,
    Manager,
    Pair,
    counter,
    hand_over,
    loopback,
    memory,
    pages,
    settled,
    wait_until,
    with_limits,
)

from pdwire.rooms import KVPoll

WAYS = ("success", "success", "sender aborts", "receiver aborts", "engine fails", "cleared")
THREADS, EACH = 6, 25


@pytest.fixture
def config() -> dict[str, Any]:
    return {"transfer_threads": 3}


def test_many_rooms_end_as_they_should_whatever_happens_around_them(pair: Pair) -> None:
    hand_over(pair.prefill, pair.decode, 0, pages(1, 2), pages(4, 5))
    ends: Counter[tuple[str, str]] = Counter()
    errors: list[BaseException] = []

    def scheduler(n: int) -> None:
        rng = Random(n)  # noqa: S311  # repeatable, nothing secret
        try:
            for m in range(EACH):
                way = rng.choice(WAYS)
                end = one_room(pair, 1 + n * EACH + m, way, slot=2 * n)
                ends[way, end] += 1
        except BaseException as error:  # noqa: BLE001  # raised below, in the test's own thread
            errors.append(error)

    threads = [threading.Thread(target=scheduler, args=(n,)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(3 * PATIENCE_S)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]

    assert sum(ends.values()) == THREADS * EACH
    for way, end in ends:
        if way == "success":
            # The engine fails whichever write comes next: a neighbour's, perhaps.
            assert end in {"Success Success", "Failed Failed"}
        elif way == "sender aborts":
            assert end == "Failed Failed"
    nothing_is_kept(pair.prefill, pair.decode)


def one_room(pair: Pair, room: int, way: str, slot: int) -> str:
    receiver = pair.decode.receiver(pair.prefill.bootstrap_address, room)
    receiver.init()
    sender = pair.prefill.sender(room)
    row = slot // 2  # a row belongs to one room at a time
    sender.init(2, aux_index=row)
    receiver.send_metadata(pages(slot, slot + 1), aux_index=row)
    if way == "receiver aborts":
        receiver.abort()
    open_states = (KVPoll.Bootstrapping,)
    wait_until(lambda: sender.poll() not in open_states, "metadata, or the abort")
    if way == "sender aborts":
        sender.abort()
    if way == "engine fails":
        loopback(pair.prefill).fail_next("link down")
    sender.send(pages(slot))
    if way != "cleared":
        sender.send(pages(slot + 1))
        settled(sender, receiver)
    sender.clear()
    receiver.clear()
    wait_until(receiver.pages_released, "the pages are free")
    assert sender.poll() in FINAL
    assert receiver.poll() in FINAL
    return f"{sender.poll().name} {receiver.poll().name}"


def nothing_is_kept(prefill: Manager, decode: Manager) -> None:
    """No room, write, hold or acknowledgement is left, and no table of the managers holds one."""
    wait_until(lambda: counter(prefill, "rooms", "writing") == 0, "writes are over")
    for manager in (prefill, decode):
        rooms: Any = manager.health()["counters"]
        left = {k: v for k, v in rooms["rooms"].items() if k.startswith("rooms-") and v}
        # An abort that met a finished room is remembered for a while, and in bounds.
        assert set(left) <= {"rooms-doomed"}
        assert counter(manager, "loop_errors") == 0
    assert counter(prefill, "rooms", "acks-owed") == 0
    assert counter(decode, "rooms", "pages-held") == 0
    side = decode.decode_side()
    assert side._connections == {}
    assert side._announced == {}


@pytest.mark.parametrize("release", ["0.5.19", "0.5.23"])
def test_a_finished_room_leaves_no_memory_behind(fleet: Fleet, backend: str, release: str) -> None:
    limits = with_limits(remembered=50)
    source, target = memory(1), memory(2)
    prefill = fleet.prefill(backend, source, limits=limits)
    decode = fleet.decode(backend, target, limits=limits, release=release)
    rooms = iter(range(10_000))

    def some(count: int) -> None:
        for _ in range(count):
            hand_over(prefill, decode, next(rooms), pages(1, 2), pages(4, 5))

    some(100)
    gc.collect()
    tracemalloc.start()
    try:
        some(20)
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        some(200)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 200 * 100  # bytes: a fraction of what one room takes while it lives
    nothing_is_kept(prefill, decode)


def test_a_thousand_rooms_in_flight_at_once(fleet: Fleet, backend: str) -> None:
    source, target = memory(1, rows=1_000), memory(2, rows=1_000)
    prefill, decode = fleet.prefill(backend, source), fleet.decode(backend, target)
    pair = Pair(fleet=fleet, prefill=prefill, decode=decode, source=source, target=target)
    ends = []
    for room in range(1_000):
        receiver = pair.decode.receiver(pair.prefill.bootstrap_address, room)
        receiver.init()
        sender = pair.prefill.sender(room)
        sender.init(1, aux_index=room)
        receiver.send_metadata(pages(room % 32), aux_index=room)
        ends.append((sender, receiver))
    wait_until(lambda: all(s.poll() is KVPoll.WaitingForInput for s, _ in ends), "metadata")
    for room, (sender, _) in enumerate(ends):
        sender.send(pages(room % 32))
    flat = [end for both in ends for end in both]
    assert settled(*flat) == [KVPoll.Success] * 2_000
    for a, b in zip(pair.source.kv, pair.target.kv, strict=True):
        np.testing.assert_array_equal(a, b)
    for end in flat:
        end.clear()
    nothing_is_kept(pair.prefill, pair.decode)
