"""One room through both sides, message by message."""

from __future__ import annotations

import numpy as np

from pdwire.staging import (
    ChunkGrid,
    DecodeStaging,
    Place,
    PrefillRank,
    PrefillStaging,
    Ready,
    Scatter,
    SendStagingReq,
    SendStagingRsp,
    SendWatermark,
    StagingLayout,
    Waiting,
    WaitingFor,
)
from pdwire.wire.common import ChunkReady

LAYOUT = StagingLayout(
    prefill_tp=2,
    decode_tp=1,
    decode_rank=0,
    total_kv_heads=2,
    page_size=1,
    head_bytes=1,
    layers=1,
)  # four bytes a page
DECODE = ("10.0.0.2", 5000)
RANKS = (PrefillRank(("10.0.0.1", 1)), PrefillRank(("10.0.0.1", 2)))


def test_two_chunks_from_two_writers_through_a_ring_for_one_and_a_half() -> None:
    decode = DecodeStaging(6 * 4, "d:1")
    prefills = [PrefillStaging(), PrefillStaging()]
    opened = decode.open_room(
        7, prefill="p:8998", ranks=RANKS, layout=LAYOUT, pages=[9, 3, 5, 1, 8], writers=2, now=0.0
    )
    assert opened == []
    for prefill in prefills:
        asks = prefill.want(
            7,
            "d:1",
            DECODE,
            grid=ChunkGrid(5, 4),
            layout=LAYOUT,
            ring_size=24,
            now=0.0,
        )
        assert [
            (a.message.chunk_idx, a.message.chunk_num_pages)
            for a in asks
            if isinstance(a, SendStagingReq)
        ] == [(0, 4), (1, 1)]
        for ask in asks:
            assert isinstance(ask, SendStagingReq)
            for effect in decode.on_staging_req(ask.message, 0.0):
                assert isinstance(effect, SendStagingRsp | SendWatermark)
                target = prefills[effect.endpoint[1] - 1]
                if isinstance(effect, SendStagingRsp):
                    target.on_staging_rsp(effect.message, 0.0)
                else:
                    target.on_watermark(effect.message, 0.0)
    assert prefills[0].state(7, 0, "d:1") == Ready(Place(0, 0, 16))
    assert prefills[1].state(7, 1, "d:1") == Ready(Place(0, 16, 20))

    def ready(chunk_idx: int, start: int, count: int, rank: int) -> ChunkReady:
        return ChunkReady(
            room=7,
            chunk_idx=chunk_idx,
            page_start=start,
            num_pages=count,
            writer_id="d:1",
            prefill_rank=rank,
        )

    assert decode.on_chunk_ready(ready(1, 4, 1, 0), 0.0) == []
    (scatter,) = decode.on_chunk_ready(ready(1, 4, 1, 1), 0.0)
    assert isinstance(scatter, Scatter)
    assert scatter.place == Place(0, 16, 20)
    assert scatter.pages.tolist() == [8]
    assert decode.scattered(scatter, 0.0) == []  # chunk 0 holds the watermark back
    assert not decode.complete(7)
    decode.on_chunk_ready(ready(0, 0, 4, 1), 0.0)
    (scatter,) = decode.on_chunk_ready(ready(0, 0, 4, 0), 0.0)
    assert isinstance(scatter, Scatter)
    np.testing.assert_array_equal(scatter.pages, [9, 3, 5, 1])
    marks = decode.scattered(scatter, 0.0)
    assert [m.message.round for m in marks if isinstance(m, SendWatermark)] == [1, 1]
    assert decode.complete(7)
    assert decode.ring.drained()


def test_a_room_that_nobody_asked_for_waits_for_an_ask() -> None:
    assert PrefillStaging().state(7, 0, "d:1") == Waiting(WaitingFor.ASK)
