"""The rooms of one decode rank: has everything arrived, and may the pages be used again.

Rules, with the row of the field reports each answers:

* A status for a room that is not open is dropped and creates nothing (R2); Failed is final
  (R1). Success is the word of as many different prefill ranks as are expected, each of them one
  that was asked (A9), and waits while staging holds it back, or while a part of the auxiliary
  row that comes by messages has not come (P8).
* An auxiliary row belongs to one room at a time (P10).
* From ``sent_metadata`` on a prefill rank may write. A room that fails after that, for whatever
  reason, tells every prefill rank to stop, and its pages are not released before all of them
  have acknowledged or a long timeout has passed (A1, V5). That outlives the room.
* Every state that waits has a deadline and ends with a reason (R7).

Not thread-safe: a shell holds one lock around every call and carries the effects out after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pdwire.rooms.alarm import NEVER, Alarm
from pdwire.rooms.effects import Drop, Effect, Endpoint, SendAbort
from pdwire.rooms.holds import Hold, Holds
from pdwire.rooms.limits import RoomError, RoomLimits
from pdwire.rooms.poll import KVPoll
from pdwire.rooms.rows import Loan, Parts, RowDesk, parts_of
from pdwire.rooms.tables import ACTIVE, DECODE, POLL, Event, Phase, step
from pdwire.wire.common import AbortAck

__all__ = ["DecodeRooms", "Verdict"]


class Verdict(Protocol):
    """What the rooms read of a KVStatus; each backend's generated class has it."""

    @property
    def room(self) -> int:
        """The request."""

    @property
    def status(self) -> int:
        """A number of :class:`KVPoll`."""

    @property
    def prefill_rank(self) -> int:
        """Which prefill rank speaks."""

    @property
    def failure_reason(self) -> str | None:
        """Why it failed, if it says so."""


@dataclass(slots=True, kw_only=True)
class _Room:
    """One room of a decode rank.

    Attributes:
        number: what both sides call it.
        life: which life of the number this is.
        prefill: bootstrap address of the prefill side.
        phase: where it stands.
        due: the deadline of the phase, monotonic seconds.
        late: what has not happened when it has passed.
        patience: how long was waited then, in seconds.
        reason: why it failed.
        endpoints: the prefill ranks that get metadata.
        expected: how many of them have to say Success.
        asked: what they call themselves; ``None``: that is not known.
        answering: those of them that may say Success; ``None`` as with ``asked``.
        done: those that have.
        arrived: everything is there, in staging at least.
        held: staging chunks are not scattered yet.
        parts: what is waited for of its auxiliary row.
    """

    number: int
    life: int
    prefill: str
    phase: Phase = Phase.ABSENT
    due: float = NEVER
    late: str = ""
    patience: float = 0.0
    reason: str | None = None
    endpoints: tuple[Endpoint, ...] = ()
    expected: int = 0
    asked: frozenset[int] | None = None
    answering: frozenset[int] | None = None
    done: set[int] = field(default_factory=set)
    arrived: bool = False
    held: bool = False
    parts: Parts | None = None

    def missing(self) -> str | None:
        """What of the auxiliary row has not come."""
        return None if self.parts is None else self.parts.missing()


class DecodeRooms:
    """Rooms of one decode rank.

    Args:
        limits: deadlines and bounds.
        first_generation: the number of the first abort. A shell gives one that no earlier process
            at its endpoint can have used (:func:`pdwire.rooms.holds.first_generation`).
    """

    def __init__(self, limits: RoomLimits | None = None, *, first_generation: int = 1) -> None:
        self._limits = limits or RoomLimits()
        self._rooms: dict[int, _Room] = {}
        self._rows = RowDesk()
        self._holds = Holds(first_generation)
        self._lives = 0
        self._alarm = Alarm()
        self._counts: Counter[str] = Counter()

    # ------------------------------------------------------------------ rooms

    def open(
        self,
        room: int,
        prefill: str,
        now: float,
        *,
        endpoints: Sequence[Endpoint] = (),
        expected: int = 0,
    ) -> int:
        """A receiver was made; gives the number of this life of the room.

        Args:
            room: the room.
            prefill: bootstrap address of the prefill side.
            now: monotonic seconds.
            endpoints: control sockets of the prefill ranks that get metadata, dummy ones
                included. Without any the room is Bootstrapping until ``resolved``.
            expected: how many different prefill ranks have to say Success.

        Raises:
            RoomError: the room is open and not done, or ``expected`` is none of
                1 … number of endpoints.
        """
        if endpoints:
            _check(endpoints, expected)
        old = self._rooms.get(room)
        if old is not None and old.phase in ACTIVE:
            raise RoomError(f"room {room} is already open: {old.phase}")
        if old is not None:
            self._move(old, Event.CLOSE)
        self._lives += 1
        entry = self._rooms[room] = _Room(number=room, life=self._lives, prefill=prefill)
        self._move(entry, Event.OPEN)
        self._wait(entry, now, self._limits.bootstrap_s, "the prefill side was not found")
        if endpoints:
            self.resolved(room, endpoints, expected, now)
        return entry.life

    def resolved(
        self,
        room: int,
        endpoints: Sequence[Endpoint],
        expected: int,
        now: float,
        *,
        deferred: bool = False,
        asked: Collection[int] | None = None,
        answering: Collection[int] | None = None,
    ) -> list[Effect]:
        """The prefill ranks are known.

        Args:
            room: the room.
            endpoints: as in ``open``.
            expected: as in ``open``.
            now: monotonic seconds.
            deferred: stay Bootstrapping until a prefill rank says WaitingForInput.
            asked: what those ranks, dummies included, call themselves in statuses and
                acknowledgements; nobody else's count. ``None``: any different ones do.
            answering: the ones among them that serve the room; only they say Success.

        Raises:
            RoomError: ``expected`` is none of 1 … number of endpoints.
        """
        _check(endpoints, expected)
        entry = self._rooms.get(room)
        if entry is None or entry.phase is not Phase.BOOTSTRAPPING:
            return self._drop("resolved-room-not-bootstrapping")
        entry.endpoints = tuple(dict.fromkeys(endpoints))
        entry.expected = expected
        entry.asked = None if asked is None else frozenset(asked)
        entry.answering = entry.asked if answering is None else frozenset(answering)
        if not deferred:
            self._prefill_ready(entry, now)
        else:
            self._wait(entry, now, self._limits.waiting_s, "the prefill side was not ready")
        return []

    def lend_row(
        self, room: int, row: int | None, row_sizes: Sequence[int], *, over_tcp: bool = False
    ) -> str | None:
        """The room asks for an auxiliary row; call before ``sent_metadata``.

        Args:
            room: the room.
            row: the row, ``None`` or below 0 for none.
            row_sizes: bytes of a row in each auxiliary buffer.
            over_tcp: the row is known to come by messages.

        Returns:
            Why it cannot have it, another room that is not done has it; ``None``: it has it.
            The row of a room that failed comes back with its pages (``pages_released``).
        """
        entry = self._rooms.get(room)
        if entry is None or entry.phase is not Phase.WAITING:
            return None
        parts = parts_of(row, row_sizes, over_tcp=over_tcp)
        if parts.row is not None:
            owner = self._rows.owner(parts.row)
            if owner is not None and self._is_written(owner):
                self._counts["rows-refused"] += 1
                return f"aux row {row} belongs to room {owner.room}, which is not done"
            self._rows.lend(parts.row, Loan(room, entry.life))
        entry.parts = parts
        return None

    def sent_metadata(self, room: int, now: float) -> bool:
        """Call before the first send. ``False``: the room waits for none, do not send."""
        entry = self._rooms.get(room)
        if entry is None or not self._move(entry, Event.PUBLISH):
            return False
        self._wait(entry, now, self._limits.waiting_s, "not everything arrived")
        return True

    def close(self, room: int, now: float) -> list[Effect]:
        """The receiver was cleared: forget the room. Pages stay held as long as they must."""
        entry = self._rooms.get(room)
        if entry is None:
            return self._drop("close-unknown-room")
        effects = self._fail(entry, "the decode side gave the request up", now)
        self._move(entry, Event.CLOSE)
        del self._rooms[room]
        return effects

    def status(self, room: int) -> KVPoll | None:
        """What a poll says; ``None`` for a room that is not open."""
        entry = self._rooms.get(room)
        return None if entry is None else POLL[entry.phase]

    def life_of(self, room: int) -> int | None:
        """Which life of the number is open; ``None`` where none is."""
        entry = self._rooms.get(room)
        return None if entry is None else entry.life

    def awaits(self, room: int, life: int) -> bool:
        """Whether that life of the room still waits for its prefill ranks to be found."""
        entry = self._rooms.get(room)
        return entry is not None and entry.life == life and entry.phase is Phase.BOOTSTRAPPING

    def is_active(self, room: int, life: int) -> bool:
        """Whether that life of the room is open and not done."""
        entry = self._rooms.get(room)
        return entry is not None and entry.life == life and entry.phase in ACTIVE

    def not_found_for(self, room: int, life: int, why: str) -> None:
        """Why the prefill ranks are not found yet; the room says it if its deadline passes."""
        entry = self._rooms.get(room)
        if entry is not None and self.awaits(room, life):
            entry.late = f"the prefill side was not found ({why})"

    def tell(self, room: int, endpoints: Sequence[Endpoint]) -> list[Effect]:
        """Prefill ranks that were found only when the room was over are told to stop."""
        generation = self._holds.next_generation()
        return [
            SendAbort(room=room, prefill=endpoint, generation=generation)
            for endpoint in dict.fromkeys(endpoints)
        ]

    def reason(self, room: int) -> str | None:
        """Why an open room has failed."""
        entry = self._rooms.get(room)
        return None if entry is None else entry.reason

    def pages_released(self, room: int, life: int | None = None) -> bool:
        """Whether no prefill rank can write to the room's pages any more.

        Args:
            room: the room, open or forgotten.
            life: what ``open`` gave; ``None`` asks about every life of the number.
        """
        entry = self._rooms.get(room)
        if entry is not None and life in {None, entry.life} and entry.phase is Phase.TRANSFERRING:
            return False
        return not self._holds.holds(room, life)

    # --------------------------------------------------------------- messages

    def on_status(self, message: Verdict, now: float) -> list[Effect]:
        """A prefill rank says how a room stands."""
        entry = self._rooms.get(message.room)
        if entry is None:
            return self._drop("status-unknown-room")
        if entry.phase not in ACTIVE:
            return self._drop("status-done-room")
        if not self.is_asked(message.room, message.prefill_rank):
            return self._drop("status-foreign-rank")
        if message.status == KVPoll.Failed:
            rank = message.prefill_rank
            return self._fail(entry, message.failure_reason or f"prefill rank {rank} failed", now)
        if message.status == KVPoll.WaitingForInput and entry.endpoints:
            return [] if self._prefill_ready(entry, now) else self._drop("status-out-of-turn")
        if message.status == KVPoll.Success and entry.phase is Phase.TRANSFERRING:
            if entry.answering is not None and message.prefill_rank not in entry.answering:
                return self._drop("status-foreign-rank")
            entry.done.add(message.prefill_rank)
            entry.arrived |= len(entry.done) >= entry.expected
            return self._maybe_done(entry, now)
        return self._drop("status-out-of-turn")

    def is_asked(self, room: int, prefill_rank: int) -> bool:
        """Whether a prefill rank may speak of a room; ``True`` where the ranks are not known."""
        entry = self._rooms.get(room)
        return entry is None or entry.asked is None or prefill_rank in entry.asked

    def on_row(self, room: int, buffer: int, now: float) -> list[Effect]:
        """A part of the room's own row came as a message and was written."""
        entry = self._rooms.get(room)
        if entry is None or entry.phase is not Phase.TRANSFERRING or entry.parts is None:
            return self._drop("row-room-not-transferring")
        entry.parts.over_tcp = True
        entry.parts.came.add(buffer)
        return self._maybe_done(entry, now)

    def on_row_refused(self, room: int, reason: str, now: float) -> list[Effect]:
        """A message with the room's own row did not fit: without a better one no Success."""
        entry = self._rooms.get(room)
        if entry is None or entry.phase is not Phase.TRANSFERRING or entry.parts is None:
            return self._drop("row-room-not-transferring")
        entry.parts.refused = reason
        return self._maybe_done(entry, now)

    def on_abort_ack(self, message: AbortAck, now: float) -> list[Effect]:  # noqa: ARG002
        """A prefill rank writes no more for an aborted room."""
        refused = self._holds.on_ack(message)
        return [] if refused is None else self._drop(refused)

    # ----------------------------------------------------------------- events

    def mark_arrived(self, room: int, now: float) -> list[Effect]:
        """Everything is there, as a backend knows from its engine's notifications."""
        entry = self._rooms.get(room)
        if entry is None or entry.phase is not Phase.TRANSFERRING:
            return self._drop("arrived-room-not-transferring")
        entry.arrived = True
        return self._maybe_done(entry, now)

    def hold_success(self, room: int) -> None:
        """Staging chunks of the room are not scattered yet."""
        entry = self._rooms.get(room)
        if entry is not None:
            entry.held = True

    def release_success(self, room: int, now: float) -> list[Effect]:
        """Every staging chunk of the room is scattered."""
        entry = self._rooms.get(room)
        if entry is None:
            return self._drop("release-unknown-room")
        entry.held = False
        return self._maybe_done(entry, now)

    def abort(self, room: int, reason: str, now: float) -> list[Effect]:
        """Give a room up. Its prefill ranks are told, whether or not they have metadata."""
        entry = self._rooms.get(room)
        if entry is None or entry.phase not in ACTIVE:
            return self._drop("abort-room-not-active")
        return self._fail(entry, reason, now)

    def prefill_down(self, prefill: str, reason: str, now: float) -> list[Effect]:
        """The prefill side at a bootstrap address does not answer: its rooms fail."""
        effects: list[Effect] = []
        for entry in [room for room in self._rooms.values() if room.prefill == prefill]:
            effects += self._fail(entry, reason, now)
        return effects

    def fail_all(self, reason: str, now: float) -> list[Effect]:
        """The decode side ends: every room that is not done fails."""
        effects: list[Effect] = []
        for entry in list(self._rooms.values()):
            effects += self._fail(entry, reason, now)
        return effects

    # ------------------------------------------------------------------- time

    def tick(self, now: float) -> list[Effect]:
        """Let deadlines pass. Cheap when none has; call it as often as you like."""
        if not self._alarm.rings(now):
            return []
        effects: list[Effect] = []
        for entry in list(self._rooms.values()):
            if now >= entry.due:
                late = (entry.arrived and entry.missing()) or entry.late
                effects += self._fail(entry, f"{late} within {entry.patience:g} s", now)
            else:
                self._alarm.set(entry.due)
        released, due = self._holds.expire(now)
        self._counts["released-by-timeout"] += released
        self._alarm.set(due)
        return effects

    def counts(self) -> dict[str, int]:
        """Rooms by phase (``rooms-…``), what was dropped, holds."""
        rooms = Counter(f"rooms-{room.phase}" for room in self._rooms.values())
        rooms["pages-held"] = len(self._holds)
        return {**self._counts, **rooms}

    # ------------------------------------------------------------ the insides

    def _drop(self, kind: str) -> list[Effect]:
        self._counts[f"dropped-{kind}"] += 1
        return [Drop(kind=kind)]

    def _move(self, entry: _Room, event: Event) -> bool:
        """The only place where a phase changes."""
        target = step(DECODE, entry.phase, event)
        if target is None:
            return False
        entry.phase = target
        return True

    def _wait(self, entry: _Room, now: float, seconds: float, what: str) -> None:
        entry.due = self._alarm.set(now + seconds)
        entry.late = what
        entry.patience = seconds

    def _prefill_ready(self, entry: _Room, now: float) -> bool:
        if not self._move(entry, Event.READY):
            return False
        self._wait(entry, now, self._limits.waiting_s, "metadata was not sent")
        return True

    def _maybe_done(self, entry: _Room, now: float) -> list[Effect]:
        """Success once everything is there. What was refused is said when nothing else is."""
        if not entry.arrived or entry.held:
            return []
        if entry.missing() is None:
            if self._move(entry, Event.FINISH):
                entry.due = NEVER
            return []
        refused = entry.parts.refused if entry.parts is not None else None
        return [] if refused is None else self._fail(entry, refused, now)

    def _is_written(self, loan: Loan) -> bool:
        """Whether a row's borrower goes on. One that failed has pages that come back with it."""
        entry = self._rooms.get(loan.room)
        is_same = entry is not None and entry.life == loan.life
        return is_same and entry is not None and entry.phase is Phase.TRANSFERRING

    def _fail(self, entry: _Room, reason: str, now: float) -> list[Effect]:
        """Fail an active room, hold its pages if somebody may write, tell everybody to stop."""
        may_be_written = entry.phase is Phase.TRANSFERRING
        if not self._move(entry, Event.FAIL):
            return []
        entry.reason = reason
        entry.due = NEVER
        if not entry.endpoints:
            return []
        generation = self._holds.next_generation()
        if may_be_written:
            self._hold(entry, generation, now)
        return [
            SendAbort(room=entry.number, prefill=endpoint, generation=generation)
            for endpoint in entry.endpoints
        ]

    def _hold(self, entry: _Room, generation: int, now: float) -> None:
        hold = Hold(
            room=entry.number,
            life=entry.life,
            needed=len(entry.endpoints),
            asked=entry.asked,
            due=self._alarm.set(now + self._limits.abort_release_s),
        )
        self._holds.add(generation, hold)


def _check(endpoints: Sequence[Endpoint], expected: int) -> None:
    ranks = len(set(endpoints))
    if not 1 <= expected <= ranks:
        raise RoomError(f"{expected} answers expected of {ranks} prefill ranks")
