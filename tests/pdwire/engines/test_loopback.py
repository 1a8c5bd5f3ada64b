from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pdwire.engines import Engine, EngineError, EngineTimeout, Fabric, LoopbackEngine, wait
from pdwire.plan import Blocks, page_blocks

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Memory


class Pair:
    def __init__(self, source: Memory, target: Memory) -> None:
        fabric = Fabric()
        self.source, self.target = source, target
        self.here = LoopbackEngine("here", fabric=fabric)
        self.there = LoopbackEngine("there", fabric=fabric)
        self.fabric = fabric
        self.here.register([source.region])
        self.there.register([target.region])
        self.here.add_peer("there", self.there.metadata)

    def blocks(self, src: int = 0, dst: int = 0, size: int = 100) -> Blocks:
        return Blocks.of([self.source.address + src], [self.target.address + dst], size)


@pytest.fixture
def pair(random_bytes: Callable[[int], Memory], zeros: Callable[[int], Memory]) -> Pair:
    return Pair(random_bytes(4096), zeros(4096))


def test_pages_arrive_where_they_should(pair: Pair) -> None:
    src, dst = [pair.source.address], [pair.target.address]
    wait(pair.here.write("there", page_blocks(src, dst, [64], [1, 2, 3, 9], [40, 41, 42, 0])), 1)
    wanted = np.zeros(4096, np.uint8)
    wanted[40 * 64 : 43 * 64] = pair.source.array[64 : 4 * 64]
    wanted[:64] = pair.source.array[9 * 64 : 10 * 64]
    assert (pair.target.array == wanted).all()


def test_it_is_an_engine(pair: Pair) -> None:
    engine: Engine = pair.here
    assert (engine.name, engine.session_id, engine.metadata) == ("loopback", "here", b"here")


def test_notifications_come_once_in_order_and_only_after_success(pair: Pair) -> None:
    pair.here.notify("there", b"one")
    wait(pair.here.write("there", pair.blocks(), notify=b"two"), 1)
    wait(pair.here.write("there", Blocks.none(), notify=b"three"), 1)
    pair.here.fail_next("broken")
    with pytest.raises(EngineError, match=r"^broken$"):
        wait(pair.here.write("there", pair.blocks(), notify=b"never"), 1)
    assert [text for _, text in pair.there.notifications()] == [b"one", b"two", b"three"]
    assert pair.there.notifications() == []


@pytest.mark.parametrize(
    ("src", "size"), [(-1, 10), (4090, 7), (4096, 1), (0, 4097), (0, 2**64 - 1)]
)
def test_a_source_outside_what_is_registered_raises_at_once(
    pair: Pair, src: int, size: int
) -> None:
    with pytest.raises(EngineError, match=r"source block 0 of 1"):
        pair.here.write("there", pair.blocks(src=src, size=size))
    assert not pair.target.array.any()


@pytest.mark.parametrize("dst", [-1, 4090, 4096])
def test_a_destination_outside_what_the_peer_registered_moves_nothing(pair: Pair, dst: int) -> None:
    good, bad = pair.blocks(), pair.blocks(dst=dst)
    both = Blocks.of([*good.src, *bad.src], [*good.dst, *bad.dst], 100)
    transfer = pair.here.write("there", both, notify=b"never")
    with pytest.raises(EngineError, match=r"'there' has not registered all of the destination"):
        wait(transfer, 1)
    assert not pair.target.array.any()
    assert pair.there.notifications() == []


def test_memory_that_was_closed_is_written_no_more(pair: Pair) -> None:
    pair.there.deregister([pair.target.region])
    with pytest.raises(EngineError, match=r"not registered"):
        wait(pair.here.write("there", pair.blocks()), 1)
    pair.there.register([pair.target.region])
    pair.here.deregister([pair.source.region])
    with pytest.raises(EngineError, match=r"no registered DRAM region"):
        pair.here.write("there", pair.blocks())


def test_kinds_must_match_on_both_sides(pair: Pair) -> None:
    with pytest.raises(EngineError, match=r"no registered VRAM region"):
        pair.here.write("there", pair.blocks(), src_kind="VRAM")
    with pytest.raises(EngineError, match=r"not registered all"):
        wait(pair.here.write("there", pair.blocks(), dst_kind="VRAM"), 1)


def test_a_peer_must_be_added_and_may_be_forgotten(pair: Pair) -> None:
    for call in (
        lambda: pair.there.write("here", Blocks.none()),
        lambda: pair.there.notify("here", b"x"),
    ):
        with pytest.raises(EngineError, match=r"unknown peer 'here'"):
            call()
    pair.here.forget_peer("there")
    pair.here.forget_peer("there")
    with pytest.raises(EngineError, match=r"unknown peer 'there'"):
        pair.here.write("there", Blocks.none())


def test_metadata_of_another_engine_is_refused(pair: Pair) -> None:
    with pytest.raises(EngineError, match=r"not the metadata of loopback peer 'x'"):
        pair.here.add_peer("x", b"\x80\x05 whatever")
    pair.here.add_peer("x")


def test_a_peer_that_died_is_an_error_never_a_hang(pair: Pair) -> None:
    pair.there.close()
    with pytest.raises(EngineError, match=r"peer 'there' is gone"):
        wait(pair.here.write("there", pair.blocks()), 1)
    with pytest.raises(EngineError, match=r"peer 'there' is gone"):
        pair.here.notify("there", b"x")
    pair.there.close()


def test_a_peer_that_restarted_replaces_the_old(pair: Pair) -> None:
    again = LoopbackEngine("there", fabric=pair.fabric)
    pair.there.close()
    with pytest.raises(EngineError, match=r"not registered"):
        wait(pair.here.write("there", pair.blocks()), 1)
    again.register([pair.target.region])
    wait(pair.here.write("there", pair.blocks()), 1)
    assert (pair.target.array[:100] == pair.source.array[:100]).all()


def test_faults_strike_once_each_in_order(pair: Pair) -> None:
    pair.here.fail_next("first")
    pair.here.fail_next("second")
    for reason in ("first", "second"):
        with pytest.raises(EngineError, match=f"^{reason}$"):
            wait(pair.here.write("there", pair.blocks()), 1)
    wait(pair.here.write("there", pair.blocks()), 1)


def test_held_writes_move_nothing_until_they_are_let_go(pair: Pair) -> None:
    pair.here.hold()
    pair.here.hold()
    transfer = pair.here.write("there", pair.blocks(), notify=b"late")
    assert not transfer.poll()
    with pytest.raises(EngineTimeout):
        wait(transfer, 0.001)
    assert not pair.target.array.any()
    pair.here.let_go()
    wait(transfer, 1)
    assert pair.there.notifications() == [("here", b"late")]
    assert (pair.target.array[:100] == pair.source.array[:100]).all()
    assert pair.here.write("there", pair.blocks()).poll()


def test_held_writes_to_a_peer_that_died_meanwhile_fail(pair: Pair) -> None:
    pair.here.hold()
    transfer = pair.here.write("there", pair.blocks())
    pair.there.close()
    pair.here.let_go()
    with pytest.raises(EngineError, match=r"is gone"):
        wait(transfer, 1)


def test_engines_meet_on_the_shared_fabric_by_default(zeros: Callable[[int], Memory]) -> None:
    memory = zeros(8)
    first, second = LoopbackEngine(), LoopbackEngine()
    assert first.session_id != second.session_id
    second.register([memory.region])
    first.add_peer(second.session_id, second.metadata)
    first.notify(second.session_id, b"hello")
    assert second.notifications() == [(first.session_id, b"hello")]
    first.close()
    second.close()


def test_many_threads_write_at_once(pair: Pair) -> None:
    def run(part: int) -> None:
        for n in range(part * 512, (part + 1) * 512, 8):
            wait(pair.here.write("there", pair.blocks(n, n, 8), notify=b"."), 1)

    threads = [Thread(target=run, args=(part,)) for part in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (pair.target.array == pair.source.array).all()
    assert len(pair.there.notifications()) == 512
