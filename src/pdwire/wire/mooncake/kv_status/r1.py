"""Codec of KV_STATUS, layout r1: 0.5.6–0.5.19.

GENERATED from protocol/mooncake/kv_status.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from pdwire.codec import seal, unfit
from pdwire.errors import WireError
from pdwire.frames import (
    Frames,
    Layout,
    Place,
    dec,
    leading,
    lossy,
    plain,
    put_dec,
    small,
    wrong_count,
)
from pdwire.wire.mooncake.kv_status.message import COUNTS, STRANGERS, Draft, KVStatus

__all__ = ["decode", "encode"]

_L = Layout("mooncake KV_STATUS", "r1", "0.5.6–0.5.19", (3,), COUNTS, number=0, strangers=STRANGERS)
_F0 = Place(_L, 0, "room", "a canonical decimal in 0..9223372036854775807", 0, 9223372036854775807)
_F1 = Place(_L, 1, "status", "a canonical decimal in 0..4", 0, 4)
_T1 = small(0, 4)
_F2 = Place(_L, 2, "prefill_rank", "a canonical decimal in 0..2147483647", 0, 2147483647)
_T2 = small(0, 2147483647)
_NO_FAILURE_REASON = Place(
    _L,
    None,
    "failure_reason",
    "the value that its absence means, for this layout does not carry it",
)


def decode(frames: Frames) -> KVStatus:
    """Frames of layout r1 to a KVStatus.

    Room, status and prefill rank, exactly three frames.
    """
    try:
        if len(frames) != 3:
            wrong_count(_L, frames)
        f0, f1, f2 = frames
        m = Draft()
        m.room = leading(f0, _F0)
        m.status = _T1[f1] if f1 in _T1 else dec(f1, _F1)
        m.prefill_rank = _T2[f2] if f2 in _T2 else dec(f2, _F2)
        m.failure_reason = None
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, KVStatus)


def encode(message: KVStatus) -> list[bytes]:
    """A KVStatus to frames of layout r1."""
    try:
        frames = [
            put_dec(message.room, _F0),
            put_dec(message.status, _F1),
            put_dec(message.prefill_rank, _F2),
        ]
        if message.failure_reason is not None:
            lossy(_NO_FAILURE_REASON, message.failure_reason)
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, KVStatus, _L, fault)
    return frames
