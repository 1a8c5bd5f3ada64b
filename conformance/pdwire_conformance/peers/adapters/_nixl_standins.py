"""What a real NIXL sender is driven with: an agent, a queue, and sizes without memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from pdwire_conformance.peers.standins import EndOfFeedError, StandIn


class CaptureAgent:
    """A NIXL agent whose transfers are done at once; it keeps what they notify."""

    def __init__(self) -> None:
        self.texts: list[bytes] = []

    def initialize_xfer(self, *arguments: Any) -> object:
        self.texts.append(bytes(arguments[-1]))
        return self

    def make_prepped_xfer(self, *arguments: Any) -> object:
        self.texts.append(bytes(arguments[-1]))
        return self

    def send_notif(self, peer: str, notif: bytes) -> None:
        self.texts.append(bytes(notif))

    def get_xfer_descs(self, *_: Any, **__: Any) -> object:
        return self

    def transfer(self, handle: object) -> str:
        return "DONE"

    check_xfer_state = transfer

    def release_xfer_handle(self, handle: object) -> None:
        """Nothing is held."""


class Pages:
    """Page indices of any number, without the memory for them."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, _: slice) -> Self:
        return self


class Never:
    """``is_dummy`` of a receiver that is none: older releases call it, later ones read it."""

    def __bool__(self) -> bool:
        return False

    def __call__(self) -> bool:
        return False


class OneChunk:
    """A worker's queue with one chunk in it."""

    def __init__(self, chunk: Any) -> None:
        self._chunks = [chunk]

    def get(self) -> Any:
        if not self._chunks:
            raise EndOfFeedError
        return self._chunks.pop()


class Segments:
    """A transfer plan of any number of equal segments."""

    _one = StandIn(start=0, end=1, src_handle=1, dst_handle=2, dst_num_slots=8)

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[StandIn]:
        return (self._one for _ in range(self._count))
