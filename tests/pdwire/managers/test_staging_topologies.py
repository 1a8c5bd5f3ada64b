"""Staged hand-overs between live managers: every shape of side, chunk and release.

Sources are random and unlike on every rank; what must arrive is worked out head by head
(:mod:`tests.pdwire.managers.staged`). At the end of each test no ring holds anything.
"""

from __future__ import annotations

import pytest
from tests.pdwire.managers.fleet import Fleet, counter
from tests.pdwire.managers.staged import (
    NEEDS_TORCH,
    RING,
    Request,
    Side,
    decode_side,
    drained,
    numbers,
    page_bytes,
    prefill_side,
    requests,
    staged,
    tokens_of,
    untouched,
)

pytestmark = NEEDS_TORCH


def chunks_of(lengths: list[int], size: int = 4) -> int:
    """How many chunks requests of these lengths have."""
    return sum(-(-length // size) for length in lengths)


def all_at_once(source: Side, target: Side, lengths: list[int], *cuts: int) -> None:
    """Requests side by side: all begin, all are sent, all succeed; nothing else changes."""
    before = [mem.copy() for mem in target.memories]
    live = [request.begin() for request in requests(source, target, lengths)]
    for request in live:
        request.send(*cuts)
    for request in live:
        request.succeed()
    untouched(target, before, *(request.dst for request in live))
    drained(source, target)


@pytest.mark.parametrize(("ours", "theirs"), [(2, 1), (1, 2), (4, 2), (4, 1), (1, 4)])
def test_unequal_sides_several_rooms_at_once(
    fleet: Fleet, backend: str, ours: int, theirs: int
) -> None:
    source, target = prefill_side(fleet, backend, ours), decode_side(fleet, backend, theirs)
    lengths = [4, 9, 1, 8, 6]
    all_at_once(source, target, lengths)
    assert staged(source) == chunks_of(lengths) * max(ours, theirs)


@pytest.mark.parametrize(("ours", "theirs"), [(2, 1), (1, 2)])
def test_a_ring_much_smaller_than_the_traffic(
    fleet: Fleet, backend: str, ours: int, theirs: int
) -> None:
    """Writers wait for the watermark: one chunk and a half fit, 30 are on their way."""
    source = prefill_side(fleet, backend, ours)
    target = decode_side(fleet, backend, theirs, staging_bytes=6 * page_bytes(theirs))
    lengths = [7, 4, 9, 3, 8, 12, 5, 6]
    all_at_once(source, target, lengths)
    assert staged(source) == chunks_of(lengths) * max(ours, theirs)
    for manager in target.managers:
        assert counter(manager, "sent", "WATERMARK") >= chunks_of(lengths)


@pytest.mark.parametrize("cuts", [(1, 1, 1), (3, 3), (5, 1), (8, 2), (9,)])
def test_sends_that_do_not_end_where_chunks_do(
    fleet: Fleet, backend: str, cuts: tuple[int, ...]
) -> None:
    """Pieces of the scheduler's are saved up until a chunk of the grid is whole."""
    source, target = prefill_side(fleet, backend, 2), decode_side(fleet, backend, 1)
    all_at_once(source, target, [10, 11], *cuts)
    assert staged(source) == 2 * 6


def test_a_chunk_as_large_as_the_request_and_one_of_a_single_page(
    fleet: Fleet, backend: str
) -> None:
    target = decode_side(fleet, backend, 1)
    for size, wanted in [(32, 1), (1, 7)]:
        source = prefill_side(fleet, backend, 2, chunked_prefill_size=tokens_of(size))
        all_at_once(source, target, [7], 3)
        assert staged(source) == 2 * wanted


def test_pages_behind_a_prefix_that_decode_holds(fleet: Fleet, backend: str) -> None:
    """Chunks count from the first page that is sent, whatever was there before."""
    source, target = prefill_side(fleet, backend, 2), decode_side(fleet, backend, 1)
    [request] = requests(source, target, [6])
    request.begin(prefix=3 * 4).send()
    assert [sender.decode_prefix_len for sender in request.senders] == [12, 12]
    request.succeed()
    assert staged(source) == 2 * 2
    drained(source, target)


def test_a_full_prefix_has_nothing_to_stage_and_still_its_row(fleet: Fleet, backend: str) -> None:
    source, target = prefill_side(fleet, backend, 2), decode_side(fleet, backend, 1)
    request = Request(
        room=7, source=source, target=target, src=numbers(0, 64, 1), dst=numbers(0, 64, 1), row=5
    )
    request.begin(prefix=64).send()
    request.succeed()
    [mem] = target.memories
    assert any((mem.aux[1][5] == from_.aux[1][5]).all() for from_ in source.memories)
    assert staged(source) == 0
    drained(source, target)


@pytest.mark.parametrize(("ours", "theirs"), [(2, 1), (1, 2)])
def test_two_pipeline_stages_write_their_layers_of_each_chunk(
    fleet: Fleet, backend: str, ours: int, theirs: int
) -> None:
    source = prefill_side(fleet, backend, ours, pp=2)
    target = decode_side(fleet, backend, theirs, staging_bytes=9 * page_bytes(theirs))
    lengths = [4, 9, 1, 8]
    all_at_once(source, target, lengths, 3)
    assert staged(source) == 2 * chunks_of(lengths) * max(ours, theirs)


@pytest.mark.parametrize("stages", [(RING, 0), (0, RING)])
def test_a_side_that_does_not_stage_is_written_directly(
    fleet: Fleet, backend: str, stages: tuple[int, int]
) -> None:
    source = prefill_side(fleet, backend, 2, staging_bytes=stages[0])
    target = decode_side(fleet, backend, 1, staging_bytes=stages[1])
    live = [request.begin().send(3) for request in requests(source, target, [4, 9])]
    for request in live:
        request.succeed()
    assert staged(source) == 0
    assert sum(counter(m, "bytes", "staged") for m in source.managers) == 0


def test_peers_that_stage_and_peers_that_do_not_side_by_side(fleet: Fleet, backend: str) -> None:
    source = prefill_side(fleet, backend, 2)
    target, direct = decode_side(fleet, backend, 1), decode_side(fleet, backend, 1, staging_bytes=0)
    same = decode_side(fleet, backend, 2)
    live = [
        request.begin()
        for n, side in enumerate([target, direct, same])
        for request in requests(source, side, [9, 4], first=100 * n)
    ]
    for request in live:
        request.send(3)
    for request in live:
        request.succeed()
    assert staged(source) == 2 * chunks_of([9, 4])
    drained(source, target)


RELEASES = ["0.5.16", "0.5.17", "0.5.18", "0.5.19", "0.5.22", "0.5.23"]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(("ours", "theirs"), [(2, 1), (1, 2)])
def test_decode_sides_of_older_releases(
    fleet: Fleet, backend: str, release: str, ours: int, theirs: int
) -> None:
    source = prefill_side(fleet, backend, ours)
    target = decode_side(
        fleet, backend, theirs, staging_bytes=6 * page_bytes(theirs), release=release
    )
    lengths = [7, 4, 9, 1]
    all_at_once(source, target, lengths, 3)
    assert staged(source) == chunks_of(lengths) * max(ours, theirs)
    told = sum(counter(m, "messages", "NOTIF_STG") for m in target.managers)
    notified = backend == "nixl" and release != "0.5.23"
    assert told == (staged(source) if notified else 0)


def test_decode_sides_of_three_releases_side_by_side(fleet: Fleet, backend: str) -> None:
    source = prefill_side(fleet, backend, 2)
    sides = [
        decode_side(fleet, backend, 1, release=release, staging_bytes=9 * page_bytes())
        for release in ("0.5.16", "0.5.19", "0.5.23")
    ]
    live = [
        request.begin()
        for n, side in enumerate(sides)
        for request in requests(source, side, [9, 4], first=100 * n)
    ]
    for request in live:
        request.send(3)
    for request in live:
        request.succeed()
    drained(source, *sides)
    assert staged(source) == 3 * 2 * chunks_of([9, 4])
