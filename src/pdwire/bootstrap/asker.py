"""Many questions at a time, on one thread: whoever is silent costs nobody else.

An event loop in a named thread that is started when the first task comes. Questions to all
addresses stand side by side; each has one deadline over the whole exchange, as the client has.
Tasks are coroutines of the managers; none of them may block.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Collection, Coroutine
from contextlib import suppress
from ipaddress import ip_address
from typing import Any, Final, TypeVar

from pdwire.bootstrap.addresses import bare_host, parse
from pdwire.bootstrap.answers import Answer, is_whole, read, request
from pdwire.bootstrap.errors import BootstrapError, Fault
from pdwire.bootstrap.names import NAMES, Names, UnknownHostError
from pdwire.bootstrap.questions import Question, Questions
from pdwire.wire.table import ORDER

__all__ = ["Asker", "ended", "listens"]

T = TypeVar("T")
_LOG: Final = logging.getLogger("pdwire.managers")
_AT_ONCE: Final = 1 << 16
_SIGNATURE: Final = 10
"""Bytes that a ZMTP peer sends first: FF, eight of length, 7F."""
_MOST: Final = 512
"""Connections at a time: each is an open file for as long as its deadline."""
_PER_ADDRESS: Final = 16
"""Connections to one address at a time: its own rooms wait for a slow server, nobody else's."""


class Asker:
    """One thread that asks bootstrap servers.

    Args:
        name: the thread's.
        release: the layouts that bodies are written and read in.
        timeout_s: deadline of each exchange.
        names: looks host names up.
    """

    def __init__(
        self, name: str, *, release: str = ORDER[-1], timeout_s: float = 5.0, names: Names = NAMES
    ) -> None:
        self.name = name
        self.timeout_s = timeout_s
        self.questions = Questions(release)
        self._names = names
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._all = asyncio.Semaphore(_MOST)
        self._each: dict[str, tuple[asyncio.Semaphore, int]] = {}

    def start(self) -> None:
        """Start the thread, unless it runs or the asker is closed."""
        self.post(lambda: None)

    def post(self, call: Callable[[], None]) -> None:
        """Have the thread do something short; nothing after ``close``."""
        with self._lock:
            if self._closed:
                return
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._run, args=(self._loop,), name=self.name, daemon=True
                )
                self._thread.start()
            self._loop.call_soon_threadsafe(call)

    def spawn(self, task: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine beside the others; only on the thread itself."""
        running = asyncio.get_running_loop().create_task(self._guarded(task))
        self._tasks.add(running)
        running.add_done_callback(self._tasks.discard)
        # A task that is cancelled before its first step never comes to what it guards.
        running.add_done_callback(lambda _: task.close())

    def close(self, deadline_s: float = 10.0) -> None:
        """Give up whatever is asked, and join; ``RuntimeError`` when the thread does not end."""
        with self._lock:
            self._closed = True
            loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        with suppress(RuntimeError):  # the loop is closed: this is the second time
            loop.call_soon_threadsafe(loop.stop)
        thread.join(deadline_s)
        if thread.is_alive():
            raise RuntimeError(f"{self.name} did not stop within {deadline_s} s")

    async def ask(self, address: str, question: Question[T]) -> T:
        """Ask one question.

        Raises:
            BootstrapError: whatever went wrong, no later than the deadline.
        """
        try:
            async with asyncio.timeout(self.timeout_s), self._all, self._slot(address):
                answer = await self._exchange(address, question)
        except TimeoutError as error:
            told = f"bootstrap server {address}: no answer within {self.timeout_s:g} s"
            raise BootstrapError(told, fault=Fault.SILENT) from error
        except OSError as error:
            # A name without a host is not waited for: nothing says that it will ever be one.
            fault = Fault.SILENT if isinstance(error, UnknownHostError) else Fault.EARLY
            told = f"bootstrap server {address}: cannot be reached: {error}"
            raise BootstrapError(told, fault=fault) from error
        except ValueError as error:
            raise BootstrapError(f"bootstrap server {address}: {error}") from error
        return question.answered(address, answer)

    async def fault_of(self, endpoint: tuple[str, int]) -> str | None:
        """Why nothing takes connections at an endpoint; ``None`` where something does."""
        async with self._all:
            return await listens(endpoint, self.timeout_s, self._names)

    async def _exchange(self, address: str, question: Question[T]) -> Answer:
        sent = request(question.method, address, question.path, question.body)
        host, port = parse(address)
        reader, writer = await _connected(host, port, self._names)
        try:
            writer.write(sent)
            raw = bytearray()
            while not is_whole(raw):
                part = await reader.read(_AT_ONCE)
                if not part:
                    break
                raw += part
        finally:
            writer.transport.abort()
        return read(raw)

    def _slot(self, address: str) -> _Slot:
        return _Slot(self._each, address)

    async def _guarded(self, task: Coroutine[Any, Any, None]) -> None:
        try:
            await task
        except Exception:  # noqa: BLE001  # one task that breaks down ends no other
            _LOG.exception("%s: a task broke down", self.name)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            loop.run_until_complete(ended(self._tasks))
        finally:
            loop.close()


async def ended(tasks: Collection[asyncio.Task[None]]) -> None:
    """Cancel tasks and wait for them, and for the transports that they let go."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(0)


class _Slot:
    """One of a few connections to an address; forgotten with the last of its users."""

    def __init__(self, known: dict[str, tuple[asyncio.Semaphore, int]], address: str) -> None:
        self._known = known
        self._address = address

    async def __aenter__(self) -> None:
        semaphore, users = self._known.get(self._address, (None, 0))
        semaphore = semaphore or asyncio.Semaphore(_PER_ADDRESS)
        self._known[self._address] = semaphore, users + 1
        try:
            await semaphore.acquire()
        except BaseException:
            self._leave()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._known[self._address][0].release()
        self._leave()

    def _leave(self) -> None:
        semaphore, users = self._known.pop(self._address)
        if users > 1:
            self._known[self._address] = semaphore, users - 1


async def listens(endpoint: tuple[str, int], timeout_s: float, names: Names = NAMES) -> str | None:
    """Why no control socket lives at an endpoint; ``None`` where one does.

    A control socket greets whoever connects, before it is greeted. A connection alone proves
    nothing: gateways and sidecars take them for hosts that are long gone. Only on the loopback
    interface nothing stands between, and whoever takes a connection is there.
    """
    host, port = endpoint
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await _connected(bare_host(host), port, names)
    except TimeoutError:
        return f"no connection within {timeout_s:g} s"
    except (OSError, ValueError, OverflowError) as error:
        return str(error)
    try:
        return await _greeting_fault(reader, writer, timeout_s)
    finally:
        writer.transport.abort()


async def _greeting_fault(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, timeout_s: float
) -> str | None:
    peer = writer.get_extra_info("peername")
    if peer and ip_address(str(peer[0]).partition("%")[0]).is_loopback:
        return None
    try:
        async with asyncio.timeout(timeout_s):
            greeting = await reader.readexactly(_SIGNATURE)
    except (TimeoutError, EOFError, OSError):
        return f"no greeting within {timeout_s:g} s"
    is_zmtp = greeting[:1] == b"\xff" and greeting[-1:] == b"\x7f"
    return None if is_zmtp else "what answers there is no control socket"


async def _connected(
    host: str, port: int, names: Names
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    places = await asyncio.wrap_future(names.look_up(host))
    failures: list[OSError] = []
    for number, (_, address) in enumerate(places):
        try:
            connecting = asyncio.open_connection(str(address[0]), port)
            if number + 1 == len(places):
                return await connecting
            async with asyncio.timeout(1.0):  # one of several: the next may be quicker
                return await connecting
        except OSError as error:
            failures.append(error)
    raise failures[0] if failures else OSError("a host without an address")
