"""The one error of asking a bootstrap server, and what it means for asking again."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["BootstrapError", "Fault"]


class Fault(StrEnum):
    """What kind of failure it was: whether, and when, asking again can help."""

    EARLY = "early"
    """Nobody listens yet, or not every rank has registered: an honest order of starting up."""
    SILENT = "silent"
    """No whole answer within the deadline."""
    GONE = "gone"
    """A rank has left, or does not live any more."""
    REFUSED = "refused"
    """Asking again brings the same: an address that is none, an answer that cannot be read."""


class BootstrapError(Exception):
    """The server could not be asked, refused, or answered something unreadable.

    Attributes:
        fault: what kind of failure it was.
        status: the HTTP status, where there was an answer.
    """

    def __init__(
        self, text: str, *, fault: Fault = Fault.REFUSED, status: int | None = None
    ) -> None:
        super().__init__(text)
        self.fault = fault
        self.status = status
