"""What can be asked of a bootstrap server, as values: method, path, body, how to read the answer.

Sans IO: :mod:`client` asks them one by one for a caller who waits, :mod:`asker` many at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pdwire.bootstrap.answers import Answer
from pdwire.bootstrap.errors import BootstrapError, Fault
from pdwire.codec import Message
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

__all__ = ["Question", "Questions"]

T = TypeVar("T")
M = TypeVar("M", bound=Message)
_BACKEND = "mooncake"  # the HTTP bodies are the same for every backend
_FAULTS = {404: Fault.GONE, 410: Fault.GONE, 503: Fault.EARLY}
"""HTTP statuses after which asking again can help."""


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """One question, and how its answer is read."""

    method: str
    path: str
    body: bytes | None
    read: Callable[[bytes], T]

    def answered(self, address: str, answer: Answer) -> T:
        """What an answer says.

        Raises:
            BootstrapError: a refusal, or nothing that can be read.
        """
        place = f"{address}{self.path.partition('?')[0]}"
        if answer.status != 200:
            told = answer.body[:200].decode("utf-8", "replace")
            fault = Fault.GONE if answer.gone else _FAULTS.get(answer.status, Fault.REFUSED)
            text = f"{place}: {answer.status} {told}".rstrip()
            raise BootstrapError(text, fault=fault, status=answer.status)
        try:
            return self.read(answer.body)
        except (WireError, TypeError) as error:
            raise BootstrapError(f"{address}: {error}") from error


class Questions:
    """Questions in the words of one release."""

    def __init__(self, release: str = ORDER[-1]) -> None:
        self._release = release

    def register(self, rank: RoutePut) -> Question[None]:
        """Register one prefill rank."""
        return Question("PUT", "/route", self._body("ROUTE_PUT", rank), _nothing)

    def leave(self, rank: RoutePut) -> Question[None]:
        """Take one prefill rank out; only servers of ours know that, others answer 404."""
        return Question("POST", "/leave", self._body("ROUTE_PUT", rank), _nothing)

    def server_info(self) -> Question[RouteServerInfo]:
        """The prefill side's sizes."""
        asked = RouteGet(
            prefill_dp_rank=-1,
            prefill_cp_rank=-1 if self._knows_cp() else 0,
            target_tp_rank=-1,
            target_pp_rank=-1,
            asks_server_info=True,
        )
        return self._route(asked, "ROUTE_SERVER_INFO", RouteServerInfo)

    def rank_info(self, *, dp: int, cp: int, tp: int, pp: int) -> Question[RouteRankInfo]:
        """Where one prefill rank listens."""
        asked = RouteGet(
            prefill_dp_rank=dp, prefill_cp_rank=cp, target_tp_rank=tp, target_pp_rank=pp
        )
        return self._route(asked, "ROUTE_RANK_INFO", RouteRankInfo)

    def register_dp_rank(self, room: int, dp_rank: int) -> Question[None]:
        """Say which DP rank serves a room."""
        said = RegisterDpRank(bootstrap_room=room, dp_rank=dp_rank)
        body = self._body("REGISTER_DP_RANK", said)
        return Question("POST", "/register_dp_rank", body, _nothing)

    def query_dp_ranks(self, rooms: tuple[int, ...]) -> Question[dict[int, int]]:
        """The DP ranks of rooms, as far as they are known."""

        def read(raw: bytes) -> dict[int, int]:
            answer = self._read("QUERY_DP_RANKS_RSP", QueryDpRanksRsp, raw)
            return {int(room): rank for room, rank in answer.dp_ranks.items()}

        body = self._body("QUERY_DP_RANKS", QueryDpRanks(bootstrap_rooms=rooms))
        return Question("POST", "/query_dp_ranks", body, read)

    def health(self) -> Question[None]:
        """Whether the server answers."""
        return Question("GET", "/health", None, _nothing)

    def _knows_cp(self) -> bool:
        return "prefill_cp_rank" in layout(_BACKEND, "ROUTE_GET", release=self._release).fields

    def _body(self, message: str, value: Message) -> bytes:
        [body] = layout(_BACKEND, message, release=self._release).encode(value)
        return body

    def _route(self, asked: RouteGet, message: str, kind: type[M]) -> Question[M]:
        [query] = layout(_BACKEND, "ROUTE_GET", release=self._release).encode(asked)
        path = f"/route?{query.decode('ascii')}"
        return Question("GET", path, None, lambda raw: self._read(message, kind, raw))

    def _read(self, message: str, kind: type[M], raw: bytes) -> M:
        value: Any = layout(_BACKEND, message, release=self._release).decode([raw])
        if not isinstance(value, kind):
            raise TypeError(repr(value))
        return value


def _nothing(_: bytes) -> None:
    """An answer of which only the status counts."""
