from __future__ import annotations

import pytest
import zmq

from pdwire_conformance.interop.answers import Context, answers, socket_on_host
from pdwire_conformance.interop.options import Options
from pdwire_conformance.peers.errors import StandInGapError

OPTIONS = Options(
    release="0.5.19",
    backend="nixl",
    role="prefill",
    tp_size=4,
    tp_rank=3,
    pp_size=2,
    pp_rank=1,
    chunk_pages=3,
)


def test_every_way_of_asking_has_the_same_answer() -> None:
    context = Context(OPTIONS)
    given = answers(OPTIONS, context)
    asked = given["sglang.srt.layers.dp_attention"]
    parallel = given["sglang.srt.runtime_context"]["get_parallel"]()
    assert asked["get_attention_tp_rank"]() == parallel.attn_tp_rank == 3
    assert context.server_args.pp_size == parallel.pp_size == 2
    assert given["sglang.srt.distributed"]["get_pp_group"]().is_last_rank


def test_the_bootstrap_port_is_known_when_the_server_listens() -> None:
    context = Context(OPTIONS)
    context.set_bootstrap(8998)
    told = answers(OPTIONS, context)["sglang.srt.runtime_context"]["get_disagg"]()
    assert told.disaggregation_bootstrap_port == 8998


def test_a_full_chunk_is_what_the_options_say() -> None:
    told = answers(OPTIONS, Context(OPTIONS))["sglang.srt.runtime_context"]["get_schedule"]()
    assert told.chunked_prefill_size == 3 * 16


def test_what_is_not_answered_is_a_gap_and_no_default() -> None:
    told = answers(OPTIONS, Context(OPTIONS))["sglang.srt.runtime_context"]["get_memory"]()
    with pytest.raises(StandInGapError):
        _ = told.hicache_size


def test_a_later_stage_hears_what_the_first_one_said() -> None:
    first, later = (
        Context(Options(release="0.5.23", backend="nixl", role="prefill", pp_size=2, pp_rank=rank))
        for rank in (0, 1)
    )
    assert first.group.broadcast_object(("127.0.0.1", 5000)) == ("127.0.0.1", 5000)
    later.group.shared = first.group.shared
    assert later.group.broadcast_object(None, src=0) == ("127.0.0.1", 5000)


def test_a_socket_is_bound_on_loopback_alone() -> None:
    with zmq.Context() as context:
        port, socket = socket_on_host(context, zmq.PULL)
        with socket:
            assert socket.get(zmq.LAST_ENDPOINT) == f"tcp://127.0.0.1:{port}".encode()
