"""Who has registered with a prefill rank, under which id and at which endpoint.

An endpoint is one decode rank and has one id; a new id at an endpoint, or a known id at
another endpoint, is that rank after a restart (V6).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pdwire.rooms.effects import Endpoint

__all__ = ["Peer", "PeerTable"]


@dataclass(slots=True, kw_only=True)
class Peer:
    """One registered decode rank; ``failed`` says why nothing more is sent to it."""

    name: str
    endpoint: Endpoint
    failed: str | None = None


class PeerTable:
    """Registered peers by id and by endpoint, bounded."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._by_name: dict[str, Peer] = {}
        self._by_endpoint: dict[Endpoint, str] = {}

    def __len__(self) -> int:
        return len(self._by_name)

    def get(self, name: str) -> Peer | None:
        """The peer of that id."""
        return self._by_name.get(name)

    def is_at(self, endpoint: Endpoint) -> bool:
        """Whether a peer has registered with that endpoint."""
        return endpoint in self._by_endpoint

    def replaced_by(self, name: str, endpoint: Endpoint) -> list[Peer]:
        """The registrations that one of ``name`` at ``endpoint`` makes void."""
        found = []
        if (old := self._by_name.get(name)) is not None and old.endpoint != endpoint:
            found.append(old)
        other = self._by_endpoint.get(endpoint, name)
        if other != name:
            found.append(self._by_name[other])
        return found

    def put(self, name: str, endpoint: Endpoint) -> None:
        """Register, unmarked (R10). What it makes void must have been removed."""
        self._by_name.pop(name, None)  # the newest stands last
        self._by_name[name] = Peer(name=name, endpoint=endpoint)
        self._by_endpoint[endpoint] = name

    def remove(self, name: str) -> None:
        """Forget a registration."""
        peer = self._by_name.pop(name)
        del self._by_endpoint[peer.endpoint]

    def surplus(self, is_busy: Callable[[str], bool]) -> str | None:
        """Whom to forget when there are too many: the oldest that no room needs."""
        if len(self._by_name) <= self._limit:
            return None
        newest = next(reversed(self._by_name))
        return next((name for name in self._by_name if name != newest and not is_busy(name)), None)
