"""Which of many waiting chunks a transfer thread waits for.

Chunks become writable in about the order in which they were submitted, for that is the order of
their places in the ring. So the oldest one of a peer is waited for, and the others are passed by:
a thread that waited for each in turn would need as long for one as there are chunks. It is waited
for about as long as it takes to go through the others, in case one of them is first after all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["Turns"]

_SHORTEST_S: Final = 0.001
_LONGEST_S: Final = 0.05
_STALE_S: Final = 0.05


@dataclass(slots=True, kw_only=True)
class _Front:
    """A chunk that is waited for.

    Attributes:
        serial: which one.
        left: when the thread goes on to the others.
        lap: how long it needed for them the last time.
        until: when the chunk is not believed in any more, because it did not come again.
    """

    serial: int
    left: float
    lap: float
    until: float


class Turns:
    """The oldest waiting chunk of each peer, for one thread."""

    def __init__(self) -> None:
        self._fronts: dict[str, _Front] = {}

    def patience(self, peer: str, serial: int, now: float) -> float:
        """How long to wait for a chunk that cannot be written yet, in seconds; 0: pass it by.

        Args:
            peer: whose memory it is for.
            serial: grows with every chunk that is submitted.
            now: monotonic seconds.
        """
        front = self._fronts.get(peer)
        lap = 0.0 if front is None else front.lap
        if front is not None and now < front.until:
            if serial > front.serial:
                return 0.0
            if serial == front.serial:
                lap = now - front.left
        patience = min(_LONGEST_S, max(_SHORTEST_S, lap))
        until = now + patience + max(_STALE_S, 4 * lap)
        self._fronts[peer] = _Front(serial=serial, left=now + patience, lap=lap, until=until)
        return patience

    def over(self, peer: str) -> None:
        """A chunk for a peer can be written: whichever comes next is at the front."""
        front = self._fronts.get(peer)
        if front is not None:
            front.until = 0.0
