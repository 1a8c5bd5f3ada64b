"""What the real code is driven with: namespaces, sockets and loops of our own.

Rules:

* A stand-in supplies values and captures calls; it never packs or parses a frame.
* An attribute that was not given is a :class:`~.errors.StandInGapError`, so that a gap
  of ours is never mistaken for a refusal of theirs.
* What a real function parsed and hands to nobody is read from its own local variables,
  at the moment when it calls a stand-in: the values are the ones that it made.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from .errors import DroppedError, StandInGapError


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

    made = type(cls.__name__, (cls,), {"__getattr__": gap, "__module__": cls.__module__})
    # Abstract methods are emptied: the instance is never asked for them.
    made.__abstractmethods__ = frozenset()  # type: ignore[attr-defined]
    instance: Any = object.__new__(made)
    instance.__dict__.update(attributes)
    return instance


class Sized:
    """Something of which the real code only takes the length."""

    def __init__(self, length: int) -> None:
        self._length = length

    def __len__(self) -> int:
        return self._length


class Everything:
    """A collection that contains whatever it is asked for."""

    def __contains__(self, item: object) -> bool:
        return True


class Peek:
    """A lookup that finds ``found`` and keeps the local variables of who asked first."""

    def __init__(self, found: Any = None) -> None:
        self._found = found
        self.seen: dict[str, Any] | None = None

    def get(self, key: object, default: Any = None) -> Any:
        """Keep the caller's variables; the prepared answer, or ``None``."""
        self._look()
        return self._found

    def __contains__(self, key: object) -> bool:
        self._look()
        return self._found is not None

    def __getitem__(self, key: object) -> Any:
        return self._found

    def take(self, what: str) -> dict[str, Any]:
        """The variables seen since the last call; :class:`DroppedError` when nobody asked."""
        seen, self.seen = self.seen, None
        if seen is None:
            raise DroppedError(f"the peer ignored the {what}")
        return seen

    def _look(self) -> None:
        if self.seen is None:
            self.seen = dict(sys._getframe(2).f_locals)


class CaptureCall:
    """A callable that keeps the arguments of its last call."""

    def __init__(self, answer: Any = None) -> None:
        self._answer = answer
        self.call: tuple[tuple[Any, ...], dict[str, Any]] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.call = (args, kwargs)
        return self._answer

    def take(self, what: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments since the last take; :class:`DroppedError` when there was no call."""
        call, self.call = self.call, None
        if call is None:
            raise DroppedError(f"the peer ignored the {what}")
        return call


class CaptureSocket:
    """A socket that keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[list[bytes]] = []

    def send_multipart(self, frames: Iterable[bytes], *_: Any, **__: Any) -> None:
        """Keep one message as the real code handed it over."""
        self.sent.append(list(frames))

    def take(self) -> list[bytes]:
        """The one message sent since the last call; :class:`DroppedError` when there was none."""
        sent, self.sent = self.sent, []
        if not sent:
            raise DroppedError("the peer sent nothing")
        if len(sent) > 1:
            raise LookupError(f"the peer sent {len(sent)} messages, not one")
        return sent[0]


def sending(socket: CaptureSocket) -> dict[str, Any]:
    """Attributes that make a manager or a receiver send to ``socket`` wherever it sends."""
    return {
        # managers; some return the socket, some send under the lock of the endpoint
        "_connect": lambda endpoint, is_ipv6=False: socket,
        "_connect_threadsafe": lambda endpoint, is_ipv6=False: socket,
        "_socket_send_locks": defaultdict(nullcontext),
        # receivers
        "_connect_to_bootstrap_server": lambda info: (socket, nullcontext()),
    }


class EndOfFeedError(BaseException):
    """Ends a real receive loop; not an ``Exception``, so that no handler swallows it."""


class FeedSocket:
    """A socket that yields the given messages, then ends the loop that reads it."""

    def __init__(self) -> None:
        self._messages: Iterator[Sequence[bytes]] = iter(())

    def give(self, messages: Iterable[Sequence[bytes]]) -> None:
        """Set what is received from now on."""
        self._messages = iter(messages)

    def recv_multipart(self, *_: Any, **__: Any) -> list[bytes]:
        """The next message; :class:`EndOfFeedError` after the last."""
        for message in self._messages:
            return list(message)
        raise EndOfFeedError


class ReceiveLoop:
    """A real receive loop, run in this thread over the messages that it is given.

    ``start`` is the real method that would start it in a thread of its own; ``feed`` is
    the socket that the loop reads.
    """

    def __init__(self, start: Callable[[], Any], feed: FeedSocket) -> None:
        self._feed = feed
        self._target = _thread_targets(start)[0]

    def run(self, messages: Iterable[Sequence[bytes]]) -> dict[str, Any]:
        """Process the messages; the loop's local variables after the last one."""
        self._feed.give(messages)
        try:
            self._target()
        except EndOfFeedError as end:
            return _variables_above(end)
        raise DroppedError("the peer's receive loop ended by itself")


def _thread_targets(start: Callable[[], Any]) -> list[Callable[[], Any]]:
    """The targets of the threads that ``start`` starts, none of them running."""
    started: list[LoopThread] = []
    thread = type("Thread", (LoopThread,), {"started": started})
    with replaced(start, threading=StandIn(Thread=thread)):
        start()
    return [each.target for each in started]


class LoopThread:
    """Stands in for ``threading.Thread``: keeps itself in ``started``, runs nothing.

    Derive a class with a ``started`` list of its own for each use.
    """

    started: list[LoopThread]

    def __init__(self, *_: Any, target: Callable[..., Any], **kwargs: Any) -> None:
        self.target = target
        self.args = tuple(kwargs.get("args", ()))

    def start(self) -> None:
        """Remember this thread on its class."""
        type(self).started.append(self)


def run_loop(target: Callable[[], Any]) -> None:
    """Run a real receive loop until its socket raises :class:`EndOfFeedError`."""
    try:
        target()
    except EndOfFeedError:
        return


@contextmanager
def replaced(function: Callable[..., Any], **names: Any) -> Iterator[None]:
    """Replace global names in the module where a real function is defined, for a while."""
    namespace: dict[str, Any] = getattr(function, "__func__", function).__globals__
    missing = object()
    before = {name: namespace.get(name, missing) for name in names}
    namespace.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is missing:
                del namespace[name]
            else:
                namespace[name] = value


def _variables_above(end: EndOfFeedError) -> dict[str, Any]:
    """Local variables of the function that called the socket which raised ``end``."""
    trace = end.__traceback__
    variables: dict[str, Any] = {}
    while trace is not None and trace.tb_next is not None:
        variables = trace.tb_frame.f_locals
        trace = trace.tb_next
    return dict(variables)
