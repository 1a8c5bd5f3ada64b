"""The message ABORT_ACK: prefill -> decode.

GENERATED from protocol/common/abort_ack.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pdwire.codec import Message

__all__ = ["COUNTS", "AbortAck", "Draft"]

COUNTS: Final[dict[int, str]] = {
    2: "0.5.13–0.5.18, 0.5.19–0.5.21, 0.5.22–0.5.23",
    3: "0.5.19–0.5.21, 0.5.19–0.5.21, 0.5.22–0.5.23",
    4: "0.5.22–0.5.23",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AbortAck(Message):
    """Says that a prefill rank has taken note of an ABORT.

    With deferred release on it also says that nothing of the request is still in flight from that
    rank: the decode side gives the pages back when every rank that could write has said so, or
    after a long deadline.

    Travels prefill -> decode.

    An answer without a generation proves nothing about the abort that waits, and from 0.5.22 on it
    releases no pages.

    Mooncake answers with two frames in every release while deferred release is off, and then nobody
    waits for it.
    """

    room: int
    """The request that was given up. Unit: id."""

    prefill_rank: int | None = None
    """Number of the prefill worker that answers, as in its status messages. None where the answer
    promises nothing about transfers. Unit: rank."""

    generation: int | None = None
    """Generation of the abort that is answered. None before 0.5.22 and without deferred release.
    Unit: count."""


class Draft(Message):
    """A AbortAck that is still being filled."""

    __slots__ = ("generation", "prefill_rank", "room")

    room: int
    prefill_rank: int | None
    generation: int | None
