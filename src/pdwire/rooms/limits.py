"""Bounds of the rooms: how long anything waits, and how much of anything is kept."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RoomError", "RoomLimits"]


class RoomError(Exception):
    """The caller asked for something that the room's state rules out; no peer can provoke it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomLimits:
    """Seconds and counts; every one of them positive.

    Attributes:
        bootstrap_s: from opening a room until both sides have found each other.
        waiting_s: from then until the first write (prefill); from sending metadata until
            everything has arrived (decode).
        write_s: between two signs of life while writing, prefill side.
        unopened_rooms: rooms with metadata that no sender was made for.
        unopened_bytes: how much their metadata may take; 4 MiB are a million pages.
        unopened_s: how long such a room is kept, and why one failed that was closed before
            everybody had asked for it.
        repeated_s: how long after a success the same metadata, byte for byte, is taken for a
            double when it comes before a sender. Short: it may be a number that is used again.
        abort_release_s: how long decode keeps the pages of a failed room whose prefill ranks
            do not acknowledge.
        peers: registered decode peers; the least recently registered idle one makes place.
        remembered: aborts whose generation is remembered, so that a double changes nothing.
    """

    bootstrap_s: float = 300.0
    waiting_s: float = 300.0
    write_s: float = 300.0
    unopened_rooms: int = 10_000
    unopened_bytes: int = 256 << 20
    unopened_s: float = 300.0
    repeated_s: float = 5.0
    abort_release_s: float = 600.0
    peers: int = 10_000
    remembered: int = 10_000

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, not {getattr(self, name)!r}")
