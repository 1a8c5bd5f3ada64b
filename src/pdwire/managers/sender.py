"""The prefill side of one room, for a scheduler."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pdwire.frames import I32Array
from pdwire.managers.base import BaseKVSender, KVTransferError
from pdwire.managers.common import CommonKVManager
from pdwire.managers.planner import Chunk
from pdwire.rooms import KVPoll, RoomError

__all__ = ["CommonKVSender"]


class CommonKVSender(BaseKVSender):
    """Sends one room's pages.

    Args:
        mgr: a prefill manager.
        bootstrap_addr: where the room's DP rank is announced; by default at this rank's own
            server, if decode cannot know it (``ManagerConfig.load_balance_method``).
        bootstrap_room: the room.

    Raises:
        RoomError: the room is open already.
    """

    def __init__(
        self, mgr: CommonKVManager, bootstrap_addr: str = "", bootstrap_room: int = 0
    ) -> None:
        self._mgr = mgr
        self._side = mgr.prefill_side()
        self.bootstrap_room = bootstrap_room
        self._final: KVPoll | None = None
        self._reason: str | None = None
        self._pages = 0
        self._sent = 0
        self._chunks = 0
        self._aux_index: int | None = None
        self._side.open(bootstrap_room)
        mgr.note_dp_rank(bootstrap_addr, bootstrap_room)

    def init(self, num_kv_indices: int, aux_index: int | None = None) -> None:
        """Say how many pages will be sent in all, behind decode's prefix, and the aux row."""
        self._pages = num_kv_indices
        self._aux_index = aux_index
        self._mgr.ask_ahead(self.bootstrap_room)

    @property
    def decode_prefix_len(self) -> int:
        """Tokens at the request's start that decode already holds and that are not sent."""
        return self._side.prefix_len(self.bootstrap_room)

    def mark_prefill_complete(self) -> None:
        """The forward pass is complete; decode sides that wait for it may allocate."""
        self._side.ready(self.bootstrap_room)

    def send(self, kv_indices: I32Array, state_indices: Sequence[I32Array] | None = None) -> None:
        """Send one chunk's pages; the last one (by count) takes aux row and state along.

        Returns before they are written; the arrays may be used again.

        Raises:
            ValueError: more pages than ``init`` was told.
            RoomError: not every decode rank has sent its metadata: ``poll`` says so.
        """
        status = self.poll()
        if status in {KVPoll.Failed, KVPoll.Success}:
            return
        if status is KVPoll.Bootstrapping:
            raise RoomError(f"room {self.bootstrap_room}: decode has not said where its pages go")
        start, self._sent = self._sent, self._sent + len(kv_indices)
        if self._sent > self._pages:
            raise ValueError(f"{self._sent} pages sent of {self._pages} that init was told")
        is_last = self._sent == self._pages
        if not is_last and not len(kv_indices):
            return  # nothing moves; counted, it would be a chunk that nobody announces
        chunk = Chunk(
            room=self.bootstrap_room,
            index=self._chunks,
            pages=np.array(kv_indices),  # its buffer is the scheduler's, for the next chunk
            start=start,
            is_last=is_last,
            aux_index=self._aux_index if is_last else None,
            state_indices=tuple(np.array(p) for p in state_indices or ()) if is_last else (),
            total=self._pages,
        )
        self._chunks += 1
        self._side.submit(chunk)

    def poll(self) -> KVPoll:
        """How the room stands."""
        if self._final is not None:
            return self._final
        status = self._side.status(self.bootstrap_room)
        if status is None:
            status = KVPoll.Failed
        if status in {KVPoll.Failed, KVPoll.Success}:
            self._final = status
            self._reason = self._side.reason(self.bootstrap_room)
        return status

    @property
    def failure_reason(self) -> str | None:
        """Why the room failed; ``None`` while it has not."""
        if self.poll() is not KVPoll.Failed:
            return None
        return self._reason or "failed for an unknown reason"

    def failure_exception(self) -> KVTransferError:
        """Why the room failed."""
        return KVTransferError(self.bootstrap_room, self.failure_reason or "has not failed")

    def abort(self, reason: str = "aborted by the prefill side") -> None:
        """Give the room up; decode is told."""
        self._side.fail(self.bootstrap_room, reason)

    def clear(self) -> None:
        """Forget the room; its number may be used again."""
        self.poll()
        if self._final is None:
            self._final, self._reason = KVPoll.Failed, "cleared before it was done"
        self._side.close(self.bootstrap_room)
