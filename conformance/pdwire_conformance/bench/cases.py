"""What is measured: messages as deployments send them, and the sizes that matter.

A registration of a dense model has no state and, by default, no staging; the second one has
both. A request's metadata has one index a page: 16 pages are a short prompt, 2,000 a long
one, 131,072 the longest that anything is tested with. Values are in JSON form under the
spec's names, for all releases and backends together: each sends those that it has a frame
for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["CASES", "Case", "Values"]

Values = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One message and its values; ``other`` is for releases that cannot send ``values``."""

    name: str
    title: str
    message: str
    values: Values
    other: Values | None = None

    @property
    def choices(self) -> tuple[Values, ...]:
        """The values to try, in order."""
        return (self.values,) if self.other is None else (self.values, self.other)


_LAYERS = 80
_PTRS = 2 * _LAYERS
_BASE = 0x7F3A_4000_0000
_GIB = 1 << 30
_ROOM = 7_211_645_881_342_981_407  # the peers draw rooms below 2^63, so most are this long
_SESSION = "10.0.0.2:17000"
_AGENT = "f6e0b1c4-55a1-4a8e-9a77-2f2f4a1f7c11"
_PEER: Values = {
    "endpoint": "10.0.0.2",
    "dst_port": 5000,
    "mooncake_session_id": _SESSION,
    "agent_name": _AGENT,
}

_REGISTRATION: Values = _PEER | {
    "dst_kv_ptrs": [_BASE + n * _GIB for n in range(_PTRS)],
    "dst_kv_item_len": 65_536,
    "dst_kv_item_lens": [65_536] * _PTRS,
    "dst_kv_layer_ids": [n % _LAYERS for n in range(_PTRS)],
    "dst_kv_mem_kinds": ["VRAM"] * _PTRS,
    "dst_num_slots": 4_096,
    "dst_aux_ptrs": [_BASE - (n + 1) * 65_536 for n in range(8)],
    "dst_state_data_ptrs": [],
    "dst_state_item_lens": [],
    "dst_state_dim_per_tensor": [],
    "dst_state_layer_ids": [],
    "dst_state_data_lens": [],
    "dst_tp_rank": 1,
    "dst_attn_tp_size": 2,
    "decode_tp_rank": 1,
    "decode_tp_size": 2,
    "gpu_id": 1,
    "agent_metadata": {"hex": bytes(n % 256 for n in range(400)).hex()},
    "dst_dcp_size": 1,
    "dst_dcp_rank": 0,
    "enable_hisparse": False,
    "staging_base_ptr": 0,
    "staging_total_size": 0,
    "staging_slot_layer_ids": [],
}
_STATE: Values = {
    "dst_state_data_ptrs": [
        [_BASE + (part << 44) + n * _GIB for n in range(40)] for part in (1, 2)
    ],
    "dst_state_item_lens": [[8_448] * 40] * 2,
    "dst_state_dim_per_tensor": [[128] * 40] * 2,
    "dst_state_layer_ids": [list(range(40))] * 2,
    "dst_state_data_lens": [[_GIB] * 40] * 2,
    "staging_base_ptr": 0x7F3C_0000_0000,
    "staging_total_size": 256 << 20,
    "staging_slot_layer_ids": [n % _LAYERS for n in range(_PTRS)],
}
_METADATA: Values = _PEER | {
    "room": _ROOM,
    "dst_aux_index": 3,
    "dst_state_indices": [],
    "dst_device_kv_indices": [],
    "required_dst_info_num": 1,
    "decode_prefix_len": 0,
    "is_dummy": False,
}
_STAGING_REQ: Values = {
    "room": _ROOM,
    "chunk_idx": 3,
    "chunk_num_pages": 128,
    "session_id": _SESSION,
    "requester_pp_rank": 0,
}


def _metadata(indices: int) -> Case:
    pages = [(7 * n) % 1_000_003 for n in range(indices)]
    return Case(
        name=f"metadata-{indices}",
        title=f"metadata, {indices:,}",
        message="TransferInfo",
        values=_METADATA | {"dst_kv_indices": pages},
    )


CASES: tuple[Case, ...] = (
    Case(
        name="registration-160",
        title="registration, 160 KV",
        message="KVArgsRegisterInfo",
        values=_REGISTRATION,
    ),
    Case(
        name="registration-160-state",
        title="… with state, staging",
        message="KVArgsRegisterInfo",
        values=_REGISTRATION | _STATE,
    ),
    _metadata(16),
    _metadata(2_000),
    _metadata(131_072),
    Case(
        name="status",
        title="status",
        message="KV_STATUS",
        values={"room": _ROOM, "status": 4, "prefill_rank": 3, "failure_reason": None},
    ),
    Case(
        name="staging-req",
        title="STAGING_REQ",
        message="STAGING_REQ",
        values=_STAGING_REQ,
        other=_STAGING_REQ | {"requester_pp_rank": None},
    ),
    Case(
        name="watermark",
        title="WATERMARK",
        message="WATERMARK",
        values={"round": 3, "tail": 123_456_789, "session_id": _SESSION},
    ),
)
