"""Whether somebody answers at a peer's handshake port: asked without waiting, and without a thread.

1. Knocking is a TCP connection that says nothing and is closed for sending: a process that lives
   reads its end and closes it. One that is stopped does neither, though its kernel accepts.
2. Only silence keeps the door shut, and after ``PATIENCE_S`` it is a refusal, for as long again.
   Whatever else happens (refused, unreachable, a name that does not resolve) the engine may find
   out by itself: it fails at once then.
"""

from __future__ import annotations

import select
import socket
from contextlib import suppress
from time import monotonic
from typing import Final, final

__all__ = ["Door"]

PATIENCE_S: Final = 5.0
"""A process that does not read from its port for so long is stopped, or its machine is gone."""


@final
class Door:
    """The door of one peer. Not thread-safe: whoever submits to the peer holds a lock.

    Args:
        session_id: ``host:port``, an IPv6 host in brackets.
    """

    def __init__(self, session_id: str) -> None:
        host, _, port = session_id.rpartition(":")
        self._address = host.strip("[]"), port
        self._socket: socket.socket | None = None
        self._said = False
        self._knocked = 0.0
        self._refused: float | None = None
        self.is_open = False

    def refusal(self) -> str | None:
        """Knock, or look whether it was answered; why not, when nobody has for too long."""
        if self.is_open:
            return None
        now = monotonic()
        if self._refused is not None:
            if now < self._refused:
                return "does not answer"
            self._refused = None
        if self._socket is None:
            self._knock(now)
        if self._is_answered():
            self._hang_up()
            self.is_open = True
        elif now - self._knocked > PATIENCE_S:
            self._hang_up()
            self._refused = now + PATIENCE_S
            return "does not answer"
        return None

    def shut(self) -> None:
        """Ask again before the next submission."""
        self._hang_up()
        self.is_open = False

    def _knock(self, now: float) -> None:
        self._knocked, self._said = now, False
        host, port = self._address
        with suppress(OSError, ValueError):
            # An address needs no name server; a name that does costs its own peer's thread.
            family, kind, proto, _, address = socket.getaddrinfo(
                host, int(port), type=socket.SOCK_STREAM
            )[0]
            self._socket = socket.socket(family, kind, proto)
            self._socket.settimeout(0)
            with suppress(BlockingIOError):
                self._socket.connect(address)

    def _is_answered(self) -> bool:
        """Whether the peer has closed its end, or cannot be asked."""
        if self._socket is None:
            return True
        try:
            if not self._said:
                if not select.select([], [self._socket], [], 0)[1]:
                    return False
                self._socket.shutdown(socket.SHUT_WR)
                self._said = True
            self._socket.recv(1)
        except BlockingIOError:
            return False
        except (OSError, ValueError):  # refused, reset; or more files than select can watch
            return True
        return True

    def _hang_up(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
