"""Field report P3: auxiliary rows of another length than here are refused, not strided over."""

from __future__ import annotations

import pytest
from tests.pdwire.managers.fleet import Fleet, begin, hand_over, memory, pages, settled

from pdwire.rooms import KVPoll

EVERY = pytest.mark.parametrize("backend", ["mooncake", "nixl", "mori", "ascend"])
ROWS = [((64,), (128,)), ((128,), (64,)), ((16, 64), (16, 128)), ((16, 64), (32, 64))]


@EVERY
@pytest.mark.parametrize(("here", "there"), ROWS)
@pytest.mark.parametrize("row", [0, 3])
def test_p3_rows_of_another_length_are_refused_on_both_sides(
    fleet: Fleet, backend: str, here: tuple[int, ...], there: tuple[int, ...], row: int
) -> None:
    source, target = memory(1, aux=here), memory(2, aux=there)
    prefill, decode = fleet.prefill(backend, source), fleet.decode(backend, target)
    before = target.copy()

    sender, receiver = begin(prefill, decode, 7, pages(4, 5), aux=(1, row))
    sender.send(pages(1, 2))

    assert settled(sender, receiver) == [KVPoll.Failed, KVPoll.Failed]
    assert "aux buffer" in str(sender.failure_reason)
    assert not target.changed(before)


@EVERY
def test_p3_as_many_rows_as_one_likes_where_buffers_tell(fleet: Fleet, backend: str) -> None:
    source, target = memory(1, rows=8), memory(2, rows=32)
    prefill, decode = fleet.prefill(backend, source), fleet.decode(backend, target)
    hand_over(prefill, decode, 7, pages(1, 2), pages(4, 5), aux=(1, 29))
    for found, sent in zip(target.aux, source.aux, strict=True):
        assert (found[29] == sent[1]).all()
