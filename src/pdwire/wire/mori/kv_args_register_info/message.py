"""The message KVArgsRegisterInfo: decode -> prefill.

GENERATED from protocol/mori/kv_args_register_info.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from pdwire.codec import Message
from pdwire.frames import U32Array, no_u32

__all__ = ["COUNTS", "Draft", "KVArgsRegisterInfo"]

COUNTS: Final[dict[int, str]] = {
    11: "0.5.9–0.5.11",
    13: "0.5.12–0.5.12.post1, 0.5.13–0.5.21",
    17: "0.5.22–0.5.23",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KVArgsRegisterInfo(Message):
    """The message KVArgsRegisterInfo.

    Introduces one decode rank to one prefill rank: where to answer it, how to reach its Mori
    engine, and descriptions of its KV, auxiliary and state memory. Sent once per pair, before the
    first TransferInfo that needs it; the prefill side keeps it under the engine's key.

    Travels decode -> prefill.

    The prefill loop drops the guard frame first; positions count from the frame behind it.

    Frame 0 is the text None where a TransferInfo has its room: that is how the loop tells the two
    apart. Unlike NIXL's, the decoded record does not keep it.

    Memory travels as descriptions that only Mori can read, not as pointers. Each is opaque here;
    the frame around them is a msgpack array.

    The engine's key is inside its description: there is no frame for it in this message.

    Every release's decoder tolerates missing frames behind frame 10, for the sake of older senders.
    No release sends fewer frames than its own layout, so each layout has one frame count.

    No release checks one list against another when it decodes.
    """

    endpoint: str
    """Address of the decode rank's control socket; an IPv6 address stands here without brackets.
    Unit: address."""

    dst_port: int
    """TCP port of the decode rank's control socket; the prefill side connects to it for status and
    auxiliary data. Unit: port."""

    engine_desc: bytes
    """The decode rank's Mori engine, packed by Mori itself: key, addresses and identity. The
    prefill side registers it with its own engine."""

    gpu_id: int
    """Device ordinal of the decode rank, as its process counts. Kept by the prefill side for the
    record. Unit: index."""

    decode_tp_size: int
    """Tensor-parallel size of the decode side's attention layers. 0.5.9 reads it from the KV
    arguments, 0.5.10 and later from the manager. Unit: count."""

    decode_tp_rank: int
    """Attention tensor-parallel rank of the decode worker. Encoders keep it below decode_tp_size;
    the prefill side of the releases reduces it modulo decode_tp_size, so a larger one is no error
    there. Unit: rank."""

    dst_kv_mem_descs: tuple[bytes, ...]
    """Packed description of each KV region, in the order of the decode rank's pool."""

    dst_aux_mem_descs: tuple[bytes, ...]
    """Packed description of each auxiliary buffer of the decode rank."""

    dst_state_mem_descs: tuple[tuple[bytes | None, ...], ...] = ()
    """Packed description of each state region, one list per state component. From 0.5.22 nil stands
    for a region that the decode rank does not hold."""

    dst_kv_item_len: int
    """Bytes of one page in the first KV region. The encoders cannot register a rank without one.
    Unit: bytes."""

    dst_kv_layer_ids: U32Array = field(default_factory=no_u32)
    """Model layer that each KV region holds, in the order of dst_kv_mem_descs; empty where the
    layers are to be inferred from the order. Unit: index."""

    dst_state_item_lens: tuple[U32Array, ...] = ()
    """Bytes of one item in each state region, one list per component. 32 bits wide in every release
    that sends it: an item of 4 GiB or more makes the peer's encoder raise. Unit: bytes."""

    dst_state_dim_per_tensor: tuple[U32Array, ...] = ()
    """Elements along the dimension by which each state region is sharded, one list per component;
    an empty list for a component that is not sharded. Unit: count."""

    dst_state_layer_ids: tuple[U32Array, ...] = ()
    """Model layer of each state region, one list per component. Unit: index."""

    dst_dcp_size: int = 1
    """Over how many ranks the decode side spreads the KV of one sequence; 1 where it does not.
    Unit: count."""

    dst_dcp_rank: int = 0
    """This rank's place among the dst_dcp_size ranks, from 0. Unit: rank."""


class Draft(Message):
    """A KVArgsRegisterInfo that is still being filled."""

    __slots__ = (
        "decode_tp_rank",
        "decode_tp_size",
        "dst_aux_mem_descs",
        "dst_dcp_rank",
        "dst_dcp_size",
        "dst_kv_item_len",
        "dst_kv_layer_ids",
        "dst_kv_mem_descs",
        "dst_port",
        "dst_state_dim_per_tensor",
        "dst_state_item_lens",
        "dst_state_layer_ids",
        "dst_state_mem_descs",
        "endpoint",
        "engine_desc",
        "gpu_id",
    )

    endpoint: str
    dst_port: int
    engine_desc: bytes
    gpu_id: int
    decode_tp_size: int
    decode_tp_rank: int
    dst_kv_mem_descs: tuple[bytes, ...]
    dst_aux_mem_descs: tuple[bytes, ...]
    dst_state_mem_descs: tuple[tuple[bytes | None, ...], ...]
    dst_kv_item_len: int
    dst_kv_layer_ids: U32Array
    dst_state_item_lens: tuple[U32Array, ...]
    dst_state_dim_per_tensor: tuple[U32Array, ...]
    dst_state_layer_ids: tuple[U32Array, ...]
    dst_dcp_size: int
    dst_dcp_rank: int
