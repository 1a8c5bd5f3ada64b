"""``python side.py FAULT …``: our own side of a hand-over with one thing broken in it.

Rules:

* One fault each, one that somebody has made or could make; everything else is the sound side.
* A fault is a change of our own classes in this process alone. Which case must catch it is
  said in the test that starts this.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pdwire.bootstrap.server import BootstrapServer
from pdwire.bootstrap.table import BootstrapTable
from pdwire.errors import WireError
from pdwire.managers import common, decode_side, planner, prefill_side
from pdwire.managers.transfers import Steps
from pdwire.plan import Permitted
from pdwire.rooms import KVPoll, RoomLimits
from pdwire.wire import recognise
from pdwire.wire.common import AbortAck, AbortNotification, AuxData, StagingReq
from pdwire_conformance.interop import ours

Prefill = prefill_side.PrefillSide
Decode = decode_side.DecodeSide
Core = common.CommonKVManager
Message = Any


def before(owner: type, name: str, first: Callable[..., bool]) -> None:
    """Do something before a method; where it answers ``True``, the method is not called."""
    sound = getattr(owner, name)

    def changed(self: object, *args: Any, **more: Any) -> Any:  # noqa: ANN401
        return None if first(self, *args, **more) else sound(self, *args, **more)

    setattr(owner, name, changed)


def limits(**changed: float) -> None:
    """Other limits for every room."""
    sound = ours._limits
    ours._limits = lambda options: replace(sound(options), **changed)  # type: ignore[arg-type]


def statuses(keep: Callable[[KVPoll | None], bool]) -> None:
    """A Success that comes for a room in such a state counts, now or later."""
    done: set[int] = set()

    def heard(self: Decode, message: Message) -> None:
        if message.status == KVPoll.Success and keep(sound(self, message.room)):
            done.add(message.room)

    sound = Decode.status
    on_message(Decode, "KVStatus", heard)
    Decode.status = lambda self, room: (  # type: ignore[method-assign]
        KVPoll.Success if room in done else sound(self, room)
    )


def on_message(owner: type, kind: str, act: Callable[[Any, Message], object]) -> None:
    """Act on a message as it is decoded, before the side does; ``True`` swallows it."""
    swallowed: list[bool] = [False]
    sound = owner.handle  # type: ignore[attr-defined]

    def changed(self: Any, frames: list[bytes]) -> None:  # noqa: ANN401
        way = decode_side._INBOUND if owner is Decode else prefill_side._INBOUND
        found = understood(frames, self.core.wire_backend, way)
        swallowed[0] = found is not None and type(found).__name__ == kind and bool(act(self, found))
        if not swallowed[0]:
            sound(self, frames)

    owner.handle = changed  # type: ignore[attr-defined]


def understood(frames: list[bytes], backend: str, direction: str) -> Message | None:
    """The message, or ``None`` where the frames are none."""
    try:
        return recognise(frames, backend=backend, direction=direction).codec.decode(frames)
    except WireError:
        return None


# ------------------------------------------------------------------------ faults


def forgets_abort() -> None:
    """ABORT changes nothing and is not answered."""
    on_message(Prefill, AbortNotification.__name__, lambda *_: True)


def acknowledges_another_generation() -> None:
    """ABORT is answered with the number of another abort."""
    sound = Core._send_ack
    Core._send_ack = lambda self, effect: sound(  # type: ignore[method-assign]
        self, replace(effect, generation=(effect.generation or 0) + 1)
    )


def acknowledges_nothing() -> None:
    """The room fails, and decode never learns that nothing is in flight."""
    Core._send_ack = lambda *_: None  # type: ignore[method-assign]


def dies_on_garbage() -> None:
    """The loop ends on a message that it cannot read."""
    for owner in (Prefill, Decode):
        before(owner, "handle", _ends)


def _ends(self: Any, frames: list[bytes]) -> bool:  # noqa: ANN401
    if self.core.counters.snapshot().get("dropped"):
        raise SystemExit
    way = decode_side._INBOUND if isinstance(self, Decode) else prefill_side._INBOUND
    if understood(frames, self.core.wire_backend, way) is None:
        raise SystemExit
    return False


def trusts_aux_data() -> None:
    """AUX_DATA is written wherever it says."""

    def write(self: Decode, message: AuxData) -> bool:
        args = self.core.args
        buffer, row = message.buffer_index, message.aux_index
        if buffer < len(args.aux_data_ptrs) and row < 16:
            address = args.aux_data_ptrs[buffer] + row * args.aux_item_lens[buffer]
            ctypes.memmove(address, message.data, len(message.data))
        return True

    before(Decode, "_take_aux", write)


def resurrects() -> None:
    """A room that has failed succeeds when a Success comes after all."""
    statuses(lambda status: status is KVPoll.Failed)


def makes_rooms_of_statuses() -> None:
    """A Success for a room that nobody opened is kept for whoever opens it."""
    statuses(lambda status: status is None)


def never_expires() -> None:
    """Rooms wait for ever."""
    ours._limits = lambda _: RoomLimits(  # type: ignore[assignment]
        bootstrap_s=1e6, waiting_s=1e6, write_s=1e6
    )


def keeps_every_room() -> None:
    """There is no cap on rooms that nobody opened."""
    limits(unopened_rooms=10**9)


def releases_at_once() -> None:
    """Pages of an aborted room are free before anybody has acknowledged."""
    Decode.pages_released = lambda *_: True  # type: ignore[method-assign]


def believes_any_acknowledgement() -> None:
    """Whatever abort an acknowledgement answers, it releases the pages."""
    known: set[int] = set()
    on_message(Decode, AbortAck.__name__, lambda _, message: known.add(message.room))
    sound = Decode.pages_released
    Decode.pages_released = lambda self, room, life: (  # type: ignore[method-assign]
        room in known or sound(self, room, life)
    )


def never_says_success() -> None:
    """Prefill writes everything and tells nobody."""
    Core._send_status = lambda *_: None  # type: ignore[method-assign]


def swaps_pages() -> None:
    """Pages arrive in the order of another request."""
    sound = planner.Planner.kv

    def swapped(self: Any, peer: Any, chunk: Any, dst: Any, prefix: int) -> Permitted:  # noqa: ANN401
        return sound(self, peer, chunk, np.ascontiguousarray(dst[::-1]), prefix)

    planner.Planner.kv = swapped  # type: ignore[method-assign,assignment]


def drops_the_aux_row() -> None:
    """The auxiliary row never moves."""

    def nothing(*_: Any) -> Steps:  # noqa: ANN401
        yield from ()

    Core.send_aux = nothing  # type: ignore[method-assign,assignment]


def second_metadata_ends_the_room() -> None:
    """Metadata that comes later ends a room that has its metadata already."""

    def forget(self: Prefill, message: Message) -> None:
        if self.rooms.infos(message.room):
            self.fail(message.room, "asked for again")

    on_message(Prefill, "TransferInfo", forget)


def fails_in_silence() -> None:
    """A room that prefill gives up is a secret."""
    sound = Core._send_status

    def said(self: Core, effect: Any) -> None:  # noqa: ANN401
        if effect.status != KVPoll.Failed:
            sound(self, effect)

    Core._send_status = said  # type: ignore[method-assign]


def leaks_files() -> None:
    """Every hundredth message that is dropped costs an open file."""
    held: list[object] = []
    dropped = itertools.count()

    def opened(*_: object) -> bool:
        if next(dropped) % 100 == 0:
            held.append(Path("/dev/null").open())  # noqa: SIM115 - that is the fault
        return False

    before(Core, "dropped", opened)


def answers_for_any_rank() -> None:
    """The bootstrap server sends everybody to the one rank that it knows."""
    sound = BootstrapTable.rank_info
    BootstrapTable.rank_info = lambda self, *_: sound(self, 0, 0, 0, 0)  # type: ignore[method-assign]


def forgets_to_check_bodies() -> None:
    """The bootstrap server breaks on a registration that lacks a key."""
    sound = BootstrapServer._decode

    def broken(self: BootstrapServer, message: str, body: bytes) -> Any:  # noqa: ANN401
        try:
            return sound(self, message, body)
        except WireError as error:
            raise KeyError(str(error)) from error

    BootstrapServer._decode = broken  # type: ignore[method-assign]


def gives_another_place() -> None:
    """The same staging question gets a second place."""
    from pdwire.staging import DecodeStaging

    def forget(self: Any, message: StagingReq, _: float) -> bool:  # noqa: ANN401
        room = self._rooms.get(message.room)
        if room is not None:
            room.chunks.pop(message.chunk_idx, None)
        return False

    before(DecodeStaging, "on_staging_req", forget)


FAULTS: dict[str, Callable[[], None]] = {
    made.__name__: made
    for made in (
        forgets_abort,
        acknowledges_another_generation,
        acknowledges_nothing,
        dies_on_garbage,
        trusts_aux_data,
        resurrects,
        makes_rooms_of_statuses,
        never_expires,
        keeps_every_room,
        releases_at_once,
        believes_any_acknowledgement,
        never_says_success,
        swaps_pages,
        drops_the_aux_row,
        second_metadata_ends_the_room,
        fails_in_silence,
        leaks_files,
        answers_for_any_rank,
        forgets_to_check_bodies,
        gives_another_place,
    )
}

if __name__ == "__main__":
    FAULTS[sys.argv[1]]()
    sys.exit(ours.main(sys.argv[2:]))
