"""A thousand staged rooms in flight between two managers, and what they leave behind."""

from __future__ import annotations

import gc
import time
import tracemalloc

import pytest
from tests.pdwire.managers.fleet import Fleet, pages
from tests.pdwire.managers.staged import (
    NEEDS_TORCH,
    Request,
    Side,
    decode_side,
    drained,
    page_bytes,
    prefill_side,
    staged,
    tokens_of,
)

from pdwire.staging import StagingLimits

pytestmark = NEEDS_TORCH
MANY = 1000


def batch(source: Side, target: Side, first: int) -> None:
    """A thousand rooms of two pages, one chunk each; all begin before the first is sent."""
    live = [
        Request(
            room=first + n,
            source=source,
            target=target,
            src=pages(2 * n, 2 * n + 1),
            dst=pages(2 * n + 1, 2 * n),
            row=n,
        ).begin()
        for n in range(MANY)
    ]
    for request in live:
        request.send()
    for request in live:
        request.succeed()


def sides(fleet: Fleet, backend: str, ring_pages: int) -> tuple[Side, Side]:
    """One prefill rank, and one of two decode ranks' worth of heads."""
    shape = {"slots": 2 * MANY, "rows": MANY}
    source = prefill_side(fleet, backend, 2, chunked_prefill_size=tokens_of(2), **shape)
    ring = ring_pages * page_bytes()
    return source, decode_side(fleet, backend, 1, staging_bytes=ring, **shape)


@pytest.mark.parametrize("ring_pages", [5, 400])
def test_a_thousand_rooms_in_flight_all_finish(fleet: Fleet, backend: str, ring_pages: int) -> None:
    """Two of them fit the smaller ring: 998 wait for the watermark, and each in its turn goes."""
    source, target = sides(fleet, backend, ring_pages)
    batch(source, target, 1)
    assert staged(source) == 2 * MANY
    drained(source, target)


@pytest.mark.slow
def test_a_finished_room_leaves_nothing(fleet: Fleet, backend: str) -> None:
    """Between two thousands; what is remembered of rooms that are over has a cap."""
    source, target = sides(fleet, backend, 100)
    few = StagingLimits(remembered=10)
    for manager in source.managers:
        vars(manager)["_prefill_staging"]._limits = few
    for manager in target.managers:
        vars(manager)["_decode_staging"]._limits = few
    tracemalloc.start()
    try:
        batch(source, target, 1)
        before = kept(source, target)
        batch(source, target, 1 + MANY)
        grown = kept(source, target) - before
    finally:
        tracemalloc.stop()
    assert grown / MANY < 100, grown


def kept(source: Side, target: Side) -> int:
    """Bytes that are allocated when nothing is under way, nor waits to be asked for again."""
    drained(source, target)
    for manager in source.managers:
        with vars(manager)["_staging_lock"]:
            vars(manager)["_prefill_staging"].tick(time.monotonic() + 6)
    gc.collect()
    return tracemalloc.get_traced_memory()[0]
