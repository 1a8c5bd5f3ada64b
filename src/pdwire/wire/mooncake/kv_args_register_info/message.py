"""The message KVArgsRegisterInfo: decode -> prefill.

GENERATED from protocol/mooncake/kv_args_register_info.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from pdwire.codec import Message
from pdwire.frames import U32Array, U64Array, no_u32, no_u64

__all__ = ["COUNTS", "Draft", "KVArgsRegisterInfo"]

COUNTS: Final[dict[int, str]] = {
    10: "0.5.6–0.5.8.post1",
    12: "0.5.9",
    14: "0.5.13–0.5.16",
    15: "0.5.10–0.5.11, 0.5.12–0.5.12.post1",
    18: "0.5.17–0.5.18",
    19: "0.5.19–0.5.20",
    20: "0.5.21–0.5.23",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KVArgsRegisterInfo(Message):
    """The message KVArgsRegisterInfo.

    Announces one decode rank's KV, auxiliary and state memory to one prefill rank, so that the
    prefill rank can write into it. Sent once per pair of ranks, before the first request between
    them; the prefill side keeps it under the session id, and a later one of the same session
    replaces it.

    Travels decode -> prefill.

    Frame 0 is the text None where a TransferInfo has its room: that is how the prefill loop tells
    the two apart.

    Every release's decoder takes a missing frame behind frame 9 as empty, for the sake of older
    senders. No release sends fewer frames than its own layout, so each layout has one frame count.

    Pointer frames are native 64-bit words in the peers and little-endian on every machine that they
    run on; lists per state component are little-endian by construction.

    The peers' decoders cut a pointer frame down to whole words without a word about it; here a
    length that is no multiple of the width is an error of that frame.

    One item length per state pointer, and as many components in every state frame, is what the
    memory pools of all releases produce; the peers' decoders do not check it and neither does this
    layout, so whoever uses the lists has to.
    """

    endpoint: str
    """Address of the decode rank's control socket; an IPv6 address stands here without brackets.
    Unit: address."""

    dst_port: int
    """TCP port of the decode rank's control socket. Unit: port."""

    mooncake_session_id: str
    """Session of the decode rank's transfer engine, host and RPC port: the name under which the
    engine is written to and the key of everything else that the prefill side keeps about this rank.
    Ascend's engine uses the same form. Unit: id."""

    dst_kv_ptrs: U64Array
    """Start address of each KV region: one per layer for each of K and V, or one per layer where
    both share a region; a draft model's regions follow. Empty for a pool whose KV all travels as
    state. Unit: address."""

    dst_aux_ptrs: U64Array
    """Start address of each auxiliary buffer: first token, logprobs, and what else a request's
    metadata holds, one buffer per kind and one row per request. Unit: address."""

    dst_state_data_ptrs: tuple[U64Array, ...]
    """Start address of each state region (SSM state, sliding-window KV, indexer keys …), one list
    per state component. The order of the components is the same on both sides. Unit: address."""

    dst_tp_rank: int
    """Attention tensor-parallel rank of the sender. Encoders keep it below the size; readers reduce
    it modulo the size, so a larger one is no error. Unit: rank."""

    dst_attn_tp_size: int
    """Attention tensor-parallel size of the decode side; where it differs from the prefill side's,
    heads are sliced. Unit: count."""

    dst_kv_item_len: int
    """Bytes of one page in the first KV region; 0 from 0.5.17 on where there is no KV region. Unit:
    bytes."""

    dst_state_item_lens: tuple[U32Array, ...] = ()
    """Bytes of one item in each state region, one list per state component. Unit: bytes."""

    dst_state_dim_per_tensor: tuple[U32Array, ...] = ()
    """Size of the dimension along which each state region is sharded over tensor-parallel ranks,
    one list per state component; an empty list for a component that is never sliced. Unit:
    count."""

    enable_hisparse: bool = False
    """Whether the decode side receives KV into host memory at token granularity (HiSparse). Only
    0.5.10 to 0.5.12.post1 say so."""

    dst_kv_layer_ids: U32Array = field(default_factory=no_u32)
    """Model layer of each KV region, so that a pipelined prefill rank finds its own layers; empty
    for pools that are paired by position. In 0.5.17 and 0.5.18 also empty wherever there is a draft
    model. Unit: index."""

    dst_state_layer_ids: tuple[U32Array, ...] = ()
    """Model layer of each state region, one list per state component; an empty list for a component
    that is paired by position. Unit: index."""

    staging_base_ptr: int = 0
    """Base of the decode rank's staging ring; 0 and an empty frame both mean that staging is off.
    Unit: address."""

    staging_total_size: int = 0
    """Size of the decode rank's staging ring; 0 and an empty frame both mean that staging is off.
    Staging is on for the peers when either of the two is not 0. Unit: bytes."""

    dst_dcp_size: int = 1
    """Decode context-parallel size: over how many ranks one sequence's KV is spread; 1 where it is
    not. Unit: count."""

    dst_dcp_rank: int = 0
    """The sender's place among the decode context-parallel ranks. Unit: rank."""

    staging_slot_layer_ids: U64Array = field(default_factory=no_u64)
    """Model layer of each buffer in the order in which staged data is laid out: all K buffers, then
    all V buffers, the draft model's behind each; empty where the order is that of the KV pointers.
    Unit: index."""

    dst_kv_item_lens: U64Array = field(default_factory=no_u64)
    """Bytes of one page in each KV region, in the order of the pointers; empty before 0.5.21, where
    the first region's length stands for all. Unit: bytes."""


class Draft(Message):
    """A KVArgsRegisterInfo that is still being filled."""

    __slots__ = (
        "dst_attn_tp_size",
        "dst_aux_ptrs",
        "dst_dcp_rank",
        "dst_dcp_size",
        "dst_kv_item_len",
        "dst_kv_item_lens",
        "dst_kv_layer_ids",
        "dst_kv_ptrs",
        "dst_port",
        "dst_state_data_ptrs",
        "dst_state_dim_per_tensor",
        "dst_state_item_lens",
        "dst_state_layer_ids",
        "dst_tp_rank",
        "enable_hisparse",
        "endpoint",
        "mooncake_session_id",
        "staging_base_ptr",
        "staging_slot_layer_ids",
        "staging_total_size",
    )

    endpoint: str
    dst_port: int
    mooncake_session_id: str
    dst_kv_ptrs: U64Array
    dst_aux_ptrs: U64Array
    dst_state_data_ptrs: tuple[U64Array, ...]
    dst_tp_rank: int
    dst_attn_tp_size: int
    dst_kv_item_len: int
    dst_state_item_lens: tuple[U32Array, ...]
    dst_state_dim_per_tensor: tuple[U32Array, ...]
    enable_hisparse: bool
    dst_kv_layer_ids: U32Array
    dst_state_layer_ids: tuple[U32Array, ...]
    staging_base_ptr: int
    staging_total_size: int
    dst_dcp_size: int
    dst_dcp_rank: int
    staging_slot_layer_ids: U64Array
    dst_kv_item_lens: U64Array
