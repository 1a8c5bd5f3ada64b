"""Codec of NOTIF_STG, layout r1: 0.5.12–0.5.22.

GENERATED from protocol/nixl/notif_stg.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

import re

from pdwire.codec import seal, unfit
from pdwire.errors import WireError
from pdwire.frames import (
    Frames,
    Layout,
    Place,
    dec,
    flag,
    matched,
    plain,
    put_dec,
    put_flag,
    put_text,
    text,
)
from pdwire.wire.nixl.notif_stg.message import COUNTS, Draft, NotifStg

__all__ = ["decode", "encode"]

_L = Layout("nixl NOTIF_STG", "r1", "0.5.12–0.5.22", (1,), COUNTS)
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
_AT_CHUNK_IDX = Place(_L, None, "chunk_idx", "a canonical decimal in 0..1048576", 0, 1048576)
_AT_PAGE_START = Place(
    _L,
    None,
    "page_start",
    "a canonical decimal in 0..2147483647",
    0,
    2147483647,
)
_AT_NUM_PAGES = Place(_L, None, "num_pages", "a canonical decimal in 1..2147483647", 1, 2147483647)
_AT_AGENT_NAME = Place(_L, None, "agent_name", "printable ASCII without blanks")
_PATTERN = re.compile(
    rb"(?P<room>-?[0-9]+)_stg_(?P<chunk_id>-?[0-9]+)_(?P<is_last>[01])_(?P<pp_rank>-?[0-9]+)_(?P<chunk_idx>-?[0-9]+)_(?P<page_start>-?[0-9]+)_(?P<num_pages>-?[0-9]+)_(?P<agent_name>[!-~]+)",
)


def decode(frames: Frames) -> NotifStg:
    """The text of layout r1 to a NotifStg.

    The only form there ever was.
    """
    try:
        found = matched(
            frames,
            _PATTERN,
            "{room}_stg_{chunk_id}_{is_last}_{pp_rank}_{chunk_idx}_{page_start}_{num_pages}_{agent_name}",
            _L,
        )
        m = Draft()
        m.room = dec(found["room"], _AT_ROOM)
        m.chunk_id = dec(found["chunk_id"], _AT_CHUNK_ID)
        m.is_last = flag(found["is_last"], _AT_IS_LAST)
        m.pp_rank = dec(found["pp_rank"], _AT_PP_RANK)
        m.chunk_idx = dec(found["chunk_idx"], _AT_CHUNK_IDX)
        m.page_start = dec(found["page_start"], _AT_PAGE_START)
        m.num_pages = dec(found["num_pages"], _AT_NUM_PAGES)
        m.agent_name = text(found["agent_name"], _AT_AGENT_NAME)
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return seal(m, NotifStg)


def encode(message: NotifStg) -> list[bytes]:
    """A NotifStg to the text of layout r1."""
    try:
        parts = [
            put_dec(message.room, _AT_ROOM),
            b"_stg_",
            put_dec(message.chunk_id, _AT_CHUNK_ID),
            b"_",
            put_flag(message.is_last, _AT_IS_LAST),
            b"_",
            put_dec(message.pp_rank, _AT_PP_RANK),
            b"_",
            put_dec(message.chunk_idx, _AT_CHUNK_IDX),
            b"_",
            put_dec(message.page_start, _AT_PAGE_START),
            b"_",
            put_dec(message.num_pages, _AT_NUM_PAGES),
            b"_",
            put_text(message.agent_name, _AT_AGENT_NAME),
        ]
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, NotifStg, _L, fault)
    return [b"".join(parts)]
