"""The message TransferInfo: decode -> prefill.

GENERATED from protocol/mooncake/transfer_info.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from pdwire.codec import Message
from pdwire.frames import I32Array, no_i32

__all__ = ["COUNTS", "STRANGERS", "Draft", "TransferInfo"]

COUNTS: Final[dict[int, str]] = {8: "0.5.6–0.5.11", 9: "0.5.12–0.5.16", 10: "0.5.17–0.5.23"}
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
class TransferInfo(Message):
    """Tells one prefill rank where one request's KV pages, auxiliary row and state items go.

    Every decode rank that the prefill rank expects sends one, dummy or not; the request starts when
    the expected number has come. The prefill side keeps them under the room, then under the session
    id.

    Travels decode -> prefill.

    Every release's decoder takes missing frames behind frame 7 as empty, for the sake of older
    senders. No release sends fewer frames than its own layout, so each layout has one frame count.

    A second TransferInfo of one session for one room silently replaces the first in every release.

    An encoder that is given no auxiliary index for a rank that is not a dummy writes the text None
    into frame 5, and its own decoder raises on it. No caller leaves the index out, so it is refused
    here.
    """

    room: int
    """The request that the transfer belongs to. Unit: id."""

    endpoint: str
    """Address of the decode rank's control socket; an IPv6 address stands here without brackets.
    Unit: address."""

    dst_port: int
    """TCP port of the decode rank's control socket. Unit: port."""

    mooncake_session_id: str
    """Transfer session of the decode rank; names the registration whose memory the indices count
    in. Unit: id."""

    dst_kv_indices: I32Array
    """Destination KV pages in token order, without those of a prefix that the decode side already
    holds. Empty for a dummy rank, and for a rank whose prefix covers everything. Unit: pages."""

    dst_aux_index: int | None
    """Row of the auxiliary buffers that the request's metadata goes to; None for a dummy rank.
    Unit: index."""

    dst_state_indices: tuple[I32Array, ...]
    """Destination items of the request's state, one list per state component in the order of the
    registration; an empty list for a component without any. No components for a dummy rank. Unit:
    index."""

    required_dst_info_num: int
    """How many decode ranks, dummy ones included, will announce this request to the prefill rank.
    Unit: count."""

    decode_prefix_len: int | None = None
    """Tokens at the request's start that the decode side already holds and that are not to be sent.
    Encoders write 0 both for no prefix and for an unknown one; an empty or missing frame reads as
    None, and all three mean that everything is to be sent. Unit: tokens."""

    dst_device_kv_indices: I32Array = field(default_factory=no_i32)
    """Destination pages in device memory, for decode ranks whose main indices address host memory
    (HiSparse); empty otherwise, which the peers read as None. Unit: pages."""

    is_dummy: bool = False
    """Every release: a rank is a dummy when its KV pages (frame 4) and its auxiliary index (frame
    5) are both empty frames. It only counts towards required_dst_info_num. A rank without pages but
    with an auxiliary index is not a dummy: its prefix covers everything, and auxiliary row and
    state still move."""


class Draft(Message):
    """A TransferInfo that is still being filled."""

    __slots__ = (
        "decode_prefix_len",
        "dst_aux_index",
        "dst_device_kv_indices",
        "dst_kv_indices",
        "dst_port",
        "dst_state_indices",
        "endpoint",
        "is_dummy",
        "mooncake_session_id",
        "required_dst_info_num",
        "room",
    )

    room: int
    endpoint: str
    dst_port: int
    mooncake_session_id: str
    dst_kv_indices: I32Array
    dst_aux_index: int | None
    dst_state_indices: tuple[I32Array, ...]
    required_dst_info_num: int
    decode_prefix_len: int | None
    dst_device_kv_indices: I32Array
    is_dummy: bool
