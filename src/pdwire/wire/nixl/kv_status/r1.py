"""Codec of KV_STATUS, layout r1: 0.5.20–0.5.23.

GENERATED from protocol/nixl/kv_status.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from pdwire.codec import seal, unfit
from pdwire.errors import WireError
from pdwire.frames import (
    Frames,
    Layout,
    Place,
    const,
    dec,
    plain,
    put_dec,
    put_utf8,
    small,
    utf8,
    wrong_count,
)
from pdwire.wire.nixl.kv_status.message import COUNTS, Draft, KVStatus

__all__ = ["decode", "encode"]

_L = Layout("nixl KV_STATUS", "r1", "0.5.20–0.5.23", (5,), COUNTS, None, ((0, b"KV_STATUS"),))
_F0 = Place(_L, 0, "tag", "the constant 'KV_STATUS'")
_F1 = Place(_L, 1, "room", "a canonical decimal in 0..9223372036854775807", 0, 9223372036854775807)
_F2 = Place(_L, 2, "status", "a canonical decimal in 0..4", 0, 4)
_T2 = small(0, 4)
_F3 = Place(_L, 3, "prefill_rank", "a canonical decimal in 0..2147483647", 0, 2147483647)
_T3 = small(0, 2147483647)
_F4 = Place(_L, 4, "failure_reason", "UTF-8 text")


def decode(frames: Frames) -> KVStatus:
    """Frames of layout r1 to a KVStatus.

    Tag, room, status, prefill rank, reason.
    """
    try:
        if len(frames) != 5:
            wrong_count(_L, frames)
        f0, f1, f2, f3, f4 = frames
        m = Draft()
        if f0 != b"KV_STATUS":
            const(f0, b"KV_STATUS", _F0)
        m.room = dec(f1, _F1)
        m.status = _T2[f2] if f2 in _T2 else dec(f2, _F2)
        m.prefill_rank = _T3[f3] if f3 in _T3 else dec(f3, _F3)
        m.failure_reason = utf8(f4, _F4) if len(f4) else None
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, KVStatus)


def encode(message: KVStatus) -> list[bytes]:
    """A KVStatus to frames of layout r1."""
    try:
        frames = [
            b"KV_STATUS",
            put_dec(message.room, _F1),
            put_dec(message.status, _F2),
            put_dec(message.prefill_rank, _F3),
            b"" if message.failure_reason is None else put_utf8(message.failure_reason, _F4),
        ]
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, KVStatus, _L, fault)
    return frames
