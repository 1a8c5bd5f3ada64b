"""The message NOTIF_STATE: prefill -> decode.

GENERATED from protocol/nixl/notif_state.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pdwire.codec import Message

__all__ = ["COUNTS", "Draft", "NotifState"]

COUNTS: Final[dict[int, str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NotifState(Message):
    """Says that a rank's per-request state, or one component of it, has been written.

    Travels prefill -> decode.

    It travels as the notification of the state write, with the last chunk only.

    Readers count a rank's state as complete with the first component that lands: nobody reads the
    component.
    """

    room: int
    """Room of the request. Unit: id."""

    pp_rank: int
    """Which prefill rank sends. Its PP rank in 0.5.9–0.5.10.post1, its engine rank in
    0.5.11–0.5.16, its transfer source rank from 0.5.17 on. Unit: rank."""

    component: int | None = None
    """Which component of the state has landed, in the order of the registration; None where the
    text does not say. No release reads it. Unit: count."""


class Draft(Message):
    """A NotifState that is still being filled."""

    __slots__ = ("component", "pp_rank", "room")

    room: int
    pp_rank: int
    component: int | None
