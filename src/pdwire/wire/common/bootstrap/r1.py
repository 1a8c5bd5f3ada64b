"""Codec of BOOTSTRAP, layout r1: 0.5.22–0.5.23.

GENERATED from protocol/common/bootstrap.toml by `pdwire generate`. Do not edit.
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
    const,
    dec,
    host,
    plain,
    port,
    put_dec,
    put_host,
    wrong_count,
)
from pdwire.wire.common.bootstrap.message import COUNTS, Bootstrap, Draft

__all__ = ["decode", "encode"]

_L = Layout("common BOOTSTRAP", "r1", "0.5.22–0.5.23", (4,), COUNTS, None, ((0, b"BOOTSTRAP"),))
_F0 = Place(_L, 0, "tag", "the constant 'BOOTSTRAP'")
_F1 = Place(_L, 1, "room", "a canonical decimal in 0..9223372036854775807", 0, 9223372036854775807)
_F2 = Place(_L, 2, "decode_ip", "an IP address or host name")
_F3 = Place(_L, 3, "decode_port", "a canonical decimal in 1..65535", 1, 65535)


def decode(frames: Frames) -> Bootstrap:
    """Frames of layout r1 to a Bootstrap.

    The only form there ever was.
    """
    try:
        if len(frames) != 4:
            wrong_count(_L, frames)
        f0, f1, f2, f3 = frames
        m = Draft()
        if f0 != b"BOOTSTRAP":
            const(f0, b"BOOTSTRAP", _F0)
        m.room = dec(f1, _F1)
        m.decode_ip = HOSTS.get(f2) or host(f2, _F2)
        m.decode_port = PORTS.get(f3) or port(f3, _F3)
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, Bootstrap)


def encode(message: Bootstrap) -> list[bytes]:
    """A Bootstrap to frames of layout r1."""
    try:
        frames = [
            b"BOOTSTRAP",
            put_dec(message.room, _F1),
            put_host(message.decode_ip, _F2),
            put_dec(message.decode_port, _F3),
        ]
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, Bootstrap, _L, fault)
    return frames
