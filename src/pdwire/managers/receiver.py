"""The decode side of one room, for a scheduler."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pdwire.frames import I32Array
from pdwire.managers.base import BaseKVReceiver, KVTransferError
from pdwire.managers.common import CommonKVManager
from pdwire.managers.connection import Metadata
from pdwire.rooms import KVPoll

__all__ = ["CommonKVReceiver"]


class CommonKVReceiver(BaseKVReceiver):
    """Receives one room's pages.

    Args:
        mgr: a decode manager.
        bootstrap_addr: ``host:port`` of the prefill side's bootstrap server.
        bootstrap_room: the room.

    Raises:
        RoomError: the room is open already.
    """

    def __init__(self, mgr: CommonKVManager, bootstrap_addr: str, bootstrap_room: int) -> None:
        self._mgr = mgr
        self._side = mgr.decode_side()
        self.bootstrap_addr = bootstrap_addr
        self.bootstrap_room = bootstrap_room
        self._has_asked = False
        self._final: KVPoll | None = None
        self._reason: str | None = None
        self._life = self._side.open(bootstrap_room, bootstrap_addr)

    def init(self, prefill_dp_rank: int | None = None) -> None:
        """Have the prefill ranks found, and registered with if they do not know this rank yet.

        Returns at once. A server that cannot be asked, or a release that cannot say what this
        rank has to, fails the room; nothing is raised.

        Args:
            prefill_dp_rank: the DP rank that serves the room; by default the one that the prefill
                side says: the room's number modulo the DP size, or what its server is told.
        """
        if not self._has_asked:
            self._has_asked = True
            self._side.connect(
                self.bootstrap_room, self._life, self.bootstrap_addr, prefill_dp_rank
            )

    def send_metadata(
        self,
        kv_indices: I32Array,
        aux_index: int | None = None,
        state_indices: Sequence[I32Array] | None = None,
        decode_prefix_len: int | None = None,
    ) -> None:
        """Say where the request's pages, aux row and state go; the arrays may be used again.

        Returns at once: what is said before the prefill ranks are found is kept for them. A value
        that the release cannot carry, or a page, item or row that this rank has not, fails the room
        with the reason.
        """
        metadata = Metadata(
            kv_indices=np.array(kv_indices),
            aux_index=aux_index,
            state_indices=tuple(np.array(part) for part in state_indices or ()),
            decode_prefix_len=decode_prefix_len or 0,
        )
        self._side.send_metadata(self.bootstrap_room, self._life, metadata)

    def poll(self) -> KVPoll:
        """How the room stands."""
        if self._final is not None:
            return self._final
        self._mgr.poll_engine()
        status = self._side.status(self.bootstrap_room)
        if status is None:
            status = KVPoll.Failed
        if status in {KVPoll.Failed, KVPoll.Success}:
            self._final = status
            self._reason = self._side.reason(self.bootstrap_room)
            self._mgr.on_room_closed(self.bootstrap_room)
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

    def pages_released(self) -> bool:
        """Whether no prefill rank can still write into the room's pages."""
        return self._side.pages_released(
            self.bootstrap_room, self._life
        ) and not self._mgr.pages_busy(self.bootstrap_room)

    def abort(self, reason: str = "aborted by the decode side") -> None:
        """Give the room up; every prefill rank is told."""
        self._side.abort(self.bootstrap_room, reason, self._life)
        self._tell()

    def clear(self) -> None:
        """Forget the room; its number may be used again."""
        self.poll()
        if self._final is None:
            self._final, self._reason = KVPoll.Failed, "cleared before it was done"
        self._side.close(self.bootstrap_room, self._life)
        self._tell()

    def _tell(self) -> None:
        """A room that nobody looked for may be waited for all the same, where it was announced."""
        if not self._has_asked:
            self._has_asked = True
            self._side.tell_late(self.bootstrap_room, self._life, self.bootstrap_addr)
