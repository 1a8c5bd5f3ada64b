"""Codec of ABORT_ACK, layout r1: 0.5.13–0.5.18.

GENERATED from protocol/common/abort_ack.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from pdwire.codec import seal, unfit
from pdwire.errors import WireError
from pdwire.frames import Frames, Layout, Place, const, dec, lossy, plain, put_dec, wrong_count
from pdwire.wire.common.abort_ack.message import COUNTS, AbortAck, Draft

__all__ = ["decode", "encode"]

_L = Layout("common ABORT_ACK", "r1", "0.5.13–0.5.18", (2,), COUNTS, None, ((0, b"ABORT_ACK"),))
_F0 = Place(_L, 0, "tag", "the constant 'ABORT_ACK'")
_F1 = Place(_L, 1, "room", "a canonical decimal in 0..9223372036854775807", 0, 9223372036854775807)
_NO_PREFILL_RANK = Place(
    _L,
    None,
    "prefill_rank",
    "the value that its absence means, for this layout does not carry it",
)
_NO_GENERATION = Place(
    _L,
    None,
    "generation",
    "the value that its absence means, for this layout does not carry it",
)


def decode(frames: Frames) -> AbortAck:
    """Frames of layout r1 to a AbortAck.

    Tag and room: a bare receipt, which the decode side only logs.
    """
    try:
        if len(frames) != 2:
            wrong_count(_L, frames)
        f0, f1 = frames
        m = Draft()
        if f0 != b"ABORT_ACK":
            const(f0, b"ABORT_ACK", _F0)
        m.room = dec(f1, _F1)
        m.prefill_rank = None
        m.generation = None
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, AbortAck)


def encode(message: AbortAck) -> list[bytes]:
    """A AbortAck to frames of layout r1."""
    try:
        frames = [b"ABORT_ACK", put_dec(message.room, _F1)]
        if message.prefill_rank is not None:
            lossy(_NO_PREFILL_RANK, message.prefill_rank)
        if message.generation is not None:
            lossy(_NO_GENERATION, message.generation)
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, AbortAck, _L, fault)
    return frames
