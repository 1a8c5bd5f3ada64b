"""Registrations that were refused, remembered so that whoever asks next hears why (O3)."""

from __future__ import annotations

from collections import OrderedDict

from pdwire.rooms.effects import Endpoint

__all__ = ["Refusals"]

_MOST = 1_000
"""Refusals remembered: anybody can have one, so the oldest makes place."""


class Refusals:
    """Why a peer is not registered, by its id and by its endpoint.

    Args:
        keep_s: how long a refusal is remembered.
    """

    def __init__(self, keep_s: float) -> None:
        self._keep_s = keep_s
        self._known: OrderedDict[str | Endpoint, tuple[str, float]] = OrderedDict()

    def put(self, peer: str | None, endpoint: Endpoint, reason: str, now: float) -> None:
        """Remember a refusal; ``peer`` is ``None`` where not even the id could be read."""
        for key in (peer, endpoint):
            if key is not None:
                self._known[key] = reason, now + self._keep_s
                self._known.move_to_end(key)
        while len(self._known) > 2 * _MOST:
            self._known.popitem(last=False)

    def lift(self, peer: str, endpoint: Endpoint) -> None:
        """A registration of that id or endpoint was accepted."""
        self._known.pop(peer, None)
        self._known.pop(endpoint, None)

    def why(self, peer: str, endpoint: Endpoint, now: float) -> str | None:
        """Why who asks under that id from that endpoint is not registered, if that is known."""
        for key in (peer, endpoint):
            reason, until = self._known.get(key, ("", 0.0))
            if until > now:
                return reason
        return None
