"""A prefill side and its decode sides, all ranks of each, and the rooms between them.

Rules:

* A room is opened on every rank of both sides, polled until it is final on all of them,
  and cleared on all of them.
* What a decode rank holds afterwards is compared with every prefill rank that holds the
  same layer and head: KV pages, the aux row, state rows.
* Every wait has a deadline and says what it waited for.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from .options import Options
from .process import POLL_S, Side, settle

CONNECT_S = 20.0
"""Seconds for all prefill ranks to be registered where the decode side looks."""
SETTLE_S = 30.0
"""Seconds for a room to become final on every rank."""


Digests = dict[str, dict[str, Any]]
"""``kv``, ``aux``, ``state`` -> name -> digests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """One request. Pages are indices into each side's pools."""

    number: int
    chunks: tuple[tuple[int, ...], ...]
    """Source pages, chunk by chunk, those that the decode side has already included."""
    pages: tuple[int, ...]
    """Destination pages, without those of the prefix."""
    source_row: int = 0
    row: int = 0
    """Aux rows, source and destination."""
    prefix: int = 0
    """Pages that the decode side has already."""
    state: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """State rows, source and destination."""
    fleet: int = 0
    """Which of the decode sides."""

    @property
    def sent(self) -> list[int]:
        """Source pages that really move."""
        return [page for chunk in self.chunks for page in chunk][self.prefix :]


class Handover:
    """All sides, started; use as a context manager.

    ``prefill`` holds one :class:`~.options.Options` per rank, ``decodes`` one such list per
    decode side. Raises :class:`~..peers.errors.PeerUnavailable` when one cannot be had.
    """

    def __init__(self, prefill: Sequence[Options], decodes: Sequence[Sequence[Options]]) -> None:
        self._prefill_options = prefill
        self._decode_options = decodes
        self._stack = ExitStack()
        self.prefill: list[Side] = []
        self.decodes: list[list[Side]] = []

    def __enter__(self) -> Self:
        try:
            self._begin()
        except BaseException:
            for side in self._sides():
                side.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _begin(self) -> None:
        self.prefill = [Side(options) for options in self._prefill_options]
        self.decodes = [[Side(options) for options in group] for group in self._decode_options]
        sides = list(self._sides())
        # Importing takes a side seconds, most of them waiting for the disk: all at once.
        with ThreadPoolExecutor(len(sides)) as pool:
            for side in pool.map(Side.__enter__, sides):
                self._stack.push(side)
        for side in self.prefill:
            side.start(None if side is self.prefill[0] else self.prefill[0])
        for group in self.decodes:
            for side in group:
                side.start(None if side is group[0] else group[0])

    def _sides(self) -> Iterator[Side]:
        yield from self.prefill
        for group in self.decodes:
            yield from group

    def kill(self, side: Side) -> None:
        """End a side's process as the kernel would; it tells nobody."""
        side.close()

    def restart(self, side: Side) -> None:
        """Start a killed side anew: other ports, other session, empty memory."""
        fresh = Side(side.options)
        self._stack.enter_context(fresh)
        for group in (self.prefill, *self.decodes):
            if side in group:
                group[group.index(side)] = fresh
                fresh.start(None if fresh is group[0] else group[0])

    def fill(self, seed: int) -> None:
        """The prefill side gets the content of the seed, the decode sides none."""
        for side in self._sides():
            if side.options.is_prefill:
                side.ask("fill", seed=seed)
            else:
                side.ask("wipe")

    def open(self, room: Room, *, hold: int = 0) -> None:
        """Ask on every decode rank, send on every prefill rank, ``hold`` chunks kept back."""
        self.receive(room)
        self.send(room, hold=hold)

    def receive(self, room: Room) -> None:
        """Ask on every decode rank."""
        for side in self.decodes[room.fleet]:
            self._receive(side, room)

    def send(self, room: Room, *, hold: int = 0) -> None:
        """Send on every prefill rank."""
        request: dict[str, Any] = {"chunks": room.chunks, "aux_index": room.source_row}
        if room.state is not None:
            request["state"] = room.state[0]
        for side in self.prefill:
            side.ask("send", room=room.number, hold=hold, **request)

    def release(self, room: Room) -> None:
        """Let the chunks go that were kept back."""
        for side in self.prefill:
            side.ask("release", room=room.number)

    def _receive(self, side: Side, room: Room) -> None:
        request: dict[str, Any] = {"pages": room.pages, "aux_index": room.row}
        if room.state is not None:
            request["state"] = room.state[1]
        if room.prefix:
            request["decode_prefix_len"] = room.prefix * side.options.page_size
        address = self.prefill[0].bootstrap
        ends = time.monotonic() + CONNECT_S
        while not side.ask("receive", room=room.number, bootstrap=address, **request)["connected"]:
            if time.monotonic() > ends:
                raise TimeoutError(f"{side.name} did not connect within {CONNECT_S:g} s")
            time.sleep(POLL_S)

    def of(self, room: Room) -> list[Side]:
        """Every rank that takes part in the room."""
        return [*self.prefill, *self.decodes[room.fleet]]

    def settle(self, *rooms: Room, deadline_s: float = SETTLE_S) -> dict[int, dict[str, Any]]:
        """Poll until every room is final everywhere; room -> side's name -> (status, reason)."""
        asked: dict[Side, list[int]] = {}
        for room in rooms:
            for side in self.of(room):
                asked.setdefault(side, []).append(room.number)
        told = settle(asked, deadline_s)
        return {
            room.number: {side.name: told[side][room.number] for side in self.of(room)}
            for room in rooms
        }

    def until(
        self, room: Room, side: Side, statuses: Sequence[str], deadline_s: float = SETTLE_S
    ) -> tuple[str, str]:
        """Poll the room on every side that lives until it is in one of the statuses on ``side``."""
        ends = time.monotonic() + deadline_s
        while True:
            alive = [each for each in self.of(room) if each.alive]
            told = {each: each.poll(room.number)[room.number] for each in alive}
            if told[side][0] in statuses:
                return told[side]
            if time.monotonic() > ends:
                raise TimeoutError(
                    f"room {room.number} is {told[side][0]} on {side.name} after "
                    f"{deadline_s:g} s, not {' or '.join(statuses)}"
                )
            time.sleep(POLL_S)

    def until_released(self, room: Room, side: Side, deadline_s: float = SETTLE_S) -> None:
        """Wait until every prefill rank has acknowledged the abort to this decode rank."""
        ends = time.monotonic() + deadline_s
        while not side.ask("released", room=room.number)["released"]:
            if time.monotonic() > ends:
                raise TimeoutError(
                    f"room {room.number} was not acknowledged to {side.name} in {deadline_s:g} s"
                )
            time.sleep(POLL_S)

    def clear(self, *rooms: Room) -> None:
        """Forget the rooms on every rank."""
        for room in rooms:
            for side in self.of(room):
                side.ask("clear", room=room.number)

    def differences(self, room: Room) -> list[str]:
        """What a decode rank holds and no prefill rank sent; empty when all bytes are equal."""
        found: list[str] = []
        sources: list[Digests] = []
        for side in self.decodes[room.fleet]:
            if not sources or side.options.dcp_size > 1:  # else the same for every decode rank
                wanted = _sent(room, side.options)
                sources = [self._digest(each, wanted, room, 0) for each in self.prefill]
            held = self._digest(side, _held(room, side.options), room, 1)
            found += [f"{side.name} {text}" for text in _different(held, sources)]
        return found

    @staticmethod
    def _digest(side: Side, wanted: dict[str, Any], room: Room, end: int) -> Digests:
        request: dict[str, Any] = {**wanted, "aux": (room.source_row, room.row)[end]}
        if room.state is not None:
            request["state"] = room.state[end]
        told = side.ask("digest", **request)
        return {"kv": told["kv"], "aux": {"row": told["aux"]}, "state": told.get("state", {})}

    def moved(self, room: Room) -> int:
        """KV bytes of the room that arrived, all decode ranks together."""
        sides = self.decodes[room.fleet]
        pages = sum(side.options.page_bytes // side.options.dcp_size for side in sides)
        return pages * len(room.sent)


def _sent(room: Room, decode: Options) -> dict[str, Any]:
    """What a decode rank is to be sent: pages, or with DCP the tokens of its residue."""
    if decode.dcp_size == 1:
        return {"pages": room.sent}
    size = decode.page_size
    tokens = range(decode.dcp_rank, len(room.sent) * size, decode.dcp_size)
    return {"tokens": [(room.sent[token // size], token % size) for token in tokens]}


def _held(room: Room, decode: Options) -> dict[str, Any]:
    """Where a decode rank holds that: pages, or with DCP its own tokens, packed densely."""
    if decode.dcp_size == 1:
        return {"pages": room.pages}
    size = decode.page_size
    count = len(room.sent) * size // decode.dcp_size
    return {"tokens": [(room.pages[token // size], token % size) for token in range(count)]}


def _different(held: Digests, sources: Sequence[Digests]) -> Iterator[str]:
    for part, entries in held.items():
        for key, digests in entries.items():
            sent = [source[part][key] for source in sources if key in source[part]]
            if not sent:
                yield f"{part} {key} is held by no prefill rank"
            for each in sent:
                wrong = [
                    index for index, (a, b) in enumerate(zip(digests, each, strict=False)) if a != b
                ]
                if wrong or len(digests) != len(each):
                    yield f"{part} {key} differs at positions {wrong[:8]} of {len(each)}"
