"""Codec of NOTIF_AUX, layout r3: 0.5.17–0.5.22.

GENERATED from protocol/nixl/notif_aux.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

import re

from pdwire.codec import seal, unfit
from pdwire.errors import WireError
from pdwire.frames import Frames, Layout, Place, dec, matched, means, plain, put_dec
from pdwire.wire.nixl.notif_aux.message import COUNTS, Draft, NotifAux

__all__ = ["decode", "encode"]

_L = Layout("nixl NOTIF_AUX", "r3", "0.5.17–0.5.22", (1,), COUNTS)
_AT_ROOM = Place(
    _L,
    None,
    "room",
    "a canonical decimal in 0..9223372036854775807",
    0,
    9223372036854775807,
)
_AT_PP_RANK = Place(_L, None, "pp_rank", "a canonical decimal in 0..2147483647", 0, 2147483647)
_AT_EXPECTED = Place(_L, None, "expected", "a canonical decimal in 0..2147483647", 0, 2147483647)
_PATTERN = re.compile(
    rb"(?P<room>-?[0-9]+)_aux(?:_nokv_(?P<pp_rank>-?[0-9]+)_(?P<expected>-?[0-9]+))?",
)


def decode(frames: Frames) -> NotifAux:
    """The text of layout r3 to a NotifAux.

    The count of earlier chunks is added: a rank may have sent KV before a last chunk without any.
    """
    try:
        found = matched(frames, _PATTERN, "{room}_aux[_nokv_{pp_rank}_{expected}]", _L)
        m = Draft()
        m.room = dec(found["room"], _AT_ROOM)
        m.pp_rank = None if found["pp_rank"] is None else dec(found["pp_rank"], _AT_PP_RANK)
        m.expected = 0 if found["expected"] is None else dec(found["expected"], _AT_EXPECTED)
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, NotifAux)


def encode(message: NotifAux) -> list[bytes]:
    """A NotifAux to the text of layout r3."""
    try:
        parts = [put_dec(message.room, _AT_ROOM), b"_aux"]
        if message.pp_rank is not None or not means(message.expected, 0):
            parts += [
                b"_nokv_",
                put_dec(message.pp_rank, _AT_PP_RANK),
                b"_",
                put_dec(message.expected, _AT_EXPECTED),
            ]
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, NotifAux, _L, fault)
    return [b"".join(parts)]
