"""How many sockets a process can afford: each takes open files, and so does everything else.

Measured with libzmq 4.3.5 (``/proc/self/fd``): a context 1 file and its first socket 5 more; a
PUSH socket 1, and 1 more when it is connected; what a peer pushes here 1; a transfer engine 1
(Mooncake, TCP) to 9 (NIXL, UCX) per peer. Field report A3.
"""

from __future__ import annotations

import os
import resource
import time
from typing import Final

__all__ = ["Files", "affordable"]

PRICE: Final = 4
"""Files that a peer costs altogether: our socket and its connection, the peer's own connection
to our port, and the engine's."""
_SOCKET: Final = 2
_OPEN: Final = "/proc/self/fd"
_RECOUNT_S: Final = 1.0
_LEAST: Final = 8
"""Sockets that are planned with whatever the limit says: without any, nothing is ever said."""


def _limit() -> int | None:
    """Files that this process may open; ``None`` without a limit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def _reserve(limit: int) -> int:
    """Files that are left to the engine, the bootstrap server, and whoever connects to us."""
    return min(max(limit // 8, 16), 512)


def affordable() -> int:
    """How many peers a process may have sockets for, by its limit of open files."""
    limit = _limit()
    if limit is None:
        return 1 << 16
    return max(_LEAST, (limit - _reserve(limit)) // PRICE)


class Files:
    """Whether there are files for one more socket, by what is open now.

    Counting them takes a while where there are many, so that a count serves a few answers.
    """

    def __init__(self) -> None:
        self._left = 0
        self._until = 0.0

    def spare(self, pending: int) -> bool:
        """Whether another socket can be made; ``pending`` have not opened their file yet."""
        now = time.monotonic()
        if self._left <= 0 or now >= self._until:
            self._left, self._until = self._count(pending), now + _RECOUNT_S
        self._left -= 1
        return self._left >= 0

    @staticmethod
    def _count(pending: int) -> int:
        """How many sockets may be made until the next count."""
        limit = _limit()
        if limit is None:
            return 1 << 10
        try:
            used = sum(1 for _ in os.scandir(_OPEN))
        except FileNotFoundError:  # not Linux: the plan alone has to do
            return 1 << 10
        except OSError:  # not one file left to count them with
            return 0
        spare = (limit - _reserve(limit) - used) // _SOCKET - pending
        # An eighth of it, for others open files meanwhile; at least one if there is one.
        return max(spare // 8, min(spare, 1))
