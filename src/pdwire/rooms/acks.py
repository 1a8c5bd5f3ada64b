"""When a prefill rank may acknowledge an abort: writes in flight, and who waits for their end.

Rules (A1, A2):

* An acknowledgement promises that nothing of the room is in flight from this rank. It goes
  out when the last write under the room's number has ended, whichever life began it.
* One per decode endpoint, for the latest generation that it asked with, and never a second
  time for the same generation. Generations of one decode rank only grow, so one that is not
  above the last is a double or late.
* A write that ended without proof that the engine has let go of it (``settled=False``) keeps
  every acknowledgement of the room back: decode waits for its long timeout instead.
"""

from __future__ import annotations

from collections import Counter, OrderedDict

from pdwire.rooms.effects import Effect, Endpoint, SendAbortAck

__all__ = ["AckDesk"]

_ENDPOINTS_PER_ROOM = 1024
"""More decode ranks than any deployment has on one prefill rank; strangers could invent more."""


class AckDesk:
    """Counts writes per room number and holds acknowledgements until they have drained."""

    def __init__(self, remembered: int) -> None:
        self._remembered = remembered
        self._writing: Counter[int] = Counter()
        self._pending: dict[int, dict[Endpoint, int | None]] = {}
        self._latest: OrderedDict[tuple[int, Endpoint], int] = OrderedDict()
        self._unsettled: OrderedDict[int, None] = OrderedDict()

    @property
    def pending(self) -> int:
        """How many acknowledgements wait for writes to end."""
        return sum(map(len, self._pending.values()))

    @property
    def writing(self) -> int:
        """How many writes are in flight."""
        return self._writing.total()

    def is_news(self, room: int, endpoint: Endpoint, generation: int | None) -> bool:
        """Whether an abort is neither a double nor older than one already seen; remembers it."""
        if generation is None:
            return True
        key = (room, endpoint)
        if generation <= self._latest.get(key, -1):
            return False
        self._latest[key] = generation
        self._latest.move_to_end(key)
        if len(self._latest) > self._remembered:
            self._latest.popitem(last=False)
        return True

    def ask(self, room: int, endpoint: Endpoint, generation: int | None) -> bool:
        """Owe an acknowledgement. ``False``: refused, too many endpoints ask."""
        waiting = self._pending.setdefault(room, {})
        if endpoint not in waiting and len(waiting) >= _ENDPOINTS_PER_ROOM:
            return False
        waiting[endpoint] = generation
        return True

    def drained(self, room: int) -> list[Effect]:
        """The acknowledgements that may go out now; each is handed over once."""
        if self._writing[room] > 0:
            return []
        del self._writing[room]  # Counter forgives a missing key
        owed = self._pending.pop(room, {})
        if room in self._unsettled:
            return []
        return [
            SendAbortAck(room=room, endpoint=endpoint, generation=generation)
            for endpoint, generation in owed.items()
        ]

    def begin(self, room: int) -> None:
        """A write begins."""
        self._writing[room] += 1

    def end(self, room: int, *, settled: bool) -> list[Effect]:
        """A write has ended; ``settled``: the engine will not touch its destination again."""
        self._writing[room] -= 1
        if not settled:
            self._unsettled[room] = None
            if len(self._unsettled) > self._remembered:
                self._leave_unanswered(next(iter(self._unsettled)))
        return self.drained(room)

    def new_life(self, room: int) -> None:
        """A room number begins again: what its last life left unsettled stays unanswered."""
        if room in self._unsettled:
            self._leave_unanswered(room)

    def forget_endpoint(self, endpoint: Endpoint) -> None:
        """A decode rank has restarted: its generations begin anew, its old pages are gone."""
        for key in [key for key in self._latest if key[1] == endpoint]:
            del self._latest[key]
        for waiting in self._pending.values():
            waiting.pop(endpoint, None)

    def _leave_unanswered(self, room: int) -> None:
        """Forget that a room is unsettled, and with it everybody who could be told otherwise."""
        del self._unsettled[room]
        self._pending.pop(room, None)
