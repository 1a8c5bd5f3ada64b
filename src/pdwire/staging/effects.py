"""What the staging core asks its shell to do. Effects are values; nothing here sends anything.

A shell carries them out in order. An effect that cannot be carried out (a dead endpoint) is the
shell's to count: the core asks again, or the room's own deadline ends it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pdwire.wire.common import StagingReq, StagingRsp, Watermark

__all__ = [
    "Drop",
    "Effect",
    "Endpoint",
    "I64Array",
    "Place",
    "Scatter",
    "SendStagingReq",
    "SendStagingRsp",
    "SendWatermark",
    "StagingFailed",
]

Endpoint = tuple[str, int]
"""Host and TCP port of a control socket; an IPv6 host without brackets."""

I64Array = NDArray[np.int64]


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A byte range of the decode rank's ring. No two places of a ring are equal, ever.

    Places compare in the order in which they were given.
    """

    round: int
    """How often the ring's head had gone back to 0 when the place was given."""

    offset: int
    """First byte, from the ring's base."""

    end: int
    """Just behind the last byte."""

    @property
    def size(self) -> int:
        """Bytes."""
        return self.end - self.offset


@dataclass(frozen=True, slots=True, kw_only=True)
class SendStagingReq:
    """Ask a decode rank for the place of a chunk.

    Attributes:
        endpoint: the decode rank's control socket.
        peer: its session id (Mooncake) or agent name (NIXL).
        message: carries ``session_id=peer``, which the decode rank echoes.
    """

    endpoint: Endpoint
    peer: str
    message: StagingReq


@dataclass(frozen=True, slots=True, kw_only=True)
class SendStagingRsp:
    """Tell one prefill rank the place of a chunk; one effect for every rank that is told.

    Attributes:
        endpoint: the prefill rank's control socket.
        prefill: bootstrap address of its server, as the room was opened with.
        message: carries the session id of the request.
    """

    endpoint: Endpoint
    prefill: str
    message: StagingRsp


@dataclass(frozen=True, slots=True, kw_only=True)
class SendWatermark:
    """Tell one prefill rank how far the ring has been emptied.

    Attributes:
        endpoint: the prefill rank's control socket.
        prefill: bootstrap address of its server.
        message: carries this decode rank's own session id.
    """

    endpoint: Endpoint
    prefill: str
    message: Watermark


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scatter:
    """Copy one chunk out of the ring into KV pages, then hand this very object to ``scattered``.

    Until then its place stays taken and its pages must not be given away, whatever happens to
    the room (``DecodeStaging.busy``).

    Attributes:
        room: the room.
        chunk_idx: the chunk's number in the room's grid.
        place: the byte range of the ring.
        page_start: first page within the room's pages that are sent.
        num_pages: how many pages.
        pages: destination page indices, ``num_pages`` of them, int64.
    """

    room: int
    chunk_idx: int
    place: Place
    page_start: int
    num_pages: int
    pages: I64Array

    @property
    def offset(self) -> int:
        """First byte in the ring."""
        return self.place.offset

    @property
    def size(self) -> int:
        """Bytes of the place."""
        return self.place.size


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingFailed:
    """A room cannot be staged any more: fail it, with this reason."""

    room: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """Something was ignored. ``counts()`` has it already; a shell may log it once per kind.

    Attributes:
        kind: a stable slug, ``"chunk-unknown-room"``.
    """

    kind: str


Effect = SendStagingReq | SendStagingRsp | SendWatermark | Scatter | StagingFailed | Drop
