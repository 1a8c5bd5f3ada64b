"""Who keeps which heads, layers and state: refused with numbers where it cannot be known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.pdwire.managers.fleet import (
    Fleet,
    begin,
    counter,
    hand_over,
    memory,
    pages,
    place,
    ready,
    settled,
    wait_until,
)

from pdwire.rooms import KVPoll
from pdwire.staging import DecodeStaging, Scatter

EVERY = pytest.mark.parametrize("backend", ["mooncake", "nixl", "mori", "ascend"])


@EVERY
@pytest.mark.parametrize(("rank", "size"), [(5, 2), (2, 2), (1, 1)])
def test_a8_a_rank_outside_its_size_is_not_served(
    fleet: Fleet, backend: str, rank: int, size: int
) -> None:
    """Every release's decode rank says a rank below its size: another one would get wrong heads."""
    prefill = fleet.prefill(backend, memory(1))
    decode = fleet.played_decode(prefill)
    names = {"mooncake": ("dst_tp_rank", "dst_attn_tp_size")}
    rank_name, size_name = names.get(prefill.wire_backend, ("decode_tp_rank", "decode_tp_size"))
    if backend == "ascend":
        rank_name, size_name = names["mooncake"]
    decode.say(*decode.registration(**{rank_name: rank, size_name: size}))
    wait_until(lambda: counter(prefill, "dropped", "registration") == 1)
    sender = prefill.sender(7)
    decode.ask(7, pages(4, 5))
    wait_until(lambda: sender.poll() is KVPoll.Failed)
    assert f"tp_rank {rank} of tp_size {size}" in str(sender.failure_reason)


@pytest.mark.parametrize(("ours", "theirs", "rank"), [(2, 2, 0), (1, 4, 3), (4, 2, 0)])
def test_a8_a_decode_rank_that_keeps_other_heads_is_not_served(
    fleet: Fleet, backend: str, ours: int, theirs: int, rank: int
) -> None:
    """The last prefill rank has the last heads; the decode rank says that it keeps others."""
    facts: dict[str, Any] = {"total_kv_head_num": 4, "item": 256}
    prefill = fleet.prefill(backend, memory(1, **facts), parallel=place(tp=ours, tp_rank=ours - 1))
    decode = fleet.played_decode(prefill, parallel=place(tp=theirs, tp_rank=rank))
    decode.register()
    sender = prefill.sender(7)
    sender.init(2, aux_index=1)
    decode.ask(7, pages(4, 5))
    ready(sender)
    before = decode.memory.copy()
    sender.send(pages(1, 2))
    told = [f"decode rank {rank} of {theirs} keeps other heads", "KV: "]
    if (ours, theirs, rank) == (1, 4, 3):  # one prefill rank has them all: only lengths differ
        told = ["KV: ", "KV of chunk 0"]
    assert settled(sender) == [KVPoll.Failed]
    assert any(text in str(sender.failure_reason) for text in told)
    assert not decode.memory.changed(before)


@EVERY
def test_p13_an_empty_state_component_asks_for_nothing(fleet: Fleet, backend: str) -> None:
    state = ((1, 4, 8),)
    prefill = fleet.prefill(backend, memory(1))
    decode = fleet.decode(backend, memory(2, state=state))
    hand_over(prefill, decode, 7, pages(1, 2), pages(4, 5), state_indices=[pages()])


@pytest.mark.parametrize("regions", [1, 2])
def test_o4_state_of_pipeline_stages_goes_by_layer_id(
    fleet: Fleet, backend: str, regions: int
) -> None:
    """Stages of two layers and one, whose state decode holds in another order."""
    server, stages = fleet.server(), [(0, 1), (2,)]
    sources, prefills = [], []
    for stage, layers in enumerate(stages):
        ids = tuple(layer for layer in layers for _ in range(regions))
        mem = memory(
            stage,
            layers=len(layers),
            state=((len(ids), 8, 32),),
            kv_layer_ids=(*layers, *layers),
            state_layer_ids=(ids,),
            prefill_start_layer=layers[0],
        )
        parallel = place(pp=2, pp_rank=stage)
        sources.append(mem)
        prefills.append(fleet.prefill(backend, mem, bootstrap=server, parallel=parallel))
    order = tuple(layer for layer in (2, 0, 1) for _ in range(regions))
    target = memory(
        9,
        layers=3,
        state=((len(order), 8, 32),),
        kv_layer_ids=(0, 1, 2, 0, 1, 2),
        state_layer_ids=(order,),
    )
    decode = fleet.decode(backend, target)
    receiver = decode.receiver(server.address, 7)
    senders = [prefill.sender(7) for prefill in prefills]
    receiver.init()
    receiver.send_metadata(pages(4, 5), aux_index=2, state_indices=[pages(6)])
    for sender in senders:
        sender.init(2, aux_index=1)
        ready(sender)
        sender.send(pages(1, 2), [pages(3)])
    assert settled(receiver, *senders) == [KVPoll.Success] * 3, receiver.failure_reason
    whole = [*sources[0].state[0], *sources[1].state[0]]
    sent = dict(enumerate(whole))
    for at, layer in enumerate(order):
        source = sent[layer * regions + at % regions]
        np.testing.assert_array_equal(target.state[0][at][6], source[3])


def test_o4_state_of_stages_without_layer_ids_is_refused(fleet: Fleet, backend: str) -> None:
    server = fleet.server()
    prefills = [
        fleet.prefill(
            backend,
            memory(stage, layers=1, state=((1, 4, 8),), prefill_start_layer=stage),
            bootstrap=server,
            parallel=place(pp=2, pp_rank=stage),
        )
        for stage in range(2)
    ]
    decode = fleet.decode(backend, memory(9, layers=2, state=((2, 4, 8),)))
    sender, receiver = begin(
        prefills[0], decode, 7, pages(4, 5), address=server.address, state_indices=[pages(1)]
    )
    sender.send(pages(1, 2), [pages(3)])
    assert settled(sender, receiver) == [KVPoll.Failed, KVPoll.Failed]
    assert "1 regions here, 2 there; layer ids on both sides" in str(sender.failure_reason)


@pytest.mark.parametrize(
    ("backend", "release", "facts"),
    [
        ("mooncake", "0.5.20", {}),
        ("mooncake", "0.5.16", {}),
        ("ascend", "0.5.20", {}),
        ("nixl", "0.5.14", {"mem_kind": "VRAM"}),
    ],
)
def test_p4_a_pool_whose_lengths_a_release_cannot_say_is_refused_on_both_sides(
    fleet: Fleet, backend: str, release: str, facts: dict[str, Any]
) -> None:
    """Regions of 256, 256, 64, 64 bytes a page, and a wire that says the first length only."""
    mem = memory(2, **facts)
    lens = (256, 256, 64, 64)
    ours = memory(2, kv_item_lens=lens, **facts)
    ours.kv[:] = mem.kv
    prefill = fleet.prefill(backend, memory(1, kv_item_lens=lens), release=release)
    decode = fleet.decode(backend, ours, release=release)
    before = ours.copy()
    sender = prefill.sender(7)
    receiver = decode.receiver(prefill.bootstrap_address, 7)
    receiver.init()
    receiver.send_metadata(pages(4, 5), aux_index=2)
    assert settled(receiver) == [KVPoll.Failed]
    told = "region 2 has pages of 64 bytes, region 0 of 256 bytes; a registration of"
    assert told in str(receiver.failure_reason)
    if release not in decode.ended_by_abort:
        assert settled(sender) == [KVPoll.Failed]
    assert not ours.changed(before)


def test_p4_prefill_refuses_what_it_cannot_know_with_the_region(fleet: Fleet) -> None:
    """Another implementation may announce such a pool; then prefill says which region it is."""
    lens = (256, 256, 64, 64)
    prefill = fleet.prefill("mooncake", memory(1, kv_item_lens=lens))
    decode = fleet.played_decode(prefill, release="0.5.20")
    decode.register(dst_kv_item_len=256)
    sender = prefill.sender(7)
    sender.init(2, aux_index=1)
    decode.ask(7, pages(4, 5))
    ready(sender)
    before = decode.memory.copy()
    sender.send(pages(1, 2))
    assert settled(sender) == [KVPoll.Failed]
    assert "region 2: pages of 64 bytes here, of 256 bytes in region 0" in str(
        sender.failure_reason
    )
    assert not decode.memory.changed(before)


@pytest.mark.parametrize("backend", ["mooncake", "nixl"])
def test_a_scatter_into_pages_that_the_room_did_not_announce_is_refused(
    fleet: Fleet, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guard stands before decode's own writes as well, whatever asks for them."""
    pytest.importorskip("torch")
    whole = DecodeStaging._scatter

    def astray(*args: Any) -> Scatter:  # noqa: ANN401  # as the core's
        return replace(whole(*args), pages=whole(*args).pages + 1)

    facts: dict[str, Any] = {"total_kv_head_num": 4, "page_size": 4}
    server = fleet.server()
    prefills = [
        fleet.prefill(
            backend,
            memory(n, item=128, **facts),
            bootstrap=server,
            parallel=place(tp=2, tp_rank=n),
            staging_bytes=1 << 16,
        )
        for n in range(2)
    ]
    target = memory(9, item=256, **facts)
    decode = fleet.decode(backend, target, staging_bytes=1 << 16)
    monkeypatch.setattr(DecodeStaging, "_scatter", astray)
    before = target.copy()
    receiver = decode.receiver(server.address, 7)
    receiver.init()
    receiver.send_metadata(pages(4, 9), aux_index=2)
    for prefill in prefills:
        sender = prefill.sender(7)
        sender.init(2, aux_index=1)
        ready(sender)
        sender.send(pages(1, 2))
    assert settled(receiver) == [KVPoll.Failed]
    assert "lie outside what the request announced: region 0, page 5" in str(
        receiver.failure_reason
    )
    assert all((a == b).all() for a, b in zip(target.kv, before, strict=False))


@pytest.mark.parametrize("draft", [0, 2])
@pytest.mark.parametrize("ids", [True, False], ids=["layer-ids", "none"])
def test_o4_stages_of_decode_need_layer_ids(
    fleet: Fleet, backend: str, draft: int, ids: bool
) -> None:
    """Two layers and a draft's two on decode's last stage look like four layers in one pool."""
    server, sides = fleet.server(), []
    for role, seed in (("prefill", 1), ("decode", 5)):
        for stage in range(2):
            more = draft if (role, stage) == ("decode", 1) else 0
            own = [2 * stage, 2 * stage + 1]
            layers = [*own, *own, *range(4, 4 + more), *range(4, 4 + more)]
            mem = memory(
                seed + stage,
                layers=len(layers) // 2,
                kv_layer_ids=tuple(layers) if ids else (),
                prefill_start_layer=own[0],
            )
            parallel = place(pp=2, pp_rank=stage)
            facts: dict[str, Any] = {"bootstrap": server} if role == "prefill" else {}
            sides.append((mem, getattr(fleet, role)(backend, mem, parallel=parallel, **facts)))
    senders = [manager.sender(7) for _, manager in sides[:2]]
    receivers = [manager.receiver(server.address, 7) for _, manager in sides[2:]]
    for receiver in receivers:
        receiver.init()
        receiver.send_metadata(pages(4, 5), aux_index=2)
    for sender in senders:
        sender.init(2, aux_index=1)
        ready(sender)
        sender.send(pages(1, 2))
    ends = settled(*senders, *receivers)
    if not ids:
        assert ends == [KVPoll.Failed] * 4
        assert "decode has 2 pipeline stages" in str(receivers[1].failure_reason)
        return
    assert ends == [KVPoll.Success] * 4
    for (source, _), (target, _) in zip(sides[:2], sides[2:], strict=True):
        for sent, found in zip(source.kv, target.kv, strict=False):
            np.testing.assert_array_equal(found[[4, 5]], sent[[1, 2]])
