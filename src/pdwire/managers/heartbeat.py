"""Whether the prefill sides still live: every bootstrap server and every rank, side by side.

A beat asks the server whether it answers, and where each rank is that this one has registered
with; and it connects to those ranks. Each has one deadline, so that a silent server delays
nobody's beat but its own. A rank is only believed to be gone when its own control socket says
so: a server that came back empty, or stands in front of ranks that have left, fails no room whose
ranks live.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pdwire.bootstrap.client import BootstrapError
from pdwire.managers.sockets import Endpoint

if TYPE_CHECKING:
    from pdwire.managers.connection import Line
    from pdwire.managers.decode_side import DecodeSide

__all__ = ["Heart"]


class Heart:
    """The heartbeats of one decode rank; runs on the asker's thread."""

    def __init__(self, side: DecodeSide) -> None:
        self._side = side
        self._asker = side.asker
        self._watched: set[str] = set()

    def watch(self, prefill: str) -> None:
        """Begin to ask an address, unless it is asked already; any thread may say so."""
        self._asker.post(lambda: self._begin(prefill))

    def _begin(self, prefill: str) -> None:
        if prefill not in self._watched:
            self._watched.add(prefill)
            self._asker.spawn(self._beats(prefill))

    async def _beats(self, prefill: str) -> None:
        loop, config = asyncio.get_running_loop(), self._side.core.config
        failures = 0
        misses: dict[Endpoint, int] = {}
        due = loop.time()
        while failures < config.heartbeat_failures:
            due = max(due + config.heartbeat_s, loop.time())
            await asyncio.sleep(due - loop.time())
            if not self._side.is_known(prefill):
                self._watched.discard(prefill)
                return
            lives, _ = await asyncio.gather(
                self._server_lives(prefill), self._ranks(prefill, misses)
            )
            failures = 0 if lives else failures + 1
        self._watched.discard(prefill)  # whoever finds it from here on watches it anew
        reason = f"the prefill side at {prefill} does not answer"
        await self._side.by_hand(lambda: self._side.lost(prefill, reason))

    async def _server_lives(self, prefill: str) -> bool:
        try:
            await self._asker.ask(prefill, self._asker.questions.health())
        except BootstrapError:
            self._side.core.counters.add("heartbeats", "missed")
            return False
        self._side.core.counters.add("heartbeats", "answered")
        return True

    async def _ranks(self, prefill: str, misses: dict[Endpoint, int]) -> None:
        """Look at every rank that this one is registered with."""
        known = self._side.registered(prefill)
        for endpoint in set(misses) - {line.endpoint for _, line in known}:
            del misses[endpoint]
        await asyncio.gather(*(self._rank(prefill, dp, line, misses) for dp, line in known))

    async def _rank(self, prefill: str, dp: int, line: Line, misses: dict[Endpoint, int]) -> None:
        named, fault = await asyncio.gather(
            self._named(prefill, dp, line), self._asker.fault_of(line.endpoint)
        )
        has_moved = named not in {None, line.endpoint}
        if fault is None:
            misses.pop(line.endpoint, None)
            if has_moved:  # rooms that are under way go on; the next one asks where to go
                self._side.forget_lines(prefill, line.endpoint)
            return
        misses[line.endpoint] = misses.get(line.endpoint, 0) + 1
        self._side.core.counters.add("heartbeats", "rank-missed")
        host, port = line.endpoint
        reason = f"the prefill rank at {host}:{port} does not answer: {fault}"
        if has_moved:
            reason = f"the prefill side at {prefill} restarted"
        if has_moved or misses[line.endpoint] >= self._side.core.config.heartbeat_failures:
            await self._side.by_hand(lambda: self._side.rank_lost(prefill, line.endpoint, reason))

    async def _named(self, prefill: str, dp: int, line: Line) -> Endpoint | None:
        """Where the server says that a rank is; ``None`` where it does not say."""
        target = line.target
        if target is None:
            return None
        question = self._asker.questions.rank_info(
            dp=dp, cp=target.cp_rank, tp=target.tp_rank, pp=target.pp_rank
        )
        try:
            told = await self._asker.ask(prefill, question)
        except BootstrapError:
            return None
        return told.rank_ip, told.rank_port
