"""The message NOTIF_STG: prefill -> decode.

GENERATED from protocol/nixl/notif_stg.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pdwire.codec import Message

__all__ = ["COUNTS", "Draft", "NotifStg"]

COUNTS: Final[dict[int, str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NotifStg(Message):
    """The message NOTIF_STG.

    Says that one KV chunk has been written into the decode rank's staging ring and may be
    scattered.

    Travels prefill -> decode.

    It takes the place of the KV tag for a chunk that is staged: readers count the chunk by its
    first three numbers as there.

    The agent name is the receiver's own: the reader hands it on as the writer's name, so that
    several prefill ranks that stage for one receiver count under one name.
    """

    room: int
    """Room of the request. Unit: id."""

    chunk_id: int
    """Number of the chunk at the sending rank, from 0. Unit: count."""

    is_last: bool
    """Whether the sending rank sends no further KV chunk of this request."""

    pp_rank: int
    """Which prefill rank sends: its engine rank in 0.5.12–0.5.16, its transfer source rank from
    0.5.17 on. Unit: rank."""

    chunk_idx: int
    """Number of the chunk in the request's staging grid, from 0. Unit: count."""

    page_start: int
    """First page of the chunk within the request. Unit: pages."""

    num_pages: int
    """How many pages the chunk covers. Unit: pages."""

    agent_name: str
    """Name of the receiver's agent; it may hold underscores, for it takes the rest of the text.
    Unit: id."""


class Draft(Message):
    """A NotifStg that is still being filled."""

    __slots__ = (
        "agent_name",
        "chunk_id",
        "chunk_idx",
        "is_last",
        "num_pages",
        "page_start",
        "pp_rank",
        "room",
    )

    room: int
    chunk_id: int
    is_last: bool
    pp_rank: int
    chunk_idx: int
    page_start: int
    num_pages: int
    agent_name: str
