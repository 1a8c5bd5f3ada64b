"""The receiving half of a manager: a loop that survives anything.

Rules: the socket belongs to the loop's thread alone. Whatever a handler raises is counted and
the loop goes on; a socket that fails is rebuilt on the same port a few times and then the loop
ends with a reason, so it never spins (L6). What a peer may send is bounded, before libzmq
makes room for it (A13).
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeAlias

import zmq

from pdwire.managers.endpoints import bare, is_unspecified, numeric
from pdwire.managers.health import Counters

__all__ = ["MAX_FRAME_BYTES", "Loop"]

Handler: TypeAlias = Callable[[list[bytes]], None]

_LOG: Final = logging.getLogger("pdwire.managers")
_HWM: Final = 10_000
_REBUILDS: Final = 5
_BELL: Final = "inproc://stop"
_BURST: Final = 256
"""Messages between two ticks at most: a flood must not stop the clock of the rooms."""
MAX_FRAME_BYTES: Final = 64 << 20
"""The largest frame that is taken. The largest that an honest peer sends is the page indices of
one request, 4 bytes each: 64 MiB are 16 Mi pages, more than the 10 Mi tokens of the longest
context that a release serves, at a page a token. A registration's pointers (8 bytes a region),
an agent's metadata and an auxiliary row are far below."""
_MAX_PARTS: Final = 4_096
"""Frames of one message; no layout of any release has a hundredth of it."""


class Loop:
    """One named thread that owns one PULL socket and hands each message to a handler.

    Args:
        name: the thread's name, and the loop's in the counters.
        host: address to bind; a free port is taken.
        handler: called with the frames of each message, on the loop's thread.
        tick: called at least every ``poll_s`` seconds, on the loop's thread.
        on_dead: called with the reason, on the loop's thread, when the loop ends by itself.
        counters: gets ``loop_errors`` by kind, and ``dropped`` for messages that are too large.
        poll_s: seconds between ticks when nothing comes.
        max_frame_bytes: who sends a larger frame is disconnected before it is taken; a message
            of more than twice that in all, or of more than 4,096 frames, is dropped.

    ``watch``, where it is set, sees the frames of each message before the handler does; when it
    answers ``True``, it has taken the message, and the handler is not called.
    """

    def __init__(
        self,
        name: str,
        host: str,
        handler: Handler,
        *,
        tick: Callable[[], None],
        on_dead: Callable[[str], None],
        counters: Counters,
        poll_s: float = 0.05,
        max_frame_bytes: int = MAX_FRAME_BYTES,
    ) -> None:
        self.name = name
        self.dead: str | None = None
        self.watch: Callable[[list[bytes]], bool] | None = None
        self._host = host
        self._handler = handler
        self._tick = tick
        self._on_dead = on_dead
        self._counters = counters
        self._poll_s = poll_s
        self._max_frame_bytes = max_frame_bytes
        self._stop = threading.Event()
        self._context = zmq.Context()
        self._bell = self._context.socket(zmq.PAIR)
        self._bell.bind(_BELL)
        self._socket, self.port = self._bind(None)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start receiving."""
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def stop(self, deadline_s: float = 5.0) -> None:
        """Stop and join; ``RuntimeError`` when the thread does not end in time."""
        self._stop.set()
        if self._thread.ident is not None:
            if self._thread.is_alive():
                self._ring()
            self._thread.join(deadline_s)
            if self._thread.is_alive():
                raise RuntimeError(f"{self.name} did not stop within {deadline_s} s")
        else:
            self._socket.close(linger=0)
            self._bell.close(linger=0)
        self._context.term()

    def _ring(self) -> None:
        """Have the thread look up from its poll at once."""
        with self._context.socket(zmq.PAIR) as rope:
            rope.setsockopt(zmq.LINGER, 0)
            rope.connect(_BELL)
            with suppress(zmq.Again):  # it is on its way out already
                rope.send(b"", zmq.NOBLOCK)

    def _bind(self, port: int | None) -> tuple[zmq.Socket[bytes], int]:
        address = _to_bind(self._host)
        pull = self._context.socket(zmq.PULL)
        pull.setsockopt(zmq.LINGER, 0)
        pull.setsockopt(zmq.RCVHWM, _HWM)
        pull.setsockopt(zmq.MAXMSGSIZE, self._max_frame_bytes)
        if ":" in address:
            pull.setsockopt(zmq.IPV6, 1)
        base = f"tcp://[{address}]" if ":" in address else f"tcp://{address}"
        try:
            if port is None:
                return pull, pull.bind_to_random_port(base)
            pull.bind(f"{base}:{port}")
        except zmq.ZMQError:
            pull.close(linger=0)
            raise
        return pull, port

    def _run(self) -> None:
        failures = 0
        try:
            while not self._stop.is_set():
                try:
                    self._turn()
                    failures = 0
                except Exception as error:  # noqa: BLE001  # of the socket; handlers are guarded
                    failures += 1
                    if not self._rebuild(error, failures):
                        return
        finally:
            self._socket.close(linger=0)
            self._bell.close(linger=0)
            if self.dead is not None:
                self._guarded(self._on_dead, self.dead)

    def _turn(self) -> None:
        """Wait for messages, handle those that are there, tick."""
        poller = zmq.Poller()
        poller.register(self._socket, zmq.POLLIN)
        poller.register(self._bell, zmq.POLLIN)
        if self._socket in dict(poller.poll(int(self._poll_s * 1000))):
            for _ in range(_BURST):
                try:
                    frames = self._receive()
                except zmq.Again:
                    break
                if frames is not None:
                    self._guarded(self._handle, frames)
                if self._stop.is_set():
                    return
        self._guarded(self._tick)

    def _receive(self) -> list[bytes] | None:
        """The next message; ``None`` for one that is too large, which is counted.

        Its frames are bounded one by one by the socket; how many make a message is only known
        here, where libzmq has them all.

        Raises:
            zmq.Again: there is none.
        """
        most = 2 * self._max_frame_bytes
        parts: list[bytes] = []
        size = count = 0
        more = 1
        while more:
            part = self._socket.recv(zmq.NOBLOCK)
            more = int(self._socket.getsockopt(zmq.RCVMORE))
            size, count = size + len(part), count + 1
            if count <= _MAX_PARTS and size <= most:
                parts.append(part)
        if count > _MAX_PARTS:
            self._counters.add("dropped", "too-many-frames")
        elif size > most:
            self._counters.add("dropped", "too-many-bytes")
        else:
            return parts
        return None

    def _handle(self, frames: list[bytes]) -> None:
        if self.watch is None or not self.watch(frames):
            self._handler(frames)

    def _guarded(self, call: Callable[..., None], *args: object) -> None:
        try:
            call(*args)
        except Exception as error:  # noqa: BLE001  # whatever it is, the loop goes on
            kind = type(error).__name__
            if self._counters.add("loop_errors", kind) == 1:
                _LOG.exception("%s: %s in a handler; counted from now on", self.name, kind)

    def _rebuild(self, error: Exception, failures: int) -> bool:
        """Replace a failed socket; ``False`` when the loop has to end."""
        self._socket.close(linger=0)
        for attempt in range(_REBUILDS):
            number = error.errno if isinstance(error, zmq.ZMQError) else type(error).__name__
            self._counters.add("loop_errors", f"socket {number}")
            if failures > _REBUILDS or self._stop.wait(0.01 * 2**attempt):
                break
            try:
                self._socket, _ = self._bind(self.port)
            except zmq.ZMQError as again:  # the port is not free again yet, or never will be
                error = again
            else:
                return True
        if not self._stop.is_set():
            self.dead = f"its socket failed and could not be replaced: {error}"
            _LOG.error("%s ends: %s", self.name, self.dead)
        return False


def _to_bind(host: str) -> str:
    """The address that a host is, for libzmq binds no names; ``OSError`` when there is none."""
    if is_unspecified(host):
        return "::" if ":" in host else "*"
    address = numeric(host)
    if address is None:
        address = str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])
    return bare(address)
