"""Codec of KVArgsRegisterInfo, layout r3: 0.5.10–0.5.11.

GENERATED from protocol/mooncake/kv_args_register_info.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from pdwire.codec import seal, unfit
from pdwire.errors import WireError
from pdwire.frames import (
    FLAGS,
    HOSTPORTS,
    HOSTS,
    NO_U32,
    NO_U64,
    PORTS,
    U32,
    U64,
    Frames,
    Layout,
    Place,
    array,
    const,
    dec,
    flag,
    has_items,
    host,
    hostport,
    lossy,
    means,
    one_list,
    plain,
    port,
    put_array,
    put_dec,
    put_flag,
    put_host,
    put_hostport,
    put_one_list,
    put_u64,
    small,
    u64,
    wrong_count,
)
from pdwire.wire.mooncake.kv_args_register_info.message import COUNTS, Draft, KVArgsRegisterInfo

__all__ = ["decode", "encode"]

_L = Layout(
    "mooncake KVArgsRegisterInfo",
    "r3",
    "0.5.10–0.5.11",
    (15,),
    COUNTS,
    None,
    ((0, b"None"),),
)
_F0 = Place(_L, 0, "room", "the constant 'None'")
_F1 = Place(_L, 1, "endpoint", "an IP address or host name")
_F2 = Place(_L, 2, "dst_port", "a canonical decimal in 1..65535", 1, 65535)
_F3 = Place(_L, 3, "mooncake_session_id", "host:port, IPv6 in brackets")
_F4 = Place(_L, 4, "dst_kv_ptrs", "u64 items, a multiple of 8 bytes")
_F5 = Place(_L, 5, "dst_aux_ptrs", "u64 items, a multiple of 8 bytes")
_F6 = Place(_L, 6, "dst_state_data_ptrs", "u64 items, a multiple of 8 bytes")
_F7 = Place(_L, 7, "dst_tp_rank", "a canonical decimal in 0..2147483647", 0, 2147483647)
_T7 = small(0, 2147483647)
_F8 = Place(_L, 8, "dst_attn_tp_size", "a canonical decimal in 1..2147483647", 1, 2147483647)
_T8 = small(1, 2147483647)
_F9 = Place(
    _L,
    9,
    "dst_kv_item_len",
    "a canonical decimal in 0..9223372036854775807",
    0,
    9223372036854775807,
)
_F10 = Place(_L, 10, "dst_state_item_lens", "u32 items, a multiple of 4 bytes")
_F11 = Place(_L, 11, "dst_state_dim_per_tensor", "u32 items, a multiple of 4 bytes")
_F12 = Place(_L, 12, "enable_hisparse", "0 or 1")
_F13 = Place(
    _L,
    13,
    "staging_base_ptr",
    "8 bytes, little-endian in 0..18446744073709551615",
    0,
    18446744073709551615,
)
_F14 = Place(
    _L,
    14,
    "staging_total_size",
    "a canonical decimal in 0..9223372036854775807",
    0,
    9223372036854775807,
)
_NO_DST_KV_LAYER_IDS = Place(
    _L,
    None,
    "dst_kv_layer_ids",
    "the value that its absence means, for this layout does not carry it",
)
_NO_DST_STATE_LAYER_IDS = Place(
    _L,
    None,
    "dst_state_layer_ids",
    "the value that its absence means, for this layout does not carry it",
)
_NO_DST_DCP_SIZE = Place(
    _L,
    None,
    "dst_dcp_size",
    "the value that its absence means, for this layout does not carry it",
)
_NO_DST_DCP_RANK = Place(
    _L,
    None,
    "dst_dcp_rank",
    "the value that its absence means, for this layout does not carry it",
)
_NO_STAGING_SLOT_LAYER_IDS = Place(
    _L,
    None,
    "staging_slot_layer_ids",
    "the value that its absence means, for this layout does not carry it",
)
_NO_DST_KV_ITEM_LENS = Place(
    _L,
    None,
    "dst_kv_item_lens",
    "the value that its absence means, for this layout does not carry it",
)


def decode(frames: Frames) -> KVArgsRegisterInfo:
    """Frames of layout r3 to a KVArgsRegisterInfo.

    A HiSparse flag (frame 12) and the staging ring (frames 13 and 14) are added at the end. State
    stays flat.
    """
    try:
        if len(frames) != 15:
            wrong_count(_L, frames)
        f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14 = frames
        m = Draft()
        if f0 != b"None":
            const(f0, b"None", _F0)
        m.endpoint = HOSTS.get(f1) or host(f1, _F1)
        m.dst_port = PORTS.get(f2) or port(f2, _F2)
        m.mooncake_session_id = HOSTPORTS.get(f3) or hostport(f3, _F3)
        m.dst_kv_ptrs = array(f4, U64, _F4)
        m.dst_aux_ptrs = array(f5, U64, _F5)
        m.dst_state_data_ptrs = one_list(f6, U64, _F6)
        m.dst_tp_rank = _T7[f7] if f7 in _T7 else dec(f7, _F7)
        m.dst_attn_tp_size = _T8.get(f8) or dec(f8, _F8)
        m.dst_kv_item_len = dec(f9, _F9)
        m.dst_state_item_lens = one_list(f10, U32, _F10)
        m.dst_state_dim_per_tensor = one_list(f11, U32, _F11)
        m.enable_hisparse = FLAGS[f12] if f12 in FLAGS else flag(f12, _F12)
        m.staging_base_ptr = u64(f13, _F13) if len(f13) else 0
        m.staging_total_size = dec(f14, _F14) if len(f14) else 0
        m.dst_kv_layer_ids = NO_U32
        m.dst_state_layer_ids = ()
        m.dst_dcp_size = 1
        m.dst_dcp_rank = 0
        m.staging_slot_layer_ids = NO_U64
        m.dst_kv_item_lens = NO_U64
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, KVArgsRegisterInfo)


def encode(message: KVArgsRegisterInfo) -> list[bytes]:
    """A KVArgsRegisterInfo to frames of layout r3."""
    try:
        frames = [
            b"None",
            put_host(message.endpoint, _F1),
            put_dec(message.dst_port, _F2),
            put_hostport(message.mooncake_session_id, _F3),
            put_array(message.dst_kv_ptrs, U64, _F4),
            put_array(message.dst_aux_ptrs, U64, _F5),
            put_one_list(message.dst_state_data_ptrs, U64, _F6),
            put_dec(message.dst_tp_rank, _F7),
            put_dec(message.dst_attn_tp_size, _F8),
            put_dec(message.dst_kv_item_len, _F9),
            put_one_list(message.dst_state_item_lens, U32, _F10),
            put_one_list(message.dst_state_dim_per_tensor, U32, _F11),
            put_flag(message.enable_hisparse, _F12),
            b"" if means(message.staging_base_ptr, 0) else put_u64(message.staging_base_ptr, _F13),
            b""
            if means(message.staging_total_size, 0)
            else put_dec(message.staging_total_size, _F14),
        ]
        if has_items(message.dst_kv_layer_ids):
            lossy(_NO_DST_KV_LAYER_IDS, message.dst_kv_layer_ids)
        if has_items(message.dst_state_layer_ids):
            lossy(_NO_DST_STATE_LAYER_IDS, message.dst_state_layer_ids)
        if not means(message.dst_dcp_size, 1):
            lossy(_NO_DST_DCP_SIZE, message.dst_dcp_size)
        if not means(message.dst_dcp_rank, 0):
            lossy(_NO_DST_DCP_RANK, message.dst_dcp_rank)
        if has_items(message.staging_slot_layer_ids):
            lossy(_NO_STAGING_SLOT_LAYER_IDS, message.staging_slot_layer_ids)
        if has_items(message.dst_kv_item_lens):
            lossy(_NO_DST_KV_ITEM_LENS, message.dst_kv_item_lens)
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, KVArgsRegisterInfo, _L, fault)
    return frames
