"""The message TransferInfo: decode -> prefill.

GENERATED from protocol/mori/transfer_info.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pdwire.codec import Message
from pdwire.frames import I32Array

__all__ = ["COUNTS", "STRANGERS", "Draft", "TransferInfo"]

COUNTS: Final[dict[int, str]] = {
    8: "0.5.9–0.5.11, 0.5.12–0.5.12.post1, 0.5.13–0.5.13.post1",
    9: "0.5.14–0.5.23",
}
STRANGERS: Final[dict[bytes, str]] = {b"None": "KVArgsRegisterInfo"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TransferInfo(Message):
    """Tells one prefill rank where one request's KV pages, auxiliary row and state items go.

    Every decode rank that the prefill rank expects sends one, dummy or not; the request starts when
    the expected number has come. The prefill side keeps them under the room, then under the
    engine's key.

    Travels decode -> prefill.

    The prefill loop drops the guard frame first; positions count from the frame behind it.

    Every release's decoder tolerates missing frames behind frame 5, for the sake of older senders:
    without frame 7 it expects one rank. No release sends fewer frames than its own layout, so each
    layout has one frame count.

    There is no frame that says dummy in any release: is_dummy follows from what is empty.
    """

    room: int
    """The request that the transfer belongs to. Unit: id."""

    endpoint: str
    """Address of the decode rank's control socket; an IPv6 address stands here without brackets.
    Unit: address."""

    dst_port: int
    """TCP port of the decode rank's control socket. Unit: port."""

    engine_key: str
    """Key of the decode rank's Mori engine; names the registration whose memory the indices count
    in. Unit: id."""

    dst_kv_indices: I32Array
    """Destination KV pages in token order, without those of a prefix that the decode side already
    holds. Empty for a dummy rank, and for a rank whose prefix covers everything. Unit: pages."""

    dst_aux_index: int
    """Row of the auxiliary buffers that the request's metadata goes to; -1, where none is wanted:
    always spelled by an empty frame, never as the text -1. Unit: index."""

    dst_state_indices: tuple[I32Array, ...] = ()
    """Destination items of the request's state, one list per state component in the order of the
    registration; an empty list for a component without any. No components for a dummy rank. Unit:
    index."""

    required_dst_info_num: int
    """How many decode ranks, dummy ones included, will announce this request to the prefill rank.
    Unit: count."""

    decode_prefix_len: int | None = None
    """Tokens at the request's start that the decode side already holds and that are not to be sent.
    Encoders leave the frame empty both for no prefix and for an unknown one, which reads as None; a
    0 is accepted and means the same: everything is to be sent. Unit: tokens."""

    is_dummy: bool = False
    """Whether this rank only counts towards required_dst_info_num and wants no data. The wire's
    rule from 0.5.14: no KV pages (frame 4), no auxiliary row (frame 5) and no prefix (frame 8).
    0.5.9 to 0.5.13 have no prefix and ask for the first two only. State is not looked at: a rank
    that wants nothing but state items reads as a dummy, and the peers then drop its state. Codecs
    keep dst_state_indices whatever the rule says."""


class Draft(Message):
    """A TransferInfo that is still being filled."""

    __slots__ = (
        "decode_prefix_len",
        "dst_aux_index",
        "dst_kv_indices",
        "dst_port",
        "dst_state_indices",
        "endpoint",
        "engine_key",
        "is_dummy",
        "required_dst_info_num",
        "room",
    )

    room: int
    endpoint: str
    dst_port: int
    engine_key: str
    dst_kv_indices: I32Array
    dst_aux_index: int
    dst_state_indices: tuple[I32Array, ...]
    required_dst_info_num: int
    decode_prefix_len: int | None
    is_dummy: bool
