"""The message KV_STATUS: prefill -> decode.

GENERATED from protocol/mori/kv_status.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pdwire.codec import Message

__all__ = ["COUNTS", "Draft", "KVStatus"]

COUNTS: Final[dict[int, str]] = {4: "0.5.9–0.5.23"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KVStatus(Message):
    """One prefill rank's verdict on a request, pushed to the request's decode endpoints.

    Mori sends it behind its guard, without a tag: on the decode side nothing else carries the
    guard.

    Travels prefill -> decode.

    The decode loop drops the guard frame first; positions count from the frame behind it.

    The receiver accepts a message without the reason frame, and ignores frames behind it. Every
    encoder sends exactly four frames and the guard.

    Until 0.5.19 the receiver refuses a reason that is not UTF-8 and drops the message; from 0.5.20
    it replaces the bytes. Here it is an error of that frame. Encoders only produce valid UTF-8.

    A status other than 0, 4 and, from 0.5.22 with deferred allocation, 2 is logged and ignored by
    the receiver.

    Until 0.5.19 the encoder also sends to dummy endpoints if it is handed them; from 0.5.20 to the
    others only.
    """

    room: int
    """The request that the verdict is about. Unit: id."""

    status: int
    """0 failed, 1 bootstrapping, 2 waiting for input, 3 transferring, 4 success. Sent: 0 and 4;
    from 0.5.22 also 2, when the decode side allocates only after the prefill side is ready."""

    prefill_rank: int
    """Number of the prefill worker among all that serve the request, counted over tensor and
    pipeline ranks, from 0.5.12 over context ranks too; the receiver counts distinct ones until it
    has all. Unit: rank."""

    failure_reason: str | None = None
    """Why the request failed; empty, which reads as None, with every other status, and where a
    failure has no reason."""


class Draft(Message):
    """A KVStatus that is still being filled."""

    __slots__ = ("failure_reason", "prefill_rank", "room", "status")

    room: int
    status: int
    prefill_rank: int
    failure_reason: str | None
