"""The prefill side of staging: which chunks were asked for, where they go, and when.

Rules:

1. Every chunk is asked for ahead, once for each decode rank; what stays unanswered is asked for
   again. A chunk that is larger than the decode rank's ring, or than the own staging buffer, is
   never asked for: it goes the direct way (S6).
2. ``STAGING_REQ.session_id`` is the decode rank's own session, echoed in STAGING_RSP; it finds the
   answer's target. ``WATERMARK.session_id`` is the decode session whose ring it is about.
3. An answer counts only if its place lies inside the ring and is large enough, is newer than what
   is known of the room, and not behind the watermark: nothing else is ever written to.
4. Watermarks only grow; late ones do no harm. Other prefill ranks share the ring, so one may be
   beyond the newest place that is known here; but it is told whenever it moves, so by no more
   than a round. What is further ahead counts only once a place behind it proves it (A6): the
   decode rank gives none before its own watermark.

Not thread-safe: the shell holds a lock. Time is an argument, in monotonic seconds.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from pdwire.staging.effects import Drop, Effect, Endpoint, Place, SendStagingReq
from pdwire.staging.grid import ChunkGrid
from pdwire.staging.layout import StagingLayout
from pdwire.staging.limits import StagingLimits
from pdwire.staging.ring import OVERSIZED, Mark, is_writable
from pdwire.wire.common import StagingReq, StagingRsp, Watermark

__all__ = ["ChunkState", "Oversized", "PrefillStaging", "Ready", "Waiting", "WaitingFor"]


_ROUNDS_AHEAD: Final = 1
"""How many rounds a watermark may be ahead of every place that is known here."""


class WaitingFor(StrEnum):
    """What keeps a chunk from being written."""

    ASK = "nobody asked"
    ANSWER = "no answer yet"
    WATERMARK = "the place is still in use"
    ROOM_END = "the decode side took the place back"


@dataclass(frozen=True, slots=True)
class Waiting:
    """Not now; try again when a message has come, ``place`` being where it will go if known."""

    why: WaitingFor
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Ready:
    """Write it now, at ``place`` of the decode rank's ring."""

    place: Place


@dataclass(frozen=True, slots=True)
class Oversized:
    """It will never be staged: send it page by page, head slice by head slice."""


ChunkState = Waiting | Ready | Oversized


@dataclass(slots=True, kw_only=True)
class _Target:
    """What is known of one room at one decode rank; a place per chunk of the grid."""

    room: int
    session: str
    endpoint: Endpoint
    grid: ChunkGrid
    layout: StagingLayout
    ring_size: int
    pp_rank: int | None
    floor: Place | None
    chunks: list[Place | Oversized | None] = field(default_factory=list)

    def newest(self) -> Place | None:
        """The newest place known of this room number at this rank."""
        places = [chunk for chunk in self.chunks if isinstance(chunk, Place)]
        return max([*places, *([self.floor] if self.floor else [])], default=None)


class PrefillStaging:
    """Chunks of all rooms of one prefill rank, by room and decode session."""

    def __init__(self, limits: StagingLimits | None = None) -> None:
        self._limits = limits or StagingLimits()
        self._rooms: dict[int, dict[str, _Target]] = {}
        self._marks: dict[str, Mark] = {}
        self._rounds: dict[str, int] = {}  # of the newest place of each session
        self._doubtful: dict[str, Mark] = {}
        self._asked: deque[tuple[float, _Target]] = deque()  # due times only grow
        self._floors: OrderedDict[tuple[int, str], Place] = OrderedDict()
        self._drops: Counter[str] = Counter()

    def want(
        self,
        room: int,
        session: str,
        endpoint: Endpoint,
        *,
        grid: ChunkGrid,
        layout: StagingLayout,
        ring_size: int,
        now: float,
        buffer_size: int | None = None,
        pp_rank: int | None = None,
    ) -> list[Effect]:
        """Ask one decode rank for the place of every chunk of a room, before there is any data.

        Args:
            room: the room.
            session: the decode rank's session id or agent name, out of its TransferInfo.
            endpoint: the decode rank's control socket.
            grid: the room's chunks.
            layout: between this engine and that decode rank.
            ring_size: ``staging_total_size`` of its registration. Unit: bytes.
            now: monotonic seconds.
            buffer_size: of the own staging buffer, which one writer's part must fit.
            pp_rank: the own pipeline rank, where the decode side's release knows of it (Mooncake
                from 0.5.18 on); ``None``: every prefill rank of the room is answered.

        Returns:
            One request per chunk; nothing when they were asked for already.
        """
        targets = self._rooms.setdefault(room, {})
        if session in targets:
            return []
        self._marks.setdefault(session, Mark(0, 0))
        target = targets[session] = _Target(
            room=room,
            session=session,
            endpoint=endpoint,
            grid=grid,
            layout=layout,
            ring_size=ring_size,
            pp_rank=pp_rank,
            floor=self._floors.pop((room, session), None),
        )
        target.chunks = [self._fits(target, index, buffer_size) for index in range(len(grid))]
        return self._ask(target, now)

    def on_staging_rsp(self, message: StagingRsp, now: float) -> list[Effect]:
        """STAGING_RSP: keep the place, if it is one that may be written."""
        del now
        target = self._rooms.get(message.room, {}).get(message.session_id)
        if target is None:
            return self._drop("staging-rsp-unknown-room")
        if not 0 <= message.chunk_idx < len(target.chunks):
            return self._drop("staging-rsp-unknown-chunk")
        known = target.chunks[message.chunk_idx]
        if message.offset == OVERSIZED:
            if known is None:
                target.chunks[message.chunk_idx] = Oversized()
            return []
        place = Place(offset=message.offset, round=message.round, end=message.end)
        if place == known or isinstance(known, Oversized):
            return []
        if (fault := self._fault(target, message.chunk_idx, place)) is not None:
            return self._drop(fault)
        target.chunks[message.chunk_idx] = place
        self._learn(message.session_id, place)
        return []

    def on_watermark(self, message: Watermark, now: float) -> list[Effect]:
        """WATERMARK: remember it, if it is beyond what is known, and not too far."""
        del now
        session, mark = message.session_id, Mark(message.round, message.tail)
        known = self._marks.get(session)
        if known is None:
            return self._drop("watermark-unknown-session")
        if mark.round > max(known.round, self._rounds.get(session, 0)) + _ROUNDS_AHEAD:
            self._doubtful[session] = mark
            return self._drop("watermark-beyond-places")
        self._marks[session] = max(known, mark)
        return []

    def state(self, room: int, chunk_idx: int, session: str) -> ChunkState:
        """Whether a chunk may be written at one decode rank, and where.

        Raises:
            IndexError: a chunk that the grid does not have.
        """
        target = self._rooms.get(room, {}).get(session)
        if target is None:
            return Waiting(WaitingFor.ASK)
        chunk = target.chunks[chunk_idx]
        if chunk is None:
            return Waiting(WaitingFor.ANSWER)
        if isinstance(chunk, Oversized):
            return chunk
        return self._when(chunk, self._marks[session])

    def watermark(self, session: str) -> Mark | None:
        """The newest watermark of a decode session; ``None``: not one that was asked."""
        return self._marks.get(session)

    def close_room(self, room: int) -> None:
        """Forget a room. What is still under way for it will be dropped."""
        for session, target in self._rooms.pop(room, {}).items():
            if (newest := target.newest()) is None:
                continue
            self._floors[room, session] = newest
            if len(self._floors) > self._limits.remembered:
                self._floors.popitem(last=False)

    def forget(self, session: str) -> None:
        """A decode rank registered again or is gone: its ring and watermark begin anew."""
        self._marks.pop(session, None)
        self._rounds.pop(session, None)
        self._doubtful.pop(session, None)
        for key in [key for key in self._floors if key[1] == session]:
            del self._floors[key]
        for room in [room for room, targets in self._rooms.items() if session in targets]:
            del self._rooms[room][session]
            if not self._rooms[room]:
                del self._rooms[room]

    def tick(self, now: float) -> list[Effect]:
        """Ask again for what has had no answer for ``ask_again_s``."""
        effects: list[Effect] = []
        while self._asked and self._asked[0][0] <= now:
            _, target = self._asked.popleft()
            if self._rooms.get(target.room, {}).get(target.session) is target:
                effects += self._ask(target, now)
        return effects

    def counts(self) -> dict[str, int]:
        """Rooms, chunks by what they wait for, decode sessions, and ``dropped-…`` by kind."""
        chunks: Counter[str] = Counter()
        for targets in self._rooms.values():
            for target in targets.values():
                chunks.update(type(chunk).__name__.lower() for chunk in target.chunks)
        return {
            "rooms": len(self._rooms),
            "sessions": len(self._marks),
            "chunks-unanswered": chunks["nonetype"],
            "chunks-placed": chunks["place"],
            "chunks-oversized": chunks["oversized"],
            **{f"dropped-{kind}": count for kind, count in self._drops.items()},
        }

    def _fits(self, target: _Target, chunk_idx: int, buffer_size: int | None) -> Oversized | None:
        pages = len(target.grid.pages(chunk_idx))
        own = target.layout.writer_bytes(pages)
        too_large = target.layout.chunk_bytes(pages) > target.ring_size
        return Oversized() if too_large or (buffer_size or own) < own else None

    def _ask(self, target: _Target, now: float) -> list[Effect]:
        """A request for every chunk without an answer."""
        effects: list[Effect] = [
            SendStagingReq(
                endpoint=target.endpoint,
                peer=target.session,
                message=StagingReq(
                    room=target.room,
                    chunk_idx=index,
                    chunk_num_pages=len(target.grid.pages(index)),
                    session_id=target.session,
                    requester_pp_rank=target.pp_rank,
                ),
            )
            for index, chunk in enumerate(target.chunks)
            if chunk is None
        ]
        if effects:
            self._asked.append((now + self._limits.ask_again_s, target))
        return effects

    def _fault(self, target: _Target, chunk_idx: int, place: Place) -> str | None:
        """Why a place is not one to write to."""
        needed = target.layout.chunk_bytes(len(target.grid.pages(chunk_idx)))
        if place.offset < 0 or place.end > target.ring_size or place.size < needed:
            return "staging-rsp-outside-ring"
        known = target.chunks[chunk_idx]
        newest = known if isinstance(known, Place) else target.floor
        stale = (newest is not None and place <= newest) or self._is_behind(target.session, place)
        return "staging-rsp-stale" if stale else None

    def _learn(self, session: str, place: Place) -> None:
        """A place was given: watermarks up to it are true, and a doubtful one beyond it is not."""
        self._rounds[session] = max(place.round, self._rounds.get(session, 0))
        doubtful = self._doubtful.pop(session, None)
        if doubtful is not None and doubtful <= (place.round, place.offset):
            self._marks[session] = max(doubtful, self._marks[session])

    def _is_behind(self, session: str, place: Place) -> bool:
        return (place.round, place.offset) < self._marks[session]

    @staticmethod
    def _when(place: Place, mark: Mark) -> ChunkState:
        if (place.round, place.offset) < mark:
            return Waiting(WaitingFor.ROOM_END)
        return Ready(place) if is_writable(place, mark) else Waiting(WaitingFor.WATERMARK, place)

    def _drop(self, kind: str) -> list[Effect]:
        self._drops[kind] += 1
        return [Drop(kind=kind)]
