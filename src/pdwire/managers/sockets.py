"""The thin shells around ZMQ: a loop that survives anything, and an outbox that cannot block.

Rules: a receiving socket belongs to its loop's thread alone; a sending socket is used
under its own lock (two senders on one socket interleave frames: field report F1). Every
socket has HWM and LINGER, every send a deadline, every thread a name and a way to stop.
Whatever a handler raises is counted and the loop goes on; a socket that fails is rebuilt
on the same port a few times and then the loop ends with a reason, so it never spins (L6).
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import zmq

from pdwire.managers.health import Counters

__all__ = ["Endpoint", "Loop", "Outbox", "SendError", "tcp"]

Endpoint: TypeAlias = tuple[str, int]
Handler: TypeAlias = Callable[[list[bytes]], None]

_LOG: Final = logging.getLogger("pdwire.managers")
_HWM: Final = 10_000
_SEND_HWM: Final = 1_000
_REBUILDS: Final = 5
_BURST: Final = 256
"""Messages between two ticks at most: a flood must not stop the clock of the rooms."""
_FLUSH_MS: Final = 200
"""How long closing waits for what is queued: last words, also to peers that do not listen."""


class SendError(Exception):
    """A message could not be handed to an endpoint within its deadline."""

    def __init__(self, endpoint: Endpoint, reason: str) -> None:
        super().__init__(f"{tcp(endpoint)}: {reason}")
        self.endpoint = endpoint
        self.reason = reason


def tcp(endpoint: Endpoint) -> str:
    """``tcp://host:port`` with an IPv6 host in brackets."""
    host, port = endpoint
    bare = host.strip("[]")
    return f"tcp://[{bare}]:{port}" if ":" in bare else f"tcp://{bare}:{port}"


class Loop:
    """One named thread that owns one PULL socket and hands each message to a handler.

    Args:
        name: the thread's name, and the loop's in the counters.
        host: address to bind; a free port is taken.
        handler: called with the frames of each message, on the loop's thread.
        tick: called at least every ``poll_s`` seconds, on the loop's thread.
        on_dead: called with the reason, on the loop's thread, when the loop ends by itself.
        counters: gets ``loop_errors`` by kind.
        poll_s: seconds between ticks when nothing comes.
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
    ) -> None:
        self.name = name
        self.dead: str | None = None
        self._host = host
        self._handler = handler
        self._tick = tick
        self._on_dead = on_dead
        self._counters = counters
        self._poll_s = poll_s
        self._stop = threading.Event()
        self._context = zmq.Context()
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
            self._thread.join(deadline_s)
            if self._thread.is_alive():
                raise RuntimeError(f"{self.name} did not stop within {deadline_s} s")
        else:
            self._socket.close(linger=0)
        self._context.term()

    def _bind(self, port: int | None) -> tuple[zmq.Socket[bytes], int]:
        socket = self._context.socket(zmq.PULL)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.RCVHWM, _HWM)
        bare = self._host.strip("[]")
        if ":" in bare:
            socket.setsockopt(zmq.IPV6, 1)
        base = f"tcp://[{bare}]" if ":" in bare else f"tcp://{bare}"
        try:
            if port is None:
                return socket, socket.bind_to_random_port(base)
            socket.bind(f"{base}:{port}")
        except zmq.ZMQError:
            socket.close(linger=0)
            raise
        return socket, port

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
            if self.dead is not None:
                self._guarded(self._on_dead, self.dead)

    def _turn(self) -> None:
        """Wait for messages, handle those that are there, tick."""
        if self._socket.poll(int(self._poll_s * 1000)):
            for _ in range(_BURST):
                try:
                    frames = self._socket.recv_multipart(zmq.NOBLOCK)
                except zmq.Again:
                    break
                self._guarded(self._handler, frames)
                if self._stop.is_set():
                    return
        self._guarded(self._tick)

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


class _Line:
    """A PUSH socket and the lock that its senders hold."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], endpoint: Endpoint) -> None:
        self.lock = threading.Lock()
        self.full = False
        """Its queue was full for a whole deadline: do not wait for it again."""
        self.socket = context.socket(zmq.PUSH)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.setsockopt(zmq.SNDHWM, _SEND_HWM)
        self.socket.setsockopt(zmq.RECONNECT_IVL, 50)
        self.socket.setsockopt(zmq.RECONNECT_IVL_MAX, 1000)
        self.socket.setsockopt(zmq.TCP_KEEPALIVE, 1)
        if ":" in endpoint[0]:
            self.socket.setsockopt(zmq.IPV6, 1)
        self.socket.connect(tcp(endpoint))


class Outbox:
    """All sends of a manager: one socket per endpoint, a bounded number of them.

    Messages queue until the endpoint is connected, so a send does not wait for a peer that
    is slow to start; a peer that is gone fills its queue once, costs one deadline, and then
    fails at once until it takes messages again.

    Args:
        counters: gets ``sent`` by message and ``send_errors``.
        deadline_s: how long a send may wait for room in the queue.
        most: sockets kept; the one unused longest is closed for a new one.
    """

    def __init__(self, counters: Counters, *, deadline_s: float = 1.0, most: int = 4096) -> None:
        self._counters = counters
        self._deadline_s = deadline_s
        self._most = most
        self._lock = threading.Lock()
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._context.setsockopt(zmq.MAX_SOCKETS, 65_535)
        self._lines: OrderedDict[Endpoint, _Line] = OrderedDict()
        self._closed = False

    def send(self, endpoint: Endpoint, frames: Sequence[bytes], kind: str) -> None:
        """Queue one message; ``kind`` names it in the counters.

        Raises:
            SendError: a full queue for the whole deadline, or a closed outbox.
        """
        while True:
            line = self._line(endpoint)
            with line.lock:
                if line.socket.closed:  # dropped for another endpoint just now
                    continue
                self._push(line, endpoint, frames, kind)
            self._counters.add("sent", kind)
            return

    def _push(self, line: _Line, endpoint: Endpoint, frames: Sequence[bytes], kind: str) -> None:
        wait_ms = 0 if line.full else int(self._deadline_s * 1000)
        try:
            line.full = not line.socket.poll(wait_ms, zmq.POLLOUT)
            if line.full:
                self._fail(endpoint, kind, f"its queue is full; waited {wait_ms} ms")
            line.socket.send_multipart(frames, zmq.NOBLOCK)
        except zmq.ZMQError as error:
            self._fail(endpoint, kind, str(error))

    def forget(self, endpoint: Endpoint) -> None:
        """Close the socket to an endpoint that is gone."""
        with self._lock:
            line = self._lines.pop(endpoint, None)
        if line is not None:
            _close(line)

    def close(self) -> None:
        """Close every socket once it is flushed, or soon; later sends raise ``SendError``."""
        with self._lock:
            self._closed = True
            lines = list(self._lines.values())
            self._lines.clear()
        for line in lines:
            _close(line, _FLUSH_MS)
        self._context.term()

    def _line(self, endpoint: Endpoint) -> _Line:
        dropped = None
        with self._lock:
            if self._closed:
                raise SendError(endpoint, "the outbox is closed")
            line = self._lines.get(endpoint)
            if line is None:
                try:
                    line = self._lines[endpoint] = _Line(self._context, endpoint)
                except zmq.ZMQError as error:
                    raise SendError(endpoint, str(error)) from None
                if len(self._lines) > self._most:
                    _, dropped = self._lines.popitem(last=False)
            self._lines.move_to_end(endpoint)
        if dropped is not None:
            _close(dropped)
        return line

    def _fail(self, endpoint: Endpoint, kind: str, reason: str) -> None:
        self._counters.add("send_errors", kind)
        raise SendError(endpoint, reason)


def _close(line: _Line, linger_ms: int = 0) -> None:
    with line.lock:
        line.socket.close(linger=linger_ms)
