"""One chunk for one peer, as a job: what is written, in which order, in which portions.

Rules:

1. KV, then state, then the auxiliary row: whoever sees the row has the rest.
2. Everything is checked before the first byte moves, so that a request that does not fit moves
   nothing (field report R9); what is large is planned portion by portion, as it is written.
3. Before each portion the room is asked whether it may still be written.
4. Only blocks that passed the guard reach the engine (:mod:`pdwire.plan.extent`).
5. The ticket comes back once, with what is known: done, failed, or not over (unsettled).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

from pdwire.engines import EngineError, EngineUnsettled
from pdwire.managers.peers import Peer
from pdwire.managers.planner import Chunk, PlanError
from pdwire.managers.portions import kv_portions
from pdwire.managers.transfers import Refused, Steps
from pdwire.plan import NOTHING, Permitted
from pdwire.rooms import Write

if TYPE_CHECKING:
    from pdwire.managers.prefill_side import PrefillSide

__all__ = ["ChunkWrite", "PeerForgotten", "RoomGone", "Task"]

_LOG: Final = logging.getLogger("pdwire.managers")
_PORTION_BLOCKS: Final = 65_536
"""Blocks of one transfer: 1.5 MiB of addresses, and some tenths of a second at 4 KiB each."""
_PORTION_BYTES: Final = 256 << 20
"""Bytes of one transfer: a tenth of a second at 2.5 GB/s, so that a peer shows signs of life."""


class RoomGone(Exception):
    """The room has failed meanwhile: nothing more is written for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One chunk for one peer, and the leave to write it."""

    ticket: Write
    chunk: Chunk
    info: Any
    prefix_len: int


@final
class ChunkWrite:
    """A `Job`: one task of the prefill side."""

    def __init__(self, side: PrefillSide, task: Task) -> None:
        self._side = side
        self._core = side.core
        self.task = task

    @property
    def peer(self) -> str:
        """The destination."""
        return self.task.ticket.peer

    @property
    def serial(self) -> int:
        """The ticket's."""
        return self.task.ticket.serial

    def is_moot(self) -> bool:
        """Whether the room has failed."""
        return not self._side.may_write(self.task)

    def steps(self) -> Steps:
        """Write the chunk. See the rules of this module."""
        task, core, planner = self.task, self._core, self._side.planner
        chunk, info, peer = task.chunk, task.info, self._side.destination(task)
        notify = core.notifications_for(chunk, peer)
        has_state = chunk.is_last and bool(chunk.state_indices or len(info.dst_state_indices))
        state = NOTHING
        if has_state:
            state = planner.state(peer, chunk.state_indices, info.dst_state_indices)
        aux = self._aux_row()
        if aux is not None:
            planner.aux(peer, chunk.aux_index or 0, aux)
        if not (yield from core.stage(self, peer)):
            kv = kv_portions(planner, core.args, peer, chunk, info.dst_kv_indices, task.prefix_len)
            yield from self.put(peer, kv, notify.kv)
        if has_state:
            yield from self.put(peer, [state], notify.state)
            for text in notify.more_state:
                yield from self.put(peer, [], text)
        if aux is not None:
            yield from core.send_aux(self, peer, notify.aux)
        elif chunk.is_last and not len(chunk.pages) and not core.sends_aux:
            # Where decode counts notifications, a stage without pages says at least that.
            yield from self.put(peer, [], notify.aux)

    def _aux_row(self) -> int | None:
        """Decode's auxiliary row, where this chunk takes it along; Mori spells none as -1.

        Raises:
            PlanError: decode asks for a row, and this side was given none.
        """
        chunk = self.task.chunk
        if not (chunk.is_last and self._core.sends_aux):
            return None
        row: int | None = self.task.info.dst_aux_index
        if row is None or row < 0:
            return None
        if chunk.aux_index is None and any(self._core.args.aux_item_lens):
            raise PlanError(f"decode waits for aux row {row}, init was given no aux row to send")
        return None if chunk.aux_index is None else row

    def check(self) -> None:
        """Ask whether the room may still be written; ``RoomGone`` when it may not."""
        if self.is_moot():
            raise RoomGone

    def put(
        self,
        peer: Peer,
        portions: Iterable[Permitted],
        notify: bytes | None,
        kind: str | None = "written",
    ) -> Steps:
        """Write blocks into the peer's memory, a transfer at a time; the last one notifies.

        Args:
            peer: whose memory.
            portions: of any size, made as they are needed.
            notify: what the peer is told when all of it is there.
            kind: what the bytes are counted as, if they are.
        """
        core = self._core
        self._side.known_to_engine(peer)
        for blocks, is_last in _last_known(_bounded(portions)):
            text = notify if is_last else None
            if not len(blocks) and text is None:
                continue
            self.check()
            if kind is not None:
                core.counters.add("bytes", kind, blocks.total)
            yield core.engine.write(
                peer.id,
                blocks.blocks,
                src_kind=core.args.mem_kind,
                dst_kind=peer.mem_kind,
                dst_device=peer.gpu_id if peer.mem_kind == "VRAM" else 0,
                notify=text,
            )

    def late(self, reason: str) -> None:
        """The peer takes nothing: the room fails, the ticket stays out until the engine is done."""
        self._side.fail(self.task.chunk.room, reason)

    def end(self, error: Exception | None) -> None:
        """Hand the ticket back."""
        side, task = self._side, self.task
        match error:
            case None:
                side.healthy(self.peer)
                side.end(task)
            case RoomGone():
                side.end(task)
            case Refused() | PlanError():
                side.end(task, ok=False, reason=str(error))
            case EngineUnsettled():
                side.end(task, ok=False, reason=str(error), settled=False)
            case EngineError():
                side.end(task, ok=False, reason=f"the engine failed: {error}")
                side.strike(self.peer, str(error))
            case _:
                self._core.counters.add("loop_errors", type(error).__name__)
                _LOG.error("room %s: a transfer broke down", task.ticket.room, exc_info=error)
                side.end(task, ok=False, reason=f"internal error: {error}", settled=False)


@final
class PeerForgotten:
    """A `Job`: the engine gives back what it keeps for a peer, when nothing is under way to it."""

    def __init__(self, side: PrefillSide, peer: str, serial: int) -> None:
        self._side = side
        self.peer = peer
        self.serial = serial

    def is_moot(self) -> bool:
        """It is always worth it."""
        return False

    def steps(self) -> Steps:
        """Forget."""
        self._side.core.engine.forget_peer(self.peer)
        yield from ()

    def late(self, reason: str) -> None:
        """An engine that cannot forget is counted with the threads that are lost."""

    def end(self, error: Exception | None) -> None:
        """Whatever went wrong: the peer is made known again before the next write."""
        if error is not None and not isinstance(error, Refused):
            self._side.core.counters.add("loop_errors", type(error).__name__)


def _bounded(portions: Iterable[Permitted]) -> Iterator[Permitted]:
    for portion in portions:
        yield from portion.batches(_PORTION_BLOCKS, _PORTION_BYTES)


def _last_known(portions: Iterator[Permitted]) -> Iterator[tuple[Permitted, bool]]:
    """Each portion, and whether it is the last one; no portion at all is an empty last one."""
    held = next(portions, NOTHING)
    for portion in portions:
        yield held, False
        held = portion
    yield held, True
