"""The shape of a manager, a sender and a receiver, as SGLang's users know it.

A scheduler makes one manager per rank, one sender per room on the prefill side and one
receiver per room on the decode side, and polls them. Nothing here blocks: ``poll`` answers
at once, failures have a reason, every waiting state has a deadline.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from pdwire.frames import I32Array
from pdwire.rooms import KVPoll

__all__ = ["BaseKVManager", "BaseKVReceiver", "BaseKVSender", "KVTransferError"]


class KVTransferError(Exception):
    """A room failed; the text is the reason that its other side gave, or ours."""

    def __init__(self, bootstrap_room: int, reason: str) -> None:
        super().__init__(f"room {bootstrap_room}: {reason}")
        self.bootstrap_room = bootstrap_room
        self.reason = reason


class BaseKVManager(ABC):
    """One rank's end of the hand-over."""

    @abstractmethod
    def health(self) -> dict[str, object]:
        """Whether its loops live, and every counter, as plain data."""

    @abstractmethod
    def close(self) -> None:
        """Stop every thread and join it, close every socket, give the memory back."""


class BaseKVSender(ABC):
    """The prefill side of one room."""

    @abstractmethod
    def init(self, num_kv_indices: int, aux_index: int | None = None) -> None:
        """Say how many pages will be sent in all, behind decode's prefix, and the aux row."""

    @abstractmethod
    def send(self, kv_indices: I32Array, state_indices: Sequence[I32Array] | None = None) -> None:
        """Send one chunk's pages; the last one (by count) takes aux row and state along."""

    @abstractmethod
    def poll(self) -> KVPoll:
        """How the room stands."""

    @abstractmethod
    def abort(self, reason: str = "aborted by the prefill side") -> None:
        """Give the room up; decode is told."""

    @abstractmethod
    def clear(self) -> None:
        """Forget the room; its number may be used again."""

    @abstractmethod
    def failure_exception(self) -> KVTransferError:
        """Why the room failed."""


class BaseKVReceiver(ABC):
    """The decode side of one room."""

    @abstractmethod
    def init(self, prefill_dp_rank: int | None = None) -> None:
        """Find the prefill ranks and register with those that do not know this rank yet."""

    @abstractmethod
    def send_metadata(
        self,
        kv_indices: I32Array,
        aux_index: int | None = None,
        state_indices: Sequence[I32Array] | None = None,
        decode_prefix_len: int | None = None,
    ) -> None:
        """Say where the request's pages, aux row and state go."""

    @abstractmethod
    def poll(self) -> KVPoll:
        """How the room stands."""

    @abstractmethod
    def abort(self, reason: str = "aborted by the decode side") -> None:
        """Give the room up; every prefill rank is told."""

    @abstractmethod
    def pages_released(self) -> bool:
        """Whether no prefill rank can still write into the room's pages."""

    @abstractmethod
    def clear(self) -> None:
        """Forget the room; its number may be used again."""

    @abstractmethod
    def failure_exception(self) -> KVTransferError:
        """Why the room failed."""
