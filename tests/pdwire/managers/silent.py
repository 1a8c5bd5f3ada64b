"""Servers that misbehave towards any number of clients, for as long as a test runs."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Behaviour = Callable[[socket.socket], None]


class Listener:
    """Accepts everybody on a port of the loopback interface; each has a thread of its own."""

    def __init__(self, behave: Behaviour) -> None:
        self.accepted = 0
        self._behave = behave
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def address(self) -> str:
        """``host:port``."""
        host, port = self._socket.getsockname()
        return f"{host}:{port}"

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                self.accepted += 1
                self._open.append(connection)
                thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(30)
            self._behave(connection)

    def close(self) -> None:
        """Hang up, and join."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive()


@contextmanager
def listening(behave: Behaviour) -> Iterator[Listener]:
    """A listener that behaves so."""
    listener = Listener(behave)
    try:
        yield listener
    finally:
        listener.close()


def silent(connection: socket.socket) -> None:
    """Hear everything, say nothing."""
    while connection.recv(65_536):
        pass


def dripping(connection: socket.socket) -> None:
    """A header line now and then, for ever: each read is in time, the whole never is."""
    connection.recv(65_536)
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    connection.settimeout(0.02)
    n = 0
    while True:
        n += 1
        connection.sendall(b"X-%d: drip\r\n" % n)
        try:
            if not connection.recv(1):
                return
        except TimeoutError:
            continue
