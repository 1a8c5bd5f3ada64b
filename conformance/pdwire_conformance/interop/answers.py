"""What a real manager reads from the rest of SGLang, as plain values.

Rules:

* A release asks its runtime context (0.5.16 on), the attention layer's getters (before) or
  ``server_args`` (older still) for the same facts: topology, ports, limits. All of them
  are answered from one :class:`~.options.Options`.
* A value that is not answered is a :class:`~..peers.errors.StandInGapError`, never a
  silent default: a gap of ours must not become behaviour of theirs.
* What runs on a GPU there (streams, events) runs at once here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import zmq

from pdwire_conformance.peers.standins import StandIn

from .engine import TcpMooncake
from .host_torch import Instant, rows_into_pack
from .options import Options

Answers = Mapping[str, Mapping[str, Any]]


class Group:
    """The pipeline group: what stage 0 tells, the other stages were told beforehand."""

    def __init__(self, options: Options) -> None:
        self.rank_in_group = options.pp_rank
        self.world_size = options.pp_size
        self.is_last_rank = options.pp_rank == options.pp_size - 1
        self.shared: Any = None

    def broadcast_object(self, value: Any = None, src: int = 0) -> Any:
        """Stage 0's object, whichever stage asks."""
        if self.rank_in_group == src:
            self.shared = value
        return self.shared


class Context:
    """The namespaces that the getters return; the bootstrap port is set when it is known."""

    def __init__(self, options: Options) -> None:
        self.group = Group(options)
        self.facts = _facts(options, self.group)
        self.server_args: Any = StandIn(**self.facts)

    def set_bootstrap(self, port: int) -> None:
        """Tell the port of the bootstrap server, before the manager is made."""
        self.server_args.disaggregation_bootstrap_port = port

    def get(self) -> Any:
        """Any getter: one namespace answers for all of them."""
        return self.server_args


def answers(options: Options, context: Context) -> Answers:
    """Module name -> attribute -> value, for :func:`~..peers.loader.load`."""
    facts = context.facts
    engines: list[TcpMooncake] = []

    def mooncake_engine() -> TcpMooncake:
        if not engines:
            engines.append(TcpMooncake("127.0.0.1"))
        return engines[0]

    utilities = {
        "get_zmq_socket_on_host": socket_on_host,
        "get_free_port": lambda: 0,
        **_DEVICE,
    }
    getters = {f"get_{name}": context.get for name in _NAMESPACES}
    engine = {"get_mooncake_transfer_engine": mooncake_engine}
    return {
        "sglang.srt.runtime_context": getters
        | {
            "linear_attn_tp_size": _constant(options.tp_size),
            "max_prefill_buffer_tokens": _constant(facts["max_prefill_tokens"]),
        },
        "sglang.kernels.ops.kvcache.pd_dcp_gather": {"copy_mla_rows_into_pack": rows_into_pack},
        "sglang.srt.layers.dp_attention": {
            f"get_attention_{name}": _constant(facts[f"attn_{name}"])
            for name in ("tp_size", "tp_rank", "dp_size", "dp_rank", "cp_size", "cp_rank")
        },
        "sglang.srt.distributed": {"get_pp_group": lambda: facts["pp_group"]},
        "sglang.srt.distributed.parallel_state": engine,
        "sglang.srt.distributed.device_communicators.mooncake_transfer_engine": engine,
        "sglang.srt.utils": utilities,
        "sglang.srt.utils.common": utilities,
    }


_NAMESPACES = (
    *("parallel", "serving", "disagg", "device", "schedule", "observability", "memory", "spec"),
    "exec",
)


def _facts(options: Options, group: Group) -> dict[str, Any]:
    dcp_size = 1 if options.is_prefill else options.dcp_size
    topology = {
        "attn_tp_size": options.tp_size,
        "attn_tp_rank": options.tp_rank,
        "tp_size": options.tp_size,
        "tp_rank": options.tp_rank,
        "attn_cp_size": 1,
        "attn_cp_rank": 0,
        "attn_dp_size": 1,
        "attn_dp_rank": 0,
        "attn_dcp_size": dcp_size,
        "attn_dcp_rank": options.dcp_rank,
        "dcp_size": dcp_size,
        "dcp_rank": options.dcp_rank,
        "dp_size": 1,
        "dp_rank": 0,
        "num_dp_ranks": 1,
        "nnodes": 1,
        "pp_size": options.pp_size,
        "pp_rank": options.pp_rank,
        "pp_group": group,
        "world_group": StandIn(rank_in_group=options.tp_rank, world_size=options.tp_size),
        "dist_init_addr": None,
    }
    switches = dict.fromkeys(
        (
            *("enable_dp_attention", "enable_dsa_cache_layer_split", "enable_kv_cache_sharding"),
            *("enable_cp_tp_group_sharing", "enable_trace", "enable_hisparse"),
            *("enable_unified_memory", "enable_pd_role_switch"),
        ),
        False,
    )
    tokens = options.chunk_pages * options.page_size
    return {
        **topology,
        **switches,
        "load_balance_method": "follow_bootstrap_room",
        "host": "127.0.0.1",
        "port": 30000,
        "disaggregation_bootstrap_port": 0,
        "disaggregation_decode_allocation_policy": "early",
        "disaggregation_transfer_backend": options.backend,
        "disaggregation_ib_device": None,
        "chunked_prefill_size": tokens,
        "max_prefill_tokens": tokens,
        "kv_cache_dtype": "auto",
        "speculative_algorithm": None,
        "speculative_num_draft_tokens": None,
        "device": "cuda" if options.on_gpu else "cpu",
        "gpu_id": 0,
    }


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


def socket_on_host(
    context: zmq.Context[Any], socket_type: int, host: str | None = None
) -> tuple[int, Any]:
    """A bound socket on a port that the system chose, as releases before 0.5.10 ask for it."""
    socket = context.socket(socket_type)
    socket.set_hwm(0)
    return socket.bind_to_random_port(f"tcp://{host or '127.0.0.1'}"), socket


_DEVICE: Mapping[str, Any] = {
    "create_device_event": Instant,
    "create_device_stream": Instant,
    "device_stream_context": contextlib.nullcontext,
}
