"""Codec of WATERMARK, layout r2: 0.5.12–0.5.23.

GENERATED from protocol/common/watermark.toml by `pdwire generate`. Do not edit.
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
from pdwire.wire.common.watermark.message import COUNTS, Draft, Watermark

__all__ = ["decode", "encode"]

_L = Layout("common WATERMARK", "r2", "0.5.12–0.5.23", (4,), COUNTS, None, ((0, b"WATERMARK"),))
_F0 = Place(_L, 0, "tag", "the constant 'WATERMARK'")
_F1 = Place(_L, 1, "round", "a canonical decimal in 0..9223372036854775807", 0, 9223372036854775807)
_T1 = small(0, 9223372036854775807)
_F2 = Place(_L, 2, "tail", "a canonical decimal in 0..9223372036854775807", 0, 9223372036854775807)
_F3 = Place(_L, 3, "session_id", "printable ASCII without blanks")


def decode(frames: Frames) -> Watermark:
    """Frames of layout r2 to a Watermark.

    Nothing changes in the frames; NIXL speaks it too, with agent names as session ids.
    """
    try:
        if len(frames) != 4:
            wrong_count(_L, frames)
        f0, f1, f2, f3 = frames
        m = Draft()
        if f0 != b"WATERMARK":
            const(f0, b"WATERMARK", _F0)
        m.round = _T1[f1] if f1 in _T1 else dec(f1, _F1)
        m.tail = dec(f2, _F2)
        m.session_id = WORDS.get(f3) or text(f3, _F3)
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, Watermark)


def encode(message: Watermark) -> list[bytes]:
    """A Watermark to frames of layout r2."""
    try:
        frames = [
            b"WATERMARK",
            put_dec(message.round, _F1),
            put_dec(message.tail, _F2),
            put_text(message.session_id, _F3),
        ]
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, Watermark, _L, fault)
    return frames
