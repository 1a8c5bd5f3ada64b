"""Codec of KVArgsRegisterInfo, layout r7: 0.5.17–0.5.22.

GENERATED from protocol/nixl/kv_args_register_info.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from pdwire.codec import seal, unfit
from pdwire.errors import WireError
from pdwire.frames import (
    HOSTS,
    NO_U32,
    PORTS,
    U32,
    U64,
    WORDS,
    Frames,
    Layout,
    Place,
    array,
    array_of,
    broken,
    const,
    dec,
    guarded,
    has_items,
    host,
    lists,
    lossy,
    means,
    names,
    opaque,
    plain,
    port,
    put_array,
    put_dec,
    put_host,
    put_lists,
    put_names,
    put_opaque,
    put_repeat,
    put_text,
    put_u64,
    small,
    text,
    u64,
    wrong_count,
)
from pdwire.wire.nixl.kv_args_register_info.message import COUNTS, Draft, KVArgsRegisterInfo

__all__ = ["decode", "encode"]

_L = Layout(
    "nixl KVArgsRegisterInfo",
    "r7",
    "0.5.17–0.5.22",
    (23,),
    COUNTS,
    b"NixlMsgGuard",
    ((1, b"None"),),
)
_F0 = Place(_L, 0, "room", "the constant 'None'")
_F1 = Place(_L, 1, "endpoint", "an IP address or host name")
_F2 = Place(_L, 2, "dst_port", "a canonical decimal in 1..65535", 1, 65535)
_F3 = Place(_L, 3, "agent_name", "printable ASCII without blanks")
_F4 = Place(_L, 4, "agent_metadata", "bytes")
_F5 = Place(_L, 5, "dst_kv_ptrs", "u64 items, a multiple of 8 bytes")
_F6 = Place(_L, 6, "dst_aux_ptrs", "u64 items, a multiple of 8 bytes")
_F7 = Place(_L, 7, "dst_state_data_ptrs", "nested u64 lists, every byte used")
_F8 = Place(_L, 8, "gpu_id", "a canonical decimal in 0..2147483647", 0, 2147483647)
_T8 = small(0, 2147483647)
_F9 = Place(_L, 9, "decode_tp_size", "a canonical decimal in 1..2147483647", 1, 2147483647)
_T9 = small(1, 2147483647)
_F10 = Place(_L, 10, "decode_tp_rank", "a canonical decimal in 0..2147483647", 0, 2147483647)
_T10 = small(0, 2147483647)
_F11 = Place(
    _L,
    11,
    "dst_kv_item_len",
    "a canonical decimal in 0..9223372036854775807",
    0,
    9223372036854775807,
)
_F12 = Place(_L, 12, "dst_state_item_lens", "nested u32 lists, every byte used")
_F13 = Place(_L, 13, "dst_state_dim_per_tensor", "nested u32 lists, every byte used")
_F14 = Place(
    _L,
    14,
    "staging_base_ptr",
    "8 bytes, little-endian in 0..18446744073709551615",
    0,
    18446744073709551615,
)
_F15 = Place(
    _L,
    15,
    "staging_total_size",
    "a canonical decimal in 0..9223372036854775807",
    0,
    9223372036854775807,
)
_F16 = Place(
    _L,
    16,
    "dst_num_slots",
    "a canonical decimal in 0..9223372036854775807",
    0,
    9223372036854775807,
)
_T16 = small(0, 9223372036854775807)
_F17 = Place(_L, 17, "dst_kv_mem_kinds", "a comma list of VRAM, DRAM", allowed=("VRAM", "DRAM"))
_F18 = Place(_L, 18, "dst_kv_item_lens", "u64 items, a multiple of 8 bytes")
_F19 = Place(_L, 19, "dst_state_layer_ids", "nested u32 lists, every byte used")
_F20 = Place(_L, 20, "dst_kv_layer_ids", "u32 items, a multiple of 4 bytes")
_F21 = Place(_L, 21, "dst_dcp_size", "a canonical decimal in 1..2147483647", 1, 2147483647)
_T21 = small(1, 2147483647)
_F22 = Place(_L, 22, "dst_dcp_rank", "a canonical decimal in 0..2147483647", 0, 2147483647)
_T22 = small(0, 2147483647)
_NO_DST_STATE_DATA_LENS = Place(
    _L,
    None,
    "dst_state_data_lens",
    "the value that its absence means, for this layout does not carry it",
)


def _check(m: KVArgsRegisterInfo) -> None:
    """Raise InvariantError where fields contradict each other."""
    if len(m.dst_kv_ptrs) != len(m.dst_kv_mem_kinds):
        came = f"{len(m.dst_kv_ptrs)} dst_kv_ptrs, {len(m.dst_kv_mem_kinds)} dst_kv_mem_kinds"
        broken(_L, "as many dst_kv_mem_kinds as dst_kv_ptrs", came, "dst_kv_mem_kinds")
    if len(m.dst_kv_ptrs) != len(m.dst_kv_item_lens):
        came = f"{len(m.dst_kv_ptrs)} dst_kv_ptrs, {len(m.dst_kv_item_lens)} dst_kv_item_lens"
        broken(_L, "as many dst_kv_item_lens as dst_kv_ptrs", came, "dst_kv_item_lens")
    if m.dst_dcp_rank >= m.dst_dcp_size:
        came = f"dst_dcp_rank {m.dst_dcp_rank}, dst_dcp_size {m.dst_dcp_size}"
        broken(_L, "dst_dcp_rank below dst_dcp_size", came, "dst_dcp_size")


def decode(frames: Frames) -> KVArgsRegisterInfo:
    """Frames of layout r7 to a KVArgsRegisterInfo.

    Layer ids of state and KV regions, then decode context-parallel size and rank, are added at the
    end.
    """
    try:
        if len(frames) != 24:
            wrong_count(_L, frames)
        (
            guard,
            f0,
            f1,
            f2,
            f3,
            f4,
            f5,
            f6,
            f7,
            f8,
            f9,
            f10,
            f11,
            f12,
            f13,
            f14,
            f15,
            f16,
            f17,
            f18,
            f19,
            f20,
            f21,
            f22,
        ) = frames
        if guard != b"NixlMsgGuard":
            guarded(guard, _L)
        m = Draft()
        if f0 != b"None":
            const(f0, b"None", _F0)
        m.endpoint = HOSTS.get(f1) or host(f1, _F1)
        m.dst_port = PORTS.get(f2) or port(f2, _F2)
        m.agent_name = WORDS.get(f3) or text(f3, _F3)
        m.agent_metadata = opaque(f4, _F4)
        m.dst_kv_ptrs = array(f5, U64, _F5)
        m.dst_aux_ptrs = array(f6, U64, _F6)
        m.dst_state_data_ptrs = lists(f7, U64, _F7) if f7 != b"" else ()
        m.gpu_id = _T8[f8] if f8 in _T8 else dec(f8, _F8)
        m.decode_tp_size = _T9.get(f9) or dec(f9, _F9)
        m.decode_tp_rank = _T10[f10] if f10 in _T10 else dec(f10, _F10)
        m.dst_kv_item_len = dec(f11, _F11)
        m.dst_state_item_lens = lists(f12, U32, _F12) if f12 != b"" else ()
        m.dst_state_dim_per_tensor = lists(f13, U32, _F13) if f13 != b"" else ()
        m.staging_base_ptr = u64(f14, _F14) if len(f14) else 0
        m.staging_total_size = dec(f15, _F15) if len(f15) else 0
        m.dst_num_slots = _T16[f16] if f16 in _T16 else dec(f16, _F16) if len(f16) else None
        m.dst_state_layer_ids = lists(f19, U32, _F19) if f19 != b"" else ()
        m.dst_kv_layer_ids = array(f20, U32, _F20) if f20 != b"" else NO_U32
        m.dst_dcp_size = _T21.get(f21) or dec(f21, _F21) if len(f21) else 1
        m.dst_dcp_rank = _T22[f22] if f22 in _T22 else dec(f22, _F22) if len(f22) else 0
        m.dst_state_data_lens = ()
        m.dst_kv_mem_kinds = names(f17, _F17) if len(f17) else ("VRAM",) * len(m.dst_kv_ptrs)
        m.dst_kv_item_lens = (
            array(f18, U64, _F18)
            if len(f18)
            else array_of([m.dst_kv_item_len] * len(m.dst_kv_ptrs), U64)
        )
        done = seal(m, KVArgsRegisterInfo)
        _check(done)
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return done


def encode(message: KVArgsRegisterInfo) -> list[bytes]:
    """A KVArgsRegisterInfo to frames of layout r7."""
    try:
        frames = [
            b"NixlMsgGuard",
            b"None",
            put_host(message.endpoint, _F1),
            put_dec(message.dst_port, _F2),
            put_text(message.agent_name, _F3),
            put_opaque(message.agent_metadata, _F4),
            put_array(message.dst_kv_ptrs, U64, _F5),
            put_array(message.dst_aux_ptrs, U64, _F6),
            put_lists(message.dst_state_data_ptrs, U64, _F7),
            put_dec(message.gpu_id, _F8),
            put_dec(message.decode_tp_size, _F9),
            put_dec(message.decode_tp_rank, _F10),
            put_dec(message.dst_kv_item_len, _F11),
            put_lists(message.dst_state_item_lens, U32, _F12),
            put_lists(message.dst_state_dim_per_tensor, U32, _F13),
            b"" if means(message.staging_base_ptr, 0) else put_u64(message.staging_base_ptr, _F14),
            b""
            if means(message.staging_total_size, 0)
            else put_dec(message.staging_total_size, _F15),
            b"" if message.dst_num_slots is None else put_dec(message.dst_num_slots, _F16),
            put_names(message.dst_kv_mem_kinds, _F17)
            if has_items(message.dst_kv_mem_kinds)
            else put_repeat(len(message.dst_kv_ptrs), message.dst_kv_mem_kinds, _F17),
            put_array(message.dst_kv_item_lens, U64, _F18)
            if has_items(message.dst_kv_item_lens)
            else put_repeat(len(message.dst_kv_ptrs), message.dst_kv_item_lens, _F18),
            put_lists(message.dst_state_layer_ids, U32, _F19),
            put_array(message.dst_kv_layer_ids, U32, _F20),
            put_dec(message.dst_dcp_size, _F21),
            put_dec(message.dst_dcp_rank, _F22),
        ]
        if has_items(message.dst_state_data_lens):
            lossy(_NO_DST_STATE_DATA_LENS, message.dst_state_data_lens)
        _check(message)
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, KVArgsRegisterInfo, _L, fault)
    return frames
