"""Codec of NOTIF_STATE, layout r1: 0.5.9–0.5.11.

GENERATED from protocol/nixl/notif_state.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

import re

from pdwire.codec import seal, unfit
from pdwire.errors import WireError
from pdwire.frames import Frames, Layout, Place, dec, matched, plain, put_dec
from pdwire.wire.nixl.notif_state.message import COUNTS, Draft, NotifState

__all__ = ["decode", "encode"]

_L = Layout("nixl NOTIF_STATE", "r1", "0.5.9–0.5.11", (1,), COUNTS)
_AT_ROOM = Place(
    _L,
    None,
    "room",
    "a canonical decimal in 0..9223372036854775807",
    0,
    9223372036854775807,
)
_AT_PP_RANK = Place(_L, None, "pp_rank", "a canonical decimal in 0..2147483647", 0, 2147483647)
_PATTERN = re.compile(rb"(?P<room>-?[0-9]+)_state_(?P<pp_rank>-?[0-9]+)")


def decode(frames: Frames) -> NotifState:
    """The text of layout r1 to a NotifState.

    One state per request.
    """
    try:
        found = matched(frames, _PATTERN, "{room}_state_{pp_rank}", _L)
        m = Draft()
        m.room = dec(found["room"], _AT_ROOM)
        m.pp_rank = dec(found["pp_rank"], _AT_PP_RANK)
        m.component = None
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, NotifState)


def encode(message: NotifState) -> list[bytes]:
    """A NotifState to the text of layout r1."""
    try:
        parts = [put_dec(message.room, _AT_ROOM), b"_state_", put_dec(message.pp_rank, _AT_PP_RANK)]
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, NotifState, _L, fault)
    return [b"".join(parts)]
