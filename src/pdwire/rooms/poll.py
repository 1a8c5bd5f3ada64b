"""What a poll of a room says: the numbers that status messages carry on the wire."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["KVPoll"]


class KVPoll(IntEnum):
    """State of a request's hand-off, as both sides show it to their scheduler."""

    Failed = 0
    """Final: it will never succeed, and there is a reason."""
    Bootstrapping = 1
    """The two sides are finding each other."""
    WaitingForInput = 2
    """They have; prefill may begin to write, decode may hand out its pages."""
    Transferring = 3
    """Pages may be written from here on."""
    Success = 4
    """Final: everything has arrived."""
