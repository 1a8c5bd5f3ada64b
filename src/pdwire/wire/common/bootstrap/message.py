"""The message BOOTSTRAP: decode -> prefill.

GENERATED from protocol/common/bootstrap.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pdwire.codec import Message

__all__ = ["COUNTS", "Bootstrap", "Draft"]

COUNTS: Final[dict[int, str]] = {4: "0.5.22–0.5.23"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bootstrap(Message):
    """The message BOOTSTRAP.

    Registers a decode endpoint for one request with a prefill rank while the decode side has not
    reserved KV pages yet. The prefill rank answers with a status message: 2 once its forward pass
    is complete, 0 when the request has failed. Only then does the decode side reserve pages and
    send TransferInfo. Used with the allocation policy prefill_complete and never with the default
    one.

    Travels decode -> prefill.

    Server arguments allow that policy with Mooncake only. Sender and record are shared by all
    backends, so NIXL and Mori have the message too, without a way to switch it on.

    Mori's prefill loop would read it, as Mooncake's does; NIXL's reads its socket directly and
    would end on it.
    """

    room: int
    """The request that the decode side waits for. Unit: id."""

    decode_ip: str
    """Address of the decode rank's control socket, where the status message goes. Unit: address."""

    decode_port: int
    """TCP port of the decode rank's control socket. Unit: port."""


class Draft(Message):
    """A Bootstrap that is still being filled."""

    __slots__ = ("decode_ip", "decode_port", "room")

    room: int
    decode_ip: str
    decode_port: int
