"""One message there and back: the peer encodes, we decode; we encode, the peer decodes.

Rules: a trial never raises for what the two sides make of a message, it records it; every
value is compared in its JSON form (``docs/spec-language.md``, "Values in JSON"), field by
field, so that a count of compared fields can be told and a difference can be named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pdwire.codec import Codec, Message
from pdwire.errors import WireError
from pdwire_conformance.peers.errors import PeerError, RunnerError
from pdwire_conformance.proof.convert import from_message

Values = dict[str, Any]


class Side(Protocol):
    """What a trial needs of the other side; a running peer and a recording both have it."""

    def encode(self, backend: str, message: str, values: Values) -> list[bytes]:
        """The frames that the release sends for these values."""
        ...

    def decode(self, backend: str, message: str, frames: Sequence[bytes]) -> Values:
        """The values that the release reads from these frames."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One field that the two sides read differently."""

    field: str
    peer: Any
    ours: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """One direction of a trial: fields compared, and what did not hold."""

    compared: int = 0
    differences: tuple[Difference, ...] = ()
    fault: str = ""
    """What one side refused; empty when both went through."""

    @property
    def holds(self) -> bool:
        """Something was compared and nothing differed."""
        return self.compared > 0 and not self.differences and not self.fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One message of one backend, both directions."""

    codec: Codec[Any]
    frames: tuple[bytes, ...] = ()
    """What the peer sent, guard included."""
    values: Values
    """What we read from ``frames``; what was to be sent when that failed."""
    peer_to_ours: Leg
    ours_to_peer: Leg
    same_bytes: bool = False
    """Our frames for the message equal the peer's."""

    @property
    def holds(self) -> bool:
        """Both directions hold."""
        return self.peer_to_ours.holds and self.ours_to_peer.holds


def compare(peer: Mapping[str, Any], ours: Mapping[str, Any]) -> Leg:
    """Compare every field that the peer tells; one that we do not have is a difference.

    The peers read an array without items as ``None`` here and there; that is no difference.
    """
    missing = "(no such field)"
    told = [(name, value, ours.get(name, missing)) for name, value in peer.items()]
    return Leg(
        compared=len(told),
        differences=tuple(
            Difference(field=name, peer=value, ours=our)
            for name, value, our in told
            if our != value and not (value is None and our == [])
        ),
    )


def exchange(side: Side, codec: Codec[Any], values: Values) -> Trial:
    """Send ``values`` from the peer to us and what we read back to the peer.

    The peer is given every value and sends those that its release has a frame for; those
    are what we are held to.
    """
    try:
        frames = tuple(side.encode(codec.backend, codec.message, values))
    except (PeerError, RunnerError) as error:
        return _broken(codec, values, Leg(fault=f"the peer cannot encode: {error}"))
    try:
        message = codec.decode(frames)
    except WireError as error:
        return _broken(codec, values, Leg(fault=f"we refuse the peer's frames: {error}"), frames)
    ours = from_message(message)
    leg, same = _send_back(side, codec, message, frames)
    return Trial(
        codec=codec,
        frames=frames,
        values=ours,
        peer_to_ours=compare({name: values[name] for name in codec.fields}, ours),
        ours_to_peer=leg,
        same_bytes=same,
    )


def _send_back(
    side: Side,
    codec: Codec[Any],
    message: Message,
    frames: tuple[bytes, ...],
) -> tuple[Leg, bool]:
    try:
        back = codec.encode(message)
    except WireError as error:
        return Leg(fault=f"we cannot encode what we read: {error}"), False
    same = tuple(back) == frames
    try:
        read = side.decode(codec.backend, codec.message, back)
    except (PeerError, RunnerError) as error:
        return Leg(fault=f"the peer refuses our frames: {error}"), same
    ours = from_message(message)
    return compare(read, ours), same


def _broken(codec: Codec[Any], values: Values, leg: Leg, frames: tuple[bytes, ...] = ()) -> Trial:
    nothing = Leg(fault="not tried")
    return Trial(codec=codec, frames=frames, values=values, peer_to_ours=leg, ours_to_peer=nothing)
