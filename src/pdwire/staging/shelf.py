"""Things of rooms that are kept for a while: requests that came early, places that are held."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from typing import Generic, TypeVar

__all__ = ["Shelf"]

Item = TypeVar("Item")


class Shelf(Generic[Item]):
    """Items by room, the oldest first; all are kept equally long.

    Args:
        keep_s: for how long.
        cap: how many at most; ``None``: as many as there are.
    """

    def __init__(self, keep_s: float, cap: int | None = None) -> None:
        self._keep_s = keep_s
        self._cap = cap
        self._tickets = itertools.count()
        self._kept: OrderedDict[int, tuple[float, int, Item]] = OrderedDict()
        self._by_room: dict[int, list[int]] = {}

    def __len__(self) -> int:
        """How many items are kept."""
        return len(self._kept)

    def add(self, room: int, item: Item, now: float) -> bool:
        """Keep one. ``False``: there are too many."""
        if self._cap is not None and len(self._kept) >= self._cap:
            return False
        ticket = next(self._tickets)
        self._kept[ticket] = (now + self._keep_s, room, item)
        self._by_room.setdefault(room, []).append(ticket)
        return True

    def take(self, room: int) -> list[Item]:
        """The items of a room, which are kept no longer."""
        return [self._kept.pop(ticket)[2] for ticket in self._by_room.pop(room, [])]

    def expired(self, now: float) -> list[Item]:
        """The items that were kept long enough, which are kept no longer."""
        found = []
        while self._kept:
            ticket, (due, room, item) = next(iter(self._kept.items()))
            if due > now:
                break
            del self._kept[ticket]
            self._by_room[room].remove(ticket)
            if not self._by_room[room]:
                del self._by_room[room]
            found.append(item)
        return found
