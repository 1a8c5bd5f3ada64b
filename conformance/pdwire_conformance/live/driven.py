"""What a live case runs against: a rank that is started, driven and started anew.

Rules:

* A target is one role of one backend in one release. ``pdwire``, ``sglang==…`` and ``cmd:…``
  are started here as processes, and driven: told to open rooms, to send, to say what memory
  holds. ``live:…`` runs somewhere already; the suite has nothing but its sockets, and a
  step that needs more is skipped with the reason.
* One target serves many cases in a row. After a case that failed it is started anew, both
  ends: what a broken rank does afterwards says nothing.
* A case may need a target of another make (with staging, with state beside KV): then it is
  started anew as well. So cases of one make should come together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Final, Self

from pdwire.wire.table import ORDER
from pdwire_conformance.interop.cases import Run
from pdwire_conformance.interop.handover import Handover
from pdwire_conformance.interop.options import OURS, Options
from pdwire_conformance.interop.process import Side
from pdwire_conformance.interop.run import MEMORY_KINDS
from pdwire_conformance.peers.errors import PeerUnavailable
from pdwire_conformance.suite.case import Role
from pdwire_conformance.testees.protocol import TesteeError

from .player import Player

__all__ = ["FEATURES", "LiveTarget", "Pairing"]

FEATURES: Final[Mapping[str, Mapping[str, Any]]] = {
    "staging": {"staging": 1, "chunk_pages": 3, "head_dim": 64},
    "state": {"state": True},
    "aux-messages": {"aux_messages": True},
    "short-deadlines": {"deadline_s": 3},
    "two-ranks": {"tp_size": 2, "memory": "VRAM"},
}
"""What a case may need of a target, and the options that make it so.

``two-ranks``: of the target; the player is one rank, so that heads are sliced, or staged.
"""
_ASK_S: Final = 12.0
"""Seconds that a driven side has for one request: a hang is seen, and ends the side."""


class LiveTarget:
    """A driven target and the suite's other side of it; use as a context manager.

    ``release`` is the one whose layouts the case speaks. Raises
    :class:`~pdwire_conformance.testees.protocol.TesteeError` when it cannot be started.
    """

    drives = True
    """Whether the target does what it is told; else there is only its socket."""

    def __init__(self, target: str, role: Role, backend: str, release: str) -> None:
        self.target = target
        self.role = role
        self.backend = backend
        self.release = release
        self.features: frozenset[str] = frozenset()
        self.stale = True
        """It must be started before the next case."""
        self.patience = 1.0
        """Factor on how long steps wait that do not say how long."""
        self.deadline_s = _ASK_S
        """How long the target may take for one request."""
        self.program: Sequence[str] | None = None
        """What to start in place of the target's own side; it takes the same options."""
        self._handover: Handover | None = None
        self.run: Run
        """Where rooms, pages and contents come from; new with each start."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # --------------------------------------------------------------- starting

    def need(self, features: frozenset[str]) -> None:
        """Be started, and of this make; ``TesteeError`` when that cannot be."""
        if self.stale or features != self.features or not self.alive():
            self.features = features
            self.restart()

    def restart(self) -> None:
        """Start both ends anew."""
        self.close()
        try:
            self._handover = self._started()
        except (PeerUnavailable, ImportError, OSError) as error:
            raise TesteeError(f"{self.target}, {self.role} over {self.backend}: {error}") from error
        self.run = Run(handover=self._handover, state="state" in self.features)
        self.stale = False

    def _started(self) -> Handover:
        made = Pairing(self._sides(), Player(self._options(OURS, self._other())))
        made.__enter__()
        return made

    def _sides(self) -> list[Side]:
        return [
            Side(options, deadline_s=self.deadline_s, program=self.program)
            for options in self._ranks()
        ]

    def _ranks(self) -> list[Options]:
        made = self._options(self._testee(), self._played())
        return [replace(made, tp_rank=rank) for rank in range(made.tp_size)]

    def _testee(self) -> str:
        return self.release if self.target.startswith("sglang==") else OURS

    def _played(self) -> str:
        """The role that the target's process plays; a bootstrap server is a prefill rank's."""
        return "decode" if self.role is Role.DECODE else "prefill"

    def _other(self) -> str:
        return "prefill" if self.role is Role.DECODE else "decode"

    def _options(self, release: str, role: str) -> Options:
        told: dict[str, Any] = {}
        for feature in self.features:
            told |= FEATURES[feature]
        if ORDER.index(self.release) < MEMORY_KINDS or self.features & {"staging", "state"}:
            told["memory"] = "VRAM"
        if role == self._other():
            told |= {"tp_size": 1}
            told.pop("deadline_s", None)
        made = Options(release=release, backend=self.backend, role=role, **told)
        return replace(made, wire=self.release) if release == OURS else made

    def close(self) -> None:
        """End both ends."""
        handover, self._handover = self._handover, None
        if handover is not None:
            handover.__exit__(None, None, None)
        self.stale = True

    def alive(self) -> bool:
        """Whether the target's process is there."""
        return self._handover is not None and all(side.alive for side in self.sides)

    # ------------------------------------------------------------------- ends

    @property
    def handover(self) -> Handover:
        """Both ends together."""
        assert self._handover is not None
        return self._handover

    @property
    def sides(self) -> list[Side]:
        """The target's ranks."""
        handover = self.handover
        return handover.prefill if self._played() == "prefill" else handover.decodes[0]

    @property
    def player(self) -> Player:
        """The suite's end."""
        handover = self.handover
        [side] = handover.decodes[0] if self._played() == "prefill" else handover.prefill
        assert isinstance(side, Player)
        return side

    @property
    def endpoint(self) -> tuple[str, int]:
        """The target's control socket."""
        return "127.0.0.1", self.sides[0].port

    @property
    def bootstrap(self) -> str:
        """``host:port`` of the target's bootstrap server; empty for a decode target."""
        return self.sides[0].bootstrap if self._played() == "prefill" else ""


class Pairing(Handover):
    """A target's ranks and the player."""

    def __init__(self, sides: Sequence[Side], player: Player) -> None:
        super().__init__([], [])
        self._first = [*sides]
        self._player = player

    def _begin(self) -> None:
        played = [self._player]
        by_player = self._player.options.is_prefill
        self.prefill = [*played] if by_player else self._first
        self.decodes = [self._first] if by_player else [[*played]]
        for side in (*self._first, self._player):
            self._stack.enter_context(side)
        for side in self._first:
            side.start(None if side is self._first[0] else self._first[0])
        self._player.start()
