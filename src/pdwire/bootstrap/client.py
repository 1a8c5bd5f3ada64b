"""Asking the bootstrap server: every call has a deadline and one kind of error.

``requests`` with one session per thread of the caller; nothing is retried here, the
managers' own deadlines decide how often they ask.
"""

from __future__ import annotations

import threading
import time
from typing import Final

import requests
from urllib3.exceptions import HTTPError

from pdwire.errors import WireError
from pdwire.wire import layout
from pdwire.wire.bootstrap import (
    QueryDpRanks,
    QueryDpRanksRsp,
    RegisterDpRank,
    RouteGet,
    RoutePut,
    RouteRankInfo,
    RouteServerInfo,
)
from pdwire.wire.table import ORDER

__all__ = ["BootstrapClient", "BootstrapError"]

_BACKEND = "mooncake"  # the HTTP bodies are the same for every backend
_LARGEST: Final = 4 << 20
"""No answer is longer: the largest is a word for each room asked about."""


class BootstrapError(Exception):
    """The server could not be asked, refused, or answered something unreadable."""


class BootstrapClient:
    """Talks to bootstrap servers, each named by its ``host:port``.

    Args:
        release: the layouts that bodies are written and read in.
        timeout_s: deadline of each call.
    """

    def __init__(self, *, release: str = ORDER[-1], timeout_s: float = 5.0) -> None:
        self._release = release
        self._timeout_s = timeout_s
        self._sessions = threading.local()

    def register(self, address: str, rank: RoutePut) -> None:
        """Register one prefill rank."""
        self._call("PUT", address, "/route", self._body("ROUTE_PUT", rank))

    def server_info(self, address: str) -> RouteServerInfo:
        """The prefill side's sizes."""
        asked = RouteGet(
            prefill_dp_rank=-1,
            prefill_cp_rank=-1 if self._knows_cp() else 0,
            target_tp_rank=-1,
            target_pp_rank=-1,
            asks_server_info=True,
        )
        answer = self._read("ROUTE_SERVER_INFO", address, self._route(address, asked))
        if not isinstance(answer, RouteServerInfo):
            raise BootstrapError(f"{address}: {answer!r}")
        return answer

    def rank_info(self, address: str, *, dp: int, cp: int, tp: int, pp: int) -> RouteRankInfo:
        """Where one prefill rank listens."""
        asked = RouteGet(
            prefill_dp_rank=dp, prefill_cp_rank=cp, target_tp_rank=tp, target_pp_rank=pp
        )
        answer = self._read("ROUTE_RANK_INFO", address, self._route(address, asked))
        if not isinstance(answer, RouteRankInfo):
            raise BootstrapError(f"{address}: {answer!r}")
        return answer

    def register_dp_rank(self, address: str, room: int, dp_rank: int) -> None:
        """Say which DP rank serves a room."""
        said = RegisterDpRank(bootstrap_room=room, dp_rank=dp_rank)
        self._call("POST", address, "/register_dp_rank", self._body("REGISTER_DP_RANK", said))

    def query_dp_ranks(self, address: str, rooms: tuple[int, ...]) -> dict[int, int]:
        """The DP ranks of rooms, as far as they are known."""
        body = self._body("QUERY_DP_RANKS", QueryDpRanks(bootstrap_rooms=rooms))
        raw = self._call("POST", address, "/query_dp_ranks", body)
        answer = self._read("QUERY_DP_RANKS_RSP", address, raw)
        if not isinstance(answer, QueryDpRanksRsp):
            raise BootstrapError(f"{address}: {answer!r}")
        return {int(room): rank for room, rank in answer.dp_ranks.items()}

    def healthy(self, address: str) -> bool:
        """Whether the server answers."""
        try:
            self._call("GET", address, "/health")
        except BootstrapError:
            return False
        return True

    def _knows_cp(self) -> bool:
        return "prefill_cp_rank" in layout(_BACKEND, "ROUTE_GET", release=self._release).fields

    def _body(self, message: str, value: RoutePut | RegisterDpRank | QueryDpRanks) -> bytes:
        [body] = layout(_BACKEND, message, release=self._release).encode(value)
        return body

    def _route(self, address: str, asked: RouteGet) -> bytes:
        [query] = layout(_BACKEND, "ROUTE_GET", release=self._release).encode(asked)
        return self._call("GET", address, f"/route?{query.decode('ascii')}")

    def _read(self, message: str, address: str, raw: bytes) -> object:
        try:
            return layout(_BACKEND, message, release=self._release).decode([raw])
        except WireError as error:
            raise BootstrapError(f"{address}: {error}") from error

    def _call(self, method: str, address: str, path: str, body: bytes | None = None) -> bytes:
        session = getattr(self._sessions, "session", None)
        if session is None:
            session = self._sessions.session = requests.Session()
            session.trust_env = False  # a proxy is never meant for a rank of the same fleet
        headers = {"Content-Type": "application/json"} if body is not None else None
        ends = time.monotonic() + self._timeout_s
        url = f"http://{address}{path}"
        try:
            with session.request(
                method, url, data=body, headers=headers, timeout=self._timeout_s, stream=True
            ) as answer:
                raw = self._whole(answer, ends)
        except requests.Timeout as error:
            told = f"bootstrap server {address}: no answer within {self._timeout_s:g} s"
            raise BootstrapError(told) from error
        except requests.ConnectionError as error:
            raise BootstrapError(f"bootstrap server {address}: cannot be reached") from error
        except requests.RequestException as error:
            raise BootstrapError(f"{address}{path}: {error}") from error
        if answer.status_code != 200:
            told = raw[:200].decode("utf-8", "replace")
            raise BootstrapError(f"{address}{path}: {answer.status_code} {told}")
        return raw

    def _whole(self, answer: requests.Response, ends: float) -> bytes:
        """The body; an answer that trickles in, or never ends, is given up.

        Raises:
            RequestException: it was not there in time, or is larger than any answer is.
        """
        raw = bytearray()
        while part := self._some(answer):
            raw += part
            if len(raw) > _LARGEST:
                raise requests.RequestException(f"an answer of more than {_LARGEST} bytes")
            if time.monotonic() > ends:
                raise requests.Timeout(f"the answer was not whole after {self._timeout_s:g} s")
        return bytes(raw)

    @staticmethod
    def _some(answer: requests.Response) -> bytes:
        """What is there of the body, without waiting for more of it; empty at its end."""
        try:
            return bytes(answer.raw.read1(1 << 16, decode_content=True))
        except HTTPError as error:  # requests translates these only where it reads itself
            raise requests.ConnectionError(error) from error
