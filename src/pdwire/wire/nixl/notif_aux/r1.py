"""Codec of NOTIF_AUX, layout r1: 0.5.6–0.5.10.post1.

GENERATED from protocol/nixl/notif_aux.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

import re

from pdwire.codec import seal, unfit
from pdwire.errors import WireError
from pdwire.frames import Frames, Layout, Place, dec, lossy, matched, means, plain, put_dec
from pdwire.wire.nixl.notif_aux.message import COUNTS, Draft, NotifAux

__all__ = ["decode", "encode"]

_L = Layout("nixl NOTIF_AUX", "r1", "0.5.6–0.5.10.post1", (1,), COUNTS)
_AT_ROOM = Place(
    _L,
    None,
    "room",
    "a canonical decimal in 0..9223372036854775807",
    0,
    9223372036854775807,
)
_NO_PP_RANK = Place(
    _L,
    None,
    "pp_rank",
    "the value that its absence means, for this layout does not carry it",
)
_NO_EXPECTED = Place(
    _L,
    None,
    "expected",
    "the value that its absence means, for this layout does not carry it",
)
_PATTERN = re.compile(rb"(?P<room>-?[0-9]+)_aux")


def decode(frames: Frames) -> NotifAux:
    """The text of layout r1 to a NotifAux.

    The bare tag.
    """
    try:
        found = matched(frames, _PATTERN, "{room}_aux", _L)
        m = Draft()
        m.room = dec(found["room"], _AT_ROOM)
        m.pp_rank = None
        m.expected = 0
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, NotifAux)


def encode(message: NotifAux) -> list[bytes]:
    """A NotifAux to the text of layout r1."""
    try:
        parts = [put_dec(message.room, _AT_ROOM), b"_aux"]
        if message.pp_rank is not None:
            lossy(_NO_PP_RANK, message.pp_rank)
        if not means(message.expected, 0):
            lossy(_NO_EXPECTED, message.expected)
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, NotifAux, _L, fault)
    return [b"".join(parts)]
