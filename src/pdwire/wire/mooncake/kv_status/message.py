"""The message KV_STATUS: prefill -> decode.

GENERATED from protocol/mooncake/kv_status.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pdwire.codec import Message

__all__ = ["COUNTS", "STRANGERS", "Draft", "KVStatus"]

COUNTS: Final[dict[int, str]] = {3: "0.5.6–0.5.19, 0.5.20–0.5.23", 4: "0.5.20–0.5.23"}
STRANGERS: Final[dict[bytes, str]] = {
    b"ABORT": "ABORT",
    b"ABORT_ACK": "ABORT_ACK",
    b"AUX_DATA": "AUX_DATA",
    b"BOOTSTRAP": "BOOTSTRAP",
    b"CHUNK_READY": "CHUNK_READY",
    b"KV_STATUS": "KV_STATUS",
    b"MoriMsgGuard": "mori, by its guard",
    b"NixlMsgGuard": "nixl, by its guard",
    b"None": "KVArgsRegisterInfo",
    b"STAGING_REQ": "STAGING_REQ",
    b"STAGING_RSP": "STAGING_RSP",
    b"WATERMARK": "WATERMARK",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KVStatus(Message):
    """The message KV_STATUS.

    One prefill rank's verdict on a request, pushed to every decode endpoint of it that is not a
    dummy. It carries no tag: what the decode socket gets and what begins with no other message's
    tag is taken for one.

    Travels prefill -> decode.

    The request is done for a decode rank when as many distinct prefill ranks as it expects have
    said 4; one 0 from any of them fails it.
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
    """Why the request failed; None where there is nothing to say or the message has no room for
    it."""


class Draft(Message):
    """A KVStatus that is still being filled."""

    __slots__ = ("failure_reason", "prefill_rank", "room", "status")

    room: int
    status: int
    prefill_rank: int
    failure_reason: str | None
