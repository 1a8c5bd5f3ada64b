"""The life of a room as two tables, one per role. Every change of state goes through them.

Rules:

* A room is in one :class:`Phase`; an :class:`Event` that its table does not list for that
  phase changes nothing and is counted.
* ``FAILED`` and ``SUCCESS`` are final: the only way out is ``CLOSE``, which forgets the room.
  Opening a room that is done closes it first.
* ``docs/rooms.md`` is drawn from these tables, and a test holds it to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from pdwire.rooms.poll import KVPoll

__all__ = ["ACTIVE", "DECODE", "MEANING", "POLL", "PREFILL", "Event", "Phase", "Table", "step"]


class Phase(StrEnum):
    """Where a room is in its life."""

    ABSENT = "absent"
    PARKED = "parked"
    BOOTSTRAPPING = "bootstrapping"
    WAITING = "waiting"
    TRANSFERRING = "transferring"
    SUCCESS = "success"
    FAILED = "failed"


class Event(StrEnum):
    """What can happen to a room."""

    PARK = "park"
    OPEN = "open"
    READY = "ready"
    WRITE = "write"
    PUBLISH = "publish"
    FINISH = "finish"
    FAIL = "fail"
    EXPIRE = "expire"
    DOOM = "doom"
    CLOSE = "close"


Table = Mapping[Phase, Mapping[Event, Phase]]

PREFILL: Final[Table] = {
    Phase.ABSENT: {Event.PARK: Phase.PARKED, Event.OPEN: Phase.BOOTSTRAPPING},
    Phase.PARKED: {
        Event.OPEN: Phase.BOOTSTRAPPING,
        Event.EXPIRE: Phase.ABSENT,
        Event.DOOM: Phase.ABSENT,
    },
    Phase.BOOTSTRAPPING: {
        Event.READY: Phase.WAITING,
        Event.FAIL: Phase.FAILED,
        Event.CLOSE: Phase.ABSENT,
    },
    Phase.WAITING: {
        Event.WRITE: Phase.TRANSFERRING,
        Event.FINISH: Phase.SUCCESS,
        Event.FAIL: Phase.FAILED,
        Event.CLOSE: Phase.ABSENT,
    },
    Phase.TRANSFERRING: {
        Event.WRITE: Phase.TRANSFERRING,
        Event.FINISH: Phase.SUCCESS,
        Event.FAIL: Phase.FAILED,
        Event.CLOSE: Phase.ABSENT,
    },
    Phase.SUCCESS: {Event.CLOSE: Phase.ABSENT},
    Phase.FAILED: {Event.CLOSE: Phase.ABSENT},
}

DECODE: Final[Table] = {
    Phase.ABSENT: {Event.OPEN: Phase.BOOTSTRAPPING},
    Phase.BOOTSTRAPPING: {
        Event.READY: Phase.WAITING,
        Event.FAIL: Phase.FAILED,
        Event.CLOSE: Phase.ABSENT,
    },
    Phase.WAITING: {
        Event.PUBLISH: Phase.TRANSFERRING,
        Event.FAIL: Phase.FAILED,
        Event.CLOSE: Phase.ABSENT,
    },
    Phase.TRANSFERRING: {
        Event.FINISH: Phase.SUCCESS,
        Event.FAIL: Phase.FAILED,
        Event.CLOSE: Phase.ABSENT,
    },
    Phase.SUCCESS: {Event.CLOSE: Phase.ABSENT},
    Phase.FAILED: {Event.CLOSE: Phase.ABSENT},
}

MEANING: Final[Mapping[str, Mapping[Event, str]]] = {
    "prefill": {
        Event.PARK: "metadata came before the sender was made",
        Event.OPEN: "the scheduler made a sender",
        Event.READY: "every decode rank that is expected has sent its metadata",
        Event.WRITE: "a write to a decode rank begins",
        Event.FINISH: "everything is written to every decode rank",
        Event.FAIL: "an abort, a failed write, a restarted or failed peer, a deadline",
        Event.EXPIRE: "nobody opened the room in time",
        Event.DOOM: "an abort, or a restarted or failed peer, came before the sender; when that "
        "is made, the room fails at once",
        Event.CLOSE: "the sender was cleared; a room that was not done fails first",
    },
    "decode": {
        Event.OPEN: "the scheduler made a receiver",
        Event.READY: "the prefill ranks are known and ready for metadata",
        Event.PUBLISH: "metadata is about to be sent: from here on prefill may write",
        Event.FINISH: "every prefill rank that is expected has said success, and no staging "
        "chunk holds it back",
        Event.FAIL: "an abort, a rank that failed, a lost prefill, a deadline",
        Event.CLOSE: "the receiver was cleared; a room that was not done fails first",
    },
}
"""Role -> event -> what has happened, for people."""

ACTIVE: Final = frozenset({Phase.BOOTSTRAPPING, Phase.WAITING, Phase.TRANSFERRING})
"""Phases of an opened room that is not done."""

POLL: Final[Mapping[Phase, KVPoll]] = {
    Phase.BOOTSTRAPPING: KVPoll.Bootstrapping,
    Phase.WAITING: KVPoll.WaitingForInput,
    Phase.TRANSFERRING: KVPoll.Transferring,
    Phase.SUCCESS: KVPoll.Success,
    Phase.FAILED: KVPoll.Failed,
}
"""What a poll says in each phase of an opened room."""


def step(table: Table, phase: Phase, event: Event) -> Phase | None:
    """The phase after ``event``, or ``None`` where the table does not allow it."""
    return table[phase].get(event)
