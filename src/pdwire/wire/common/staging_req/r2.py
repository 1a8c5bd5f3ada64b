"""Codec of STAGING_REQ, layout r2: 0.5.12–0.5.17.

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
    lossy,
    plain,
    put_dec,
    put_text,
    small,
    text,
    wrong_count,
)
from pdwire.wire.common.staging_req.message import COUNTS, Draft, StagingReq

__all__ = ["decode", "encode"]

_L = Layout("common STAGING_REQ", "r2", "0.5.12–0.5.17", (5,), COUNTS, None, ((0, b"STAGING_REQ"),))
_F0 = Place(_L, 0, "tag", "the constant 'STAGING_REQ'")
_F1 = Place(_L, 1, "room", "a canonical decimal in 0..9223372036854775807", 0, 9223372036854775807)
_F2 = Place(_L, 2, "chunk_idx", "a canonical decimal in 0..1048576", 0, 1048576)
_T2 = small(0, 1048576)
_F3 = Place(_L, 3, "chunk_num_pages", "a canonical decimal in 1..2147483647", 1, 2147483647)
_T3 = small(1, 2147483647)
_F4 = Place(_L, 4, "session_id", "printable ASCII without blanks")
_NO_REQUESTER_PP_RANK = Place(
    _L,
    None,
    "requester_pp_rank",
    "the value that its absence means, for this layout does not carry it",
)


def decode(frames: Frames) -> StagingReq:
    """Frames of layout r2 to a StagingReq.

    Nothing changes in the frames; NIXL speaks it too, with agent names as session ids.
    """
    try:
        if len(frames) != 5:
            wrong_count(_L, frames)
        f0, f1, f2, f3, f4 = frames
        m = Draft()
        if f0 != b"STAGING_REQ":
            const(f0, b"STAGING_REQ", _F0)
        m.room = dec(f1, _F1)
        m.chunk_idx = _T2[f2] if f2 in _T2 else dec(f2, _F2)
        m.chunk_num_pages = _T3.get(f3) or dec(f3, _F3)
        m.session_id = WORDS.get(f4) or text(f4, _F4)
        m.requester_pp_rank = None
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, StagingReq)


def encode(message: StagingReq) -> list[bytes]:
    """A StagingReq to frames of layout r2."""
    try:
        frames = [
            b"STAGING_REQ",
            put_dec(message.room, _F1),
            put_dec(message.chunk_idx, _F2),
            put_dec(message.chunk_num_pages, _F3),
            put_text(message.session_id, _F4),
        ]
        if message.requester_pp_rank is not None:
            lossy(_NO_REQUESTER_PP_RANK, message.requester_pp_rank)
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, StagingReq, _L, fault)
    return frames
