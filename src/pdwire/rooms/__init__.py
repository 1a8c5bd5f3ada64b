"""Rooms without I/O: the life of a request's hand-off on either side, decided and not done.

A *room* is one request. :class:`PrefillRooms` and :class:`DecodeRooms` take decoded messages,
calls of the scheduler and the time; they give back *effects*, frozen values that a shell
carries out. No clock, socket, thread or engine is in here, so the same code runs under real
managers, under a Hypothesis state machine with a hostile network, and in simulations.

What may follow what stands in two tables (``tables.py``); ``docs/rooms.md`` is drawn from them.

The wire numbers aborts and nothing else. So a room number may be used again as soon as
nothing of its last life is still on its way, apart from aborts and their answers; a message
that comes later than that cannot be told from one of the new life, here or in any release.
"""

from __future__ import annotations

from pdwire.rooms.decode import DecodeRooms, Verdict
from pdwire.rooms.effects import (
    Drop,
    Effect,
    Endpoint,
    PeerGone,
    SendAbort,
    SendAbortAck,
    SendStatus,
)
from pdwire.rooms.limits import RoomError, RoomLimits
from pdwire.rooms.poll import KVPoll
from pdwire.rooms.prefill import PrefillRooms
from pdwire.rooms.records import Metadata, Write

__all__ = [
    "DecodeRooms",
    "Drop",
    "Effect",
    "Endpoint",
    "KVPoll",
    "Metadata",
    "PeerGone",
    "PrefillRooms",
    "RoomError",
    "RoomLimits",
    "SendAbort",
    "SendAbortAck",
    "SendStatus",
    "Verdict",
    "Write",
]
