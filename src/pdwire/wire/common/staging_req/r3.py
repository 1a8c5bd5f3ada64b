"""Codec of STAGING_REQ, layout r3: 0.5.18–0.5.23.

GENERATED from protocol/common/staging_req.toml by `pdwire generate`. Do not edit.
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
from pdwire.wire.common.staging_req.message import COUNTS, Draft, StagingReq

__all__ = ["decode", "encode"]

_L = Layout(
    "common STAGING_REQ",
    "r3",
    "0.5.18–0.5.23",
    (5, 6),
    COUNTS,
    None,
    ((0, b"STAGING_REQ"),),
)
_F0 = Place(_L, 0, "tag", "the constant 'STAGING_REQ'")
_F1 = Place(_L, 1, "room", "a canonical decimal in 0..9223372036854775807", 0, 9223372036854775807)
_F2 = Place(_L, 2, "chunk_idx", "a canonical decimal in 0..1048576", 0, 1048576)
_T2 = small(0, 1048576)
_F3 = Place(_L, 3, "chunk_num_pages", "a canonical decimal in 1..2147483647", 1, 2147483647)
_T3 = small(1, 2147483647)
_F4 = Place(_L, 4, "session_id", "printable ASCII without blanks")
_F5 = Place(_L, 5, "requester_pp_rank", "a canonical decimal in 0..2147483647", 0, 2147483647)
_T5 = small(0, 2147483647)


def decode(frames: Frames) -> StagingReq:
    """Frames of layout r3 to a StagingReq.

    The asker's pipeline rank may follow, so that the answer goes only to its own stage.
    """
    try:
        n = len(frames)
        if n not in {5, 6}:
            wrong_count(_L, frames)
        f0, f1, f2, f3, f4 = frames[:5]
        m = Draft()
        if f0 != b"STAGING_REQ":
            const(f0, b"STAGING_REQ", _F0)
        m.room = dec(f1, _F1)
        m.chunk_idx = _T2[f2] if f2 in _T2 else dec(f2, _F2)
        m.chunk_num_pages = _T3.get(f3) or dec(f3, _F3)
        m.session_id = WORDS.get(f4) or text(f4, _F4)
        if n > 5:
            f5 = frames[5]
            m.requester_pp_rank = _T5[f5] if f5 in _T5 else dec(f5, _F5)
        else:
            m.requester_pp_rank = None
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, StagingReq)


def encode(message: StagingReq) -> list[bytes]:
    """A StagingReq to frames of layout r3."""
    try:
        frames = [
            b"STAGING_REQ",
            put_dec(message.room, _F1),
            put_dec(message.chunk_idx, _F2),
            put_dec(message.chunk_num_pages, _F3),
            put_text(message.session_id, _F4),
        ]
        if message.requester_pp_rank is not None:
            frames += [put_dec(message.requester_pp_rank, _F5)]
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, StagingReq, _L, fault)
    return frames
