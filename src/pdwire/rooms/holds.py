"""Pages of failed rooms that a prefill rank may still write to, until that is ruled out.

Rules (A1, V5):

* A hold begins when a room fails after its metadata went out, under a new generation.
* It ends when every prefill rank that got the metadata has acknowledged that generation, or
  when the long timeout has passed. An acknowledgement without generation, without rank, of
  another generation or room, or from a rank that got no metadata proves nothing (A9).
* Dummy ranks count: they answer at once, and which rank is one need not be known here.
* A generation never comes again, not over restarts either (A4): a decode rank that is started
  anew begins where no earlier process of it can have been.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from pdwire.rooms.alarm import NEVER
from pdwire.wire.common import AbortAck

__all__ = ["Hold", "Holds", "first_generation"]

_TICKS_PER_S: Final = 1_000
_RANDOM_BITS: Final = 20
"""Milliseconds since 1970 need 42 bits until 2109; with these it is 62 of the wire's 63."""


def first_generation(wall_s: float, random_bits: int) -> int:
    """Where a process that begins now numbers its aborts from.

    Later processes begin higher, and two of one millisecond, or of a clock that was set back,
    meet once in a million times at most. Between them is room for a million aborts a second.

    Args:
        wall_s: seconds since 1970.
        random_bits: any number; its lowest 20 bits are taken.
    """
    ticks = max(0, int(wall_s * _TICKS_PER_S)) % (1 << 42)
    return (ticks << _RANDOM_BITS) + random_bits % (1 << _RANDOM_BITS) + 1


@dataclass(slots=True, kw_only=True)
class Hold:
    """Pages of one life of a room.

    Attributes:
        room: the room.
        life: which life of the number.
        needed: how many distinct prefill ranks have to acknowledge.
        due: when the long timeout has passed.
        asked: what those ranks call themselves; ``None``: that is not known.
        ranks: those that have.
    """

    room: int
    life: int
    needed: int
    due: float
    asked: frozenset[int] | None = None
    ranks: set[int] = field(default_factory=set)


class Holds:
    """Open holds by generation. What was released is not kept."""

    def __init__(self, first_generation: int = 1) -> None:
        self._by_generation: dict[int, Hold] = {}
        self._by_room: dict[int, dict[int, Hold]] = {}
        self._last = first_generation - 1

    def __len__(self) -> int:
        return len(self._by_generation)

    def next_generation(self) -> int:
        """A number that no abort of this decode rank has had."""
        self._last += 1
        return self._last

    def add(self, generation: int, hold: Hold) -> None:
        """Begin to hold."""
        self._by_generation[generation] = hold
        self._by_room.setdefault(hold.room, {})[generation] = hold

    def on_ack(self, message: AbortAck) -> str | None:
        """Count an acknowledgement; otherwise the slug of why it counts for nothing."""
        if message.generation is None or message.prefill_rank is None:
            return "ack-without-generation"
        hold = self._by_generation.get(message.generation)
        if hold is None or hold.room != message.room:
            return "ack-stale"
        if hold.asked is not None and message.prefill_rank not in hold.asked:
            return "ack-foreign-rank"
        hold.ranks.add(message.prefill_rank)
        if len(hold.ranks) >= hold.needed:
            self._release(message.generation)
        return None

    def holds(self, room: int, life: int | None) -> bool:
        """Whether pages of that life (``None``: of any life) of a room are held."""
        return any(life in {None, hold.life} for hold in self._by_room.get(room, {}).values())

    def expire(self, now: float) -> tuple[int, float]:
        """Let the long timeout pass: how many were released by it, and the next one due."""
        over = [key for key, hold in self._by_generation.items() if now >= hold.due]
        for key in over:
            self._release(key)
        dues = (hold.due for hold in self._by_generation.values())
        return len(over), min(dues, default=NEVER)

    def _release(self, generation: int) -> None:
        hold = self._by_generation.pop(generation)
        of_room = self._by_room[hold.room]
        del of_room[generation]
        if not of_room:
            del self._by_room[hold.room]
