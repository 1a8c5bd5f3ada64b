"""Names of hosts, asked for by a few threads of their own and remembered.

Rules (field report A1): whoever asks never waits; a name is asked for once at a time; answers
are remembered, "there is none" for a shorter while; an answer that has grown old is used on
while it is asked for again. A name server that is slow costs the names that it is slow with.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from pdwire.managers.endpoints import numeric

__all__ = ["Lookup", "Resolver", "Unknown", "addresses_of"]

Lookup: TypeAlias = Callable[[str], Sequence[str]]
"""A name's addresses, the best first; ``OSError`` when there is none. It may block."""

_LOG: Final = logging.getLogger("pdwire.managers")
_THREADS: Final = 8
"""Questions at once. More names than that, all of them slow, wait for each other; numeric
addresses never wait for any."""
_MOST: Final = 4_096
"""Names remembered, and names waiting to be asked for: as many as a fleet has, in a few MiB."""
_FRESH_S: Final = 30.0
"""An address is asked for again after that: a host that moved is found within a minute."""
_SOUR_S: Final = 5.0
"""So long a name that is not known is not asked for again."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A name without an address, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Answer:
    found: str | Unknown
    until: float


def addresses_of(host: str) -> list[str]:
    """What the system's resolver says, IPv4 first: that is what peers bind by default.

    Raises:
        OSError: the name is not known, or nobody could be asked.
    """
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    found.sort(key=lambda entry: entry[0] != socket.AF_INET)
    return [str(entry[4][0]) for entry in found]


class Resolver:
    """Asks for names on threads of its own; they start with the first name.

    Args:
        name: of the threads, a number behind it.
        notify: called with a name when its answer is there, on one of the threads.
        lookup: what is asked; by default the system's resolver.
        threads: questions at once.
    """

    def __init__(
        self,
        name: str,
        notify: Callable[[str], None],
        *,
        lookup: Lookup = addresses_of,
        threads: int = _THREADS,
    ) -> None:
        self._name = name
        self._notify = notify
        self._lookup = lookup
        self._most_threads = threads
        self._news = threading.Condition()
        self._answers: OrderedDict[str, _Answer] = OrderedDict()
        self._wanted: deque[str] = deque()
        self._asking: set[str] = set()
        """Names that wait to be asked for, or are being asked for."""
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._closed = False

    def ask(self, host: str) -> str | Unknown | None:
        """A host's address, or that it has none; ``None``: not yet, ``notify`` will say."""
        address = numeric(host)
        if address is not None:
            return address
        with self._news:
            known = self._answers.get(host)
            if known is None or known.until <= time.monotonic():
                full = not self._want(host)
                if known is None or isinstance(known.found, Unknown):
                    return Unknown("too many names are being asked for") if full else None
            return known.found

    def known(self, host: str) -> str | None:
        """A host's address as far as it is known without asking anybody."""
        address = numeric(host)
        if address is not None:
            return address
        with self._news:
            known = self._answers.get(host)
        return known.found if known is not None and isinstance(known.found, str) else None

    def close(self, deadline_s: float) -> None:
        """End the threads. One that still waits for a name server ends with its answer.

        The system's resolver cannot be interrupted; such a thread is a daemon and only logs.
        """
        with self._news:
            self._closed = True
            self._wanted.clear()
            self._news.notify_all()
        ends = time.monotonic() + deadline_s
        for thread in self._threads:
            thread.join(max(0.0, ends - time.monotonic()))
            if thread.is_alive():
                _LOG.warning("%s still waits for a name server", thread.name)

    def _want(self, host: str) -> bool:
        """Have a name asked for; ``False`` when too many are. The caller holds the lock."""
        if host in self._asking or self._closed:
            return True
        if len(self._asking) >= _MOST:
            return False
        self._asking.add(host)
        self._wanted.append(host)
        if self._idle < len(self._wanted) and len(self._threads) < self._most_threads:
            name = f"{self._name}-{len(self._threads)}"
            thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()
        self._news.notify()
        return True

    def _run(self) -> None:
        while (host := self._next()) is not None:
            found = self._asked(host)
            keep_s = _SOUR_S if isinstance(found, Unknown) else _FRESH_S
            with self._news:
                self._asking.discard(host)
                self._answers[host] = _Answer(found, time.monotonic() + keep_s)
                self._answers.move_to_end(host)
                while len(self._answers) > _MOST:
                    self._answers.popitem(last=False)
                if self._closed:
                    return
            self._notify(host)

    def _next(self) -> str | None:
        with self._news:
            self._idle += 1
            self._news.wait_for(lambda: self._wanted or self._closed)
            self._idle -= 1
            return None if self._closed else self._wanted.popleft()

    def _asked(self, host: str) -> str | Unknown:
        try:
            for found in self._lookup(host):
                address = numeric(found)
                if address is not None:
                    return address
        except Exception as error:  # noqa: BLE001  # an odd name raises UnicodeError, and so on
            return Unknown(f"the name {host} is not known: {error}")
        return Unknown(f"the name {host} has no address")
