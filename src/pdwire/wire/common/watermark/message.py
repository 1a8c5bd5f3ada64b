"""The message WATERMARK: decode -> prefill.

GENERATED from protocol/common/watermark.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pdwire.codec import Message

__all__ = ["COUNTS", "Draft", "Watermark"]

COUNTS: Final[dict[int, str]] = {4: "0.5.10–0.5.11, 0.5.12–0.5.23"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Watermark(Message):
    """Tells every prefill rank that stages for the sender how far the ring has been emptied.

    Sent whenever a chunk has been scattered and its place freed. A chunk of this round or an
    earlier one may be written at any time; one of the next round once its end is not beyond the
    tail; none of a later round.

    Travels decode -> prefill.

    Pairs of round and tail only grow: the reader ignores a smaller one than it has seen, so that
    late messages do no harm.

    The reader takes a message without the session as one for the empty session; no release sends it
    that way.
    """

    round: int
    """Round of the oldest place that is still taken, or of the next one to be given where none is.
    Unit: count."""

    tail: int
    """Byte offset in the ring up to which everything of earlier rounds has been consumed. Unit:
    bytes."""

    session_id: str
    """Session or agent name of the decode rank whose ring this is, as the STAGING_REQ gave it. Text
    here because the backends share the message. Unit: id."""


class Draft(Message):
    """A Watermark that is still being filled."""

    __slots__ = ("round", "session_id", "tail")

    round: int
    tail: int
    session_id: str
