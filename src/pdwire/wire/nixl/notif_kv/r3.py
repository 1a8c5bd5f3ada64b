"""Codec of NOTIF_KV, layout r3: 0.5.15–0.5.22.

GENERATED from protocol/nixl/notif_kv.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

import re

from pdwire.codec import seal, unfit
from pdwire.errors import WireError
from pdwire.frames import (
    Frames,
    Layout,
    Place,
    broken,
    dec,
    flag,
    matched,
    plain,
    put_dec,
    put_flag,
)
from pdwire.wire.nixl.notif_kv.message import COUNTS, Draft, NotifKV

__all__ = ["decode", "encode"]

_L = Layout("nixl NOTIF_KV", "r3", "0.5.15–0.5.22", (1,), COUNTS)
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
_AT_PART_IDX = Place(_L, None, "part_idx", "a canonical decimal in 0..4095", 0, 4095)
_AT_NUM_PARTS = Place(_L, None, "num_parts", "a canonical decimal in 1..4096", 1, 4096)
_PATTERN = re.compile(
    rb"(?P<room>-?[0-9]+)_kv_(?P<chunk_id>-?[0-9]+)_(?P<is_last>[01])_(?P<pp_rank>-?[0-9]+)(?:_part_(?P<part_idx>-?[0-9]+)_(?P<num_parts>-?[0-9]+))?",
)


def _check(m: NotifKV) -> None:
    """Raise InvariantError where fields contradict each other."""
    if m.part_idx is not None and m.num_parts is not None and m.part_idx >= m.num_parts:
        came = f"part_idx {m.part_idx}, num_parts {m.num_parts}"
        broken(_L, "part_idx below num_parts", came, "num_parts")


def decode(frames: Frames) -> NotifKV:
    """The text of layout r3 to a NotifKV.

    A chunk may come in parts: one per run of layers with one memory kind on both sides, and from
    0.5.20 on one for the target and one for the draft model's layers.
    """
    try:
        found = matched(
            frames,
            _PATTERN,
            "{room}_kv_{chunk_id}_{is_last}_{pp_rank}[_part_{part_idx}_{num_parts}]",
            _L,
        )
        m = Draft()
        m.room = dec(found["room"], _AT_ROOM)
        m.chunk_id = dec(found["chunk_id"], _AT_CHUNK_ID)
        m.is_last = flag(found["is_last"], _AT_IS_LAST)
        m.pp_rank = dec(found["pp_rank"], _AT_PP_RANK)
        m.part_idx = None if found["part_idx"] is None else dec(found["part_idx"], _AT_PART_IDX)
        m.num_parts = None if found["num_parts"] is None else dec(found["num_parts"], _AT_NUM_PARTS)
        done = seal(m, NotifKV)
        _check(done)
    except WireError:
        raise
    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again
        return decode(plain(frames, _L))
    return done


def encode(message: NotifKV) -> list[bytes]:
    """A NotifKV to the text of layout r3."""
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
        if message.part_idx is not None or message.num_parts is not None:
            parts += [
                b"_part_",
                put_dec(message.part_idx, _AT_PART_IDX),
                b"_",
                put_dec(message.num_parts, _AT_NUM_PARTS),
            ]
        _check(message)
    except WireError:
        raise
    except Exception as fault:  # noqa: BLE001  # a value of another type: named there
        unfit(message, NotifKV, _L, fault)
    return [b"".join(parts)]
