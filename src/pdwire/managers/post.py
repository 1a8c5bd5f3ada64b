"""Lines to many endpoints, and the one thread that sends what could not go at once.

Rules: whoever says something never waits. Where nothing waits for an endpoint and its socket
takes the message, it goes at once, on the caller's thread; otherwise it waits in that
endpoint's own bounded queue, so that an endpoint that takes nothing costs nobody else
anything. Only the sender thread makes and closes sockets. Where no more can be had, an idle
one makes place, the one unused longest; then one that was never connected, whose words are
all still here. What is not sent in the end is handed back with the reason (field report A3).

Threads meet at each line's lock. The sender polls the sockets' file descriptors, not the
sockets: libzmq allows a socket to one thread at a time.
"""

from __future__ import annotations

import errno
import logging
import math
import os
import select
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

import zmq

from pdwire.managers.endpoints import Endpoint, SendError, numeric
from pdwire.managers.files import Files
from pdwire.managers.health import Counters
from pdwire.managers.lines import Budget, Letter, Line
from pdwire.managers.resolver import Unknown

__all__ = ["Lost", "Post"]

Lost: TypeAlias = Callable[[Endpoint, Sequence[Letter], str], None]
"""Told of what will not be sent: for whom, what, and why."""

_LOG: Final = logging.getLogger("pdwire.managers")
_LOOK_S: Final = 1.0
"""The longest time between two looks at what waits, while something does."""
_RETRY_S: Final = 0.1
"""Between two tries to get a socket, or an address, that could not be had."""
_TRIAL_S: Final = 0.5
"""So long a socket may try to connect while other endpoints wait for one."""
_STUCK_S: Final = 10.0
"""So long a socket that was connected may take nothing while other endpoints wait for one."""
_REASK_S: Final = 30.0
"""A named host that takes nothing for so long may have moved: its name is asked for again."""
_FIRST: Final = 8
"""Sockets that are tried for however many files are open."""
_NONE_LEFT: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})


class Post:
    """Sends to a bounded number of endpoints at once, and to any number in turn.

    Args:
        name: of the sender thread, which starts with the first message that has to wait.
        counters: gets ``sent`` by kind, and ``loop_errors``.
        most: sockets at a time.
        queued: messages that may wait for one endpoint.
        queued_bytes: bytes of them.
        linger_s: how long a socket that makes place, or an endpoint that is forgotten, may take
            to say what was said to it.
        resolve: an endpoint's address; ``None`` while it is being asked for.
        lost: told of what is not sent.
        forgetful: endpoints beyond ``most`` are not waited for: the oldest one's words are lost.
    """

    def __init__(
        self,
        name: str,
        counters: Counters,
        *,
        most: int,
        queued: int,
        queued_bytes: int,
        linger_s: float,
        resolve: Callable[[str], str | Unknown | None],
        lost: Lost,
        forgetful: bool = False,
    ) -> None:
        self.most = most
        self.lines: OrderedDict[Endpoint, Line] = OrderedDict()
        """Endpoints with a socket, or with words that wait; the one used last stands last."""
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.context.setsockopt(zmq.MAX_SOCKETS, 65_535)
        self._name = name
        self._counters = counters
        self._queued, self._queued_bytes = queued, queued_bytes
        self._linger_s = linger_s
        self._resolve = resolve
        self._lost = lost
        self._forgetful = forgetful
        self._budget = Budget(4 * queued_bytes)
        self._files = Files()
        self._lock = threading.Lock()
        self._news: dict[Line, None] = {}
        self._rung = False
        self._closed = False
        self._ends = math.inf
        self._thread: threading.Thread | None = None
        self._ear, self._bell = os.pipe()
        for end in (self._ear, self._bell):
            os.set_blocking(end, False)
        # What follows belongs to the sender thread.
        self._poller = select.poll()
        self._poller.register(self._ear, select.POLLIN)
        self._watched: dict[int, Line] = {}
        self._busy: dict[Line, None] = {}
        self._waiting: OrderedDict[Line, str] = OrderedDict()
        self._open: set[Line] = set()
        self._unproven: set[Line] = set()
        self._look_at = math.inf

    # ------------------------------------------------------------ any thread

    def take(self, endpoint: Endpoint, letter: Letter) -> None:
        """Send one message, or have it wait.

        Raises:
            SendError: too much waits for that endpoint already, or the post is closed.
        """
        while True:
            line, unsaid = self._line(endpoint)
            for each, letters in unsaid:
                self._lost(each, letters, "other strangers came")
            with line.lock:
                if line.gone:
                    continue
                if not line.queue and self._push(line, letter):
                    return
                refused = self._refused(line, letter.size)
                if refused is None:
                    line.add(letter)
            self._wake(line)
            if refused is not None:
                raise SendError(endpoint, refused)
            return

    def forget(self, endpoint: Endpoint) -> None:
        """An endpoint is gone: what waits for it has a little time, then its socket closes."""
        with self._lock:
            line = self.lines.pop(endpoint, None)
        if line is not None:
            with line.lock:
                line.leaving = True
                line.hurry(time.monotonic() + self._linger_s)
            self._wake(line)

    def on_name(self, host: str) -> None:
        """The address of a name is known, or that it has none."""
        with self._lock:
            lines = [line for (name, _), line in self.lines.items() if name == host]
        for line in lines:
            self._wake(line)

    def close_by(self, ends: float) -> None:
        """Take nothing more, and send what waits until then."""
        with self._lock:
            self._closed, self._ends = True, ends
            self._ring()

    def close(self) -> None:
        """Wait for the end that ``close_by`` has set, and close every socket.

        Raises:
            RuntimeError: the sender thread did not end in time.
        """
        if self._thread is not None:
            self._thread.join(max(0.0, self._ends - time.monotonic()) + 5.0)
            if self._thread.is_alive():
                raise RuntimeError(f"{self._name} did not stop in time")
        if not self.context.closed:
            left_s = max(0.05, self._ends - time.monotonic())  # for what was taken just now
            self.context.destroy(linger=int(left_s * 1000))
            with self._lock:  # so that nobody rings what is another file by then
                os.close(self._bell)
                self._bell = -1
            os.close(self._ear)

    def _line(self, endpoint: Endpoint) -> tuple[Line, list[tuple[Endpoint, list[Letter]]]]:
        """An endpoint's line, and what other ones lose for it."""
        unsaid: list[tuple[Endpoint, list[Letter]]] = []
        with self._lock:
            if self._closed:
                raise SendError(endpoint, "the outbox is closed")
            line = self.lines.get(endpoint)
            if line is None:
                line = self.lines[endpoint] = Line(endpoint)
                while self._forgetful and len(self.lines) > self.most:
                    unsaid += self._oust(*self.lines.popitem(last=False))
            self.lines.move_to_end(endpoint)
        return line, unsaid

    def _oust(self, endpoint: Endpoint, line: Line) -> list[tuple[Endpoint, list[Letter]]]:
        with line.lock:
            letters = self._emptied(line)
            if line.socket is None:
                line.gone = True
                self._news.pop(line, None)
            else:  # the sender closes it
                line.leaving = True
                self._news[line] = None
                self._ring()
        return [(endpoint, letters)] if letters else []

    def _emptied(self, line: Line) -> list[Letter]:
        """Take out everything that waits; the caller holds the line."""
        letters = []
        while line.queue:
            letters.append(line.pop())
        self._budget.give(sum(letter.size for letter in letters))
        return letters

    def _refused(self, line: Line, size: int) -> str | None:
        """Why a message may not wait; the caller holds the line."""
        is_full = len(line.queue) >= self._queued or line.bytes + size > self._queued_bytes
        if is_full or not self._budget.take(size, line.bytes):
            return f"its queue is full: {len(line.queue)} messages, {line.bytes} bytes wait"
        return None

    def _push(self, line: Line, letter: Letter) -> bool:
        """Hand a message to a connected socket; the caller holds the line.

        It is counted first, so that nobody hears what is not counted.
        """
        socket = line.socket
        if socket is None or not line.takes():
            return False
        self._counters.add("sent", letter.kind)
        try:
            socket.send_multipart(letter.frames, zmq.NOBLOCK)
        except zmq.ZMQError:  # the connection broke within these few microseconds
            self._counters.add("sent", letter.kind, -1)
            return False
        line.pushed = time.monotonic()
        return True

    def _wake(self, line: Line) -> None:
        with self._lock:
            self._news[line] = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            self._ring()

    def _ring(self) -> None:
        """Have the sender look up; the caller holds the lock."""
        if not self._rung:
            self._rung = True
            with suppress(OSError):  # there is no bell any more
                os.write(self._bell, b"!")

    # ------------------------------------------------------ the sender thread

    def _run(self) -> None:
        going = True
        while going:
            try:
                going = self._turn()
            except Exception as error:  # noqa: BLE001  # whatever it is, the thread goes on
                kind = type(error).__name__
                if self._counters.add("loop_errors", kind) == 1:
                    _LOG.exception("%s: %s; counted from now on", self._name, kind)
                self._look_at = time.monotonic() + _RETRY_S
                going = not self._closed
        self._say_goodbye()

    def _turn(self) -> bool:
        """Wait for something to do and do it; ``False`` when it was the last time."""
        ready = self._poller.poll(self._patience_ms())
        with suppress(BlockingIOError):
            os.read(self._ear, 64)
        with self._lock:
            self._rung = False
            lines = self._news
            self._news = {}
            ends = self._ends
        for fd, _ in ready:
            if fd in self._watched:
                lines[self._watched[fd]] = None
        now = time.monotonic()
        for line in lines:
            self._serve(line, now)
        self._give_turns(now)
        if now >= self._look_at:
            self._look(now)
        return ends == math.inf or (bool(self._busy) and now < ends)

    def _patience_ms(self) -> int | None:
        until = min(self._look_at, self._ends)
        if until == math.inf:
            return None
        return max(0, math.ceil((until - time.monotonic()) * 1000))

    def _serve(self, line: Line, now: float) -> None:
        """Send what can be sent, and note what has to be waited for."""
        with line.lock:
            while line.queue and self._push(line, line.queue[0]):
                self._budget.give(line.pop().size)
            has_words, has_socket = bool(line.queue), line.socket is not None
        if line.pushed:
            self._unproven.discard(line)
        if not has_words:
            self._rest(line)
            if line.leaving or not has_socket:
                self._remove(line)
            return
        self._busy[line] = None
        self._look_at = min(self._look_at, line.next_end, now + _LOOK_S)
        if has_socket:
            self._watch(line)
        else:
            self._seek(line, now)

    def _seek(self, line: Line, now: float) -> None:
        """Find the address of a line that has words and no socket."""
        if line in self._waiting or line.retry_at > now:
            return
        host, _ = line.endpoint
        found = self._resolve(host)
        if found is None:
            line.trouble = f"the name {host} is still being asked for"
        elif isinstance(found, Unknown):
            line.trouble, line.retry_at = found.reason, now + _RETRY_S
            self._look_at = min(self._look_at, line.retry_at)
        else:
            line.trouble = "no socket is free"
            self._waiting[line] = found

    def _give_turns(self, now: float) -> None:
        """Make sockets for those that wait for one, as far as there are any."""
        while self._waiting:
            line, address = next(iter(self._waiting.items()))
            if not (self._may_open() or self._free_one(now)):
                self._look_at = min(self._look_at, now + _RETRY_S)
                return
            del self._waiting[line]
            if not self._open_line(line, address, now):
                self._waiting[line] = address
                self._look_at = min(self._look_at, now + _RETRY_S)
                return

    def _may_open(self) -> bool:
        count = len(self._open)
        return count < self.most and (count < _FIRST or self._files.spare(len(self._unproven)))

    def _open_line(self, line: Line, address: str, now: float) -> bool:
        """Make a line's socket; ``False`` when there is none left in the process."""
        unsaid: list[Letter] = []
        with line.lock:
            if line.gone or not line.queue:
                return True
            try:
                line.open(self.context, address, now)
            except zmq.ZMQError as error:
                line.trouble = f"no socket can be had: {error}"
                if error.errno in _NONE_LEFT:
                    return False
                unsaid = self._emptied(line)  # it is no address, and never will be
        if unsaid:
            self._lost(line.endpoint, unsaid, line.trouble)
        else:
            line.trouble = "nobody takes it"
            self._open.add(line)
            self._unproven.add(line)
        self._serve(line, now)
        return True

    def _free_one(self, now: float) -> bool:
        """Close a socket that is needed less than one that is waited for."""
        with self._lock:
            idle = next((line for line in self.lines.values() if self._is_idle(line)), None)
        if idle is not None and self._remove(idle):
            return True
        slow = next((line for line in self._busy if self._is_hopeless(line, now)), None)
        if slow is not None:
            self._park(slow, now)
        return slow is not None

    @staticmethod
    def _is_idle(line: Line) -> bool:
        return line.socket is not None and not line.queue

    @staticmethod
    def _is_hopeless(line: Line, now: float) -> bool:
        """Whether a line's words may wait without a socket while others have their turn."""
        if line.socket is None:
            return False
        patience = _STUCK_S if line.pushed else _TRIAL_S
        return now - max(line.opened, line.pushed) > patience

    def _park(self, line: Line, now: float) -> None:
        """Take the socket of a line that has words; it waits for another one."""
        self._unwatch(line)
        with line.lock:
            line.shut(self._linger_s)
        self._open.discard(line)
        self._unproven.discard(line)
        line.trouble = "nobody takes it"
        self._seek(line, now)

    def _look(self, now: float) -> None:
        """Give up what has waited too long, and try again what could not be done."""
        self._look_at = math.inf
        for line in list(self._busy):
            with line.lock:
                late = line.overdue(now)
            if late:
                self._budget.give(sum(letter.size for letter in late))
                self._lost(line.endpoint, late, line.trouble)
            is_named = numeric(line.endpoint[0]) is None
            if is_named and self._is_hopeless(line, now - (_REASK_S - _STUCK_S)):
                self._park(line, now)
            self._serve(line, now)
            if late and not line.queue:
                self._remove(line)  # else it would try to connect to nobody for ever

    def _rest(self, line: Line) -> None:
        """Nothing waits for a line."""
        self._busy.pop(line, None)
        self._waiting.pop(line, None)
        self._unwatch(line)

    def _remove(self, line: Line) -> bool:
        """Close a line for which nothing waits; ``False`` when something does by now."""
        with self._lock, line.lock:
            if line.queue:
                return False
            line.gone = True
            if self.lines.get(line.endpoint) is line:
                del self.lines[line.endpoint]
            self._unwatch(line)
            line.shut(self._linger_s)
        self._rest(line)
        self._open.discard(line)
        self._unproven.discard(line)
        return True

    def _watch(self, line: Line) -> None:
        if line.fd not in self._watched:
            self._watched[line.fd] = line
            self._poller.register(line.fd, select.POLLIN)

    def _unwatch(self, line: Line) -> None:
        if self._watched.get(line.fd) is line:
            del self._watched[line.fd]
            self._poller.unregister(line.fd)

    def _say_goodbye(self) -> None:
        """Hand back what could not be said; no line takes anything any more."""
        with self._lock:
            lines = {*self._news, *self._busy, *self.lines.values()}
            self.lines.clear()
        for line in lines:
            with line.lock:
                line.gone = True
                letters = self._emptied(line)
            if letters:
                self._lost(line.endpoint, letters, f"the outbox was closed; {line.trouble}")
