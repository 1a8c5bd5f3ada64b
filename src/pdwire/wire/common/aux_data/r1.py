"""Codec of AUX_DATA, layout r1: mooncake 0.5.6–0.5.23; ascend 0.5.6–0.5.23; mori 0.5.9–0.5.23.

GENERATED from protocol/common/aux_data.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from pdwire.codec import seal, unfit
from pdwire.errors import WireError
from pdwire.frames import (
    Frames,
    Layout,
    Place,
    broken,
    const,
    dec,
    opaque,
    plain,
    put_dec,
    put_opaque,
    put_u32be,
    small,
    u32be,
    wrong_count,
)
from pdwire.wire.common.aux_data.message import COUNTS, AuxData, Draft

__all__ = ["decode", "encode"]

_L = Layout(
    "common AUX_DATA",
    "r1",
    "mooncake 0.5.6–0.5.23; ascend 0.5.6–0.5.23; mori 0.5.9–0.5.23",
    (6,),
    COUNTS,
    None,
    ((0, b"AUX_DATA"),),
)
_F0 = Place(_L, 0, "tag", "the constant 'AUX_DATA'")
_F1 = Place(_L, 1, "room", "a canonical decimal in 0..9223372036854775807", 0, 9223372036854775807)
_F2 = Place(_L, 2, "buffer_index", "a canonical decimal in 0..2147483647", 0, 2147483647)
_T2 = small(0, 2147483647)
_F3 = Place(_L, 3, "aux_index", "a canonical decimal in 0..2147483647", 0, 2147483647)
_T3 = small(0, 2147483647)
_F4 = Place(_L, 4, "data_length", "4 bytes, big-endian in 0..4294967295", 0, 4294967295)
_F5 = Place(_L, 5, "data", "bytes")


def decode(frames: Frames) -> AuxData:
    """Frames of layout r1 to a AuxData.

    The only form there ever was; Mori has it from its first release, 0.5.9, on.
    """
    try:
        if len(frames) != 6:
            wrong_count(_L, frames)
        f0, f1, f2, f3, f4, f5 = frames
        m = Draft()
        if f0 != b"AUX_DATA":
            const(f0, b"AUX_DATA", _F0)
        m.room = dec(f1, _F1)
        m.buffer_index = _T2[f2] if f2 in _T2 else dec(f2, _F2)
        m.aux_index = _T3[f3] if f3 in _T3 else dec(f3, _F3)
        m.data = opaque(f5, _F5)
        if u32be(f4, _F4) != len(m.data):
            says = f"{len(m.data)} bytes of data"
            broken(_L, "their number", says, "data_length")
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, AuxData)


def encode(message: AuxData) -> list[bytes]:
    """A AuxData to frames of layout r1."""
    try:
        frames = [
            b"AUX_DATA",
            put_dec(message.room, _F1),
            put_dec(message.buffer_index, _F2),
            put_dec(message.aux_index, _F3),
            put_u32be(len(message.data), _F4),
            put_opaque(message.data, _F5),
        ]
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, AuxData, _L, fault)
    return frames
