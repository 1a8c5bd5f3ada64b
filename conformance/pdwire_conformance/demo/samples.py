"""What the demo's decode rank announces: values as a small deployment has them.

One sample per field, under the field's name in the spec; a release sends those that it has
a frame for. Lists per state component hold one component, because layouts up to 0.5.11
carry no more. A test holds that every field of every layout has its sample.
"""

from __future__ import annotations

from typing import Any

Values = dict[str, Any]

MESSAGES = ("KVArgsRegisterInfo", "TransferInfo")
BACKENDS = ("mooncake", "nixl")

_GIB = 1 << 30
_KV_BASE = 0x7F3A_4000_0000
_LAYERS = 4
_KV_PTRS = [_KV_BASE + n * _GIB for n in range(_LAYERS)]

_REGISTRATION: Values = {
    "endpoint": "10.0.0.2",
    "dst_port": 5000,
    "dst_kv_ptrs": _KV_PTRS,
    "dst_kv_item_len": 65_536,
    "dst_kv_item_lens": [65_536] * _LAYERS,
    "dst_kv_layer_ids": list(range(_LAYERS)),
    "dst_aux_ptrs": [0x7F3A_2000_0000, 0x7F3A_2001_0000],
    "dst_state_data_ptrs": [[0x7F3B_0000_0000, 0x7F3B_1000_0000]],
    "dst_state_item_lens": [[8_448, 8_448]],
    "dst_state_dim_per_tensor": [[128, 128]],
    "dst_state_layer_ids": [[1, 3]],
    "staging_base_ptr": 0x7F3C_0000_0000,
    "staging_total_size": 256 << 20,
    "dst_dcp_size": 2,
    "dst_dcp_rank": 1,
}

_METADATA: Values = {
    "room": 7_211_645_881_342_981_407,
    "endpoint": "10.0.0.2",
    "dst_port": 5000,
    "dst_kv_indices": [4, 5, 6, 7, 32, 33],
    "dst_aux_index": 3,
    "dst_state_indices": [[9]],
    "required_dst_info_num": 1,
    "decode_prefix_len": 128,
    "is_dummy": False,
}

SAMPLES: dict[tuple[str, str], Values] = {
    ("mooncake", "KVArgsRegisterInfo"): _REGISTRATION
    | {
        "mooncake_session_id": "10.0.0.2:17000",
        "dst_tp_rank": 1,
        "dst_attn_tp_size": 2,
        "enable_hisparse": False,
        "staging_slot_layer_ids": list(range(_LAYERS)),
    },
    ("mooncake", "TransferInfo"): _METADATA
    | {"mooncake_session_id": "10.0.0.2:17000", "dst_device_kv_indices": [4, 5, 6, 7, 32, 33]},
    ("nixl", "KVArgsRegisterInfo"): _REGISTRATION
    | {
        "agent_name": "f6e0b1c4-55a1-4a8e-9a77-2f2f4a1f7c11",
        "agent_metadata": {"hex": "6e69786c00112233445566778899aabbccddeeff"},
        "gpu_id": 1,
        "decode_tp_size": 2,
        "decode_tp_rank": 1,
        "dst_kv_mem_kinds": ["VRAM"] * _LAYERS,
        "dst_num_slots": 4_096,
        "dst_state_data_lens": [[1 << 28, 1 << 28]],
    },
    ("nixl", "TransferInfo"): _METADATA | {"agent_name": "f6e0b1c4-55a1-4a8e-9a77-2f2f4a1f7c11"},
}
