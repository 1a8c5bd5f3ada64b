"""Host names, looked up where nobody waits longer than he wants to.

``getaddrinfo`` cannot be interrupted, so it runs on a thread of its own: one per name at a
time, a bounded number in all, remembered for a while. Whoever asks waits as long as his own
deadline allows; a thread that is stuck in a name server ends when that lets it go.
"""

from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final, TypeAlias

__all__ = ["NAMES", "Names", "Places", "UnknownHostError"]

Places: TypeAlias = tuple[tuple[int, tuple[Any, ...]], ...]
"""Address family and socket address, best first."""
_MOST: Final = 32
"""Names that are looked up at a time: dead name servers must not pile threads up."""
_REMEMBERED: Final = 1024
_FRESH_S: Final = 30.0
"""How long an answer is used without asking again: hosts of a fleet hardly move."""


class UnknownHostError(OSError):
    """There is no such host, or nobody can say so now."""


class Names:
    """Looks names up.

    Args:
        most: lookups at a time.
    """

    def __init__(self, *, most: int = _MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._asked: dict[str, Future[Places]] = {}
        self._known: dict[str, tuple[float, Places]] = {}

    def look_up(self, host: str) -> Future[Places]:
        """Where a host is, with port 0; numeric hosts and known names at once.

        The future raises :class:`UnknownHostError`; whoever cancels it changes nothing.
        """
        numeric = _numeric(host)
        if numeric is None:
            return self._by_name(host)
        found = _running()
        found.set_result(numeric)
        return found

    def _by_name(self, host: str) -> Future[Places]:
        found = _running()
        with self._lock:
            until, places = self._known.get(host, (0.0, ()))
            if time.monotonic() < until:
                found.set_result(places)
                return found
            if host in self._asked:
                return self._asked[host]
            if len(self._asked) >= self._most:
                told = f"{host}: {self._most} other names are being looked up"
                found.set_exception(UnknownHostError(told))
                return found
            self._asked[host] = found
        thread = threading.Thread(
            target=self._ask, args=(host, found), name=f"pdwire-name-{host}", daemon=True
        )
        thread.start()
        return found

    def _ask(self, host: str, found: Future[Places]) -> None:
        try:
            places = _places(host)
        except (OSError, UnicodeError) as error:
            with self._lock:
                del self._asked[host]
            found.set_exception(UnknownHostError(f"{host}: {error}"))
            return
        with self._lock:
            del self._asked[host]
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[host] = time.monotonic() + _FRESH_S, places
        found.set_result(places)


def _running() -> Future[Places]:
    """A future that nobody can cancel: several may wait for it."""
    found: Future[Places] = Future()
    found.set_running_or_notify_cancel()
    return found


def _numeric(host: str) -> Places | None:
    """Where a numeric host is, without asking anybody; ``None`` for a name."""
    for family, rest in ((socket.AF_INET, ()), (socket.AF_INET6, (0, 0))):
        with suppress(OSError, ValueError):
            socket.inet_pton(family, host)
            return ((int(family), (host, 0, *rest)),)
    return None


def _places(host: str) -> Places:
    found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys((int(family), tuple(address)) for family, _, _, _, address in found))


NAMES: Final = Names()
"""The process has one resolver, as it has one name server."""
