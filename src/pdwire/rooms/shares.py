"""Who has how much of the place for rooms that nobody has opened yet.

Rules (A12):

* There are two bounds, rooms and bytes. While there is place, anybody may have it.
* When there is none, who has less than others displaces what the one with most has parked last.
  So a peer, or somebody who says its name, cannot keep the others out, and honest metadata that
  came early stays.
* A room that somebody only waits for (BOOTSTRAP, which nobody vouches for) gives way to metadata,
  and never displaces any.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

__all__ = ["Shares"]


@dataclass(slots=True)
class _Share:
    """Rooms of one owner, the newest last, with their bytes."""

    rooms: dict[int, int] = field(default_factory=dict)
    size: int = 0


class Shares:
    """Parked rooms by owner.

    An owner is a peer whose metadata came, or an endpoint that waits.

    Args:
        rooms: how many rooms there may be.
        size: how many bytes they may take.
    """

    def __init__(self, rooms: int, size: int) -> None:
        self._max_rooms = rooms
        self._max_size = size
        self._owners: dict[object, _Share] = {}
        self._owner_of: dict[int, object] = {}
        self._waiters: set[object] = set()
        self.size = 0

    def add(self, room: int, owner: object, size: int, *, waits: bool) -> None:
        """A room was parked."""
        share = self._owners.setdefault(owner, _Share())
        share.rooms[room] = size
        share.size += size
        self.size += size
        self._owner_of[room] = owner
        if waits:
            self._waiters.add(owner)

    def remove(self, room: int) -> None:
        """A room is parked no more; harmless for one that is not."""
        owner = self._owner_of.pop(room, None)
        if owner is None:
            return
        share = self._owners[owner]
        size = share.rooms.pop(room)
        share.size -= size
        self.size -= size
        if not share.rooms:
            del self._owners[owner]
            self._waiters.discard(owner)

    def size_of(self, room: int) -> int:
        """Bytes of a parked room."""
        owner = self._owner_of.get(room)
        return 0 if owner is None else self._owners[owner].rooms[room]

    def fits(self, size: int, *, more: int = 1) -> bool:
        """Whether there is place for so many more rooms and bytes."""
        is_few = len(self._owner_of) + more <= self._max_rooms
        return is_few and self.size + size <= self._max_size

    def displaced_by(
        self, owner: object, size: int, *, waits: bool, spared: int | None = None
    ) -> int | None:
        """The room that gives way; ``None``: there is none, and the new one is refused.

        Args:
            owner: whose room comes.
            size: its bytes.
            waits: somebody only waits for it.
            spared: a room that must not be named.
        """
        if size > self._max_size:
            return None
        if not waits and (found := self._newest(self._waiters, spared)) is not None:
            return found
        among = self._waiters if waits else self._owners.keys()
        found = self._newest(among, spared)
        if found is None or self._owner_of[found] == owner:
            return None
        theirs = self._owners[self._owner_of[found]]
        left = self._part(len(theirs.rooms) - 1, theirs.size - theirs.rooms[found])
        mine = self._owners.get(owner, _Share())
        return found if left >= self._part(len(mine.rooms) + 1, mine.size + size) else None

    def _part(self, rooms: int, size: int) -> float:
        """How much of all there is, by the bound that is nearer."""
        return max(rooms / self._max_rooms, size / self._max_size)

    def _newest(self, owners: Iterable[object], spared: int | None) -> int | None:
        """What the owner with most has parked last."""
        most = max(
            (self._owners[owner] for owner in owners),
            key=lambda share: self._part(len(share.rooms), share.size),
            default=None,
        )
        if most is None:
            return None
        return next((room for room in reversed(most.rooms) if room != spared), None)
