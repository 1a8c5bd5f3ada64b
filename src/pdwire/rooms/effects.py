"""What the rooms ask their shell to do. Effects are values; nothing here sends anything.

A shell carries them out in order, outside its lock. An effect that cannot be carried out (a
dead endpoint) is the shell's to count: no room waits for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from pdwire.rooms.poll import KVPoll

__all__ = ["Drop", "Effect", "Endpoint", "PeerGone", "SendAbort", "SendAbortAck", "SendStatus"]

Endpoint = tuple[str, int]
"""Host and TCP port of a control socket; an IPv6 host without brackets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SendStatus:
    """Tell one decode endpoint how a room stands.

    Attributes:
        endpoint: the decode rank's control socket.
        peer: its session id, agent name or engine key; empty where it is not known.
        room: the room.
        status: Success, Failed or, with deferred allocation, WaitingForInput.
        reason: why it failed; ``None`` with every other status.
        courtesy: an answer to a message that was refused. Send it without waiting: strangers
            name the endpoint, and a loop must not block on one that nobody listens at.
    """

    endpoint: Endpoint
    peer: str
    room: int
    status: KVPoll
    reason: str | None = None
    courtesy: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SendAbort:
    """Tell one prefill rank that a room is given up.

    Attributes:
        room: the room.
        prefill: the prefill rank's control socket.
        generation: number of this abort, which the answer repeats. Layouts before 0.5.22 have
            no frame for it; such a peer's answer never releases pages.
    """

    room: int
    prefill: Endpoint
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SendAbortAck:
    """Tell one decode endpoint that this prefill rank writes no more for a room.

    Attributes:
        room: the room.
        endpoint: the decode rank's control socket.
        generation: of the abort that is answered; ``None`` if it had none.
    """

    room: int
    endpoint: Endpoint
    generation: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerGone:
    """A registration was replaced or forgotten: its memory is no destination any more.

    Attributes:
        peer: session id, agent name or engine key.
    """

    peer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """Something was ignored. ``counts()`` has it already; a shell may log it once per kind.

    Attributes:
        kind: a stable slug, ``"status-unknown-room"``.
    """

    kind: str


Effect = SendStatus | SendAbort | SendAbortAck | PeerGone | Drop
