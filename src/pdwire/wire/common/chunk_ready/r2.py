"""Codec of CHUNK_READY, layout r2: 0.5.23.

GENERATED from protocol/common/chunk_ready.toml by `pdwire generate`. Do not edit.
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
from pdwire.wire.common.chunk_ready.message import COUNTS, ChunkReady, Draft

__all__ = ["decode", "encode"]

_L = Layout("common CHUNK_READY", "r2", "0.5.23", (7,), COUNTS, None, ((0, b"CHUNK_READY"),))
_F0 = Place(_L, 0, "tag", "the constant 'CHUNK_READY'")
_F1 = Place(_L, 1, "room", "a canonical decimal in 0..9223372036854775807", 0, 9223372036854775807)
_F2 = Place(_L, 2, "chunk_idx", "a canonical decimal in 0..1048576", 0, 1048576)
_T2 = small(0, 1048576)
_F3 = Place(_L, 3, "page_start", "a canonical decimal in 0..2147483647", 0, 2147483647)
_T3 = small(0, 2147483647)
_F4 = Place(_L, 4, "num_pages", "a canonical decimal in 1..2147483647", 1, 2147483647)
_T4 = small(1, 2147483647)
_F5 = Place(_L, 5, "writer_id", "printable ASCII without blanks")
_F6 = Place(_L, 6, "prefill_rank", "a canonical decimal in 0..2147483647", 0, 2147483647)
_T6 = small(0, 2147483647)


def decode(frames: Frames) -> ChunkReady:
    """Frames of layout r2 to a ChunkReady.

    Nothing changes in the frames; NIXL speaks it too, with agent names as session ids.
    """
    try:
        if len(frames) != 7:
            wrong_count(_L, frames)
        f0, f1, f2, f3, f4, f5, f6 = frames
        m = Draft()
        if f0 != b"CHUNK_READY":
            const(f0, b"CHUNK_READY", _F0)
        m.room = dec(f1, _F1)
        m.chunk_idx = _T2[f2] if f2 in _T2 else dec(f2, _F2)
        m.page_start = _T3[f3] if f3 in _T3 else dec(f3, _F3)
        m.num_pages = _T4.get(f4) or dec(f4, _F4)
        m.writer_id = WORDS.get(f5) or text(f5, _F5)
        m.prefill_rank = _T6[f6] if f6 in _T6 else dec(f6, _F6)
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, ChunkReady)


def encode(message: ChunkReady) -> list[bytes]:
    """A ChunkReady to frames of layout r2."""
    try:
        frames = [
            b"CHUNK_READY",
            put_dec(message.room, _F1),
            put_dec(message.chunk_idx, _F2),
            put_dec(message.page_start, _F3),
            put_dec(message.num_pages, _F4),
            put_text(message.writer_id, _F5),
            put_dec(message.prefill_rank, _F6),
        ]
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, ChunkReady, _L, fault)
    return frames
