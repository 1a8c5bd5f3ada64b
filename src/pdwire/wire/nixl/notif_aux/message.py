"""The message NOTIF_AUX: prefill -> decode.

GENERATED from protocol/nixl/notif_aux.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pdwire.codec import Message

__all__ = ["COUNTS", "Draft", "NotifAux"]

COUNTS: Final[dict[int, str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NotifAux(Message):
    """The message NOTIF_AUX.

    Says that the request's auxiliary (metadata) row has been written, and, where the last chunk had
    no KV, how many KV chunks came before it.

    Travels prefill -> decode.

    It travels as the notification of the auxiliary write, with the last chunk only.
    """

    room: int
    """Room of the request. Unit: id."""

    pp_rank: int | None = None
    """Which prefill rank had no KV pages in its last chunk (the decode side held the whole prefix,
    or the rank keeps no KV); None where KV came with it. Unit: rank."""

    expected: int = 0
    """How many KV chunks of that rank came before; 0 where the text does not say. Unit: count."""


class Draft(Message):
    """A NotifAux that is still being filled."""

    __slots__ = ("expected", "pp_rank", "room")

    room: int
    pp_rank: int | None
    expected: int
