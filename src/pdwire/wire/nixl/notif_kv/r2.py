"""Codec of NOTIF_KV, layout r2: 0.5.7–0.5.14.

GENERATED from protocol/nixl/notif_kv.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

import re

from pdwire.codec import seal, unfit
from pdwire.errors import WireError
from pdwire.frames import Frames, Layout, Place, dec, flag, lossy, matched, plain, put_dec, put_flag
from pdwire.wire.nixl.notif_kv.message import COUNTS, Draft, NotifKV

__all__ = ["decode", "encode"]

_L = Layout("nixl NOTIF_KV", "r2", "0.5.7–0.5.14", (1,), COUNTS)
_AT_ROOM = Place(
    _L,
    None,
    "room",
    "a canonical decimal in 0..9223372036854775807",
    0,
    9223372036854775807,
)
_AT_CHUNK_ID = Place(_L, None, "chunk_id", "a canonical decimal in 0..2147483647", 0, 2147483647)
_AT_IS_LAST = Place(_L, None, "is_last", "0 or 1")
_AT_PP_RANK = Place(_L, None, "pp_rank", "a canonical decimal in 0..2147483647", 0, 2147483647)
_NO_PART_IDX = Place(
    _L,
    None,
    "part_idx",
    "the value that its absence means, for this layout does not carry it",
)
_NO_NUM_PARTS = Place(
    _L,
    None,
    "num_parts",
    "the value that its absence means, for this layout does not carry it",
)
_PATTERN = re.compile(
    rb"(?P<room>-?[0-9]+)_kv_(?P<chunk_id>-?[0-9]+)_(?P<is_last>[01])_(?P<pp_rank>-?[0-9]+)",
)


def decode(frames: Frames) -> NotifKV:
    """The text of layout r2 to a NotifKV.

    The sending rank is added, so that chunks are counted per prefill rank.
    """
    try:
        found = matched(frames, _PATTERN, "{room}_kv_{chunk_id}_{is_last}_{pp_rank}", _L)
        m = Draft()
        m.room = dec(found["room"], _AT_ROOM)
        m.chunk_id = dec(found["chunk_id"], _AT_CHUNK_ID)
        m.is_last = flag(found["is_last"], _AT_IS_LAST)
        m.pp_rank = dec(found["pp_rank"], _AT_PP_RANK)
        m.part_idx = None
        m.num_parts = None
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, NotifKV)


def encode(message: NotifKV) -> list[bytes]:
    """A NotifKV to the text of layout r2."""
    try:
        parts = [
            put_dec(message.room, _AT_ROOM),
            b"_kv_",
            put_dec(message.chunk_id, _AT_CHUNK_ID),
            b"_",
            put_flag(message.is_last, _AT_IS_LAST),
            b"_",
            put_dec(message.pp_rank, _AT_PP_RANK),
        ]
        if message.part_idx is not None:
            lossy(_NO_PART_IDX, message.part_idx)
        if message.num_parts is not None:
            lossy(_NO_NUM_PARTS, message.num_parts)
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, NotifKV, _L, fault)
    return [b"".join(parts)]
