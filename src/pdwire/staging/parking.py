"""Requests for rooms that are not open yet: kept for a while, bounded in number (S1)."""

from __future__ import annotations

import itertools
from collections import OrderedDict

from pdwire.staging.limits import StagingLimits
from pdwire.wire.common import StagingReq

__all__ = ["Parking"]


class Parking:
    """STAGING_REQ messages, the oldest first; all are kept equally long."""

    def __init__(self, limits: StagingLimits) -> None:
        self._limits = limits
        self._tickets = itertools.count()
        self._kept: OrderedDict[int, tuple[float, StagingReq]] = OrderedDict()
        self._by_room: dict[int, list[int]] = {}

    def __len__(self) -> int:
        """How many messages are kept."""
        return len(self._kept)

    def add(self, message: StagingReq, now: float) -> bool:
        """Keep one. ``False``: there are too many."""
        if len(self._kept) >= self._limits.parked:
            return False
        ticket = next(self._tickets)
        self._kept[ticket] = (now + self._limits.parked_s, message)
        self._by_room.setdefault(message.room, []).append(ticket)
        return True

    def take(self, room: int) -> list[StagingReq]:
        """The messages of a room, which are kept no longer."""
        return [self._kept.pop(ticket)[1] for ticket in self._by_room.pop(room, [])]

    def expire(self, now: float) -> int:
        """Drop what was kept long enough. How many messages that were."""
        expired = 0
        while self._kept:
            ticket, (due, message) = next(iter(self._kept.items()))
            if due > now:
                break
            del self._kept[ticket]
            self._by_room[message.room].remove(ticket)
            if not self._by_room[message.room]:
                del self._by_room[message.room]
            expired += 1
        return expired
