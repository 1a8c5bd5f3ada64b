"""What staged chunks wait for: their place in a peer's ring, and a buffer to gather into.

Both are kept by serial, so that exactly those are woken that can go on, oldest first: with a
thousand chunks set aside, looking at each of them for every message costs more than writing them.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from threading import Lock
from time import monotonic
from typing import Any

from pdwire.staging import Mark, Place, is_writable

__all__ = ["Buffers", "Places"]


class Places:
    """Chunks whose place is not known, or may not be written yet. The caller holds a lock."""

    def __init__(self) -> None:
        self._unanswered: dict[tuple[str, int, int], set[int]] = {}
        self._unwritable: dict[str, list[tuple[int, int, int, Place]]] = {}

    def wait(self, serial: int, peer: str, room: int, chunk: int, place: Place | None) -> None:
        """A chunk waits: for an answer, and for the watermark where its place is known."""
        self._unanswered.setdefault((peer, room, chunk), set()).add(serial)
        if place is not None:
            heap = self._unwritable.setdefault(peer, [])
            heappush(heap, (place.round, place.end, serial, place))

    def answered(self, peer: str, room: int, chunk: int) -> list[int]:
        """A place was given, or given anew: who waits for it."""
        return sorted(self._unanswered.pop((peer, room, chunk), ()))

    def moved(self, peer: str, mark: Mark) -> list[int]:
        """The watermark is there now: who may be written, in the order of the ring."""
        heap = self._unwritable.get(peer, [])
        found = []
        while heap and is_writable(heap[0][3], mark):
            found.append(heappop(heap)[2])
        return found

    def over(self, serial: int, peer: str, room: int, chunk: int) -> None:
        """A chunk waits no more."""
        waiting = self._unanswered.get((peer, room, chunk))
        if waiting is not None:
            waiting.discard(serial)
            if not waiting:
                del self._unanswered[peer, room, chunk]

    def forget(self, peer: str) -> None:
        """A peer's ring begins anew, or is gone: nothing of it becomes writable any more."""
        self._unwritable.pop(peer, None)


class Buffers:
    """Gather buffers, each lent to one chunk at a time, and who waits for one. Thread-safe."""

    def __init__(self, buffers: Iterable[Any] = ()) -> None:
        self._lock = Lock()
        self._free = list(buffers)
        self._total = len(self._free)
        self._waiting: dict[int, None] = {}
        self._changed = monotonic()

    def __len__(self) -> int:
        """How many there are, lent or not."""
        return self._total

    def take(self, serial: int) -> Any | None:  # noqa: ANN401  # a torch tensor
        """A buffer; ``None``: there is none, and ``serial`` is remembered."""
        with self._lock:
            if not self._free:
                self._waiting[serial] = None
                return None
            self._waiting.pop(serial, None)
            self._changed = monotonic()
            return self._free.pop()

    def give_back(self, buffer: Any) -> None:  # noqa: ANN401  # a torch tensor
        """Nothing reads it any more."""
        with self._lock:
            self._free.append(buffer)
            self._changed = monotonic()

    def add(self, buffer: Any) -> None:  # noqa: ANN401  # a torch tensor
        """One more."""
        with self._lock:
            self._total += 1
            self._free.append(buffer)

    def leave(self, serial: int) -> None:
        """It waits no more."""
        with self._lock:
            self._waiting.pop(serial, None)

    def next_up(self) -> list[int]:
        """Who is to be woken: the one that has waited longest, if there is a buffer for it."""
        with self._lock:
            return [next(iter(self._waiting))] if self._free and self._waiting else []

    def stand_still(self, for_s: float) -> bool:
        """Whether somebody waits, and no buffer has come back for so long."""
        with self._lock:
            is_short = bool(self._waiting) and not self._free
            return is_short and monotonic() - self._changed > for_s
