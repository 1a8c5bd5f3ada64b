from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdwire.engines import EngineError
from pdwire.engines.pieces import PeerQueue, Pieces
from pdwire.plan import Blocks


class Native:
    """Handles that end when told; one that is asked after its end is a KeyError."""

    def __init__(self) -> None:
        self.states: dict[int, int] = {}
        self.submitted: list[tuple[int, int, int]] = []
        self.reachable = True

    def submit(self, *piece: int) -> int:
        if not self.reachable:
            return 0
        src, dst, size = piece
        self.submitted.append((src, dst, size))
        handle = len(self.submitted)
        self.states[handle] = 0
        return handle

    def check(self, handle: int) -> int:
        state = self.states[handle]
        if state:
            del self.states[handle]
        return state

    def end(self, *handles: int, state: int = 1) -> None:
        for handle in handles:
            self.states[handle] = state


@pytest.fixture
def native() -> Native:
    return Native()


def queue_of(native: Native, limit: int = 100) -> PeerQueue:
    return PeerQueue("d:1", native.submit, native.check, limit=limit)


def numbered(count: int) -> Blocks:
    return Blocks.of(range(count), range(100, 100 + count), 1)


def test_a_window_is_kept_full_until_everything_is_done(native: Native) -> None:
    transfer = Pieces(queue_of(native), numbered(5), window=2)
    assert native.submitted == [(0, 100, 1), (1, 101, 1)]
    native.end(1)
    assert not transfer.poll()
    assert len(native.submitted) == 3
    native.end(2, 3)
    assert not transfer.poll()
    native.end(4, 5)
    assert transfer.poll()
    assert transfer.poll()
    assert native.submitted == [(n, 100 + n, 1) for n in range(5)]


def test_a_failure_is_told_when_nothing_is_under_way_any_more(native: Native) -> None:
    transfer = Pieces(queue_of(native), numbered(9), window=3)
    native.end(1, state=-1)
    assert not transfer.poll()
    assert len(native.submitted) == 3
    native.end(2)
    assert not transfer.poll()
    native.end(3, state=-2)
    for _ in range(2):
        with pytest.raises(EngineError, match=r"writing to peer 'd:1' failed: code -1"):
            transfer.poll()
    assert len(native.submitted) == 3


def test_a_peer_out_of_reach_is_a_failure_at_the_first_poll(native: Native) -> None:
    native.reachable = False
    transfer = Pieces(queue_of(native), numbered(3), window=3)
    with pytest.raises(EngineError, match=r"peer 'd:1' cannot be reached"):
        transfer.poll()


def test_a_peer_lost_midway_is_told_after_the_rest_has_ended(native: Native) -> None:
    transfer = Pieces(queue_of(native), numbered(3), window=2)
    native.reachable = False
    native.end(1)
    assert not transfer.poll()
    native.end(2)
    with pytest.raises(EngineError, match=r"cannot be reached"):
        transfer.poll()


def test_all_transfers_to_a_peer_share_its_limit(native: Native) -> None:
    queue = queue_of(native, limit=3)
    first = Pieces(queue, numbered(2), window=9)
    second = Pieces(queue, numbered(4), window=9)
    assert len(queue) == 3
    native.end(1, 2)
    assert not second.poll()
    assert len(queue) == 3
    assert first.poll()
    native.end(3, 4, 5)
    assert not second.poll()
    native.end(6)
    assert second.poll()


def test_whoever_polls_collects_for_a_transfer_that_nobody_polls_any_more(native: Native) -> None:
    queue = queue_of(native, limit=2)
    given_up = Pieces(queue, numbered(50), window=2)
    waiting = Pieces(queue, numbered(1), window=2)
    assert len(native.submitted) == 2
    given_up.release()
    native.end(1, 2)
    assert not waiting.poll()
    assert native.submitted[2:] == [(0, 100, 1)]
    native.end(3)
    assert waiting.poll()
    assert queue.collect() == 0
    with pytest.raises(EngineError, match=r"given up"):
        given_up.poll()


def test_releasing_what_is_over_changes_nothing(native: Native) -> None:
    transfer = Pieces(queue_of(native), numbered(1), window=2)
    native.end(1)
    assert transfer.poll()
    transfer.release()
    assert transfer.poll()


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=4),
    st.integers(1, 5),
    st.integers(1, 6),
    st.data(),
)
def test_any_order_of_ends_and_polls_moves_every_piece_once(
    counts: list[int], window: int, limit: int, data: st.DataObject
) -> None:
    native = Native()
    queue = queue_of(native, limit)
    transfers = [Pieces(queue, numbered(count), window=window) for count in counts]
    for transfer in turns(transfers, data):
        assert len(queue) <= limit
        assert all(each.under_way <= window for each in transfers)
        pending = [handle for handle, state in native.states.items() if not state]
        native.end(*data.draw(st.sets(st.sampled_from(pending))) if pending else ())
        transfer.poll()
    while not all(transfer.poll() for transfer in transfers):
        native.end(*[handle for handle, state in native.states.items() if not state])
    assert sorted(native.submitted) == sorted(
        (n, 100 + n, 1) for count in counts for n in range(count)
    )
    assert len(queue) == 0
    assert native.states == {}


def turns(transfers: list[Pieces], data: st.DataObject) -> Iterator[Pieces]:
    for _ in range(data.draw(st.integers(0, 30))):
        yield data.draw(st.sampled_from(transfers))
