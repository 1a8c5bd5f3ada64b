"""The other side, as the suite plays it: a manager of ours in this process, overheard.

Rules:

* The player hands rooms over as any rank does: it registers, asks, writes and answers by
  itself. A case's own messages leave through the same connections, so that a peer reads
  them in the order in which the case sent them.
* Everything that comes and everything that leaves is noted, with the time; what comes is
  kept until the case ends, so that a case can expect it afterwards.
* A room that the player was not asked to open is nobody's: it says nothing about it, and
  the case can speak for it.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

from pdwire.errors import UnknownLayoutError, WireError
from pdwire.managers.common import CommonKVManager
from pdwire.managers.sockets import Endpoint
from pdwire.wire import layout, recognise
from pdwire_conformance.interop.engine import without_gpu
from pdwire_conformance.interop.options import Options
from pdwire_conformance.interop.ours import Ours
from pdwire_conformance.interop.process import Side
from pdwire_conformance.peers.errors import RunnerError
from pdwire_conformance.proof.convert import from_message

from .notation import Value

__all__ = ["Heard", "Player"]

_FLOOD: Final = 500
"""Messages that may wait for a peer before the next one is said."""
_FLOOD_S: Final = 5.0
"""A peer that reads nothing for so long is told no more."""
Json = dict[str, Any]
_WAYS: Final = ("prefill -> decode", "decode -> prefill")
"""What a decode rank hears, and what a prefill rank does."""


@dataclass(slots=True, kw_only=True)
class Heard:
    """One message on the wire; ``message`` is empty where no layout of the release reads it."""

    came: bool
    frames: tuple[bytes, ...]
    at: float
    message: str = ""
    values: Json | None = None
    taken: bool = False
    """A step has expected it already."""


class Player(Side):
    """A rank of this process, asked like a side; use as a context manager."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._ours: Ours | None = None
        self._operations: dict[str, Callable[[Json], Json]] = {}
        self._lock = threading.Condition()
        self._heard: list[Heard] = []
        self.registrations: list[Heard] = []
        """Those that came since the player began; cases come and go meanwhile."""
        self.deaf = False
        """The manager is not told what comes; the case speaks for it."""
        self._quiet = False

    def __enter__(self) -> Self:
        _quiet()
        if self.options.backend == "nixl" and self.options.memory != "DRAM":
            without_gpu()
        self._ours = Ours(self.options)
        self._operations = self._ours.operations()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """Whether it has been entered and not been closed."""
        return self._ours is not None

    @property
    def name(self) -> str:
        """For people."""
        return f"the suite's {self.options.role}"

    @property
    def manager(self) -> CommonKVManager:
        """The manager that plays."""
        assert self._ours is not None
        made: CommonKVManager = self._ours.manager
        return made

    def ask(self, op: str, **request: Value) -> Json:
        """One request; its answer. What it raises is :class:`RunnerError`."""
        try:
            return self._operations[op]({"op": op, **request})
        except Exception as error:
            raise RunnerError(type(error).__name__, str(error)) from error

    def start(self, first: Side | None = None) -> None:
        """Make the manager, and listen in."""
        super().start(first)
        self.manager.loop.watch = self._hear
        self.manager.outbox.watch = self._said

    def close(self) -> None:
        """Close the manager; rooms that are open fail."""
        ours, self._ours = self._ours, None
        self._operations = {}
        if ours is not None and ours.manager is not None:
            ours.manager.close()

    # ------------------------------------------------------------------ wire

    def say(self, endpoint: Endpoint, frames: Sequence[bytes], *, noted: bool = True) -> None:
        """Send one multipart through the connection that the manager uses; ``SendError``.

        ``noted``: it is in the trace; of ten thousand alike a few are enough. A flood waits for
        the peer to read: the manager's queue is bounded, and refuses what it has no place for.
        """
        outbox, ends = self.manager.outbox, time.monotonic() + _FLOOD_S
        while outbox.waiting(endpoint) > _FLOOD and time.monotonic() < ends:
            time.sleep(0.001)
        self._quiet = not noted
        try:
            self.manager.outbox.send(endpoint, list(frames), "script")
        finally:
            self._quiet = False

    def build(self, message: str, facts: Json) -> list[bytes]:
        """A message in the release's layout; facts that the layout lacks are left out."""
        return self.manager.build(message, facts, self.options.wire)

    def _hear(self, frames: list[bytes]) -> bool:
        self._note(frames, came=True, direction=_WAYS[self.options.is_prefill])
        return self.deaf

    def _said(self, endpoint: Endpoint, frames: Sequence[bytes]) -> None:
        del endpoint
        if not self._quiet:
            self._note(frames, came=False, direction=_WAYS[not self.options.is_prefill])

    def _note(self, frames: Sequence[bytes], *, came: bool, direction: str) -> None:
        at = time.monotonic()
        message, values = self._read(frames, direction)
        kept = tuple(bytes(frame) for frame in frames)
        heard = Heard(came=came, frames=kept, at=at, message=message, values=values)
        with self._lock:
            self._heard.append(heard)
            if came and message == "KVArgsRegisterInfo":
                self.registrations = [*self.registrations[-7:], heard]
            self._lock.notify_all()

    def _read(self, frames: Sequence[bytes], direction: str) -> tuple[str, Json | None]:
        """The message's name and its values, as the release's layout reads them."""
        backend, release = self.options.backend, self.options.wire
        try:
            found = recognise(list(frames), backend=backend, direction=direction)
            name = found.message or found.candidates[-1].message
            values = layout(backend, name, release=release).decode(list(frames))
        except (WireError, UnknownLayoutError):
            return "", None
        return name, from_message(values)

    def begin(self) -> None:
        """A case begins: what was heard before is none of its business."""
        with self._lock:
            self._heard.clear()
        self.deaf = False

    def heard(self) -> list[Heard]:
        """Everything on the wire since the case began, both ways, in order."""
        with self._lock:
            return list(self._heard)

    def ignore(self) -> None:
        """What came so far is no answer to anything."""
        with self._lock:
            for each in self._heard:
                each.taken = True

    def take(self, fits: Callable[[Heard], bool], within_s: float) -> Heard | None:
        """The first message that came, fits and was not taken yet; waits for it."""
        ends = time.monotonic() + within_s
        with self._lock:
            while True:
                for each in self._heard:
                    if each.came and not each.taken and fits(each):
                        each.taken = True
                        return each
                left = ends - time.monotonic()
                if left <= 0:
                    return None
                self._lock.wait(left)


def _quiet() -> None:
    """The engines' own logs go to standard output: they would end up between our lines."""
    os.environ.setdefault("MC_LOG_LEVEL", "ERROR")
    os.environ.setdefault("NIXL_LOG_LEVEL", "WARN")
    logging.getLogger("nixl").addFilter(lambda record: record.levelno >= logging.ERROR)
