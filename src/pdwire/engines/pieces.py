"""Many single writes to one peer, a bounded number at a time; polled, never waited for.

1. A transfer is over when every piece that was submitted is: after the first failure nothing
   more is submitted, and the failure is told once nothing can write any more.
2. All transfers to a peer share its queue. Whoever polls collects what has ended for all of
   them, so a transfer that nobody polls any more holds up nobody.
3. Nothing is submitted while the peer's door is not open; what is under way is not waited for then.
4. Nothing here knows whose engine it is: ``submit`` and ``check`` are handed in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from threading import Lock
from typing import Final, final

from pdwire.engines.base import EngineError
from pdwire.engines.door import Door
from pdwire.plan import Blocks

__all__ = ["PeerQueue", "Pieces"]

_PENDING: Final = 0
_DONE: Final = 1

Submit = Callable[[int, int, int], int]
"""Source address, destination address, bytes; a handle, or 0 when the peer is out of reach."""
Check = Callable[[int], int]
"""The state of a handle: 1 done, 0 pending, negative failed. Asked no more once it is not 0."""


@final
class PeerQueue:
    """What is under way to one peer. Thread-safe.

    Args:
        peer: Its name in errors.
        submit: Starts one write.
        check: Asks how it stands.
        limit: Most pieces under way, of all transfers together.
        door: Whether the peer may be submitted to; always, where there is none.
    """

    def __init__(
        self,
        peer: str,
        submit: Submit,
        check: Check,
        *,
        limit: int,
        door: Door | None = None,
    ) -> None:
        self.peer = peer
        self.door = door
        self._submit, self._check, self._limit = submit, check, limit
        self._lock = Lock()
        self._under_way: deque[tuple[int, Pieces]] = deque()

    def __len__(self) -> int:
        """Pieces under way."""
        return len(self._under_way)

    def advance(self, transfer: Pieces) -> None:
        """Collects what has ended, then submits what the transfer and the limits allow."""
        with self._lock:
            self._collect()
            if transfer.is_wanting and self.door is not None and not self.door.is_open:
                refusal = self.door.refusal()
                if refusal is not None:
                    transfer.fail(f"peer {self.peer!r} {refusal}")
                if not self.door.is_open:
                    return
            while len(self._under_way) < self._limit and (piece := transfer.next_piece()):
                handle = self._submit(*piece)
                if not handle:
                    transfer.fail(f"peer {self.peer!r} cannot be reached")
                    self._shut()
                    return
                transfer.under_way += 1
                self._under_way.append((handle, transfer))

    def refusal(self) -> str | None:
        """Knocks at the peer's door; why nothing may be submitted to it, if that is settled."""
        with self._lock:
            return None if self.door is None else self.door.refusal()

    def is_open(self) -> bool:
        """Whether the peer may be submitted to."""
        return self.door is None or self.door.is_open

    def shut(self) -> None:
        """Something failed: ask at the door before the next submission."""
        with self._lock:
            self._shut()

    def collect(self) -> int:
        """Collects what has ended; returns how many pieces are still under way."""
        with self._lock:
            self._collect()
            return len(self._under_way)

    def _collect(self) -> None:
        # Pieces end in about the order of submission, so only the oldest is asked.
        while self._under_way:
            handle, transfer = self._under_way[0]
            state = self._check(handle)
            if state == _PENDING:
                return
            self._under_way.popleft()
            transfer.under_way -= 1
            transfer.progress += 1
            if state != _DONE:
                transfer.fail(f"writing to peer {self.peer!r} failed: code {state}")
                self._shut()

    def _shut(self) -> None:
        """The engine may have to shake hands again: ask first whether somebody is there."""
        if self.door is not None:
            self.door.shut()


@final
class Pieces:
    """A `Transfer` of blocks through a :class:`PeerQueue`; it moves on when it is polled.

    Args:
        queue: The peer's.
        blocks: What to write; no empty ones.
        window: Most pieces of this transfer under way.
    """

    def __init__(self, queue: PeerQueue, blocks: Blocks, *, window: int) -> None:
        arrays = (blocks.src, blocks.dst, blocks.size)
        self._rest: Iterator[tuple[int, int, int]] = zip(
            *(array.tolist() for array in arrays), strict=True
        )
        self._left = len(blocks)
        self._queue, self._window = queue, window
        self._reason: str | None = None
        self.under_way = 0
        self.progress = 0
        queue.advance(self)

    @property
    def is_wanting(self) -> bool:
        """Whether there is something to submit."""
        return self._left > 0

    def next_piece(self) -> tuple[int, int, int] | None:
        """What to submit next; None when nothing may be (called by the queue)."""
        if not self._left or self.under_way >= self._window:
            return None
        self._left -= 1
        return next(self._rest)

    def fail(self, reason: str) -> None:
        """Submits nothing more; the first reason stays (called by the queue)."""
        self._left = 0
        self._reason = self._reason or reason

    def poll(self) -> bool:
        """See `Transfer`."""
        self._queue.advance(self)
        if self.under_way or self._left:
            return False
        if self._reason is not None:
            raise EngineError(self._reason)
        return True

    def release(self) -> None:
        """Submits nothing more; what is under way is collected with the peer's other pieces."""
        if self.under_way or self._left:
            self.fail("the transfer was given up")
