"""Start a side and ask it: :class:`Side`.

Rules:

* Every request has a deadline; a side that misses one is ended, by its own process id.
* What an operation raised in the side is :class:`SideError` here.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

from pdwire_conformance.peers.client import Peer

from .options import OURS, Options

Request = dict[str, Any]
START_S = 90.0
"""Seconds that a side has to import its release and its engine."""
GRACE_S = 2.0
"""Seconds that the other sides have to follow a failure."""
POLL_S = 0.002
"""Seconds between two polls of the rooms of a side."""


class Side(Peer):
    """One side in a process of its own; use as a context manager.

    ``program`` replaces the beginning of the command line; the options follow it.
    """

    def __init__(
        self,
        options: Options,
        *,
        deadline_s: float = 30.0,
        program: Sequence[str] | None = None,
    ) -> None:
        module = "ours" if options.release == OURS else "side"
        begin = program or [sys.executable, "-m", f"{__package__}.{module}"]
        super().__init__(
            options.release,
            command=[*begin, *options.arguments()],
            start_deadline_s=START_S,
            request_deadline_s=deadline_s,
        )
        self.options = options
        self.bootstrap = ""
        self.port = 0
        """Of the control socket, once it is started."""
        self.shared: Any = None

    @property
    def name(self) -> str:
        """Release, role and rank, for people."""
        options = self.options
        rank = f" tp{options.tp_rank}" if options.tp_size > 1 else ""
        stage = f" pp{options.pp_rank}" if options.pp_size > 1 else ""
        return f"{options.release} {options.role}{rank}{stage}"

    def ask(self, op: str, **request: Any) -> dict[str, Any]:
        """One request; its answer."""
        return self._ask({"op": op, **request})

    def start(self, first: Side | None = None) -> None:
        """Make the manager.

        ``first`` is the first rank of the same side: the others register at its bootstrap
        server, and are told where it listens.
        """
        given = {"bootstrap": first.bootstrap, "shared": first.shared} if first else {}
        told = self.ask("start", **given)
        self.bootstrap, self.shared = str(told["bootstrap"]), told.get("shared")
        self.port = int(told["rank_port"])

    def poll(self, *rooms: int) -> dict[int, tuple[str, str]]:
        """KVPoll name and failure reason of each room."""
        told = self.ask("poll", rooms=list(rooms))["rooms"]
        return {int(room): (status, reason) for room, (status, reason) in told.items()}


def settle(sides: dict[Side, list[int]], deadline_s: float) -> dict[Side, dict[int, Any]]:
    """Poll the rooms of every side until each is final; what they ended with.

    Once a room has failed on one side, the others have :data:`GRACE_S` more to follow.
    Raises ``TimeoutError``, naming what every room waits in, when the deadline passes.
    """
    ends = time.monotonic() + deadline_s
    hopeless = False
    while True:
        told = {side: side.poll(*rooms) for side, rooms in sides.items()}
        statuses = {status for rooms in told.values() for status, _ in rooms.values()}
        if statuses <= {"Success", "Failed"}:
            return told
        if "Failed" in statuses and not hopeless:
            hopeless, ends = True, min(ends, time.monotonic() + GRACE_S)
        if time.monotonic() > ends and hopeless:
            return told
        if time.monotonic() > ends:
            waiting = {side.name: rooms for side, rooms in told.items()}
            raise TimeoutError(f"not settled after {deadline_s:g} s: {waiting}")
        time.sleep(POLL_S)
