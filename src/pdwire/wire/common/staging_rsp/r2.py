"""Codec of STAGING_RSP, layout r2: 0.5.12–0.5.23.

GENERATED from protocol/common/staging_rsp.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from pdwire.codec import seal, unfit
from pdwire.errors import WireError
from pdwire.frames import (
    WORDS,
    Frames,
    Layout,
    Place,
    const,
    dec,
    plain,
    put_dec,
    put_text,
    small,
    text,
    wrong_count,
)
from pdwire.wire.common.staging_rsp.message import COUNTS, Draft, StagingRsp

__all__ = ["decode", "encode"]

_L = Layout("common STAGING_RSP", "r2", "0.5.12–0.5.23", (7,), COUNTS, None, ((0, b"STAGING_RSP"),))
_F0 = Place(_L, 0, "tag", "the constant 'STAGING_RSP'")
_F1 = Place(_L, 1, "room", "a canonical decimal in 0..9223372036854775807", 0, 9223372036854775807)
_F2 = Place(_L, 2, "chunk_idx", "a canonical decimal in 0..1048576", 0, 1048576)
_T2 = small(0, 1048576)
_F3 = Place(
    _L,
    3,
    "offset",
    "a canonical decimal in -2..9223372036854775807",
    -2,
    9223372036854775807,
)
_F4 = Place(_L, 4, "round", "a canonical decimal in 0..9223372036854775807", 0, 9223372036854775807)
_T4 = small(0, 9223372036854775807)
_F5 = Place(_L, 5, "end", "a canonical decimal in -1..9223372036854775807", -1, 9223372036854775807)
_F6 = Place(_L, 6, "session_id", "printable ASCII without blanks")


def decode(frames: Frames) -> StagingRsp:
    """Frames of layout r2 to a StagingRsp.

    Nothing changes in the frames; NIXL speaks it too, with agent names as session ids.
    """
    try:
        if len(frames) != 7:
            wrong_count(_L, frames)
        f0, f1, f2, f3, f4, f5, f6 = frames
        m = Draft()
        if f0 != b"STAGING_RSP":
            const(f0, b"STAGING_RSP", _F0)
        m.room = dec(f1, _F1)
        m.chunk_idx = _T2[f2] if f2 in _T2 else dec(f2, _F2)
        m.offset = dec(f3, _F3)
        m.round = _T4[f4] if f4 in _T4 else dec(f4, _F4)
        m.end = dec(f5, _F5)
        m.session_id = WORDS.get(f6) or text(f6, _F6)
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, StagingRsp)


def encode(message: StagingRsp) -> list[bytes]:
    """A StagingRsp to frames of layout r2."""
    try:
        frames = [
            b"STAGING_RSP",
            put_dec(message.room, _F1),
            put_dec(message.chunk_idx, _F2),
            put_dec(message.offset, _F3),
            put_dec(message.round, _F4),
            put_dec(message.end, _F5),
            put_text(message.session_id, _F6),
        ]
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, StagingRsp, _L, fault)
    return frames
