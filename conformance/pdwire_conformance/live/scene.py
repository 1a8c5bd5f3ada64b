"""A live case while it runs: its rooms, its sockets, what is known by name.

Rules:

* A room is made when a step first names it, on pages that no other open room uses.
* Nothing outlives the case: rooms are cleared at both ends, sockets are closed.
* A step that did not get what it expects raises :class:`StepFailed`; one that cannot be
  asked of this target raises :class:`StepSkipped`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import Any, Final

from pdwire_conformance.conform.events import TraceLine
from pdwire_conformance.conform.trace import frame_names
from pdwire_conformance.interop.cases import Run
from pdwire_conformance.interop.handover import Room
from pdwire_conformance.interop.process import Side
from pdwire_conformance.peers.errors import PeerError, PeerUnavailable, RunnerError

from .driven import LiveTarget
from .notation import Value
from .player import Heard

__all__ = ["BROKEN", "Scene", "StepFailed", "StepSkipped"]

BROKEN: Final = (PeerUnavailable, PeerError, RunnerError, TimeoutError)
"""What asking a side can raise."""
_SESSIONS: Final = {"mooncake": "mooncake_session_id", "nixl": "agent_name"}
_RANKS: Final = {"mooncake": "dst_tp_rank", "nixl": "decode_tp_rank"}
_SHOWN_BYTES: Final = 512
"""Of a frame in a trace; what is longer is cut, and the line says so."""


class StepFailed(Exception):
    """What a step expected, and what came."""

    def __init__(self, expected: str, came: str) -> None:
        super().__init__(f"expected {expected}; {came}")
        self.expected = expected
        self.came = came


class StepSkipped(Exception):
    """Why a step cannot be asked of this target."""


class Scene:
    """One run of one case against one target."""

    def __init__(self, target: LiveTarget, run: Run) -> None:
        self.target = target
        self.run = run
        self.stack = ExitStack()
        self.rooms: dict[str, Room] = {}
        self.ends: dict[str, set[Side]] = {}
        """Where a room is open, by its letter."""
        self.ports: dict[str, int] = {}
        self.digests: list[list[str]] = []
        self.kept: dict[str, Any] = {}
        """Which rooms ``remember`` left out, as the ``outside`` operation takes them."""
        self.spent = False
        """The target is not fit for another case."""
        self.measured: dict[str, int] = {}
        self.named: dict[str, dict[str, Any]] = {}
        """Values of messages that a step has expected under a name."""
        self.began = time.monotonic()
        self._notes: list[tuple[float, str]] = []

    # ------------------------------------------------------------------ rooms

    def room(self, letter: str, sizes: Sequence[int] = (3,), prefix: int = 0) -> Room:
        """The room of that letter; made with these chunks when it is new."""
        if letter not in self.rooms:
            self.rooms[letter] = self.fresh(sizes, prefix)
        return self.rooms[letter]

    def fresh(self, sizes: Sequence[int], prefix: int = 0) -> Room:
        """A room on pages of its own."""
        taken = {room.number % 4 for room in self.rooms.values()}
        while True:
            made = self.run.room(*sizes, prefix=prefix)
            if made.number % 4 not in taken or len(taken) == 4:
                return made

    def sides(self, which: str) -> list[Side]:
        """``target``, ``player``, ``both``, or ``first``: the target's first rank."""
        target: list[Side] = self.target.sides
        player: list[Side] = [self.target.player]
        which_are = {"target": target, "player": player, "both": target + player}
        return which_are[which] if which in which_are else target[:1]

    def poll(self, letter: str) -> dict[Side, tuple[str, str]]:
        """How the room stands wherever it is open; this moves it on."""
        number = self.rooms[letter].number
        return {side: side.poll(number)[number] for side in self.ends.get(letter, ())}

    # ----------------------------------------------------------- placeholders

    def known(self, name: str) -> Value:
        """What a placeholder stands for; ``KeyError`` when nothing is called so."""
        if len(name) == 1 and name.isalpha():
            return self.room(name).number
        first, _, rest = name.partition(".")
        if first in self.named:
            return self.named[first][rest]
        if name.endswith(".port") and name[:-5] in self.ports:
            return self.ports[name[:-5]]
        if len(name) > 2 and name[1] == ".":
            return self._of_room(self.room(name[0]), name[2:])
        return self._of_peers()[name]

    def _of_room(self, room: Room, part: str) -> Value:
        return {"row": room.row, "source_row": room.source_row, "pages": list(room.pages)}[part]

    def _of_peers(self) -> dict[str, Any]:
        manager = self.target.player.manager
        host, port = manager.endpoint
        return {
            "ip": host,
            "port": port,
            "session": manager.engine.session_id,
            "target.session": self._target_session(),
            "target.port": self.target.endpoint[1],
        }

    def _target_session(self) -> str:
        """What the first rank of a decode target calls its engine, as it registered last.

        A rank registers once: the player remembers it longer than a case lasts.
        """
        key, rank = _SESSIONS[self.target.backend], _RANKS[self.target.backend]
        told = [
            each.values[key]
            for each in self.target.player.registrations
            if each.values is not None and each.values.get(rank) == 0
        ]
        return str(told[-1]) if told else ""

    # ------------------------------------------------------------------ trace

    def note(self, text: str) -> None:
        """Say in the trace what the script does."""
        self._notes.append((time.monotonic(), text))

    def trace(self) -> tuple[TraceLine, ...]:
        """Notes and messages, in the order of time."""
        noted = [(at, TraceLine(way="note", text=text)) for at, text in self._notes]
        heard = self.target.player.heard() if self.target.alive() else []
        lines = sorted([*noted, *((each.at, self._line(each)) for each in heard)], key=_at)
        return tuple(
            TraceLine(
                way=line.way,
                text=line.text,
                frames=line.frames,
                names=line.names,
                at_s=round(at - self.began, 4),
            )
            for at, line in lines[:_MOST]
        )

    def _line(self, heard: Heard) -> TraceLine:
        shown = tuple(frame[:_SHOWN_BYTES].hex() for frame in heard.frames[:64])
        cut = any(len(frame) > _SHOWN_BYTES for frame in heard.frames)
        names: tuple[str, ...] = ()
        if heard.message:
            target = self.target
            names = frame_names(target.backend, heard.message, target.release, shown)
        text = heard.message or "no message of this release"
        return TraceLine(
            way="came" if heard.came else "sent",
            text=text + (" (long frames are cut)" if cut else ""),
            frames=shown,
            names=names,
        )

    # -------------------------------------------------------------------- end

    def clear(self) -> bool:
        """Clear every room at both ends and close every socket; whether all of it worked."""
        worked = True
        for letter in list(self.ends):
            for side in list(self.ends[letter]):
                worked &= self._cleared(side, letter)
        self.ends.clear()
        self.close()
        return worked

    def close(self) -> None:
        """Close every socket; rooms stay as they are."""
        with suppress(OSError):
            self.stack.close()

    def _cleared(self, side: Side, letter: str) -> bool:
        try:
            side.ask("clear", room=self.rooms[letter].number)
        except BROKEN:
            return False
        return True


_MOST: Final = 400
"""Lines of a trace."""


def _at(item: tuple[float, TraceLine]) -> float:
    return item[0]


def endings(told: dict[Side, tuple[str, str]]) -> Iterator[str]:
    """How a room stands at each end, for people."""
    for side, (status, reason) in told.items():
        yield f"{side.name} {status}" + (f" ({reason})" if reason else "")
