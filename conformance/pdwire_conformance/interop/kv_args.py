"""The description of a rank's memory that a release's manager is made with.

Rules:

* Every attribute that any release reads is set; those that a release does not know do
  nothing there.
* The one thing that has two shapes is state: flat lists up to 0.5.11, one list per
  component from 0.5.12 on.
"""

from __future__ import annotations

from typing import Any

from pdwire_conformance.peers.loader import LoadedRelease

from .memory import Memory, Region
from .options import Options


def kv_args(peer: LoadedRelease, options: Options, memory: Memory) -> Any:
    """The release's own ``KVArgs`` for this memory."""
    made = peer.attribute("base.conn", "KVArgs")()
    for name, value in {
        **_regions("kv", memory.kv),
        **_regions("aux", memory.aux),
        **_topology(options, memory),
        **_state(peer, memory),
    }.items():
        setattr(made, name, value)
    return made


def _regions(kind: str, regions: list[Region]) -> dict[str, Any]:
    return {
        f"{kind}_data_ptrs": [region.address for region in regions],
        f"{kind}_data_lens": [region.length for region in regions],
        f"{kind}_item_lens": [region.item for region in regions],
    }


def _topology(options: Options, memory: Memory) -> dict[str, Any]:
    first = memory.layer_ids[0]
    heads = max(1, len(memory.heads))
    return {
        "engine_rank": options.tp_rank,
        "decode_tp_size": options.tp_size,
        "prefill_pp_size": options.pp_size,
        "pp_rank": options.pp_rank,
        "prefill_start_layer": first,
        "prefill_end_layer": memory.layer_ids[-1] + 1,
        "kv_layer_ids": memory.kv_layer_ids,
        "kv_data_mem_kinds": [options.memory] * len(memory.kv),
        "kv_head_num": heads,
        "total_kv_head_num": options.heads,
        "page_size": options.page_size,
        "kv_cache_dtype_str": "auto",
        "kv_layout": None,
        "gpu_id": 0,
        "ib_device": None,
        "system_dp_rank": 0,
        "rust_http_port": None,
        "mla_compression_ratios": None,
        "is_hybrid_mla_backend": False,
        "num_draft_entries": 0,
        "swa_kv_cache_layout": None,
    }


def _state(peer: LoadedRelease, memory: Memory) -> dict[str, Any]:
    flat = _regions("state", memory.state)
    more = ("state_dim_per_tensor", "state_conv_shard_groups", "state_slice_outer_counts")
    if not peer.has_class("base.conn", "StateType"):
        kind = "swa" if memory.state else "none"
        return {**flat, "state_type": kind, "state_dim_per_tensor": []}
    if not memory.state:
        empty = (*flat, "state_types", "state_layer_ids", *more)
        return {name: [] for name in empty}
    return {
        **{name: [values] for name, values in flat.items()},
        **{name: [[]] for name in more},
        "state_types": [peer.attribute("base.conn", "StateType").SWA],
        "state_layer_ids": [[]],
    }
