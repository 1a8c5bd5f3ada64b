"""The decode rank's staging ring: places on demand, and a watermark that only grows.

Rules, those of every release from 0.5.19 on:

1. A place is given at the head. Where it does not fit behind the head, the head goes back to 0
   and the round is one higher. Places are not aligned and never wrap around the end.
2. Giving never waits: a place may still be in use by an older round. Its writer waits for the
   watermark (:func:`is_writable`).
3. Places are freed in any order. The watermark stands at the oldest place that is taken, so it
   passes freed places in order only, and never goes back.
4. An empty ring begins a new round at 0, whatever the head was: nothing is left to wait for (S3).
   Rings before 0.5.19 do not: there, a place that does not fit behind the head of an empty ring may
   never become writable.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

from pdwire.staging.effects import Place

__all__ = ["OVERSIZED", "Mark", "Ring", "is_writable"]

OVERSIZED: Final = -2
"""What STAGING_RSP says as offset for a chunk that is larger than the ring."""


class Mark(NamedTuple):
    """Everything before it is free: rounds first, then bytes. Pairs compare as they read."""

    round: int
    tail: int


def is_writable(place: Place, watermark: tuple[int, int]) -> bool:
    """Whether a place given to its writer is safe to write, from what the writer has been told.

    In round 0 it always is. Later on, the round before must lie behind the watermark, or the
    place must end at or before the watermark's tail in that round.
    """
    before = place.round - 1
    wm_round, tail = watermark
    return place.round == 0 or before < wm_round or (before == wm_round and place.end <= tail)


class Ring:
    """Gives out byte ranges of one buffer of ``size`` bytes.

    Raises:
        ValueError: a size below 1.
    """

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"a ring of {size} bytes")
        self.size = size
        self.watermark = Mark(0, 0)
        self._round = 0
        self._head = 0
        self._taken: OrderedDict[Place, None] = OrderedDict()  # the oldest first

    def __len__(self) -> int:
        """How many places are taken."""
        return len(self._taken)

    def __contains__(self, place: object) -> bool:
        """Whether a place is taken."""
        return place in self._taken

    @property
    def used(self) -> int:
        """Bytes that are taken; more than :attr:`size` when the ring is overcommitted."""
        return sum(place.size for place in self._taken)

    def drained(self) -> bool:
        """Whether no place is taken."""
        return not self._taken

    def assign(self, size: int) -> Place | None:
        """A place of ``size`` bytes at the head; ``None``: larger than the whole ring (S6).

        Raises:
            ValueError: a size below 1.
        """
        if size < 1:
            raise ValueError(f"a place of {size} bytes")
        if size > self.size:
            return None
        if self._head + size > self.size:
            self._round, self._head = self._round + 1, 0
        place = Place(offset=self._head, round=self._round, end=self._head + size)
        self._head = place.end
        self._taken[place] = None
        return place

    def free(self, place: Place) -> bool:
        """Give a place back. Whether the watermark moved.

        Raises:
            KeyError: a place that is not taken.
        """
        del self._taken[place]
        before = self.watermark
        if self._taken:
            oldest = next(iter(self._taken))
            self.watermark = Mark(oldest.round, oldest.offset)
        else:
            self._round, self._head = self._round + 1, 0
            self.watermark = Mark(self._round, 0)
        return self.watermark != before
