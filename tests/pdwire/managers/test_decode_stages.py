"""A decode side with as many pipeline stages as prefill: each hears from its own stage only."""

from __future__ import annotations

import numpy as np
import pytest
from tests.pdwire.managers.fleet import Fleet, memory, pages, place, ready, settled

from pdwire.rooms import KVPoll


@pytest.mark.parametrize("over_tcp", [True, False])
def test_an_auxiliary_row_is_awaited_by_the_last_decode_stage_alone(over_tcp: bool) -> None:
    with Fleet() as fleet:
        server = fleet.server()
        facts = [{"kv_layer_ids": (n, n), "prefill_start_layer": n} for n in range(2)]
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
