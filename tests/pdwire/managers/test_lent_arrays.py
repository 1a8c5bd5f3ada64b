"""A scheduler's arrays are its own again as soon as a call returns; what it said is never lost."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from tests.pdwire.managers.fleet import (
    Fleet,
    begin,
    holds,
    loopback,
    memory,
    pages,
    settled,
    wait_until,
    with_limits,
)

from pdwire.managers.common import CommonKVManager
from pdwire.rooms import KVPoll


@pytest.mark.parametrize("backend", ["mooncake", "nixl", "mori"])
def test_the_arrays_of_a_send_may_be_used_again_at_once(backend: str) -> None:
    with Fleet() as fleet:
        source = memory(1, state=[(2, 8, 16)])
        target = memory(2, state=[(2, 8, 16)])
        prefill = fleet.prefill(backend, source, transfer_threads=1)
        decode = fleet.decode(backend, target)
        loopback(prefill).hold()
        sender, receiver = begin(prefill, decode, 7, pages(9, 10, 20), state_indices=[pages(5, 6)])
        buffer, items = np.zeros(2, np.int32), pages(1, 2)
        buffer[:] = 3, 4
        sender.send(buffer)
        holds(prefill, 1)
        # The first chunk is under way, so these wait in the peer's queue while they are reused.
        buffer[:1] = 8
        sender.send(buffer[:1], [items])
        buffer[:] = items[:] = 0
        loopback(prefill).let_go()
        assert settled(sender, receiver) == [KVPoll.Success, KVPoll.Success]
        for got, sent in zip(target.kv, source.kv, strict=True):
            np.testing.assert_array_equal(got[[9, 10, 20]], sent[[3, 4, 8]])
        for got, sent in zip(target.state[0], source.state[0], strict=True):
            np.testing.assert_array_equal(got[[5, 6]], sent[[1, 2]])


def test_metadata_that_is_sent_while_its_ranks_are_linked_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    linking, go_on = threading.Event(), threading.Event()

    def slowly(self: CommonKVManager, room: int, expected: int) -> None:  # noqa: ARG001
        linking.set()
        assert go_on.wait(20)

    monkeypatch.setattr(CommonKVManager, "on_room_connected", slowly)
    with Fleet() as fleet:
        source, target = memory(1), memory(2)
        prefill, decode = fleet.prefill("mori", source), fleet.decode("mori", target)
        receiver = decode.receiver(prefill.bootstrap_address, 7)
        receiver.init()
        sender = prefill.sender(7)
        sender.init(1, aux_index=1)
        assert linking.wait(20)
        receiver.send_metadata(pages(9), aux_index=2)
        go_on.set()
        wait_until(lambda: sender.poll() is not KVPoll.Bootstrapping, "the metadata")
        sender.send(pages(3))
        assert settled(sender, receiver) == [KVPoll.Success, KVPoll.Success]
        np.testing.assert_array_equal(target.kv[0][9], source.kv[0][3])


def test_a_room_whose_ranks_were_never_found_leaves_nothing_to_the_next_of_its_number() -> None:
    with Fleet() as fleet:
        source, target = memory(1), memory(2)
        decode = fleet.decode("mooncake", target, limits=with_limits(bootstrap_s=0.2))
        first = decode.receiver("127.0.0.1:9", 7)
        first.init()
        first.send_metadata(pages(30), aux_index=5)
        assert settled(first) == [KVPoll.Failed]
        prefill = fleet.prefill("mooncake", source)
        second = decode.receiver(prefill.bootstrap_address, 7)  # nobody has cleared the first
        second.send_metadata(pages(9), aux_index=2)
        second.init()
        sender = prefill.sender(7)
        sender.init(1, aux_index=1)
        wait_until(lambda: sender.poll() is not KVPoll.Bootstrapping, "the metadata")
        sender.send(pages(3))
        assert settled(sender, second) == [KVPoll.Success, KVPoll.Success]
        np.testing.assert_array_equal(target.kv[0][9], source.kv[0][3])


@pytest.mark.parametrize("release", ["0.5.22", "0.5.19", "0.5.16"])
def test_an_empty_chunk_before_the_last_is_no_chunk(release: str) -> None:
    """A decode rank that counts notifications would wait for one that never comes."""
    with Fleet() as fleet:
        source, target = memory(1), memory(2)
        prefill = fleet.prefill("nixl", source)
        decode = fleet.decode("nixl", target, release=release)
        sender, receiver = begin(prefill, decode, 7, pages(9, 10))
        sender.send(pages())
        sender.send(pages(3))
        sender.send(pages())
        sender.send(pages(4))
        assert settled(sender, receiver) == [KVPoll.Success, KVPoll.Success]
        np.testing.assert_array_equal(target.kv[0][[9, 10]], source.kv[0][[3, 4]])
