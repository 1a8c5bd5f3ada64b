"""Finding the prefill ranks of rooms, beside everything else: whoever is silent costs its own.

A *quest* is what is asked of one address: first its sizes and the DP rank of each room, then, for
each DP rank, where its ranks are. There is one quest of a kind at a time, and rooms that come
meanwhile wait for the same answer. What failed is remembered and not asked again for a while
(longer each time); what that means for the rooms depends on the fault:

* nobody listens yet, or not every rank has registered: they wait until their own deadlines, and
  say then what came last. Prefill may start after decode.
* silence: they fail with that reason, and so do rooms that come while it is remembered.
* a rank that is gone: they fail once it has been gone for several questions.
* an answer that asking again cannot change (sizes, facts, an address that is none): they fail.

A room that is over before its ranks are found is remembered until they are: then they are told
to give it up, so that prefill does not hold it until its own deadline.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from pdwire.bootstrap.client import BootstrapError, Fault
from pdwire.bootstrap.mapping import RankMapping, Sizes, Target
from pdwire.managers.sockets import Endpoint
from pdwire.wire.bootstrap import RouteServerInfo

if TYPE_CHECKING:
    from pdwire.managers.decode_side import DecodeSide

__all__ = ["Ask", "Finder", "Found"]

T = TypeVar("T")
_ORPHANS: Final = 1000
"""Rooms that are over and remembered per quest: each is a message to every rank."""
_PAUSES: Final = 1024
"""Faults that are remembered: one for each address, or rank of one, that was asked in vain."""
_SOON_S: Final = 0.05
_EARLY_S: Final = 0.1
_EARLY_MOST_S: Final = 1.0
"""Starting up takes seconds: asking every second hardly adds to it."""
_LATER_S: Final = 1.0
_QUERY_MOST_S: Final = 0.5
_TOLD: Final = 64
"""Ranks that are told of a refusal when none of them is this rank's by the sizes."""
_QUERIED: Final = 1000
"""Rooms in one question for DP ranks."""


@dataclass(eq=False, slots=True)
class Ask:
    """One life of a room that waits for its prefill ranks; ``dp`` where the caller named one."""

    room: int
    life: int
    dp: int | None
    expires: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a prefill side says of itself.

    ``refusal`` is why nothing may be handed over from there; the ranks are only told so then, and
    without a mapping these are all ranks of a room's DP group.
    """

    prefill: str
    info: RouteServerInfo
    sizes: Sizes
    mapping: RankMapping | None
    refusal: str | None = None

    @property
    def targets(self) -> tuple[Target, ...]:
        """The ranks that a room of this decode rank is about."""
        if self.mapping is not None:
            return self.mapping.targets
        tps, pps = range(self.sizes.attn_tp_size), range(self.sizes.pp_size)
        ranks = [(tp, pp) for tp in tps for pp in pps][:_TOLD]
        return tuple(Target(cp_rank=0, tp_rank=tp, pp_rank=pp, is_dummy=False) for tp, pp in ranks)

    def dp_of(self, room: int, named: int | None) -> int | None:
        """The DP rank that serves a room; ``None`` where the prefill side has to be asked."""
        if named is not None:
            return named
        if self.info.dp_size == 1:
            return 0
        return room % self.info.dp_size if self.info.follow_bootstrap_room else None


@dataclass(slots=True)
class _Pause:
    """A fault that is remembered: until when, how often it came, and whether rooms fail of it."""

    until: float
    times: int
    error: BootstrapError
    fails: bool


Key = tuple[str, int | None]
"""Bootstrap address, and the DP rank; ``None`` while the side as a whole is asked about."""


@dataclass(eq=False, slots=True)
class _Quest:
    """What is asked of one address, and the rooms that wait for it."""

    key: Key
    found: Found | None = None
    asks: list[Ask] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    wait_s: float = _SOON_S


class Finder:
    """The quests of one decode rank. All but ``want`` and ``counts`` runs on the asker's thread."""

    def __init__(self, side: DecodeSide) -> None:
        self._side = side
        self._asker = side.asker
        self._quests: dict[Key, _Quest] = {}
        self._pauses: OrderedDict[Key, _Pause] = OrderedDict()

    def want(self, prefill: str, ask: Ask) -> None:
        """A room waits for the ranks at an address; any thread may say so."""
        self._asker.post(lambda: self._take((prefill, None), ask, None))

    def counts(self) -> dict[str, int]:
        """Addresses that are asked, rooms that wait for them, faults that are remembered."""
        quests = list(self._quests.values())
        return {
            "asked": len(quests),
            "rooms-waiting": sum(len(quest.asks) for quest in quests),
            "faults-remembered": len(self._pauses),
        }

    # ---------------------------------------------------------------- quests

    def _take(self, key: Key, ask: Ask, found: Found | None) -> None:
        quest = self._quests.get(key)
        if quest is None:
            quest = self._quests[key] = _Quest(key)
            self._asker.spawn(self._pursue(quest))
        quest.found = found
        quest.asks.append(ask)
        quest.news.set()

    async def _pursue(self, quest: _Quest) -> None:
        """Ask until no room waits any more."""
        attempt = self._find_side if quest.key[1] is None else self._find_ranks
        try:
            while quest.asks:
                quest.news.clear()
                pause = self._pauses.get(quest.key)
                if pause is None or time.monotonic() >= pause.until:
                    await self._try(quest, attempt)
                else:
                    self._endure(quest, pause)
                self._prune(quest)
                if quest.asks:
                    await self._nap(quest)
        except Exception as error:
            for ask in quest.asks:
                self._side.give_up(ask, f"internal error: {error}")
            raise
        finally:
            del self._quests[quest.key]

    async def _try(self, quest: _Quest, attempt: Callable[[_Quest], Awaitable[None]]) -> None:
        try:
            await attempt(quest)
        except BootstrapError as error:
            pause = self._paused(quest.key, error)
            self._side.core.counters.add("bootstrap", error.fault)
            self._endure(quest, pause)
            if error.fault is Fault.REFUSED:  # nobody to tell, and nothing to wait for
                quest.asks.clear()
        else:
            self._pauses.pop(quest.key, None)

    def _paused(self, key: Key, error: BootstrapError) -> _Pause:
        """Remember a fault; for longer each time, and no longer than between two heartbeats."""
        old = self._pauses.pop(key, None)
        times = old.times + 1 if old is not None and old.error.fault is error.fault else 1
        config = self._side.core.config
        first, most = _LATER_S, max(_LATER_S, config.heartbeat_s)
        if error.fault is Fault.EARLY:
            first, most = _EARLY_S, _EARLY_MOST_S
        elif error.fault is Fault.GONE:
            first, most = min(_LATER_S, config.heartbeat_s), _LATER_S
        seconds = min(most, first * 2 ** min(times - 1, 16))
        is_patient = error.fault is Fault.EARLY or (
            error.fault is Fault.GONE and times < config.heartbeat_failures
        )
        pause = _Pause(time.monotonic() + seconds, times, error, fails=not is_patient)
        self._pauses[key] = pause
        if len(self._pauses) > _PAUSES:
            self._pauses.popitem(last=False)
        return pause

    def _endure(self, quest: _Quest, pause: _Pause) -> None:
        """What a fault means for the rooms that wait."""
        for ask in quest.asks:
            if pause.fails:
                self._side.give_up(ask, str(pause.error))
            else:
                self._side.not_found_for(ask, str(pause.error))

    def _prune(self, quest: _Quest) -> None:
        """Drop rooms that nobody has to be told of any more, and the oldest of too many."""
        now = time.monotonic()
        waiting, orphans = self._side.sorted_out([a for a in quest.asks if a.expires > now])
        if len(orphans) > _ORPHANS:
            self._side.core.counters.add("bootstrap", "untold", len(orphans) - _ORPHANS)
        quest.asks = waiting + orphans[-_ORPHANS:]

    async def _nap(self, quest: _Quest) -> None:
        pause = self._pauses.get(quest.key)
        now = time.monotonic()
        if pause is None:
            seconds = quest.wait_s
        else:
            seconds = max(0.0, pause.until - now)
            if not pause.fails:  # rooms that come meanwhile wait anyway
                await asyncio.sleep(min(seconds, _SOON_S))
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await quest.news.wait()

    # --------------------------------------------------------- the side as a whole

    async def _find_side(self, quest: _Quest) -> None:
        prefill = quest.key[0]
        found = self._side.known(prefill)
        if found is None:
            info = await self._asker.ask(prefill, self._asker.questions.server_info())
            found = self._side.judge(prefill, info)
        if found.refusal is not None:
            for ask in quest.asks:
                self._side.give_up(ask, found.refusal)
        queried = [a for a in quest.asks if found.dp_of(a.room, a.dp) is None][:_QUERIED]
        ranks: dict[int, int] = {}
        if queried:
            rooms = tuple(dict.fromkeys(ask.room for ask in queried))
            ranks = await self._asker.ask(prefill, self._asker.questions.query_dp_ranks(rooms))
        left: list[Ask] = []
        for ask in quest.asks:
            dp = found.dp_of(ask.room, ask.dp)
            dp = ranks.get(ask.room) if dp is None else dp
            if dp is None:
                left.append(ask)
                told = f"the prefill side at {prefill} has not said which DP rank serves it"
                self._side.not_found_for(ask, told)
            elif 0 <= dp < found.info.dp_size:
                self._take((prefill, dp), ask, found)
            else:
                told = f"DP rank {dp} is outside the DP size {found.info.dp_size} of {prefill}"
                self._side.give_up(ask, told)
        is_waiting = len(left) == len(quest.asks)
        quest.wait_s = min(_QUERY_MOST_S, quest.wait_s * 2) if is_waiting else _SOON_S
        quest.asks = left
        if found.refusal is not None:
            raise BootstrapError(found.refusal)

    # ------------------------------------------------------------ one DP group

    async def _find_ranks(self, quest: _Quest) -> None:
        prefill, dp = quest.key
        found = quest.found
        if found is None or dp is None:
            raise TypeError(quest.key)
        asks = list(quest.asks)
        lines = None if found.refusal is not None else self._side.lines(prefill, dp)
        if lines is None:
            endpoints = await self._endpoints(found, dp)
            if found.refusal is None:
                await self._all_live(found, endpoints)
        else:
            endpoints = [line.endpoint for line in lines]
        # New rooms may have come while the ranks were asked for: they are the next turn's.
        await self._side.by_hand(lambda: self._side.found(found, dp, endpoints, asks))
        quest.asks = [ask for ask in quest.asks if ask not in asks]

    async def _endpoints(self, found: Found, dp: int) -> list[Endpoint]:
        questions = [
            self._asker.questions.rank_info(dp=dp, cp=t.cp_rank, tp=t.tp_rank, pp=t.pp_rank)
            for t in found.targets
        ]
        asked = [self._asker.ask(found.prefill, question) for question in questions]
        told = await _all(asked)
        return [(each.rank_ip, each.rank_port) for each in told]

    async def _all_live(self, found: Found, endpoints: Sequence[Endpoint]) -> None:
        faults = await _all([self._asker.fault_of(endpoint) for endpoint in endpoints])
        for target, endpoint, fault in zip(found.targets, endpoints, faults, strict=True):
            if fault is not None:
                rank = f"tp {target.tp_rank} pp {target.pp_rank}"
                where = "{}:{}".format(*endpoint)
                told = f"{found.prefill}: the prefill rank {rank} at {where} is gone: {fault}"
                raise BootstrapError(told, fault=Fault.GONE)


async def _all(tasks: Sequence[Awaitable[T]]) -> list[T]:
    """What all of them give; the first failure once every one is over."""
    results = await asyncio.gather(*tasks, return_exceptions=True)
    values: list[T] = []
    for result in results:
        if isinstance(result, BaseException):
            raise result
        values.append(result)
    return values
