"""The message KV_STATUS: prefill -> decode.

GENERATED from protocol/nixl/kv_status.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pdwire.codec import Message

__all__ = ["COUNTS", "Draft", "KVStatus"]

COUNTS: Final[dict[int, str]] = {5: "0.5.20–0.5.23"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KVStatus(Message):
    """The message KV_STATUS.

    One prefill rank's verdict on a request, pushed to every decode endpoint of it that is not a
    dummy. NIXL tags the message where Mooncake sends it bare and Mori behind its guard.

    Travels prefill -> decode.

    The tag is frame 0 and positions count it; there is no guard.

    The parser accepts a message without the reason frame, and ignores frames behind it. Every
    encoder sends exactly five frames.

    The parser replaces invalid UTF-8 in the reason; here it is an error of that frame. Encoders
    only produce valid UTF-8.

    A status other than 0, 4 and, from 0.5.22 with deferred allocation, 2 is logged and ignored by
    the receiver.
    """

    room: int
    """The request that the verdict is about. Unit: id."""

    status: int
    """0 failed, 1 bootstrapping, 2 waiting for input, 3 transferring, 4 success. Sent: 0 and 4;
    from 0.5.22 also 2, when the decode side allocates only after the prefill side is ready."""

    prefill_rank: int
    """Number of the prefill worker among all that serve the request, counted over tensor, context
    and pipeline ranks; the receiver counts distinct ones until it has all. Unit: rank."""

    failure_reason: str | None = None
    """Why the request failed; empty, which reads as None, with every other status. For a failure
    without a reason the receiver has a text of its own."""


class Draft(Message):
    """A KVStatus that is still being filled."""

    __slots__ = ("failure_reason", "prefill_rank", "room", "status")

    room: int
    status: int
    prefill_rank: int
    failure_reason: str | None
