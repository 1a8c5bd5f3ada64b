"""The message KVArgsRegisterInfo: decode -> prefill.

GENERATED from protocol/nixl/kv_args_register_info.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from pdwire.codec import Message
from pdwire.frames import U32Array, U64Array, no_u32, no_u64

__all__ = ["COUNTS", "Draft", "KVArgsRegisterInfo"]

COUNTS: Final[dict[int, str]] = {
    11: "0.5.6–0.5.8.post1",
    12: "0.5.9–0.5.10.post1",
    14: "0.5.11",
    16: "0.5.12–0.5.12.post1",
    17: "0.5.13–0.5.14",
    19: "0.5.15–0.5.16",
    23: "0.5.17–0.5.22",
    24: "0.5.23",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KVArgsRegisterInfo(Message):
    """The message KVArgsRegisterInfo.

    Introduces one decode rank to one prefill rank: where to answer it, how to reach its NIXL agent,
    and where its KV, auxiliary and state memory lies. Sent once per pair, before the first
    TransferInfo that needs it; the prefill side keeps it under the agent's name.

    Travels decode -> prefill.

    The prefill loop drops the guard frame first; positions count from the frame behind it.

    Frame 0 is the text None where a TransferInfo has its room: that is how the loop tells the two
    apart.

    Every release's decoder tolerates missing frames from some position on, for the sake of older
    senders. No release sends fewer frames than its own layout, so each layout has one frame count.

    No decoder checks any two lists against each other apart from the memory kinds and item lengths,
    which 0.5.15 and later hold against the KV pointers.
    """

    endpoint: str
    """Address of the decode rank's control socket; an IPv6 address stands here without brackets.
    Unit: address."""

    dst_port: int
    """TCP port of the decode rank's control socket; the prefill side connects to it for status and
    staging messages. Unit: port."""

    agent_name: str
    """Name of the decode rank's NIXL agent (a UUID in every release). The key under which the
    prefill side files this registration. Unit: id."""

    agent_metadata: bytes
    """What the NIXL agent hands out about itself, unread by SGLang: the prefill side gives it to
    its own agent to open the way to the decode rank's memory."""

    gpu_id: int
    """Device ordinal, as the decode process counts, that NIXL descriptors of its device memory
    name. Memory of kind DRAM is described with device 0 instead. Unit: index."""

    decode_tp_size: int
    """Tensor-parallel size of the decode side's attention layers. 0.5.6 to 0.5.9 read it from the
    KV arguments, 0.5.10 and later from the manager. Unit: count."""

    decode_tp_rank: int
    """Attention tensor-parallel rank of the decode worker. Encoders keep it below decode_tp_size;
    the prefill side of the releases reduces it modulo decode_tp_size, so a larger one is no error
    there. Unit: rank."""

    dst_kv_ptrs: U64Array
    """Start address of each KV region of the decode rank, in the order of its pool (all K then all
    V for multi-head attention; one per layer for latent attention). Unit: address."""

    dst_kv_item_len: int
    """Bytes of one page in the first KV region; 0 where the rank has no KV region (0.5.17 and
    later; earlier encoders cannot register without one). Unit: bytes."""

    dst_kv_item_lens: U64Array = field(default_factory=no_u64)
    """Bytes of one page in each KV region, in the order of dst_kv_ptrs. A peer that does not send
    it has dst_kv_item_len everywhere. Unit: bytes."""

    dst_kv_mem_kinds: tuple[str, ...] = ()
    """Memory kind of each KV region, in the order of dst_kv_ptrs: device (VRAM) or host (DRAM). A
    peer that does not send it keeps everything in device memory."""

    dst_kv_layer_ids: U32Array = field(default_factory=no_u32)
    """Model layer that each KV region holds, in the order of dst_kv_ptrs; empty where the decode
    side leaves the layers to be inferred from the order. Unit: index."""

    dst_num_slots: int | None = None
    """Pages that every KV region of the decode rank can hold; the prefill side needs it to prepare
    descriptor lists once. None where the peer does not say, which turns prepared lists off. Unit:
    count."""

    dst_aux_ptrs: U64Array
    """Start address of each auxiliary buffer (first token, log-probabilities and the like) of the
    decode rank. Unit: address."""

    dst_state_data_ptrs: tuple[U64Array, ...] = ()
    """Start address of each state region, one list per state component; no components where the
    model keeps no state beside KV. Unit: address."""

    dst_state_item_lens: tuple[U32Array, ...] = ()
    """Bytes of one item in each state region, one list per component. 32 bits wide in every release
    that sends it: an item of 4 GiB or more makes the peer's encoder raise. Unit: bytes."""

    dst_state_dim_per_tensor: tuple[U32Array, ...] = ()
    """Elements along the dimension by which each state region is sharded, one list per component;
    an empty list for a component that is not sharded. Lets the prefill side slice state when
    tensor-parallel sizes differ. Unit: count."""

    dst_state_layer_ids: tuple[U32Array, ...] = ()
    """Model layer of each state region, one list per component. Unit: index."""

    dst_state_data_lens: tuple[U64Array, ...] = ()
    """Total bytes of each state region, one list per component; the prefill side needs them to
    prepare descriptor lists for state. Unit: bytes."""

    staging_base_ptr: int = 0
    """Base of the decode rank's staging ring; 0 where staging is off. Decoders read a frame of any
    length but 8 bytes as 0; here only the empty frame means 0. Unit: address."""

    staging_total_size: int = 0
    """Bytes of the decode rank's staging ring; 0 where staging is off. Unit: bytes."""

    dst_dcp_size: int = 1
    """Over how many ranks the decode side spreads the KV of one sequence; 1 where it does not.
    Unit: count."""

    dst_dcp_rank: int = 0
    """This rank's place among the dst_dcp_size ranks, from 0. Unit: rank."""


class Draft(Message):
    """A KVArgsRegisterInfo that is still being filled."""

    __slots__ = (
        "agent_metadata",
        "agent_name",
        "decode_tp_rank",
        "decode_tp_size",
        "dst_aux_ptrs",
        "dst_dcp_rank",
        "dst_dcp_size",
        "dst_kv_item_len",
        "dst_kv_item_lens",
        "dst_kv_layer_ids",
        "dst_kv_mem_kinds",
        "dst_kv_ptrs",
        "dst_num_slots",
        "dst_port",
        "dst_state_data_lens",
        "dst_state_data_ptrs",
        "dst_state_dim_per_tensor",
        "dst_state_item_lens",
        "dst_state_layer_ids",
        "endpoint",
        "gpu_id",
        "staging_base_ptr",
        "staging_total_size",
    )

    endpoint: str
    dst_port: int
    agent_name: str
    agent_metadata: bytes
    gpu_id: int
    decode_tp_size: int
    decode_tp_rank: int
    dst_kv_ptrs: U64Array
    dst_kv_item_len: int
    dst_kv_item_lens: U64Array
    dst_kv_mem_kinds: tuple[str, ...]
    dst_kv_layer_ids: U32Array
    dst_num_slots: int | None
    dst_aux_ptrs: U64Array
    dst_state_data_ptrs: tuple[U64Array, ...]
    dst_state_item_lens: tuple[U32Array, ...]
    dst_state_dim_per_tensor: tuple[U32Array, ...]
    dst_state_layer_ids: tuple[U32Array, ...]
    dst_state_data_lens: tuple[U64Array, ...]
    staging_base_ptr: int
    staging_total_size: int
    dst_dcp_size: int
    dst_dcp_rank: int
