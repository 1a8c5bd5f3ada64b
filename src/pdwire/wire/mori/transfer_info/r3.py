"""Codec of TransferInfo, layout r3: 0.5.13–0.5.13.post1.

GENERATED from protocol/mori/transfer_info.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from pdwire.codec import seal, unfit
from pdwire.errors import WireError
from pdwire.frames import (
    HOSTS,
    I32,
    PORTS,
    WORDS,
    Frames,
    Layout,
    Place,
    array,
    dec,
    guarded,
    host,
    leading,
    lists,
    lossy,
    means,
    plain,
    port,
    put_array,
    put_dec,
    put_host,
    put_lists,
    put_text,
    small,
    text,
    wrong_count,
)
from pdwire.wire.mori.transfer_info.message import COUNTS, STRANGERS, Draft, TransferInfo

__all__ = ["decode", "encode"]

_L = Layout(
    "mori TransferInfo",
    "r3",
    "0.5.13–0.5.13.post1",
    (8,),
    COUNTS,
    b"MoriMsgGuard",
    number=1,
    strangers=STRANGERS,
)
_F0 = Place(_L, 0, "room", "a canonical decimal in 0..9223372036854775807", 0, 9223372036854775807)
_F1 = Place(_L, 1, "endpoint", "an IP address or host name")
_F2 = Place(_L, 2, "dst_port", "a canonical decimal in 1..65535", 1, 65535)
_F3 = Place(_L, 3, "engine_key", "printable ASCII without blanks")
_F4 = Place(_L, 4, "dst_kv_indices", "i32 items, a multiple of 4 bytes")
_F5 = Place(_L, 5, "dst_aux_index", "a canonical decimal in 0..2147483647", 0, 2147483647)
_T5 = small(0, 2147483647)
_F6 = Place(_L, 6, "dst_state_indices", "nested i32 lists, every byte used")
_F7 = Place(_L, 7, "required_dst_info_num", "a canonical decimal in 1..2147483647", 1, 2147483647)
_T7 = small(1, 2147483647)
_NO_DECODE_PREFIX_LEN = Place(
    _L,
    None,
    "decode_prefix_len",
    "the value that its absence means, for this layout does not carry it",
)
_NO_IS_DUMMY = Place(_L, None, "is_dummy", "what the layout's rule derives")


def decode(frames: Frames) -> TransferInfo:
    """Frames of layout r3 to a TransferInfo.

    State indices become a list per component.
    """
    try:
        if len(frames) != 9:
            wrong_count(_L, frames)
        guard, f0, f1, f2, f3, f4, f5, f6, f7 = frames
        if guard != b"MoriMsgGuard":
            guarded(guard, _L)
        m = Draft()
        m.room = leading(f0, _F0)
        m.endpoint = HOSTS.get(f1) or host(f1, _F1)
        m.dst_port = PORTS.get(f2) or port(f2, _F2)
        m.engine_key = WORDS.get(f3) or text(f3, _F3)
        m.dst_kv_indices = array(f4, I32, _F4)
        m.dst_aux_index = _T5[f5] if f5 in _T5 else dec(f5, _F5) if len(f5) else -1
        m.dst_state_indices = lists(f6, I32, _F6) if f6 != b"" else ()
        m.required_dst_info_num = _T7.get(f7) or dec(f7, _F7)
        m.decode_prefix_len = None
        m.is_dummy = not len(m.dst_kv_indices) and m.dst_aux_index < 0
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, TransferInfo)


def encode(message: TransferInfo) -> list[bytes]:
    """A TransferInfo to frames of layout r3."""
    try:
        frames = [
            b"MoriMsgGuard",
            put_dec(message.room, _F0),
            put_host(message.endpoint, _F1),
            put_dec(message.dst_port, _F2),
            put_text(message.engine_key, _F3),
            put_array(message.dst_kv_indices, I32, _F4),
            b"" if means(message.dst_aux_index, -1) else put_dec(message.dst_aux_index, _F5),
            put_lists(message.dst_state_indices, I32, _F6),
            put_dec(message.required_dst_info_num, _F7),
        ]
        if message.decode_prefix_len is not None:
            lossy(_NO_DECODE_PREFIX_LEN, message.decode_prefix_len)
        derived = not len(message.dst_kv_indices) and message.dst_aux_index < 0
        if message.is_dummy is not derived:
            lossy(_NO_IS_DUMMY, message.is_dummy)
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, TransferInfo, _L, fault)
    return frames
