"""What waits for one endpoint, and the socket that it goes out by.

A PUSH socket takes a message only while it is connected (``ZMQ_IMMEDIATE``): what it did not
take is still ours, to count and to send again. What a connection has taken when it breaks is
not: a few dozen messages here, and what TCP had under way.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import zmq

from pdwire.managers.endpoints import Endpoint, tcp

__all__ = ["Budget", "Letter", "Line"]

_SEND_HWM: Final = 64
"""Messages that libzmq holds for a connection: few, for they are lost when it breaks; some, so
that a burst does not wait for its I/O thread after each."""
_ENOUGH: Final = 64 << 10
"""Bytes that may wait for any endpoint however much waits for others: a few hundred verdicts."""


@dataclass(frozen=True, slots=True)
class Letter:
    """One message that waits.

    Attributes:
        frames: the message; nobody changes them any more.
        kind: its name in the counters.
        size: bytes of all frames.
        ends: monotonic seconds after which there is no point in sending it.
    """

    frames: Sequence[bytes]
    kind: str
    size: int
    ends: float


class Budget:
    """Bytes that wait for all endpoints together."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._held = 0

    def take(self, size: int, mine: int) -> bool:
        """Whether ``size`` more may wait for an endpoint that has ``mine`` waiting already."""
        with self._lock:
            if self._held + size > self._most and mine + size > _ENOUGH:
                return False
            self._held += size
            return True

    def give(self, size: int) -> None:
        """So much does not wait any more."""
        with self._lock:
            self._held -= size


class Line:
    """One endpoint's queue and socket. Whoever touches either holds ``lock``.

    Attributes:
        queue: what waits, oldest first.
        bytes: size of it.
        socket: ``None`` while there is none; only the sender thread makes and closes it.
        opened, pushed: when the socket was made and took its last message; ``pushed`` is 0.0
            while it has taken none.
        next_end: no letter that waits ends before it.
        trouble: why what waits is still here.
        gone: the line is closed; take another one.
        leaving: it closes as soon as nothing waits.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.lock = threading.Lock()
        self.queue: deque[Letter] = deque()
        self.bytes = 0
        self.socket: zmq.Socket[bytes] | None = None
        self.fd = -1
        self.opened = 0.0
        self.pushed = 0.0
        self.next_end = float("inf")
        self.trouble = "nobody takes it"
        self.retry_at = 0.0
        self.gone = False
        self.leaving = False

    # The caller of what follows holds the lock.

    def open(self, context: zmq.Context[zmq.Socket[bytes]], address: str, now: float) -> None:
        """Make the socket; ``zmq.ZMQError`` when there are no more, or it is no address."""
        socket = context.socket(zmq.PUSH)
        try:
            socket.setsockopt(zmq.LINGER, 0)
            socket.setsockopt(zmq.IMMEDIATE, 1)
            socket.setsockopt(zmq.SNDHWM, _SEND_HWM)
            socket.setsockopt(zmq.RECONNECT_IVL, 50)
            socket.setsockopt(zmq.RECONNECT_IVL_MAX, 1000)
            socket.setsockopt(zmq.TCP_KEEPALIVE, 1)
            if ":" in address:
                socket.setsockopt(zmq.IPV6, 1)
            socket.connect(tcp((address, self.endpoint[1])))
            self.fd = int(socket.getsockopt(zmq.FD))
        except zmq.ZMQError:
            socket.close(linger=0)
            raise
        self.socket, self.opened, self.pushed = socket, now, 0.0

    def shut(self, linger_s: float) -> None:
        """Close the socket; what it took goes out for so long."""
        if self.socket is not None:
            self.socket.close(linger=int(linger_s * 1000) if self.pushed else 0)
            self.socket, self.fd = None, -1

    def takes(self) -> bool:
        """Whether the socket is connected and takes a message now."""
        if self.socket is None:
            return False
        return bool(int(self.socket.getsockopt(zmq.EVENTS)) & zmq.POLLOUT)

    def add(self, letter: Letter) -> None:
        """Have a message wait."""
        self.queue.append(letter)
        self.bytes += letter.size
        self.next_end = min(self.next_end, letter.ends)

    def pop(self) -> Letter:
        """Take out the oldest one."""
        letter = self.queue.popleft()
        self.bytes -= letter.size
        if not self.queue:
            self.next_end = float("inf")
        return letter

    def overdue(self, now: float) -> list[Letter]:
        """Take out what there is no point in sending any more."""
        if self.next_end > now:
            return []
        late = [letter for letter in self.queue if letter.ends <= now]
        kept = [letter for letter in self.queue if letter.ends > now]
        self.queue = deque(kept)
        self.bytes = sum(letter.size for letter in kept)
        self.next_end = min((letter.ends for letter in kept), default=float("inf"))
        return late

    def hurry(self, ends: float) -> None:
        """Let nothing wait longer than until ``ends``."""
        self.next_end = min(self.next_end, ends) if self.queue else float("inf")
        self.queue = deque(
            Letter(each.frames, each.kind, each.size, min(each.ends, ends)) for each in self.queue
        )
