"""The message AUX_DATA: prefill -> decode.

GENERATED from protocol/common/aux_data.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pdwire.codec import Message

__all__ = ["COUNTS", "AuxData", "Draft"]

COUNTS: Final[dict[int, str]] = {6: "mooncake 0.5.6–0.5.23; ascend 0.5.6–0.5.23; mori 0.5.9–0.5.23"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AuxData(Message):
    """Carries one row of one auxiliary buffer (first token, logprobs …) as bytes.

    Used where the engine cannot write into the buffers, as with an NVLink memory pool, or where the
    operator asks for it; one message per buffer.

    Travels prefill -> decode.

    The reader checks that the length frame agrees with the data and logs and drops the message
    where it does not; it writes whatever indices it is given, so a manager has to check them
    against its own buffers.

    The length is the one big-endian number of the protocol.

    Mooncake asks for this path by its memory pool (every release) or by an environment variable
    (0.5.8 on); Mori uses it whenever it cannot or shall not write auxiliary buffers by the engine.
    """

    room: int
    """The request whose metadata this is. Unit: id."""

    buffer_index: int
    """Which auxiliary buffer, in the order of the registration's auxiliary pointers. Unit:
    index."""

    aux_index: int
    """Row of the buffer, as the request's TransferInfo named it. Unit: index."""

    data: bytes
    """The row's bytes, as long as one item of that buffer; empty where an item has no bytes."""


class Draft(Message):
    """A AuxData that is still being filled."""

    __slots__ = ("aux_index", "buffer_index", "data", "room")

    room: int
    buffer_index: int
    aux_index: int
    data: bytes
