"""Who takes part in the examples of the prefill side, and short ways to say what happens."""

from __future__ import annotations

from collections.abc import Callable

from pdwire.rooms import (
    Drop,
    Effect,
    KVPoll,
    PrefillRooms,
    RoomLimits,
    SendAbortAck,
    SendStatus,
    Write,
)
from pdwire.wire.common import AbortNotification
from pdwire.wire.mooncake import TransferInfo

MakeInfo = Callable[..., TransferInfo]

HOST = "10.0.0.2"
A, B, C = (HOST, 5000), (HOST, 5001), (HOST, 5002)
PEER_A, PEER_B, PEER_C = f"{HOST}:17000", f"{HOST}:17001", f"{HOST}:17002"
LIMITS = RoomLimits(
    bootstrap_s=10, waiting_s=20, write_s=5, unopened_s=30, unopened_rooms=3, peers=3, remembered=4
)

Rooms = PrefillRooms[TransferInfo]


def abort(
    room: int = 7, place: tuple[str, int] | None = A, generation: int | None = 1
) -> AbortNotification:
    host, port = place or (None, None)
    return AbortNotification(room=room, decode_ip=host, decode_port=port, generation=generation)


def ack(place: tuple[str, int] = A, generation: int | None = 1, room: int = 7) -> SendAbortAck:
    return SendAbortAck(room=room, endpoint=place, generation=generation)


def told(effects: list[Effect]) -> dict[tuple[str, int], tuple[KVPoll, str | None]]:
    """Endpoint -> what it was told; once each."""
    sent = [e for e in effects if isinstance(e, SendStatus)]
    assert len({e.endpoint for e in sent}) == len(sent)
    return {e.endpoint: (e.status, e.reason) for e in sent}


def dropped(effects: list[Effect]) -> list[str]:
    return [e.kind for e in effects if isinstance(e, Drop)]


def write(rooms: Rooms, peer: str = PEER_A, now: float = 0, room: int = 7) -> Write:
    ticket = rooms.begin_write(room, peer, now)
    assert ticket is not None
    return ticket


def ready_room(rooms: Rooms, info: MakeInfo) -> None:
    rooms.open(7, 0)
    assert rooms.on_transfer_info(info(), PEER_A, 0) == []
