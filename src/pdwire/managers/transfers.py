"""Who writes next: a queue per peer, a few threads for all of them, and nobody who waits.

Rules:

1. A peer has a lane: its jobs in the order in which they were submitted, one of them at a time,
   one transfer of it at a time. So a peer that takes nothing fills neither engine nor threads.
2. A thread is in a lane only while something is done there: a plan, a gather, a call of the
   engine. Transfers under way are polled in turn by whichever thread is free; a job that cannot
   go on yet is set aside until it is woken, and those behind it go on.
3. An engine's call may block. At most one thread is ever in a lane; one that does not come back
   within ``STUCK_S`` is counted as lost to that peer, and another takes its place.
4. A lane whose transfer makes no progress within the patience is left alone: its job is told that
   it is late, all others of that peer end with the reason, new ones too, until the transfer is
   over or the peer registers again. The transfer itself is polled on: only the engine can say when
   it will not touch the memory any more.
5. Every job ends exactly once, whatever happens.

Nothing here knows what a job writes, or to whom.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from heapq import heappop, heappush
from itertools import count
from math import inf
from time import monotonic
from typing import Final, Protocol, TypeAlias, final

from pdwire.engines import EngineUnsettled, Transfer, progress

__all__ = ["LATER", "Job", "Refused", "Steps", "Transfers"]

_LOG: Final = logging.getLogger("pdwire.managers")

STUCK_S: Final = 1.0
"""Longest healthy stay in a lane: planning and gathering take tens of milliseconds."""
MOST_LOST: Final = 32
"""Threads that may be lost to peers at once; each costs a stack, and a machine has its limits."""

_NAP_SHARE: Final = 0.05  # of the time since the last progress: what a nap too long can cost
_SHORTEST_NAP_S: Final = 10e-6
_NAP_S: Final = 1e-3
_LONG_WAIT_S: Final = 2.0
_LONGEST_NAP_S: Final = 20e-3
"""Between two looks at a transfer that has not moved for ``_LONG_WAIT_S``: it costs next to
nothing then, however many peers hang."""


class _Later(Enum):
    """What a job says that cannot go on yet."""

    LATER = "later"


LATER: Final = _Later.LATER
Steps: TypeAlias = Generator[Transfer | _Later, None, None]
"""What a job does: it yields a transfer to be resumed when that is over (or with its error), or
``LATER`` to be resumed when it was woken."""


class Refused(Exception):
    """A job that was not begun, or was set aside, ends: its peer takes nothing, or all is over."""


class Job(Protocol):
    """Something to do for one peer."""

    @property
    def peer(self) -> str:
        """Whose memory it is for."""

    @property
    def serial(self) -> int:
        """Grows with every job; the lower ones go first."""

    def steps(self) -> Steps:
        """What is done, on any thread, never on two at once; called once."""

    def end(self, error: Exception | None) -> None:
        """It is over, and why if not as it should; called once. It must not raise."""

    def late(self, reason: str) -> None:
        """Its transfer makes no progress; it goes on, and ``end`` is still to come."""

    def is_moot(self) -> bool:
        """Whether nobody waits for it any more: then it is not worth setting aside."""


@dataclass(slots=True, eq=False)
class _Entry:
    """A job in its lane. ``woken``: since it was looked at the last time."""

    job: Job
    lane: _Lane
    steps: Steps
    woken: bool = False


@dataclass(slots=True, eq=False)
class _Lane:
    """What is to be done for one peer.

    Attributes:
        ready: jobs that may go on, a heap by serial.
        aside: jobs that wait to be woken.
        entry: the one that is under way.
        transfer: what it waits for.
        moved: when that last made progress.
        mark: how far it was then.
        due: when to look at the lane.
        inside: since when a thread is in it; ``None``: none is.
        lost: that thread did not come back in time.
        used: when a thread was last in it.
        sick: why the peer is left alone.
        replaced: the peer has a newer lane; this one ends what it has begun.
    """

    peer: str
    ready: list[tuple[int, _Entry]] = field(default_factory=list)
    aside: dict[int, _Entry] = field(default_factory=dict)
    entry: _Entry | None = None
    transfer: Transfer | None = None
    moved: float = 0.0
    mark: int = 0
    due: float = inf
    inside: float | None = None
    lost: bool = False
    used: float = 0.0
    sick: str | None = None
    replaced: bool = False

    @property
    def is_empty(self) -> bool:
        return not (self.ready or self.aside or self.entry)

    def nap(self, now: float) -> float:
        """How long to leave a transfer alone that is not over."""
        waited = now - self.moved
        longest = _NAP_S if waited < _LONG_WAIT_S else _LONGEST_NAP_S
        return min(max(waited * _NAP_SHARE, _SHORTEST_NAP_S), longest)

    def stands_since(self) -> float | None:
        """Since when nothing has moved; ``None``: nothing is under way."""
        return self.inside if self.transfer is None else self.moved


@final
class Transfers:
    """The threads and lanes of one manager.

    Args:
        name: of the threads, before their number.
        threads: how many there are while none is lost.
        patience_s: how long a transfer may go without progress before its peer is left alone.
    """

    def __init__(self, name: str, *, threads: int, patience_s: float) -> None:
        self._name = name
        self._size = threads
        self._patience_s = patience_s
        self._cond = threading.Condition(threading.Lock())
        self._lanes: dict[str, _Lane] = {}
        self._replaced: set[_Lane] = set()
        self._entries: dict[int, _Entry] = {}
        self._queue: list[tuple[float, int, _Lane]] = []
        self._order = count()
        self._watched = inf  # the moment that a waiting thread will look up at
        self._numbers = count()
        self._threads: list[threading.Thread] = []
        self._working = 0
        self._lost = 0
        self._stopping: str | None = None
        with self._cond:
            for _ in range(threads):
                self._hire()

    # ------------------------------------------------------------ from outside

    def put(self, job: Job) -> None:
        """Queue a job; one that comes too late ends at once."""
        with self._cond:
            if self._stopping is None:
                lane = self._lanes.get(job.peer)
                if lane is None:
                    lane = self._lanes[job.peer] = _Lane(job.peer, used=monotonic())
                entry = self._entries[job.serial] = _Entry(job, lane, job.steps())
                heappush(lane.ready, (job.serial, entry))
                self._rouse(lane)
                return
        job.end(Refused(self._stopping))

    def wake(self, serials: Iterable[int]) -> None:
        """Jobs may be able to go on: those that were set aside are looked at again."""
        with self._cond:
            for serial in serials:
                entry = self._entries.get(serial)
                if entry is None:
                    continue
                entry.woken = True
                if entry.lane.aside.pop(serial, None) is not None:
                    heappush(entry.lane.ready, (serial, entry))
                    self._rouse(entry.lane)

    def renew(self, peer: str, reason: str) -> None:
        """A peer has other memory now: nothing that was queued for the old one may go on.

        What is under way is polled on, beside what comes from now on.
        """
        with self._cond:
            lane = self._lanes.pop(peer, None)
            if lane is None:
                return
            lane.replaced, lane.sick = True, lane.sick or reason
            self._replaced.add(lane)
        self.tick()
        with self._cond:
            if lane.is_empty and lane.inside is None:
                self._replaced.discard(lane)

    def tick(self) -> None:
        """Notice threads that are lost, lanes that stand still, and jobs that nobody wants."""
        now = monotonic()
        with self._cond:
            lanes = [*self._lanes.values(), *self._replaced]
            late = [lane.entry for lane in lanes if self._look_at(lane, now) and lane.entry]
            refused = [(lane, e) for lane in lanes if lane.sick for e in self._emptied(lane)]
            aside = [entry for lane in lanes for entry in lane.aside.values()]
            if self._queue and self._queue[0][0] <= now:
                self._cond.notify()  # whoever was to look at it is held up elsewhere
        for entry in late:
            entry.job.late(entry.lane.sick or "")
        for lane, entry in refused:
            entry.steps.close()
            self._finish(entry, Refused(lane.sick))
        self.wake([entry.job.serial for entry in aside if entry.job.is_moot()])

    def unused(self, for_s: float) -> list[str]:
        """Peers for whom nothing was done for so long; their lanes are taken down."""
        before = monotonic() - for_s
        with self._cond:
            found = [
                peer
                for peer, lane in self._lanes.items()
                if lane.is_empty and lane.inside is None and lane.due == inf and lane.used < before
            ]
            for peer in found:
                del self._lanes[peer]
        return found

    def counts(self) -> dict[str, int]:
        """Jobs by what they wait for, threads that are lost, peers that are left alone."""
        with self._cond:
            lanes = [*self._lanes.values(), *self._replaced]
            return {
                "queued": sum(len(lane.ready) for lane in lanes),
                "set-aside": sum(len(lane.aside) for lane in lanes),
                "under-way": sum(lane.transfer is not None for lane in lanes),
                "peers-left-alone": sum(lane.sick is not None for lane in lanes),
                "threads-lost": self._lost,
            }

    def stop(self, reason: str, deadline_s: float) -> None:
        """End the threads, then every job. Transfers under way are given up, not waited for.

        Raises:
            RuntimeError: an engine did not let a thread go in time; every job has ended anyway.
        """
        with self._cond:
            self._stopping = self._stopping or reason
            threads = list(self._threads)
            self._cond.notify_all()
        ends = monotonic() + deadline_s
        for thread in threads:
            while thread.is_alive() and monotonic() < ends and not self._is_hopeless(threads):
                thread.join(0.05)
        held = [thread.name for thread in threads if thread.is_alive()]
        with self._cond:
            lanes = [*self._lanes.values(), *self._replaced]
            entries = list(self._entries.values())
        for entry in entries:
            self._give_up(entry, reason)
        for lane in lanes:
            if lane.transfer is not None and lane.inside is None:
                lane.transfer.release()
        if held:
            raise RuntimeError(f"{held[0]} did not stop within {deadline_s} s")

    def _is_hopeless(self, threads: list[threading.Thread]) -> bool:
        """Whether the threads that are left do not come back out of the engine."""
        before = monotonic() - STUCK_S
        with self._cond:
            lanes = [*self._lanes.values(), *self._replaced]
            stuck = sum(lane.inside is not None and lane.inside < before for lane in lanes)
        return 0 < stuck == sum(thread.is_alive() for thread in threads)

    def _give_up(self, entry: _Entry, reason: str) -> None:
        begun = entry.lane.entry is entry
        if begun:
            self._finish(entry, EngineUnsettled(f"{reason} while it was written"))
        else:
            self._finish(entry, Refused(reason))
        with suppress(ValueError):  # a thread that did not come back is in it
            entry.steps.close()

    # ------------------------------------------------------------- the threads

    def _hire(self) -> None:
        name = f"{self._name}-{next(self._numbers)}"
        self._threads = [t for t in self._threads if t.is_alive()]
        thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._threads.append(thread)
        self._working += 1
        thread.start()

    def _work(self) -> None:
        while (lane := self._take()) is not None:
            try:
                self._advance(lane)
            except Exception:  # noqa: BLE001  # a thread outlives any job
                _LOG.exception("%s: a lane broke down", lane.peer)
            if not self._leave(lane):
                return

    def _take(self) -> _Lane | None:
        """Wait for the lane that is due next; ``None``: the end has come.

        One thread waits until the first lane is due, the others until they are called.
        """
        with self._cond:
            while self._stopping is None:
                now = monotonic()
                due = self._queue[0][0] if self._queue else inf
                if due <= now:
                    lane = heappop(self._queue)[2]
                    lane.due, lane.inside = inf, now
                    if lane.transfer is None or (self._queue and self._queue[0][0] <= now):
                        self._call()
                    return lane
                if due >= self._watched:
                    self._cond.wait()
                    continue
                self._watched = due
                self._cond.wait(due - now)
                self._watched = inf
        return None

    def _call(self) -> None:
        """Have another thread look after the rest while this one may be busy for long."""
        if self._queue:
            self._cond.notify()

    def _leave(self, lane: _Lane) -> bool:
        """Come back from a lane; ``False`` when this thread was replaced meanwhile."""
        with self._cond:
            now = monotonic()
            lane.inside = None
            if lane.lost:
                lane.lost = False
                self._lost -= 1
            lane.used = now
            if lane.transfer is None and not lane.replaced:
                lane.sick = None  # it has taken something, or said that it will not
            if lane.transfer is not None:
                self._enqueue(lane, now + lane.nap(now))
            elif lane.ready and not lane.sick:
                self._enqueue(lane, now)
            elif lane.is_empty and lane.replaced:
                self._replaced.discard(lane)
            if self._working - self._lost <= self._size:
                return True
            self._working -= 1
            self._call()
            return False

    def _rouse(self, lane: _Lane) -> None:
        """A lane has something to do; nothing is to be done if it is looked at anyway."""
        if lane.due == inf and lane.inside is None:
            self._enqueue(lane, monotonic())
            self._cond.notify()

    def _enqueue(self, lane: _Lane, due: float) -> None:
        lane.due = due
        heappush(self._queue, (due, next(self._order), lane))

    # --------------------------------------------------------------- the lanes

    def _advance(self, lane: _Lane) -> None:
        """Look at the transfer under way; when it is over, or there is none, go a step further."""
        error: Exception | None = None
        if lane.transfer is not None:
            over, error = _look(lane, lane.transfer)
            if not over:
                return
            lane.transfer = None
            with self._cond:
                self._call()
        entry = lane.entry or self._next(lane)
        while entry is not None and self._stopping is None:
            try:
                step = entry.steps.throw(error) if error else next(entry.steps)
            except StopIteration:
                self._finish(entry, None)
                return
            except Exception as broken:  # noqa: BLE001  # whatever it is, it is the job's
                self._finish(entry, broken)
                return
            if step is LATER:
                self._set_aside(entry)
                return
            lane.moved, lane.mark = monotonic(), progress(step)
            lane.transfer = step
            over, error = _look(lane, step)
            if not over:
                return
            lane.transfer = None

    def _next(self, lane: _Lane) -> _Entry | None:
        with self._cond:
            if not lane.ready or lane.sick:
                return None
            lane.entry = heappop(lane.ready)[1]
            lane.entry.woken = False
            return lane.entry

    def _set_aside(self, entry: _Entry) -> None:
        """It goes on when it is woken, which may have happened while it said that it cannot."""
        lane, serial = entry.lane, entry.job.serial
        with self._cond:
            lane.entry = None
            if serial not in self._entries:
                return
            if entry.woken:
                heappush(lane.ready, (serial, entry))
            else:
                lane.aside[serial] = entry

    def _finish(self, entry: _Entry, error: Exception | None) -> None:
        """End a job, once."""
        with self._cond:
            if entry.lane.entry is entry:
                entry.lane.entry = None
            if self._entries.pop(entry.job.serial, None) is None:
                return
        try:
            entry.job.end(error)
        except Exception:  # noqa: BLE001  # a thread outlives any job
            _LOG.exception("%s: a job did not end as it should", entry.lane.peer)

    def _look_at(self, lane: _Lane, now: float) -> bool:
        """Notice a thread that is lost; whether the lane has just been given up."""
        if lane.inside is not None and not lane.lost and now - lane.inside > STUCK_S:
            if self._lost < MOST_LOST:
                lane.lost = True
                self._lost += 1
                if self._stopping is None:
                    self._hire()
            elif self._lost == MOST_LOST and not lane.sick:
                _LOG.warning("%d peers hold a thread each: no more are started", self._lost)
        since = lane.stands_since()
        if lane.sick or since is None or now - since < self._patience_s:
            return False
        lane.sick = f"peer {lane.peer} took nothing for {self._patience_s:g} s"
        return True

    @staticmethod
    def _emptied(lane: _Lane) -> list[_Entry]:
        """Every job of a lane but the one that is under way."""
        entries = [*(entry for _, entry in lane.ready), *lane.aside.values()]
        lane.ready, lane.aside = [], {}
        return entries


def _look(lane: _Lane, transfer: Transfer) -> tuple[bool, Exception | None]:
    """Whether a transfer is over, and its error; one that is over is released."""
    error: Exception | None = None
    try:
        over = transfer.poll()
    except Exception as failure:  # noqa: BLE001  # whatever an engine raises is the job's to judge
        over, error = True, failure
    if over:
        with suppress(Exception):
            transfer.release()
        return True, error
    mark = progress(transfer)
    if mark != lane.mark:
        lane.mark, lane.moved = mark, monotonic()
    return False, None
