"""What NIXL's notifications say has arrived, sans IO.

Up to 0.5.22 a prefill rank tells decode with each transfer what it was; decode counts. A
request is whole when every prefill rank that is expected has sent all of its chunks (the last
one tells how many), the auxiliary row is there, and, where state is expected, every rank's
state. From 0.5.23 on there are no such texts, a status says it all.

* Only sources that were asked count, each once (A9), where it is known what they call themselves.
* From 0.5.12 to 0.5.22 there is a text for each component of the state that has rows, and each
  of them counts (A10): the releases' own reader is content with the first. Every source sends
  every component, but pipeline stages: one without layers of a component says nothing of it.
  Before 0.5.12 a text says no component, and stands for all.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from pdwire.wire.nixl import NotifAux, NotifKV, NotifState

__all__ = ["Arrivals"]


@dataclass(slots=True)
class _Room:
    sources: int
    components: frozenset[int]
    asked: frozenset[int] | None = None
    staged: bool = False
    chunks: dict[int, set[int]] = field(default_factory=dict)
    expected: dict[int, int] = field(default_factory=dict)
    parts: dict[tuple[int, int], set[int]] = field(default_factory=dict)
    state: dict[int, set[int]] = field(default_factory=dict)
    aux: bool = False
    told: bool = False

    def is_whole_now(self) -> bool:
        """Whether it is whole, said once."""
        if self.told or not self._is_whole():
            return False
        self.told = True
        return True

    def _is_whole(self) -> bool:
        return (
            self.aux
            and len(self.expected) >= self.sources
            and all(len(self.chunks.get(s, ())) >= n for s, n in self.expected.items())
            and self._has_state()
        )

    def _has_state(self) -> bool:
        if not self.components:
            return True
        if len(self.state) < self.sources:
            return False
        came = list(self.state.values())
        if not self.staged:
            return all(self.components <= of_one for of_one in came)
        return self.components <= frozenset().union(*came)

    def counts(self, source: int) -> bool:
        """Whether a source was asked."""
        return self.asked is None or source in self.asked


class Arrivals:
    """Rooms that notifications are counted for; texts of other rooms are ignored."""

    def __init__(self) -> None:
        self._rooms: dict[int, _Room] = {}

    def __len__(self) -> int:
        return len(self._rooms)

    def expect(
        self,
        room: int,
        sources: int,
        *,
        wants_state: bool = False,
        asked: Collection[int] | None = None,
        stages: int = 1,
    ) -> None:
        """Start counting for a room.

        Args:
            room: the room.
            sources: from how many prefill ranks something comes.
            wants_state: whether with one component of state.
            asked: what those ranks may call themselves; ``None``: any different ones count.
            stages: pipeline stages of the prefill side that are asked.
        """
        self._rooms[room] = _Room(
            sources=sources,
            components=frozenset({0} if wants_state else ()),
            asked=None if asked is None else frozenset(asked),
            staged=stages > 1,
        )

    def want_state(self, room: int, components: Collection[int] = (0,)) -> None:
        """The room has destinations for these components of state, by their numbers."""
        known = self._rooms.get(room)
        if known is not None:
            known.components = frozenset(components)

    def forget(self, room: int) -> None:
        """Stop counting for a room."""
        self._rooms.pop(room, None)

    def on_kv(self, text: NotifKV) -> bool:
        """A chunk, or a part of one, is there. Whether the room is whole now."""
        room = self._rooms.get(text.room)
        if room is None:
            return False
        source = text.pp_rank or 0
        if not room.counts(source):
            return False
        if text.num_parts is not None and text.part_idx is not None:
            seen = room.parts.setdefault((source, text.chunk_id), set())
            seen.add(text.part_idx)
            if len(seen) < text.num_parts:
                return False
        return self._chunk(room, source, text.chunk_id, is_last=text.is_last)

    def on_staged(self, room: int, source: int, chunk_id: int, *, is_last: bool) -> bool:
        """A chunk is in the staging ring. Whether the room is whole now."""
        known = self._rooms.get(room)
        if known is None or not known.counts(source):
            return False
        return self._chunk(known, source, chunk_id, is_last=is_last)

    def on_aux(self, text: NotifAux) -> bool:
        """The auxiliary row is there; without KV in the last chunk it says how many came."""
        room = self._rooms.get(text.room)
        if room is None or (text.pp_rank is not None and not room.counts(text.pp_rank)):
            return False
        room.aux = True
        if text.pp_rank is not None:
            room.expected.setdefault(text.pp_rank, text.expected)
        return room.is_whole_now()

    def on_state(self, text: NotifState) -> bool:
        """A rank's state is there. Whether the room is whole now."""
        room = self._rooms.get(text.room)
        if room is None or not room.counts(text.pp_rank):
            return False
        of_one = room.state.setdefault(text.pp_rank, set())
        of_one |= room.components if text.component is None else {text.component}
        return room.is_whole_now()

    @staticmethod
    def _chunk(room: _Room, source: int, chunk_id: int, *, is_last: bool) -> bool:
        room.chunks.setdefault(source, set()).add(chunk_id)
        if is_last:
            room.expected[source] = chunk_id + 1
        return room.is_whole_now()
