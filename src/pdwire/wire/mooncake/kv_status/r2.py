"""Codec of KV_STATUS, layout r2: 0.5.20–0.5.23.

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
    plain,
    put_dec,
    put_utf8,
    small,
    utf8,
    wrong_count,
)
from pdwire.wire.mooncake.kv_status.message import COUNTS, STRANGERS, Draft, KVStatus

__all__ = ["decode", "encode"]

_L = Layout(
    "mooncake KV_STATUS",
    "r2",
    "0.5.20–0.5.23",
    (3, 4),
    COUNTS,
    number=0,
    strangers=STRANGERS,
)
_F0 = Place(_L, 0, "room", "a canonical decimal in 0..9223372036854775807", 0, 9223372036854775807)
_F1 = Place(_L, 1, "status", "a canonical decimal in 0..4", 0, 4)
_T1 = small(0, 4)
_F2 = Place(_L, 2, "prefill_rank", "a canonical decimal in 0..2147483647", 0, 2147483647)
_T2 = small(0, 2147483647)
_F3 = Place(_L, 3, "failure_reason", "UTF-8 text")


def decode(frames: Frames) -> KVStatus:
    """Frames of layout r2 to a KVStatus.

    A reason may follow: all backends now share one reader, which takes it from a fourth frame.
    """
    try:
        n = len(frames)
        if n not in {3, 4}:
            wrong_count(_L, frames)
        f0, f1, f2 = frames[:3]
        m = Draft()
        m.room = leading(f0, _F0)
        m.status = _T1[f1] if f1 in _T1 else dec(f1, _F1)
        m.prefill_rank = _T2[f2] if f2 in _T2 else dec(f2, _F2)
        if n > 3:
            f3 = frames[3]
            m.failure_reason = utf8(f3, _F3) if len(f3) else None
        else:
            m.failure_reason = None
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, KVStatus)


def encode(message: KVStatus) -> list[bytes]:
    """A KVStatus to frames of layout r2."""
    try:
        frames = [
            put_dec(message.room, _F0),
            put_dec(message.status, _F1),
            put_dec(message.prefill_rank, _F2),
        ]
        if message.failure_reason is not None:
            frames += [put_utf8(message.failure_reason, _F3)]
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, KVStatus, _L, fault)
    return frames
