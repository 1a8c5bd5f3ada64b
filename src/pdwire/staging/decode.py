"""The decode side of staging: places of chunks, who has written them, when they are free again.

Rules:

1. A place is given on the first STAGING_REQ for a chunk; every later one gets the same (S2). All
   prefill ranks of the asker's pipeline stage are told, all ranks of the room if it names none.
   A request for a room that is not open yet is parked, with a deadline (S1).
2. Session ids are the decode rank's own: ``STAGING_REQ.session_id``, ``CHUNK_READY.writer_id`` and
   the agent name of NOTIF_STG name whose ring it is, so another one is a message for the rank that
   sat here before a restart, and dropped. The answer repeats it, and WATERMARK carries it.
3. A chunk is scattered once, when all its writers (TP ranks × pipeline stages) have said that it
   is written, in any order of chunks (S4). One that was written beyond its place fails its room,
   and every room whose bytes it may have overwritten.
4. A place is free when its chunk was scattered, or its room is closed and nobody can write there
   any more: at once when the shell says so, else when it says so later, or after ``late_write_s``
   (S7). A place that is being scattered is free when that is over.
5. The watermark is told as :mod:`pdwire.staging.marks` says.

Not thread-safe: the shell holds a lock. Time is an argument, in monotonic seconds. Room numbers
may be used again once nothing of their last life is under way: no message says which it is of.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from pdwire.staging.chunks import Chunk, PrefillRank, StagedRoom, Step
from pdwire.staging.effects import (
    Drop,
    Effect,
    Endpoint,
    I64Array,
    Place,
    Scatter,
    SendStagingRsp,
    StagingFailed,
)
from pdwire.staging.layout import StagingLayout
from pdwire.staging.limits import StagingLimits
from pdwire.staging.marks import MarkDesk
from pdwire.staging.ring import OVERSIZED, Ring
from pdwire.staging.shelf import Shelf
from pdwire.wire.common import ChunkReady, StagingReq, StagingRsp

__all__ = ["DecodeStaging"]


class DecodeStaging:
    """The ring of one decode rank and the chunks of its rooms.

    Args:
        ring_size: bytes of the staging buffer that was registered.
        session: the decode rank's own session id (Mooncake) or agent name (NIXL).
        limits: deadlines and caps.
    """

    def __init__(self, ring_size: int, session: str, limits: StagingLimits | None = None) -> None:
        self.ring = Ring(ring_size)
        self.session = session
        self._limits = limits or StagingLimits()
        self._rooms: dict[int, StagedRoom] = {}
        self._parked: Shelf[StagingReq] = Shelf(self._limits.parked_s, self._limits.parked)
        self._held: Shelf[Place] = Shelf(self._limits.late_write_s)
        self._scattering: dict[Place, int] = {}
        self._closed: OrderedDict[int, None] = OrderedDict()
        self._marks = MarkDesk(session, self._limits.remind_s)
        self._drops: Counter[str] = Counter()

    # ------------------------------------------------------------------ rooms

    def open_room(
        self,
        room: int,
        *,
        prefill: str,
        ranks: Sequence[PrefillRank],
        layout: StagingLayout,
        pages: I64Array | Sequence[int],
        writers: int,
        now: float,
        last_by_status: bool = False,
        writer_ranks: Collection[int] | None = None,
    ) -> list[Effect]:
        """Begin to stage a room. Call it before the room's metadata is sent.

        Args:
            room: the room.
            prefill: bootstrap address of the prefill side; effects repeat it.
            ranks: prefill ranks that the room's metadata goes to, dummies included.
            layout: between that engine and this decode rank.
            pages: destination pages that are sent, in order, those of the prefix not among them.
            writers: how many ranks write a part of each chunk: ``layout.writers`` times prefill
                pipeline stages.
            now: monotonic seconds.
            last_by_status: the prefill side is Mooncake before 0.5.18, which says of the last
                chunk only through its status (:meth:`on_writer_done`).
            writer_ranks: what those ranks call themselves; ``None``: any different ones count.

        Returns:
            Answers to requests that came before.

        Raises:
            ValueError: the room is open, or nobody writes.
        """
        if room in self._rooms:
            raise ValueError(f"room {room} is open already")
        if writers < 1:
            raise ValueError(f"room {room} has {writers} writers")
        self._closed.pop(room, None)
        self._rooms[room] = StagedRoom(
            prefill=prefill,
            ranks=tuple(ranks),
            layout=layout,
            pages=np.array(pages, np.int64),
            writers=writers,
            last_by_status=last_by_status,
            writer_ranks=None if writer_ranks is None else frozenset(writer_ranks),
        )
        asked = self._parked.take(room)
        return [effect for message in asked for effect in self.on_staging_req(message, now)]

    def close_room(self, room: int, now: float, *, quiet: bool) -> list[Effect]:
        """Forget a room, whether it succeeded or not (S7).

        Args:
            room: the room; one that is not open is fine.
            now: monotonic seconds.
            quiet: nobody can write for the room any more: it succeeded, every rank that could
                write has acknowledged an abort, or none was ever told of it. Otherwise places
                that were not written in full are held until :meth:`writers_quiet` says so, or for
                ``late_write_s``.
        """
        self._parked.take(room)
        self._remember(room)
        found = self._rooms.pop(room, None)
        if found is None:
            return []
        awaited = [chunk.place for chunk in found.chunks.values() if chunk.awaited()]
        places = [place for place in awaited if place is not None]
        if quiet:
            return self._free(places, now)
        for place in places:
            self._held.add(room, place, now)
        return []

    def writers_quiet(self, room: int, now: float) -> list[Effect]:
        """Nobody can write for a closed room any more: free what was held for it."""
        return self._free(self._held.take(room), now)

    def complete(self, room: int) -> bool:
        """Whether no chunk of the room waits to be written or scattered.

        Success from every prefill rank must have come as well: a chunk that was never asked for
        is unknown here.
        """
        found = self._rooms.get(room)
        return found is None or not found.outstanding()

    def busy(self, room: int) -> bool:
        """Whether a scatter of the room is under way: its pages are still written to."""
        return room in self._scattering.values()

    def forget_prefill(self, prefill: str) -> None:
        """A prefill engine is gone: nobody there is told of watermarks any more."""
        self._marks.forget(prefill=prefill)

    def forget_endpoint(self, endpoint: Endpoint) -> None:
        """One prefill rank cannot be reached: it is told of watermarks when it asks again."""
        self._marks.forget(endpoint=endpoint)

    # --------------------------------------------------------------- messages

    def on_staging_req(self, message: StagingReq, now: float) -> list[Effect]:
        """STAGING_REQ: give the chunk a place, or repeat the one it has."""
        if message.session_id != self.session:
            return self._drop("staging-req-foreign-session")
        found = self._rooms.get(message.room)
        if found is None:
            return self._park(message, now)
        chunk = found.chunks.get(message.chunk_idx)
        if chunk is None or (chunk.place is None and chunk.pages != message.chunk_num_pages):
            chunk = self._place(found, message)
        if chunk is None or not chunk.holds(message.chunk_num_pages):
            return self._drop("staging-req-no-such-chunk")
        if chunk.step is not Step.AWAITED:
            return self._drop("staging-req-late")
        return self._answer(found, message, chunk.place)

    def on_chunk_ready(self, message: ChunkReady, now: float) -> list[Effect]:
        """CHUNK_READY: one writer has written its part of a chunk."""
        if message.writer_id != self.session:
            return self._drop("chunk-foreign-session")
        return self.on_chunk_written(
            message.room,
            message.chunk_idx,
            message.page_start,
            message.num_pages,
            writer=message.prefill_rank,
            now=now,
        )

    def on_chunk_written(
        self,
        room: int,
        chunk_idx: int,
        page_start: int,
        num_pages: int,
        *,
        writer: int,
        now: float,
    ) -> list[Effect]:
        """One writer has written its part of a chunk, by whatever message says so.

        Args:
            room: the room.
            chunk_idx: the chunk.
            page_start: its first page, within the pages that are sent.
            num_pages: how many pages it has.
            writer: what tells the writers of a chunk apart: CHUNK_READY.prefill_rank, or
                NOTIF_STG.pp_rank.
            now: monotonic seconds.

        Returns:
            A :class:`Scatter` when this was the last writer.
        """
        del now
        found = self._rooms.get(room)
        if found is None:
            return self._drop("chunk-unknown-room")
        if not found.may_write(writer):
            return self._drop("chunk-foreign-writer")
        chunk = found.chunks.get(chunk_idx)
        if chunk is None or chunk.place is None:
            return self._drop("chunk-never-placed")
        if chunk.step is not Step.AWAITED or writer in chunk.written_by:
            return self._drop("chunk-doubled")
        if (fault := found.fault(chunk, page_start, num_pages)) is not None:
            failed = StagingFailed(room=room, reason=f"staged chunk {chunk_idx}: {fault}")
            return [failed, *self._overwritten(room, found, chunk.place, num_pages)]
        chunk.span = (page_start, num_pages)
        chunk.written_by.add(writer)
        return [self._scatter(room, chunk_idx, found, chunk.place)] if found.whole(chunk) else []

    def on_writer_done(self, room: int, writer: int, now: float) -> list[Effect]:
        """A prefill rank reports Success for a room: the last chunk, where only that says so.

        Harmless for a room that was not opened with ``last_by_status``.
        """
        found = self._rooms.get(room)
        last = found.last() if found is not None and found.last_by_status else None
        if found is None or last is None:
            return []
        chunk_idx, chunk = last
        if not chunk.awaited() or writer in chunk.written_by:
            return []
        start = len(found.pages) - chunk.pages
        return self.on_chunk_written(room, chunk_idx, start, chunk.pages, writer=writer, now=now)

    def scattered(self, effect: Scatter, now: float) -> list[Effect]:
        """The copy that ``effect`` asked for is over, well or not: its place is free.

        Raises:
            KeyError: no such copy is under way.
        """
        del self._scattering[effect.place]
        found = self._rooms.get(effect.room)
        chunk = found.chunks.get(effect.chunk_idx) if found else None
        if chunk is not None and chunk.place == effect.place:
            chunk.step = Step.DONE
        return self._free([effect.place], now)

    def tick(self, now: float) -> list[Effect]:
        """Expire what was parked or held, and repeat the watermark while places are taken."""
        self._drops["staging-req-expired"] += len(self._parked.expired(now))
        effects = self._free(self._held.expired(now), now)
        if effects or self.ring.drained():
            return effects
        return self._marks.remind(self.ring.watermark, now)

    def counts(self) -> dict[str, int]:
        """Rooms, chunks by step, the ring's occupancy, and ``dropped-…`` by kind."""
        steps = Counter(
            chunk.step if chunk.place else None
            for found in self._rooms.values()
            for chunk in found.chunks.values()
        )
        return {
            "rooms": len(self._rooms),
            "chunks-awaited": steps[Step.AWAITED],
            "chunks-scattered": steps[Step.DONE],
            "chunks-oversized": steps[None],
            "scattering": len(self._scattering),
            "held": len(self._held),
            "parked": len(self._parked),
            "told": len(self._marks),
            "ring-places": len(self.ring),
            "ring-used": self.ring.used,
            "ring-size": self.ring.size,
            **{f"dropped-{kind}": count for kind, count in self._drops.items() if count},
        }

    # ---------------------------------------------------------------- private

    def _park(self, message: StagingReq, now: float) -> list[Effect]:
        if message.room in self._closed:
            return self._drop("staging-req-closed-room")
        if not self._parked.add(message.room, message, now):
            return self._drop("staging-req-too-many-parked")
        return []

    def _place(self, found: StagedRoom, message: StagingReq) -> Chunk | None:
        """A new chunk; ``None`` when the room cannot have it (S5)."""
        pages = message.chunk_num_pages
        if not found.may_be_oversized(message.chunk_idx, pages):
            return None
        size = found.layout.chunk_bytes(pages)
        if size <= self.ring.size and not found.has_room_for(message.chunk_idx, pages):
            return None
        place = self.ring.assign(size)
        chunk = found.chunks[message.chunk_idx] = Chunk(pages=pages, place=place)
        return chunk

    def _answer(self, found: StagedRoom, message: StagingReq, place: Place | None) -> list[Effect]:
        where = place or Place(round=0, offset=OVERSIZED, end=-1)
        answer = StagingRsp(
            room=message.room,
            chunk_idx=message.chunk_idx,
            offset=where.offset,
            round=where.round,
            end=where.end,
            session_id=message.session_id,
        )
        effects: list[Effect] = []
        for rank in found.ranks:
            if message.requester_pp_rank not in {None, rank.pp_rank}:
                continue
            send = SendStagingRsp(endpoint=rank.endpoint, prefill=found.prefill, message=answer)
            mark = self.ring.watermark
            effects += [send, *self._marks.meet(rank.endpoint, found.prefill, mark)]
        return effects

    def _scatter(self, room: int, chunk_idx: int, found: StagedRoom, place: Place) -> Scatter:
        chunk = found.chunks[chunk_idx]
        start, count = chunk.span or (0, 0)
        chunk.step = Step.SCATTERING
        self._scattering[place] = room
        return Scatter(
            room=room,
            chunk_idx=chunk_idx,
            place=place,
            page_start=start,
            num_pages=count,
            pages=found.pages[start : start + count],
        )

    def _overwritten(
        self, room: int, found: StagedRoom, place: Place, num_pages: int
    ) -> list[Effect]:
        """Rooms that wait for bytes behind a place that was written beyond its end.

        Bytes of later rounds are written only after the place is free, so they are not hit.
        """
        end = place.offset + found.layout.chunk_bytes(max(num_pages, 0))
        hit = {
            other: None
            for other, its in self._rooms.items()
            for chunk in its.chunks.values()
            if other != room and chunk.place and chunk.step is not Step.DONE
            if chunk.place.round <= place.round
            if chunk.place.offset < end and place.end < chunk.place.end
        }
        reason = f"room {room} wrote over its staged bytes"
        return [StagingFailed(room=other, reason=reason) for other in hit]

    def _free(self, places: Iterable[Place], now: float) -> list[Effect]:
        before = self.ring.watermark
        for place in places:
            self.ring.free(place)
        moved = self.ring.watermark != before
        return self._marks.tell(self.ring.watermark, now) if moved else []

    def _remember(self, room: int) -> None:
        self._closed[room] = None
        if len(self._closed) > self._limits.remembered:
            self._closed.popitem(last=False)

    def _drop(self, kind: str) -> list[Effect]:
        self._drops[kind] += 1
        return [Drop(kind=kind)]
