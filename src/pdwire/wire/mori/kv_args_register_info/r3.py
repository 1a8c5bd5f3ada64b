"""Codec of KVArgsRegisterInfo, layout r3: 0.5.13–0.5.21.

GENERATED from protocol/mori/kv_args_register_info.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from pdwire.codec import seal, unfit
from pdwire.errors import WireError
from pdwire.frames import (
    HOSTS,
    NO_U32,
    PORTS,
    U32,
    Frames,
    Layout,
    Place,
    bin_lists,
    bins,
    const,
    dec,
    guarded,
    has_items,
    host,
    lists,
    lossy,
    means,
    opaque,
    plain,
    port,
    put_bin_lists,
    put_bins,
    put_dec,
    put_host,
    put_lists,
    put_opaque,
    small,
    wrong_count,
)
from pdwire.wire.mori.kv_args_register_info.message import COUNTS, Draft, KVArgsRegisterInfo

__all__ = ["decode", "encode"]

_L = Layout(
    "mori KVArgsRegisterInfo",
    "r3",
    "0.5.13–0.5.21",
    (13,),
    COUNTS,
    b"MoriMsgGuard",
    ((1, b"None"),),
)
_F0 = Place(_L, 0, "room", "the constant 'None'")
_F1 = Place(_L, 1, "endpoint", "an IP address or host name")
_F2 = Place(_L, 2, "dst_port", "a canonical decimal in 1..65535", 1, 65535)
_F3 = Place(_L, 3, "engine_desc", "bytes")
_F4 = Place(_L, 4, "dst_kv_mem_descs", "a msgpack array of bin")
_F5 = Place(_L, 5, "dst_aux_mem_descs", "a msgpack array of bin")
_F6 = Place(_L, 6, "dst_state_mem_descs", "a msgpack array of arrays of bin")
_F7 = Place(_L, 7, "gpu_id", "a canonical decimal in 0..2147483647", 0, 2147483647)
_T7 = small(0, 2147483647)
_F8 = Place(_L, 8, "decode_tp_size", "a canonical decimal in 1..2147483647", 1, 2147483647)
_T8 = small(1, 2147483647)
_F9 = Place(_L, 9, "decode_tp_rank", "a canonical decimal in 0..2147483647", 0, 2147483647)
_T9 = small(0, 2147483647)
_F10 = Place(
    _L,
    10,
    "dst_kv_item_len",
    "a canonical decimal in 0..9223372036854775807",
    0,
    9223372036854775807,
)
_F11 = Place(_L, 11, "dst_state_item_lens", "nested u32 lists, every byte used")
_F12 = Place(_L, 12, "dst_state_dim_per_tensor", "nested u32 lists, every byte used")
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


def decode(frames: Frames) -> KVArgsRegisterInfo:
    """Frames of layout r3 to a KVArgsRegisterInfo.

    The three state frames become lists per component.
    """
    try:
        if len(frames) != 14:
            wrong_count(_L, frames)
        guard, f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12 = frames
        if guard != b"MoriMsgGuard":
            guarded(guard, _L)
        m = Draft()
        if f0 != b"None":
            const(f0, b"None", _F0)
        m.endpoint = HOSTS.get(f1) or host(f1, _F1)
        m.dst_port = PORTS.get(f2) or port(f2, _F2)
        m.engine_desc = opaque(f3, _F3)
        m.dst_kv_mem_descs = bins(f4, _F4)
        m.dst_aux_mem_descs = bins(f5, _F5)
        m.dst_state_mem_descs = bin_lists(f6, _F6) if f6 != b"" else ()
        m.gpu_id = _T7[f7] if f7 in _T7 else dec(f7, _F7)
        m.decode_tp_size = _T8.get(f8) or dec(f8, _F8)
        m.decode_tp_rank = _T9[f9] if f9 in _T9 else dec(f9, _F9)
        m.dst_kv_item_len = dec(f10, _F10)
        m.dst_state_item_lens = lists(f11, U32, _F11) if f11 != b"" else ()
        m.dst_state_dim_per_tensor = lists(f12, U32, _F12) if f12 != b"" else ()
        m.dst_kv_layer_ids = NO_U32
        m.dst_state_layer_ids = ()
        m.dst_dcp_size = 1
        m.dst_dcp_rank = 0
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, KVArgsRegisterInfo)


def encode(message: KVArgsRegisterInfo) -> list[bytes]:
    """A KVArgsRegisterInfo to frames of layout r3."""
    try:
        frames = [
            b"MoriMsgGuard",
            b"None",
            put_host(message.endpoint, _F1),
            put_dec(message.dst_port, _F2),
            put_opaque(message.engine_desc, _F3),
            put_bins(message.dst_kv_mem_descs, _F4),
            put_bins(message.dst_aux_mem_descs, _F5),
            put_bin_lists(message.dst_state_mem_descs, _F6),
            put_dec(message.gpu_id, _F7),
            put_dec(message.decode_tp_size, _F8),
            put_dec(message.decode_tp_rank, _F9),
            put_dec(message.dst_kv_item_len, _F10),
            put_lists(message.dst_state_item_lens, U32, _F11),
            put_lists(message.dst_state_dim_per_tensor, U32, _F12),
        ]
        if has_items(message.dst_kv_layer_ids):
            lossy(_NO_DST_KV_LAYER_IDS, message.dst_kv_layer_ids)
        if has_items(message.dst_state_layer_ids):
            lossy(_NO_DST_STATE_LAYER_IDS, message.dst_state_layer_ids)
        if not means(message.dst_dcp_size, 1):
            lossy(_NO_DST_DCP_SIZE, message.dst_dcp_size)
        if not means(message.dst_dcp_rank, 0):
            lossy(_NO_DST_DCP_RANK, message.dst_dcp_rank)
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, KVArgsRegisterInfo, _L, fault)
    return frames
