"""The message TransferInfo: decode -> prefill.

GENERATED from protocol/nixl/transfer_info.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pdwire.codec import Message
from pdwire.frames import I32Array

__all__ = ["COUNTS", "STRANGERS", "Draft", "TransferInfo"]

COUNTS: Final[dict[int, str]] = {
    7: "0.5.6–0.5.8.post1",
    8: "0.5.9–0.5.10.post1",
    9: "0.5.11, 0.5.12–0.5.16",
    10: "0.5.17–0.5.23",
}
STRANGERS: Final[dict[bytes, str]] = {b"None": "KVArgsRegisterInfo"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TransferInfo(Message):
    """Tells one prefill rank where one request's KV pages, auxiliary row and state items go.

    Every decode rank that the prefill rank expects sends one, dummy or not; the request starts when
    the expected number has come. The prefill side keeps them under the room, then under the agent's
    name.

    Travels decode -> prefill.

    The prefill loop drops the guard frame first; positions count from the frame behind it.

    Every release's decoder tolerates missing frames behind frame 6, for the sake of older senders.
    No release sends fewer frames than its own layout, so each layout has one frame count.

    A second TransferInfo of one agent for one room silently replaces the first in every release.
    """

    room: int
    """The request that the transfer belongs to. Unit: id."""

    endpoint: str
    """Address of the decode rank's control socket; an IPv6 address stands here without brackets.
    Unit: address."""

    dst_port: int
    """TCP port of the decode rank's control socket. Unit: port."""

    agent_name: str
    """NIXL agent of the decode rank; names the registration whose memory the indices count in.
    Unit: id."""

    dst_kv_indices: I32Array
    """Destination KV pages in token order, without those of a prefix that the decode side already
    holds. Empty for a dummy rank, and for a rank whose prefix covers everything. Unit: pages."""

    dst_aux_index: int
    """Row of the auxiliary buffers that the request's metadata goes to. Dummy ranks send their row
    too, unread. Unit: index."""

    required_dst_info_num: int
    """How many decode ranks, dummy ones included, will announce this request to the prefill rank.
    Unit: count."""

    dst_state_indices: tuple[I32Array, ...] = ()
    """Destination items of the request's state, one list per state component in the order of the
    registration; an empty list for a component without any. No components for a dummy rank. Unit:
    index."""

    decode_prefix_len: int | None = None
    """Tokens at the request's start that the decode side already holds and that are not to be sent.
    Encoders write 0 both for no prefix and for an unknown one; an empty frame reads as None, and
    all three mean that everything is to be sent. Unit: tokens."""

    is_dummy: bool = False
    """Whether this rank only counts towards required_dst_info_num and wants no data. The frame
    decides where it is filled; an empty frame falls back to the derived rule."""


class Draft(Message):
    """A TransferInfo that is still being filled."""

    __slots__ = (
        "agent_name",
        "decode_prefix_len",
        "dst_aux_index",
        "dst_kv_indices",
        "dst_port",
        "dst_state_indices",
        "endpoint",
        "is_dummy",
        "required_dst_info_num",
        "room",
    )

    room: int
    endpoint: str
    dst_port: int
    agent_name: str
    dst_kv_indices: I32Array
    dst_aux_index: int
    required_dst_info_num: int
    dst_state_indices: tuple[I32Array, ...]
    decode_prefix_len: int | None
    is_dummy: bool
