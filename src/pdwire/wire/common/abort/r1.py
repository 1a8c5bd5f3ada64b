"""Codec of ABORT, layout r1: 0.5.13–0.5.21.

GENERATED from protocol/common/abort.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from pdwire.codec import seal, unfit
from pdwire.errors import WireError
from pdwire.frames import (
    HOSTS,
    PORTS,
    Frames,
    Layout,
    Place,
    broken,
    const,
    dec,
    host,
    lossy,
    plain,
    port,
    put_dec,
    put_host,
    wrong_count,
)
from pdwire.wire.common.abort.message import COUNTS, AbortNotification, Draft

__all__ = ["decode", "encode"]

_L = Layout("common ABORT", "r1", "0.5.13–0.5.21", (4,), COUNTS, None, ((0, b"ABORT"),))
_F0 = Place(_L, 0, "tag", "the constant 'ABORT'")
_F1 = Place(_L, 1, "room", "a canonical decimal in 0..9223372036854775807", 0, 9223372036854775807)
_F2 = Place(_L, 2, "decode_ip", "an IP address or host name")
_F3 = Place(_L, 3, "decode_port", "a canonical decimal in 1..65535", 1, 65535)
_NO_GENERATION = Place(
    _L,
    None,
    "generation",
    "the value that its absence means, for this layout does not carry it",
)


def _check(m: AbortNotification) -> None:
    """Raise InvariantError where fields contradict each other."""
    if m.decode_port is None and m.decode_ip:
        came = f"decode_ip {m.decode_ip}, decode_port {m.decode_port}"
        broken(_L, "decode_port where there is decode_ip", came, "decode_port")
    if m.decode_port is not None and not m.decode_ip:
        came = f"decode_port {m.decode_port}, decode_ip {m.decode_ip}"
        broken(_L, "decode_ip where there is decode_port", came, "decode_ip")


def decode(frames: Frames) -> AbortNotification:
    """Frames of layout r1 to a AbortNotification.

    Room and the address for an answer.
    """
    try:
        if len(frames) != 4:
            wrong_count(_L, frames)
        f0, f1, f2, f3 = frames
        m = Draft()
        if f0 != b"ABORT":
            const(f0, b"ABORT", _F0)
        m.room = dec(f1, _F1)
        m.decode_ip = HOSTS.get(f2) or host(f2, _F2)
        m.decode_port = PORTS.get(f3) or port(f3, _F3)
        m.generation = None
        done = seal(m, AbortNotification)
        _check(done)
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return done


def encode(message: AbortNotification) -> list[bytes]:
    """A AbortNotification to frames of layout r1."""
    try:
        frames = [
            b"ABORT",
            put_dec(message.room, _F1),
            put_host(message.decode_ip, _F2),
            put_dec(message.decode_port, _F3),
        ]
        if message.generation is not None:
            lossy(_NO_GENERATION, message.generation)
        _check(message)
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, AbortNotification, _L, fault)
    return frames
