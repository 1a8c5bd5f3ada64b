"""The message ABORT: decode -> prefill.

GENERATED from protocol/common/abort.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pdwire.codec import Message

__all__ = ["COUNTS", "AbortNotification", "Draft"]

COUNTS: Final[dict[int, str]] = {
    2: "0.5.22–0.5.23",
    4: "0.5.13–0.5.21, 0.5.22–0.5.23",
    5: "0.5.22–0.5.23",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AbortNotification(Message):
    """The message ABORT.

    Tells a prefill rank that the decode side has given up a request, because it was cancelled or
    waited too long. The prefill rank fails the room, unless it is done already. With deferred
    release on, the decode side keeps the pages until every rank that could write has answered with
    ABORT_ACK.

    Travels decode -> prefill.

    All backends share the sender, and it puts no guard in front: NIXL and Mori read the tag before
    they ask for theirs.

    NIXL sends it from 0.5.13 on but reads it only from 0.5.16 on: until then its prefill loop ends
    on it. Mori sends it from 0.5.13 on and drops it unread until 0.5.18.
    """

    room: int
    """The request that is given up. Unit: id."""

    decode_ip: str | None = None
    """Address for the answer: the decode rank's control socket. None where nobody waits for an
    answer. Unit: address."""

    decode_port: int | None = None
    """TCP port for the answer. None where nobody waits for an answer. Unit: port."""

    generation: int | None = None
    """Number of this abort among all of the decode rank's, from 1; the answer repeats it, so that a
    late answer to an earlier request of the same room releases nothing. None without deferred
    release. Unit: count."""


class Draft(Message):
    """A AbortNotification that is still being filled."""

    __slots__ = ("decode_ip", "decode_port", "generation", "room")

    room: int
    decode_ip: str | None
    decode_port: int | None
    generation: int | None
