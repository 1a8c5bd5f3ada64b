"""Who is told of the ring's watermark, and when.

To every prefill rank that was answered, and only to those: loops of older releases end on a
watermark where staging is off. At once to a new one, then whenever it moves, and every
``remind_s`` while places are taken, for one may have been lost.
"""

from __future__ import annotations

from pdwire.staging.effects import Effect, Endpoint, SendWatermark
from pdwire.staging.ring import Mark
from pdwire.wire.common import Watermark

__all__ = ["MarkDesk"]


class MarkDesk:
    """The prefill ranks that know of the ring, by control socket."""

    def __init__(self, session: str, remind_s: float) -> None:
        self._session = session
        self._remind_s = remind_s
        self._told: dict[Endpoint, str] = {}
        self._due = 0.0

    def __len__(self) -> int:
        """How many ranks are told."""
        return len(self._told)

    def meet(self, endpoint: Endpoint, prefill: str, mark: Mark) -> list[Effect]:
        """Tell a rank that has not been told anything yet."""
        if self._told.get(endpoint) == prefill:
            return []
        self._told[endpoint] = prefill
        return [self._message(endpoint, prefill, mark)]

    def tell(self, mark: Mark, now: float) -> list[Effect]:
        """Tell them all."""
        self._due = now + self._remind_s
        return [self._message(endpoint, prefill, mark) for endpoint, prefill in self._told.items()]

    def remind(self, mark: Mark, now: float) -> list[Effect]:
        """Tell them all again, if the last time is long ago."""
        return self.tell(mark, now) if now >= self._due else []

    def forget(self, *, endpoint: Endpoint | None = None, prefill: str | None = None) -> None:
        """Tell that rank, or every rank of that engine, no more."""
        self._told = {
            at: name for at, name in self._told.items() if at != endpoint and name != prefill
        }

    def _message(self, endpoint: Endpoint, prefill: str, mark: Mark) -> SendWatermark:
        message = Watermark(round=mark.round, tail=mark.tail, session_id=self._session)
        return SendWatermark(endpoint=endpoint, prefill=prefill, message=message)
