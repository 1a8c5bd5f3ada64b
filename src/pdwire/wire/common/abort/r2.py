"""Codec of ABORT, layout r2: 0.5.22–0.5.23.

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
    plain,
    port,
    put_dec,
    put_host,
    small,
    wrong_count,
)
from pdwire.wire.common.abort.message import COUNTS, AbortNotification, Draft

__all__ = ["decode", "encode"]

_L = Layout("common ABORT", "r2", "0.5.22–0.5.23", (2, 4, 5), COUNTS, None, ((0, b"ABORT"),))
_F0 = Place(_L, 0, "tag", "the constant 'ABORT'")
_F1 = Place(_L, 1, "room", "a canonical decimal in 0..9223372036854775807", 0, 9223372036854775807)
_F2 = Place(_L, 2, "decode_ip", "an IP address or host name")
_F3 = Place(_L, 3, "decode_port", "a canonical decimal in 1..65535", 1, 65535)
_F4 = Place(
    _L,
    4,
    "generation",
    "a canonical decimal in 0..9223372036854775807",
    0,
    9223372036854775807,
)
_T4 = small(0, 9223372036854775807)


def _check(m: AbortNotification) -> None:
    """Raise InvariantError where fields contradict each other."""
    if m.decode_port is None and m.decode_ip:
        came = f"decode_ip {m.decode_ip}, decode_port {m.decode_port}"
        broken(_L, "decode_port where there is decode_ip", came, "decode_port")
    if m.decode_port is not None and not m.decode_ip:
        came = f"decode_port {m.decode_port}, decode_ip {m.decode_ip}"
        broken(_L, "decode_ip where there is decode_port", came, "decode_ip")
    if m.generation is not None and not m.decode_ip:
        came = f"generation {m.generation}, decode_ip {m.decode_ip}"
        broken(_L, "decode_ip where there is generation", came, "decode_ip")


def decode(frames: Frames) -> AbortNotification:
    """Frames of layout r2 to a AbortNotification.

    The abort's generation may follow the address, and the address may be missing.
    """
    try:
        n = len(frames)
        if n not in {2, 4, 5}:
            wrong_count(_L, frames)
        f0, f1 = frames[:2]
        m = Draft()
        if f0 != b"ABORT":
            const(f0, b"ABORT", _F0)
        m.room = dec(f1, _F1)
        if n > 2:
            f2 = frames[2]
            m.decode_ip = HOSTS.get(f2) or host(f2, _F2)
        else:
            m.decode_ip = None
        if n > 3:
            f3 = frames[3]
            m.decode_port = PORTS.get(f3) or port(f3, _F3)
        else:
            m.decode_port = None
        if n > 4:
            f4 = frames[4]
            m.generation = _T4[f4] if f4 in _T4 else dec(f4, _F4)
        else:
            m.generation = None
        done = seal(m, AbortNotification)
        _check(done)
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return done


def encode(message: AbortNotification) -> list[bytes]:
    """A AbortNotification to frames of layout r2."""
    try:
        frames = [b"ABORT", put_dec(message.room, _F1)]
        if (
            message.decode_ip is not None
            or message.decode_port is not None
            or message.generation is not None
        ):
            frames += [put_host(message.decode_ip, _F2), put_dec(message.decode_port, _F3)]
        if message.generation is not None:
            frames += [put_dec(message.generation, _F4)]
        _check(message)
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, AbortNotification, _L, fault)
    return frames
