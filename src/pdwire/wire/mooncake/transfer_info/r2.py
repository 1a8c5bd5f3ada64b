"""Codec of TransferInfo, layout r2: 0.5.12–0.5.16.

GENERATED from protocol/mooncake/transfer_info.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from pdwire.codec import seal, unfit
from pdwire.errors import WireError
from pdwire.frames import (
    HOSTPORTS,
    HOSTS,
    I32,
    NO_I32,
    PORTS,
    Frames,
    Layout,
    Place,
    array,
    broken,
    dec,
    has_items,
    host,
    hostport,
    leading,
    lists,
    lossy,
    plain,
    port,
    put_array,
    put_dec,
    put_host,
    put_hostport,
    put_lists,
    small,
    wrong_count,
)
from pdwire.wire.mooncake.transfer_info.message import COUNTS, STRANGERS, Draft, TransferInfo

__all__ = ["decode", "encode"]

_L = Layout(
    "mooncake TransferInfo",
    "r2",
    "0.5.12–0.5.16",
    (9,),
    COUNTS,
    number=0,
    strangers=STRANGERS,
)
_F0 = Place(_L, 0, "room", "a canonical decimal in 0..9223372036854775807", 0, 9223372036854775807)
_F1 = Place(_L, 1, "endpoint", "an IP address or host name")
_F2 = Place(_L, 2, "dst_port", "a canonical decimal in 1..65535", 1, 65535)
_F3 = Place(_L, 3, "mooncake_session_id", "host:port, IPv6 in brackets")
_F4 = Place(_L, 4, "dst_kv_indices", "i32 items, a multiple of 4 bytes")
_F5 = Place(_L, 5, "dst_aux_index", "a canonical decimal in 0..2147483647", 0, 2147483647)
_T5 = small(0, 2147483647)
_F6 = Place(_L, 6, "dst_state_indices", "nested i32 lists, every byte used")
_F7 = Place(_L, 7, "required_dst_info_num", "a canonical decimal in 1..2147483647", 1, 2147483647)
_T7 = small(1, 2147483647)
_F8 = Place(_L, 8, "decode_prefix_len", "a canonical decimal in 0..2147483647", 0, 2147483647)
_T8 = small(0, 2147483647)
_NO_DST_DEVICE_KV_INDICES = Place(
    _L,
    None,
    "dst_device_kv_indices",
    "the value that its absence means, for this layout does not carry it",
)
_NO_IS_DUMMY = Place(_L, None, "is_dummy", "what the layout's rule derives")


def _check(m: TransferInfo) -> None:
    """Raise InvariantError where fields contradict each other."""
    if m.dst_aux_index is None and len(m.dst_kv_indices):
        came = f"{len(m.dst_kv_indices)} dst_kv_indices, dst_aux_index {m.dst_aux_index}"
        broken(_L, "dst_aux_index where there is dst_kv_indices", came, "dst_aux_index")
    if m.dst_aux_index is None and len(m.dst_state_indices):
        came = f"{len(m.dst_state_indices)} dst_state_indices, dst_aux_index {m.dst_aux_index}"
        broken(_L, "dst_aux_index where there is dst_state_indices", came, "dst_aux_index")


def decode(frames: Frames) -> TransferInfo:
    """Frames of layout r2 to a TransferInfo.

    State indices become a list per component, and the length of the prefix that the decode side
    holds is added at the end.
    """
    try:
        if len(frames) != 9:
            wrong_count(_L, frames)
        f0, f1, f2, f3, f4, f5, f6, f7, f8 = frames
        m = Draft()
        m.room = leading(f0, _F0)
        m.endpoint = HOSTS.get(f1) or host(f1, _F1)
        m.dst_port = PORTS.get(f2) or port(f2, _F2)
        m.mooncake_session_id = HOSTPORTS.get(f3) or hostport(f3, _F3)
        m.dst_kv_indices = array(f4, I32, _F4)
        m.dst_aux_index = _T5[f5] if f5 in _T5 else dec(f5, _F5) if len(f5) else None
        m.dst_state_indices = lists(f6, I32, _F6) if f6 != b"" else ()
        m.required_dst_info_num = _T7.get(f7) or dec(f7, _F7)
        m.decode_prefix_len = _T8[f8] if f8 in _T8 else dec(f8, _F8) if len(f8) else None
        m.dst_device_kv_indices = NO_I32
        m.is_dummy = m.dst_aux_index is None and not len(m.dst_kv_indices)
        done = seal(m, TransferInfo)
        _check(done)
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return done


def encode(message: TransferInfo) -> list[bytes]:
    """A TransferInfo to frames of layout r2."""
    try:
        frames = [
            put_dec(message.room, _F0),
            put_host(message.endpoint, _F1),
            put_dec(message.dst_port, _F2),
            put_hostport(message.mooncake_session_id, _F3),
            put_array(message.dst_kv_indices, I32, _F4),
            b"" if message.dst_aux_index is None else put_dec(message.dst_aux_index, _F5),
            put_lists(message.dst_state_indices, I32, _F6),
            put_dec(message.required_dst_info_num, _F7),
            b"" if message.decode_prefix_len is None else put_dec(message.decode_prefix_len, _F8),
        ]
        if has_items(message.dst_device_kv_indices):
            lossy(_NO_DST_DEVICE_KV_INDICES, message.dst_device_kv_indices)
        derived = message.dst_aux_index is None and not len(message.dst_kv_indices)
        if message.is_dummy is not derived:
            lossy(_NO_IS_DUMMY, message.is_dummy)
        _check(message)
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, TransferInfo, _L, fault)
    return frames
