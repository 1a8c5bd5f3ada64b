"""Asking a bootstrap server and waiting for it: one deadline, one kind of error.

The deadline spans the whole exchange: the name, the connection, header lines that drip, a body
that drips. Nothing is retried here; the managers decide how often they ask.
"""

from __future__ import annotations

import socket
import time
from concurrent.futures import Future
from typing import TypeVar

from pdwire.bootstrap.addresses import parse
from pdwire.bootstrap.answers import Answer, is_whole, read, request
from pdwire.bootstrap.errors import BootstrapError, Fault
from pdwire.bootstrap.names import NAMES, Places, UnknownHostError
from pdwire.bootstrap.questions import Question, Questions
from pdwire.wire.bootstrap import RoutePut, RouteRankInfo, RouteServerInfo
from pdwire.wire.table import ORDER

__all__ = ["BootstrapClient", "BootstrapError", "Fault"]

T = TypeVar("T")
_AT_ONCE = 1 << 16


class BootstrapClient:
    """Talks to bootstrap servers, each named by its ``host:port``. Any thread may use it.

    Args:
        release: the layouts that bodies are written and read in.
        timeout_s: deadline of each call.
    """

    def __init__(self, *, release: str = ORDER[-1], timeout_s: float = 5.0) -> None:
        self.questions = Questions(release)
        self._timeout_s = timeout_s

    def ask(self, address: str, question: Question[T], *, timeout_s: float | None = None) -> T:
        """Ask one question; ``timeout_s`` replaces the client's deadline.

        Raises:
            BootstrapError: whatever went wrong, no later than the deadline.
        """
        patience_s = self._timeout_s if timeout_s is None else timeout_s
        try:
            answer = _exchange(address, question, time.monotonic() + patience_s)
        except TimeoutError as error:
            told = f"bootstrap server {address}: no answer within {patience_s:g} s"
            raise BootstrapError(told, fault=Fault.SILENT) from error
        except OSError as error:
            # A name without a host is not waited for: nothing says that it will ever be one.
            fault = Fault.SILENT if isinstance(error, UnknownHostError) else Fault.EARLY
            told = f"bootstrap server {address}: cannot be reached: {error}"
            raise BootstrapError(told, fault=fault) from error
        except ValueError as error:
            raise BootstrapError(f"bootstrap server {address}: {error}") from error
        return question.answered(address, answer)

    def register(self, address: str, rank: RoutePut) -> None:
        """Register one prefill rank."""
        self.ask(address, self.questions.register(rank))

    def server_info(self, address: str) -> RouteServerInfo:
        """The prefill side's sizes."""
        return self.ask(address, self.questions.server_info())

    def rank_info(self, address: str, *, dp: int, cp: int, tp: int, pp: int) -> RouteRankInfo:
        """Where one prefill rank listens."""
        return self.ask(address, self.questions.rank_info(dp=dp, cp=cp, tp=tp, pp=pp))

    def register_dp_rank(self, address: str, room: int, dp_rank: int) -> None:
        """Say which DP rank serves a room."""
        self.ask(address, self.questions.register_dp_rank(room, dp_rank))

    def query_dp_ranks(self, address: str, rooms: tuple[int, ...]) -> dict[int, int]:
        """The DP ranks of rooms, as far as they are known."""
        return self.ask(address, self.questions.query_dp_ranks(rooms))

    def healthy(self, address: str) -> bool:
        """Whether the server answers."""
        try:
            self.ask(address, self.questions.health())
        except BootstrapError:
            return False
        return True


def _exchange(address: str, question: Question[T], ends: float) -> Answer:
    """One connection: connect, say, hear, by ``ends``.

    Raises:
        TimeoutError: it was not over in time.
        OSError: there is no such host, or it refuses or breaks the connection.
        ValueError: the address is none, or what came is no answer.
    """
    sent = request(question.method, address, question.path, question.body)
    host, port = parse(address)
    with _connected(_found(NAMES.look_up(host), ends), port, ends) as connection:
        connection.settimeout(_left(ends))
        connection.sendall(sent)
        raw = bytearray()
        while not is_whole(raw):
            connection.settimeout(_left(ends))
            part = connection.recv(_AT_ONCE)
            if not part:
                break
            raw += part
    return read(raw)


def _found(looked_up: Future[Places], ends: float) -> Places:
    return looked_up.result(timeout=_left(ends))


def _connected(places: Places, port: int, ends: float) -> socket.socket:
    """A connection to the first place that takes one; each has its share of the time left."""
    failures: list[OSError] = []
    for number, (family, address) in enumerate(places):
        connection = socket.socket(family, socket.SOCK_STREAM)
        try:
            connection.settimeout(_left(ends) / (len(places) - number))
            connection.connect((address[0], port, *address[2:]))
        except OSError as error:
            connection.close()
            failures.append(error)
        else:
            return connection
    raise failures[0] if failures else OSError("a host without an address")


def _left(ends: float) -> float:
    """Seconds until a deadline; ``TimeoutError`` when it has passed."""
    left = ends - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
