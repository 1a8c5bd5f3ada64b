"""A decode side with as many pipeline stages as prefill: each hears from its own stage only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.pdwire.managers.fleet import Fleet, counter, memory, pages, place, ready, settled
from tests.pdwire.managers.staged import NEEDS_TORCH

from pdwire.rooms import KVPoll


@pytest.mark.parametrize("over_tcp", [True, False])
def test_an_auxiliary_row_is_awaited_by_the_last_decode_stage_alone(over_tcp: bool) -> None:
    with Fleet() as fleet:
        server = fleet.server()
        facts: list[dict[str, Any]] = [
            {"kv_layer_ids": (n, n), "prefill_start_layer": n} for n in range(2)
        ]
        sources = [memory(n, layers=1, **facts[n]) for n in range(2)]
        targets = [memory(5 + n, layers=1, **facts[n]) for n in range(2)]
        stages = [place(pp=2, pp_rank=n) for n in range(2)]
        prefill = [
            fleet.prefill("mooncake", mem, bootstrap=server, parallel=stage, aux_over_tcp=over_tcp)
            for mem, stage in zip(sources, stages, strict=True)
        ]
        decode = [
            fleet.decode("mooncake", mem, parallel=stage, aux_over_tcp=over_tcp)
            for mem, stage in zip(targets, stages, strict=True)
        ]
        senders = [manager.sender(7) for manager in prefill]
        receivers = [manager.receiver(server.address, 7) for manager in decode]
        for receiver in receivers:
            receiver.init()
            receiver.send_metadata(pages(9), aux_index=2)
        untouched = targets[0].aux[0].copy()
        for sender in senders:
            sender.init(1, aux_index=1)
            ready(sender)
            sender.send(pages(3))
        ends = settled(*senders, *receivers)
        assert ends == [KVPoll.Success] * 4, [r.failure_reason for r in receivers]
        np.testing.assert_array_equal(targets[1].aux[0][2], sources[1].aux[0][1])
        np.testing.assert_array_equal(targets[0].aux[0], untouched)
        for source, target in zip(sources, targets, strict=True):
            np.testing.assert_array_equal(target.kv[0][9], source.kv[0][3])


@NEEDS_TORCH
@pytest.mark.parametrize("backend", ["mooncake", "nixl"])
def test_a_staged_chunk_is_awaited_from_the_writers_of_the_own_stage_alone(backend: str) -> None:
    with Fleet() as fleet:
        server = fleet.server()
        facts: list[dict[str, Any]] = [
            {"kv_layer_ids": (n, n), "prefill_start_layer": n, "total_kv_head_num": 2}
            for n in range(2)
        ]
        staging: dict[str, Any] = {"staging_bytes": 1 << 16, "chunked_prefill_size": 4}
        sources = [memory(n, layers=1, item=256, **facts[n]) for n in range(2)]
        prefill = [
            fleet.prefill(
                backend, mem, bootstrap=server, parallel=place(pp=2, pp_rank=n), **staging
            )
            for n, mem in enumerate(sources)
        ]
        cells = [(n, rank) for n in range(2) for rank in range(2)]
        targets = [memory(5, layers=1, item=128, **facts[n]) for n, _ in cells]
        decode = [
            fleet.decode(
                backend, mem, parallel=place(pp=2, pp_rank=n, tp=2, tp_rank=rank), **staging
            )
            for mem, (n, rank) in zip(targets, cells, strict=True)
        ]
        senders = [manager.sender(7) for manager in prefill]
        receivers = [manager.receiver(server.address, 7) for manager in decode]
        for receiver in receivers:
            receiver.init()
            receiver.send_metadata(pages(9, 2), aux_index=2)
        for sender in senders:
            sender.init(2, aux_index=1)
            ready(sender)
            sender.send(pages(3, 4))
        ends = settled(*senders, *receivers)
        assert ends == [KVPoll.Success] * 6, [r.failure_reason for r in receivers]
        assert sum(counter(manager, "staging_chunks", "staged") for manager in prefill) == 8
        for target, (n, rank) in zip(targets, cells, strict=True):
            for region, sent in zip(target.kv, sources[n].kv, strict=True):
                np.testing.assert_array_equal(
                    region[[9, 2]].reshape(2, 4, -1), sent[[3, 4]].reshape(2, 4, 2, -1)[:, :, rank]
                )
