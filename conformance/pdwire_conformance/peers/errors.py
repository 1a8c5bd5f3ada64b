"""What can go wrong between us and a peer.

::

    PeerUnavailable     the release cannot be fetched, started or spoken to here
    Unavailable         this release has no encoder or no decoder for a message
    DroppedError        the peer's own code silently ignored the message, or sent none
    InexpressibleError  the release's encoder has no way to send these values
    PeerError           the peer's own code failed on what it was given
    RunnerError         our side of the runner failed; always a fault of ours
    StandInGapError     the peer's code read an attribute that no stand-in supplies
"""

from __future__ import annotations


class PeerUnavailable(Exception):
    """The release cannot be had on this machine; the text is the reason."""


class Unavailable(Exception):
    """The release has no such encoder or decoder; the text says why."""


class DroppedError(ValueError):
    """The release's code returned without using the message; the text says what it did."""


class InexpressibleError(ValueError):
    """No state of the release makes its encoder send these values; the text says why.

    A property of the release, not a fault: a caller counts it and draws other values.
    """


class PeerError(Exception):
    """The release's own code raised; ``type`` is the exception's class name."""

    def __init__(self, type: str, text: str) -> None:
        super().__init__(f"{type}: {text}")
        self.type = type
        self.text = text


class RunnerError(Exception):
    """The runner itself failed, or was asked for something that it does not have."""

    def __init__(self, type: str, text: str) -> None:
        super().__init__(f"{type}: {text}")
        self.type = type
        self.text = text


class StandInGapError(AttributeError):
    """A stand-in was asked for an attribute that it was not given.

    An ``AttributeError``, so that ``getattr`` with a default and ``hasattr`` in the
    release's code behave; when it escapes, the runner reports it as its own fault.
    """
