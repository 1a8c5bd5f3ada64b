"""The HTTP rendezvous: prefill ranks register, decode ranks ask where they are.

aiohttp in one named thread. A body is read in the configured release's layout, or else in the
newest one that it fits, and answered in the same release's. Answers are written with every
optional key that has its default left out: the releases' decode sides refuse keys that they do
not know (0.5.10 on), so an answer without them is one that all of them take.

Every few seconds it connects to the control sockets of its ranks, side by side: a rank that is
gone is taken out, and the answers say so. Prefill ranks of ours say goodbye (``POST /leave``).
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Iterable, MutableMapping, Sequence
from typing import Any, Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from pdwire.bootstrap.addresses import bare_host, host_port
from pdwire.bootstrap.asker import ended, listens
from pdwire.bootstrap.table import TAKEN, BootstrapTable, Clash, Endpoint, Place, Refused
from pdwire.codec import Codec, Message, field_names
from pdwire.errors import WireError
from pdwire.wire import layout, layouts
from pdwire.wire.bootstrap import (
    QueryDpRanks,
    QueryDpRanksRsp,
    RegisterDpRank,
    RouteGet,
    RoutePut,
)
from pdwire.wire.table import ORDER

__all__ = ["BootstrapServer"]

_BACKEND = "mooncake"  # the HTTP bodies are the same for every backend
_DESCRIPTIVE = {"page_size", "kv_cache_dtype", "prefill_http_port", "follow_bootstrap_room"}
"""What a decode side compares or uses where it knows it, and does without where it does not."""
_GOODBYE_S = 1.0
"""How long closing waits for requests that are being answered."""
_LOOK_S: Final = 1.0
"""How long a rank has to take a connection: it is in the same fleet, and its kernel does it."""
_AT_ONCE: Final = 64
"""Connections to ranks at a time."""
_LOG: Final = logging.getLogger("pdwire.bootstrap")


class BootstrapServer:
    """Serves ``/route``, ``/leave``, ``/register_dp_rank``, ``/query_dp_ranks`` and ``/health``.

    Args:
        host: address to bind; an IPv6 address with or without brackets.
        port: port to bind; 0 takes a free one, see :attr:`port`.
        release: the layouts that bodies are read and written in.
        probe_s: seconds between two looks at the ranks' control sockets.

    Raises:
        OSError: the address cannot be bound.
        RuntimeError: the server did not start in time.
    """

    def __init__(
        self, host: str, port: int = 0, *, release: str = ORDER[-1], probe_s: float = 2.0
    ) -> None:
        self.host = bare_host(host)
        self.port = port
        self.table = BootstrapTable()
        self._release = release
        self._probe_s = probe_s
        self._looks = asyncio.Semaphore(_AT_ONCE)
        self._entering = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._failures: list[OSError] = []
        self._runner: web.AppRunner | None = None
        self._thread = threading.Thread(target=self._run, name="pdwire-bootstrap", daemon=True)
        self._thread.start()
        if not self._started.wait(10):
            raise RuntimeError("the bootstrap server did not start within 10 s")
        if self._failures:
            self._thread.join()
            raise self._failures[0]

    @property
    def address(self) -> str:
        """``host:port`` for clients."""
        return host_port(self.host, self.port)

    def close(self) -> None:
        """Stop serving and join the thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._start())
        except OSError as error:
            self._failures.append(error)
            self._loop.close()
            self._started.set()
            return
        self._started.set()
        self._spawn(self._watch())
        self._loop.run_forever()
        self._loop.run_until_complete(ended(self._tasks))
        if self._runner is not None:
            self._loop.run_until_complete(self._runner.cleanup())
        self._loop.close()

    async def _start(self) -> None:
        app = web.Application(client_max_size=1 << 20, middlewares=[_refusals])
        app.router.add_put("/route", self._put)
        app.router.add_get("/route", self._get)
        app.router.add_post("/leave", self._leave)
        app.router.add_post("/register_dp_rank", self._register_dp_rank)
        app.router.add_post("/query_dp_ranks", self._query_dp_ranks)
        app.router.add_get("/health", _health)
        self._runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=_GOODBYE_S, logger=_Lines(_LOG)
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, self.host, self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]

    # ------------------------------------------------------------ who lives

    def _spawn(self, work: Any) -> None:  # noqa: ANN401  # a coroutine
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _watch(self) -> None:
        """Look at every rank, again and again."""
        while True:
            await asyncio.sleep(self._probe_s)
            places = self.table.endpoints()
            await asyncio.gather(*(self._look(place, where) for place, where in places.items()))

    async def _look(self, place: Place, where: Endpoint) -> None:
        answers = await self._answers(where)
        if self.table.heard(place, where, answers=answers):
            _LOG.warning("the prefill rank %s at %s:%s is gone: taken out", place, *where)

    async def _answers(self, where: Endpoint) -> bool:
        async with self._looks:
            return await listens(where, min(_LOOK_S, self._probe_s)) is None

    async def _living(self, places: Iterable[Place]) -> list[Place]:
        """Those of some ranks that take connections."""
        at = self.table.endpoints()
        known = [place for place in places if place in at]
        found = await asyncio.gather(*(self._answers(at[place]) for place in known))
        return [place for place, answers in zip(known, found, strict=True) if answers]

    async def _enter(self, rank: RoutePut) -> None:
        """Register a rank; where others are in its way, who lives decides.

        Raises:
            Refused: it contradicts itself, or ranks that live.
        """
        async with self._entering:  # one at a time: between look and entry nobody else decides
            clash = self.table.clash(rank)
            if clash is None:
                self.table.register(rank)
            else:
                await self._contest(rank, clash)
        self._look_soon(rank)

    async def _contest(self, rank: RoutePut, clash: Clash) -> None:
        replaces = clash.refusal.status == TAKEN
        # A size that no living rank confirms outlasts none that lives; a rank that may be hidden
        # from here only takes its own place.
        if not (replaces or await self._answers((rank.rank_ip, rank.rank_port))):
            raise clash.refusal
        if await self._living(clash.places):
            raise clash.refusal
        self.table.replace(rank, clash.places)

    def _look_soon(self, rank: RoutePut) -> None:
        """A rank that dies before the next look has lived all the same."""
        where = rank.rank_ip, rank.rank_port
        for place in [p for p, at in self.table.endpoints().items() if at == where]:
            self._spawn(self._look(place, where))

    # ---------------------------------------------------------- the routes

    def _decode(self, message: str, body: bytes) -> tuple[Message, Sequence[str]]:
        """The message and the releases that say it so, newest first; the configured one before.

        Raises:
            WireError: no release does; the error is the configured one's.
        """
        configured = layout(_BACKEND, message, release=self._release)
        try:
            return configured.decode([body]), (self._release,)
        except WireError as error:
            for codec in reversed(layouts(_BACKEND, message)):
                try:
                    return codec.decode([body]), codec.releases[::-1]
                except WireError:
                    continue
            raise error from None

    def _answer(self, message: str, value: Message, releases: Sequence[str]) -> web.Response:
        """The answer in the newest of the releases that can carry it.

        Raises:
            WireError: none can: the client would act on something else.
        """
        *newer, oldest = releases
        for release in newer:
            try:
                return _response(message, value, release)
            except WireError:
                continue
        return _response(message, value, oldest)

    async def _put(self, request: web.Request) -> web.Response:
        await self._enter(await self._rank(request))
        return web.Response(text="OK")

    async def _leave(self, request: web.Request) -> web.Response:
        self.table.leave(await self._rank(request))
        return web.Response(text="OK")

    async def _rank(self, request: web.Request) -> RoutePut:
        rank, _ = self._decode("ROUTE_PUT", await request.read())
        if not isinstance(rank, RoutePut):
            raise TypeError(rank)
        return rank

    async def _get(self, request: web.Request) -> web.Response:
        asked, releases = self._decode("ROUTE_GET", request.rel_url.raw_query_string.encode())
        if not isinstance(asked, RouteGet):
            raise TypeError(asked)
        if asked.asks_server_info:
            return self._answer("ROUTE_SERVER_INFO", self.table.server_info(), releases)
        found = self.table.rank_info(
            asked.prefill_dp_rank,
            asked.prefill_cp_rank,
            asked.target_tp_rank,
            asked.target_pp_rank,
        )
        return self._answer("ROUTE_RANK_INFO", found, releases)

    async def _register_dp_rank(self, request: web.Request) -> web.Response:
        said, _ = self._decode("REGISTER_DP_RANK", await request.read())
        if not isinstance(said, RegisterDpRank):
            raise TypeError(said)
        self.table.note_dp_rank(said.bootstrap_room, said.dp_rank)
        return web.Response(text="OK")

    async def _query_dp_ranks(self, request: web.Request) -> web.Response:
        asked, releases = self._decode("QUERY_DP_RANKS", await request.read())
        if not isinstance(asked, QueryDpRanks):
            raise TypeError(asked)
        ranks = self.table.dp_ranks(asked.bootstrap_rooms)
        return self._answer("QUERY_DP_RANKS_RSP", QueryDpRanksRsp(dp_ranks=ranks), releases)


def _response(message: str, value: Message, release: str) -> web.Response:
    codec = layout(_BACKEND, message, release=release)
    [body] = codec.encode(_told(value, codec))
    return web.Response(body=body, content_type="application/json")


def _told(value: Message, codec: Codec[Any]) -> Message:
    """A message without the descriptive facts that a layout has no key for."""
    kept = {*codec.fields, *(name for name in field_names(codec.cls) if name not in _DESCRIPTIVE)}
    told: Message = codec.cls(**{name: getattr(value, name) for name in kept})
    return told


async def _health(_: web.Request) -> web.Response:
    return web.Response(text="OK")


@web.middleware
async def _refusals(request: web.Request, handler: Any) -> web.StreamResponse:  # noqa: ANN401  # aiohttp's own type
    """Bad input gets a 400 that says what was expected; refusals keep their status."""
    try:
        answer: web.StreamResponse = await handler(request)
    except WireError as error:
        return web.Response(text=str(error), status=400)
    except Refused as refusal:
        headers = {"Pdwire-Gone": "1"} if refusal.gone else {}
        return web.Response(text=str(refusal), status=refusal.status, headers=headers)
    except web.RequestPayloadError as error:
        return web.Response(text=f"a body was expected: {error}", status=400)
    return answer


class _Lines(logging.LoggerAdapter[logging.Logger]):
    """What clients do costs a line: no traceback of a connection that was lost or is no HTTP."""

    def process(
        self, msg: object, kwargs: MutableMapping[str, Any]
    ) -> tuple[object, MutableMapping[str, Any]]:
        """Fold what clients did into one line."""
        error = kwargs.get("exc_info")
        if error is True:
            error = sys.exception()
        if isinstance(error, ConnectionError | HttpProcessingError | web.RequestPayloadError):
            told = " ".join(str(error).split()).replace("%", "%%")
            kwargs["exc_info"] = None
            msg = f"{msg}: {type(error).__name__}: {told}"
        return msg, kwargs

    def exception(self, msg: object, *args: object, **said: Any) -> None:  # noqa: ANN401  # logging's own
        """Log an exception that aiohttp has caught: an error only where it is ours."""
        folded, kwargs = self.process(msg, {"exc_info": True, **said})
        if kwargs["exc_info"] is None:
            self.logger.info(folded, *args)
        else:
            super().exception(msg, *args, **said)
