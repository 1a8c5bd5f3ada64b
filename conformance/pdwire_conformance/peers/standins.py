"""What the real code is driven with: namespaces, sockets and threads of our own.

Rules:

* A stand-in supplies values and captures calls; it never packs or parses a frame.
* An attribute that was not given is a :class:`~.errors.StandInGapError`, so that a gap
  of ours is never mistaken for a refusal of theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .errors import StandInGapError


class StandIn:
    """A namespace of the given attributes."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)

    def __getattr__(self, name: str) -> Any:
        raise StandInGapError(f"the stand-in has no {name!r}")


def bare(cls: type, **attributes: Any) -> Any:
    """An instance of a real class whose constructor never ran, with these attributes.

    Methods are the real ones. An attribute that is neither given nor the class's own is
    a :class:`StandInGapError`.
    """

    def gap(self: object, name: str) -> Any:
        raise StandInGapError(f"the bare {cls.__name__} has no {name!r}")

    # Abstract methods are emptied: the instance is never asked for them.
    made = type(cls.__name__, (cls,), {"__getattr__": gap, "__module__": cls.__module__})
    made.__abstractmethods__ = frozenset()  # type: ignore[attr-defined]
    instance = object.__new__(made)
    instance.__dict__.update(attributes)
    return instance


class CaptureSocket:
    """A socket that keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[list[bytes]] = []

    def send_multipart(self, frames: Iterable[bytes], *_: Any, **__: Any) -> None:
        """Keep one message as the real code handed it over."""
        self.sent.append([bytes(frame) for frame in frames])

    def take(self) -> list[bytes]:
        """The one message sent since the last call; an error when there was not one."""
        sent, self.sent = self.sent, []
        if len(sent) != 1:
            raise LookupError(f"the peer sent {len(sent)} messages, not one")
        return sent[0]

    def close(self, *_: Any, **__: Any) -> None:
        """Nothing to close."""

    def setsockopt(self, *_: Any) -> None:
        """Options change nothing here."""

    connect = setsockopt


class EndOfFeedError(BaseException):
    """Ends a real receive loop; not an ``Exception``, so that no handler swallows it."""


class FeedSocket:
    """A socket that yields the given messages, then ends the loop that reads it."""

    def __init__(self, messages: Sequence[Sequence[bytes]]) -> None:
        self._messages = [list(message) for message in messages]

    def recv_multipart(self, *_: Any, **__: Any) -> list[bytes]:
        """The next message; :class:`EndOfFeedError` after the last."""
        if not self._messages:
            raise EndOfFeedError
        return self._messages.pop(0)


class LoopThread:
    """Stands in for ``threading.Thread``: keeps the target instead of starting it."""

    started: list[LoopThread]

    def __init__(self, *_: Any, target: Callable[..., Any], **kwargs: Any) -> None:
        self.target = target
        self.args = tuple(kwargs.get("args", ()))

    def start(self) -> None:
        """Remember this thread on its class; nothing runs."""
        type(self).started.append(self)


def run_loop(target: Callable[[], Any]) -> None:
    """Run a real receive loop until its :class:`FeedSocket` is empty."""
    try:
        target()
    except EndOfFeedError:
        return
