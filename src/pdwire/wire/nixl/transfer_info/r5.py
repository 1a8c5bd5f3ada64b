"""Codec of TransferInfo, layout r5: 0.5.17–0.5.23.

GENERATED from protocol/nixl/transfer_info.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from pdwire.codec import seal, unfit
from pdwire.errors import WireError
from pdwire.frames import (
    FLAGS,
    HOSTS,
    I32,
    PORTS,
    WORDS,
    Frames,
    Layout,
    Place,
    array,
    dec,
    flag,
    guarded,
    host,
    leading,
    lists,
    plain,
    port,
    put_array,
    put_dec,
    put_flag,
    put_host,
    put_lists,
    put_text,
    small,
    text,
    wrong_count,
)
from pdwire.wire.nixl.transfer_info.message import COUNTS, STRANGERS, Draft, TransferInfo

__all__ = ["decode", "encode"]

_L = Layout(
    "nixl TransferInfo",
    "r5",
    "0.5.17–0.5.23",
    (10,),
    COUNTS,
    b"NixlMsgGuard",
    number=1,
    strangers=STRANGERS,
)
_F0 = Place(_L, 0, "room", "a canonical decimal in 0..9223372036854775807", 0, 9223372036854775807)
_F1 = Place(_L, 1, "endpoint", "an IP address or host name")
_F2 = Place(_L, 2, "dst_port", "a canonical decimal in 1..65535", 1, 65535)
_F3 = Place(_L, 3, "agent_name", "printable ASCII without blanks")
_F4 = Place(_L, 4, "dst_kv_indices", "i32 items, a multiple of 4 bytes")
_F5 = Place(_L, 5, "dst_aux_index", "a canonical decimal in 0..2147483647", 0, 2147483647)
_T5 = small(0, 2147483647)
_F6 = Place(_L, 6, "required_dst_info_num", "a canonical decimal in 1..2147483647", 1, 2147483647)
_T6 = small(1, 2147483647)
_F7 = Place(_L, 7, "dst_state_indices", "nested i32 lists, every byte used")
_F8 = Place(_L, 8, "decode_prefix_len", "a canonical decimal in 0..2147483647", 0, 2147483647)
_T8 = small(0, 2147483647)
_F9 = Place(_L, 9, "is_dummy", "0 or 1")


def decode(frames: Frames) -> TransferInfo:
    """Frames of layout r5 to a TransferInfo.

    Whether the rank is a dummy is said outright in a frame at the end.
    """
    try:
        if len(frames) != 11:
            wrong_count(_L, frames)
        guard, f0, f1, f2, f3, f4, f5, f6, f7, f8, f9 = frames
        if guard != b"NixlMsgGuard":
            guarded(guard, _L)
        m = Draft()
        m.room = leading(f0, _F0)
        m.endpoint = HOSTS.get(f1) or host(f1, _F1)
        m.dst_port = PORTS.get(f2) or port(f2, _F2)
        m.agent_name = WORDS.get(f3) or text(f3, _F3)
        m.dst_kv_indices = array(f4, I32, _F4)
        m.dst_aux_index = _T5[f5] if f5 in _T5 else dec(f5, _F5)
        m.required_dst_info_num = _T6.get(f6) or dec(f6, _F6)
        m.dst_state_indices = lists(f7, I32, _F7) if f7 != b"" else ()
        m.decode_prefix_len = _T8[f8] if f8 in _T8 else dec(f8, _F8) if len(f8) else None
        m.is_dummy = (
            FLAGS[f9]
            if f9 in FLAGS
            else flag(f9, _F9)
            if len(f9)
            else not len(m.dst_kv_indices) and not m.decode_prefix_len
        )
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, TransferInfo)


def encode(message: TransferInfo) -> list[bytes]:
    """A TransferInfo to frames of layout r5."""
    try:
        frames = [
            b"NixlMsgGuard",
            put_dec(message.room, _F0),
            put_host(message.endpoint, _F1),
            put_dec(message.dst_port, _F2),
            put_text(message.agent_name, _F3),
            put_array(message.dst_kv_indices, I32, _F4),
            put_dec(message.dst_aux_index, _F5),
            put_dec(message.required_dst_info_num, _F6),
            put_lists(message.dst_state_indices, I32, _F7),
            b"" if message.decode_prefix_len is None else put_dec(message.decode_prefix_len, _F8),
            put_flag(message.is_dummy, _F9),
        ]
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, TransferInfo, _L, fault)
    return frames
