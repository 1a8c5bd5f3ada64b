"""What is kept of a room on the prefill side, and the ticket that a write needs."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from pdwire.rooms.alarm import NEVER
from pdwire.rooms.effects import Endpoint
from pdwire.rooms.tables import Phase

__all__ = ["Doom", "Ended", "InfoT", "Left", "Metadata", "Room", "Trail", "Write", "place_of"]


class Metadata(Protocol):
    """What the rooms read of a TransferInfo; each backend's generated class has it."""

    @property
    def room(self) -> int:
        """The request."""

    @property
    def endpoint(self) -> str:
        """Host of the decode rank's control socket."""

    @property
    def dst_port(self) -> int:
        """Its TCP port."""

    @property
    def dst_kv_indices(self) -> Sized:
        """Destination pages."""

    @property
    def required_dst_info_num(self) -> int:
        """How many decode ranks, dummies included, announce the room here."""

    @property
    def decode_prefix_len(self) -> int | None:
        """Tokens that decode already holds, if it says so."""

    @property
    def is_dummy(self) -> bool:
        """Whether the rank only counts and wants no data."""


InfoT = TypeVar("InfoT", bound=Metadata)


def place_of(info: Metadata) -> Endpoint:
    """The endpoint that metadata wants its answers at."""
    return (info.endpoint, info.dst_port)


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """Leave to write to one peer for one room, until it is handed back.

    Attributes:
        room: the room.
        peer: the destination.
        life: which life of the room number this belongs to.
        serial: unlike any other ticket's.
    """

    room: int
    peer: str
    life: int
    serial: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Doom:
    """A room that failed before it was opened: why, and until when that is remembered."""

    reason: str
    due: float
    trailing: frozenset[Endpoint]


@dataclass(slots=True, kw_only=True)
class Trail:
    """Endpoints whose abort of a room's last life may still come, and until when."""

    places: set[Endpoint]
    due: float


@dataclass(slots=True, kw_only=True)
class Ended:
    """A closed life of a room number that failed, until the number is opened again.

    Attributes:
        due: until when it is remembered.
        reason: why it failed.
        heard: endpoints whose metadata of that life came: what comes from them is new.
    """

    due: float
    reason: str
    heard: set[Endpoint]


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """An endpoint that gave up a room that it was no party of: by which abort, until when."""

    generation: int | None
    due: float


@dataclass(slots=True, kw_only=True)
class Room(Generic[InfoT]):
    """One room of a prefill rank.

    Attributes:
        number: what both sides call it.
        life: which life of the number this is.
        phase: changed by the ledger alone.
        due: the deadline of the phase, monotonic seconds.
        late: what has not happened when it has passed.
        patience: how long was waited then, in seconds.
        reason: why it failed.
        infos: peer -> metadata. Replaced and never changed, so that a reader's view stands.
        done: peers that have everything.
        refused: endpoints whose metadata was refused; they cannot abort the room.
        trailing: endpoints that were told of the failure and have not answered with an abort.
        heard: endpoints whose metadata had come when it was done, or was answered afterwards.
        prints: fingerprints of the metadata, once it has succeeded.
        next_doom: an abort came that this life did not call for.
        waiter: the endpoint that allocates only after the forward pass.
        ready: the forward pass is complete.
        told_ready: the waiter knows.
        writes: tickets that are out.
        finishing: everything was submitted.
    """

    number: int
    life: int
    phase: Phase = Phase.ABSENT
    due: float = NEVER
    late: str = ""
    patience: float = 0.0
    reason: str | None = None
    infos: dict[str, InfoT] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    refused: set[Endpoint] = field(default_factory=set)
    trailing: set[Endpoint] = field(default_factory=set)
    heard: set[Endpoint] = field(default_factory=set)
    prints: tuple[bytes, ...] = ()
    next_doom: bool = False
    waiter: Endpoint | None = None
    ready: bool = False
    told_ready: bool = False
    writes: int = 0
    finishing: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether every decode rank that is expected has sent its metadata."""
        expected = next((i.required_dst_info_num for i in self.infos.values()), None)
        return expected is not None and len(self.infos) >= expected

    def is_party(self, place: Endpoint) -> bool:
        """Whether an endpoint takes part in the room."""
        return any(place_of(info) == place for info in self.infos.values())

    def listeners(self) -> dict[Endpoint, str]:
        """Endpoint -> peer of every rank that is not a dummy: who hears how the room ends."""
        return {place_of(info): name for name, info in self.infos.items() if not info.is_dummy}
