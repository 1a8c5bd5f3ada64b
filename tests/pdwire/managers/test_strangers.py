"""Staging messages of somebody who takes part in nothing: live rooms go on, bytes are right."""

from __future__ import annotations

from typing import Any

import pytest
from tests.pdwire.managers.fleet import Fleet, Manager, counter, wait_until
from tests.pdwire.managers.staged import (
    NEEDS_TORCH,
    Side,
    decode_side,
    drained,
    prefill_side,
    requests,
    staged,
)

pytestmark = NEEDS_TORCH


def lie(fleet: Fleet, at: Manager, speaker: Manager, message: str, **facts: Any) -> None:  # noqa: ANN401
    """Push one message at a manager, as whoever speaks like another one."""
    before = counter(at, "messages", message)
    fleet.ear().say(at.endpoint, speaker.build(message, facts, speaker.config.release))
    wait_until(lambda: counter(at, "messages", message) > before)


@pytest.mark.parametrize("round_", [999_999_999, 1_000, 10])
def test_a6_a_watermark_beyond_every_place_costs_no_room(
    fleet: Fleet, backend: str, round_: int
) -> None:
    source, target = prefill_side(fleet, backend, 2), decode_side(fleet, backend, 1)
    first, *rest = requests(source, target, [9, 4, 7, 5])
    first.begin().send().succeed()
    [decode] = target.managers
    live, *later = rest
    live.begin()
    for prefill in source.managers:
        session = decode.engine.session_id
        facts = {"round": round_, "tail": 0, "session_id": session}
        lie(fleet, prefill, decode, "WATERMARK", **facts)
        assert counter(prefill, "dropped", "watermark-beyond-places") == 1
    live.send().succeed()
    for request in later:
        request.begin().send().succeed()
    assert staged(source) == 2 * (3 + 1 + 2 + 2)
    drained(source, target)


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize(("chunk", "size"), [(8, 1), (5, 1), (2, 3), (8, 9), (7, 2)])
def test_a12_a_request_for_a_chunk_beyond_the_grid_takes_nothing_from_the_room(
    fleet: Fleet, backend: str, is_first: bool, chunk: int, size: int
) -> None:
    source, target = prefill_side(fleet, backend, 2), decode_side(fleet, backend, 1)
    [request] = requests(source, target, [9])  # chunks of four, four and one
    [decode] = target.managers

    def ask() -> None:
        session = decode.engine.session_id
        facts = {"chunk_idx": chunk, "chunk_num_pages": size, "session_id": session}
        lie(fleet, decode, source.managers[0], "STAGING_REQ", room=request.room, **facts)

    if is_first:
        ask()  # parked, and read before any of the prefill ranks'
    request.begin()
    if not is_first:
        ask()
    request.send().succeed()
    drained(source, target)


def sides(fleet: Fleet, backend: str) -> tuple[Side, Side]:
    return prefill_side(fleet, backend, 2), decode_side(fleet, backend, 1)


@pytest.mark.parametrize("rank", [2, 99])
def test_a9_a_chunk_is_not_written_by_a_rank_that_was_not_asked(
    fleet: Fleet, backend: str, rank: int
) -> None:
    source, target = sides(fleet, backend)
    [request] = requests(source, target, [9])
    request.begin()
    [decode] = target.managers
    before = [region.copy() for region in target.memories[0].kv]
    for number in (rank, rank + 1):
        facts: dict[str, Any] = {
            "chunk_idx": 0,
            "page_start": 0,
            "num_pages": 4,
            "prefill_rank": number,
        }
        facts |= {"writer_id": decode.engine.session_id, "room": request.room}
        lie(fleet, decode, source.managers[0], "CHUNK_READY", **facts)
    assert counter(decode, "dropped", "chunk-foreign-writer") == 2
    for region, old in zip(target.memories[0].kv, before, strict=True):
        assert (region == old).all()
    request.send().succeed()
    drained(source, target)
