"""The message NOTIF_KV: prefill -> decode.

GENERATED from protocol/nixl/notif_kv.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pdwire.codec import Message

__all__ = ["COUNTS", "Draft", "NotifKV"]

COUNTS: Final[dict[int, str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NotifKV(Message):
    """Says that one KV chunk, or one part of it, has been written into the decode rank's memory.

    Travels prefill -> decode.

    It travels as the notification of the NIXL write itself and reaches the decode rank when the
    bytes have; a DCP rank that owns no token of the chunk (0.5.17–0.5.22) gets it without a write.

    The releases' own reader takes a text without the rank as rank 0, which is how 0.5.6 wrote it;
    no release from 0.5.7 on writes it that way, so the later layouts demand it.
    """

    room: int
    """Room of the request. Unit: id."""

    chunk_id: int
    """Number of the chunk at the sending rank, from 0; with is_last, one less than the chunks in
    all. Unit: count."""

    is_last: bool
    """Whether the sending rank sends no further KV chunk of this request."""

    pp_rank: int = 0
    """Which prefill rank sends: chunks are counted per rank. Its PP rank up to 0.5.11, its engine
    rank in 0.5.12–0.5.16, its transfer source rank from 0.5.17 on. Unit: rank."""

    part_idx: int | None = None
    """Which part of the chunk has landed, from 0; None where the chunk is one write. Unit:
    count."""

    num_parts: int | None = None
    """How many parts the chunk has; None where the chunk is one write. The chunk counts once all
    have landed. Unit: count."""


class Draft(Message):
    """A NotifKV that is still being filled."""

    __slots__ = ("chunk_id", "is_last", "num_parts", "part_idx", "pp_rank", "room")

    room: int
    chunk_id: int
    is_last: bool
    pp_rank: int
    part_idx: int | None
    num_parts: int | None
