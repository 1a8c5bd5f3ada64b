"""A transfer in batches that block, each on the thread that polls: Mooncake over RDMA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from pdwire.engines.base import EngineError, EngineUnsettled
from pdwire.engines.pieces import PeerQueue
from pdwire.plan import Blocks

__all__ = ["Batches"]

BATCH_BLOCKS: Final = 256
"""Blocks of one batch call."""
BATCH_BYTES: Final = 1 << 30
"""Bytes of one batch call: it is given about a second per GiB before it counts as failed."""


@final
class Batches:
    """A `Transfer`: one batch after another, the first when the peer's door is open.

    Args:
        queue: the peer's, for its door.
        write: writes a batch and says 0, or the engine's code.
        blocks: what to write; no empty ones.
    """

    def __init__(self, queue: PeerQueue, write: Callable[[Blocks], int], blocks: Blocks) -> None:
        self._queue, self._write = queue, write
        self._rest = blocks.batches(BATCH_BLOCKS, BATCH_BYTES)
        self._error: EngineError | None = None
        self._over = False
        self.progress = 0
        if queue.is_open():
            self._go_on()

    def poll(self) -> bool:
        """See `Transfer`; writes a batch, which takes as long as it takes."""
        if self._error is None and not self._over:
            self._go_on()
        if self._error is not None:
            raise self._error
        return self._over

    def release(self) -> None:
        """See `Transfer`; between two batches nothing is under way."""
        if not self._over and self._error is None:
            self._error = EngineError("the transfer was given up")

    def _go_on(self) -> None:
        refusal = self._queue.refusal()
        if refusal is not None:
            self._error = EngineError(f"peer {self._queue.peer!r} {refusal}")
        if self._error is not None or not self._queue.is_open():
            return
        batch = next(self._rest, None)
        if batch is None:
            self._over = True
        elif code := self._write(batch):
            self._queue.shut()
            self._error = EngineUnsettled(
                f"writing {len(batch)} blocks to peer {self._queue.peer!r} failed: code {code}"
            )
        else:
            self.progress += 1
