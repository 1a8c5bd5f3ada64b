"""The thin shells around ZMQ: a loop that survives anything, and an outbox that cannot block.

Rules: a receiving socket belongs to its loop's thread alone; a sending socket is used
under its own lock (two senders on one socket interleave frames: field report F1). Every
socket has HWM and LINGER, every send a deadline, every thread a name and a way to stop.
Whatever a handler raises is counted and the loop goes on; a socket that fails is rebuilt
on the same port a few times and then the loop ends with a reason, so it never spins (L6).
"""

from __future__ import annotations

import logging
import resource
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
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
_BELL: Final = "inproc://stop"
_BURST: Final = 256
"""Messages between two ticks at most: a flood must not stop the clock of the rooms."""


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
                    frames = self._socket.recv_multipart(zmq.NOBLOCK)
                except zmq.Again:
                    break
                self._guarded(self._handle, frames)
                if self._stop.is_set():
                    return
        self._guarded(self._tick)

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
        try:
            self.socket.connect(tcp(endpoint))
        except zmq.ZMQError:
            self.socket.close(linger=0)
            raise


class _Shelf:
    """Sockets by endpoint, a bounded number; the one unused longest makes place."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.lines: OrderedDict[Endpoint, _Line] = OrderedDict()

    def put(self, endpoint: Endpoint, line: _Line) -> list[_Line]:
        """Keep a socket; what has to be closed for it."""
        self.lines[endpoint] = line
        self.lines.move_to_end(endpoint)
        return [self.lines.popitem(last=False)[1]] if len(self.lines) > self.most else []


class Outbox:
    """All sends of a manager: one socket per endpoint, a bounded number of them.

    Messages queue until the endpoint is connected, so a send does not wait for a peer that
    is slow to start; a peer that is gone fills its queue once, costs one deadline, and then
    fails at once until it takes messages again.

    Anybody can name an endpoint in a message that is answered. Such answers are a *courtesy*:
    they never wait, and share a few sockets among themselves, so that strangers can neither
    hold up a loop nor take the sockets of peers away.

    Args:
        counters: gets ``sent`` by message and ``send_errors``.
        deadline_s: how long a send may wait for room in the queue, and closing for what is
            queued: last words, also to peers that do not listen.
        most: sockets kept for peers; fewer where the process may not have so many files.
        strangers: sockets kept for courtesies.

    ``watch``, where it is set, is told of each message that was queued: endpoint and frames.
    """

    def __init__(
        self,
        counters: Counters,
        *,
        deadline_s: float = 1.0,
        most: int = 4096,
        strangers: int = 64,
    ) -> None:
        self.watch: Callable[[Endpoint, Sequence[bytes]], None] | None = None
        self._counters = counters
        self._deadline_s = deadline_s
        self._lock = threading.Lock()
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._context.setsockopt(zmq.MAX_SOCKETS, 65_535)
        self._peers = _Shelf(min(most, _affordable()))
        self._strangers = _Shelf(strangers)
        self._closed = False

    def send(
        self, endpoint: Endpoint, frames: Sequence[bytes], kind: str, *, courtesy: bool = False
    ) -> None:
        """Queue one message; ``kind`` names it in the counters.

        Raises:
            SendError: a full queue for the whole deadline (at once for a courtesy), or a closed
                outbox.
        """
        while True:
            line = self._line(endpoint, courtesy=courtesy)
            with line.lock:
                if line.socket.closed:  # dropped for another endpoint just now
                    continue
                wait_ms = 0 if line.full or courtesy else int(self._deadline_s * 1000)
                self._push(line, endpoint, frames, kind, wait_ms)
            self._counters.add("sent", kind)
            if self.watch is not None:
                self.watch(endpoint, frames)
            return

    def _push(
        self, line: _Line, endpoint: Endpoint, frames: Sequence[bytes], kind: str, wait_ms: int
    ) -> None:
        try:
            line.full = not line.socket.poll(wait_ms, zmq.POLLOUT)
            if line.full:
                self._fail(endpoint, kind, f"its queue is full; waited {wait_ms} ms")
            line.socket.send_multipart(frames, zmq.NOBLOCK)
        except zmq.ZMQError as error:
            self._fail(endpoint, kind, str(error))

    def forget(self, endpoint: Endpoint) -> None:
        """Close the socket to an endpoint that is gone, once it is flushed, or soon."""
        with self._lock:
            line = self._peers.lines.pop(endpoint, None)
        if line is not None:
            _close(line, self._deadline_s)

    def close(self) -> None:
        """Close every socket once it is flushed, or soon; later sends raise ``SendError``."""
        with self._lock:
            self._closed = True
            lines = [*self._peers.lines.values(), *self._strangers.lines.values()]
            self._peers.lines.clear()
            self._strangers.lines.clear()
        for line in lines:
            _close(line, self._deadline_s)
        self._context.term()

    def _line(self, endpoint: Endpoint, *, courtesy: bool) -> _Line:
        with self._lock:
            if self._closed:
                raise SendError(endpoint, "the outbox is closed")
            known = endpoint in self._peers.lines
            shelf = self._strangers if courtesy and not known else self._peers
            line = shelf.lines.get(endpoint)
            if line is None and not courtesy:  # a stranger that has become a peer
                line = self._strangers.lines.pop(endpoint, None)
            try:
                line = line or _Line(self._context, endpoint)
            except zmq.ZMQError as error:
                raise SendError(endpoint, str(error)) from None
            dropped = shelf.put(endpoint, line)
        for each in dropped:
            _close(each)
        return line

    def _fail(self, endpoint: Endpoint, kind: str, reason: str) -> None:
        self._counters.add("send_errors", kind)
        raise SendError(endpoint, reason)


def _affordable() -> int:
    """How many sockets a process may have by its limit of open files: each takes two."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(64, soft // 4) if soft != resource.RLIM_INFINITY else 1 << 16


def _close(line: _Line, linger_s: float = 0.0) -> None:
    with line.lock:
        line.socket.close(linger=int(linger_s * 1000))
