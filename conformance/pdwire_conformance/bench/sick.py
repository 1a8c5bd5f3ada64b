"""``pdwire bench sick``: what one stopped decode rank of nine costs the other eight.

Rules: one prefill rank here, nine decode ranks in a process each, one request of each at a time.
Turns alternate: eight healthy ranks alone; the same while the ninth was stopped (SIGSTOP) in the
middle of a write, and each of the eight has a few requests at a bootstrap server that takes
connections and never answers. What is told is the ratio of requests a second and of the
99th percentile, turn by turn, so that a machine that is busy for a while counts for both.

UCX writes into a stopped process of the same machine through shared memory as if nothing were
wrong, so it is told to use TCP.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Final

import numpy as np

from pdwire.managers import KVPoll
from pdwire.managers.sender import CommonKVSender
from pdwire_conformance.bench.sick_side import PAGES, make, pages_of

__all__ = ["Turn", "measure_sick", "sick_json"]

_AHEAD: Final = 2
"""Rooms that the prefill side has opened before decode asks."""
_REQUEST_PAGES: Final = 8
_STUCK_ROOMS: Final = 4
_NAP_S: Final = 0.0002


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Both halves of one turn: requests a second and the 99th percentile in seconds."""

    rate: float
    rate_beside_sick: float
    p99: float
    p99_beside_sick: float
    failed: int

    @property
    def rate_kept(self) -> float:
        """Share of the rate that is left beside a sick rank."""
        return self.rate_beside_sick / self.rate

    @property
    def p99_kept(self) -> float:
        """How the percentile without stands to that beside a sick rank; 1: as fast."""
        return self.p99 / self.p99_beside_sick


class Rank:
    """One decode process."""

    def __init__(self, backend: str) -> None:
        command = [sys.executable, "-m", "pdwire_conformance.bench.sick_decode", backend]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def say(self, **command: object) -> None:
        """Tell it what to do."""
        assert self._process.stdin is not None
        print(json.dumps(command), file=self._process.stdin, flush=True)

    def hear(self) -> Any:  # noqa: ANN401  # whatever it says
        """Its next answer; it must not be stopped."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("@"):
                return json.loads(line[1:])
        raise RuntimeError("a decode process ended early")

    def stop(self) -> None:
        """Freeze it."""
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it live again."""
        self._process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        """Kill it."""
        self._process.kill()
        self._process.communicate()


class Prefill:
    """The prefill rank's scheduler: it sends whatever decode asks for, as soon as it does."""

    def __init__(self, backend: str) -> None:
        self._memory, self.manager = make(backend, "prefill", 1)
        self._open: dict[int, CommonKVSender] = {}
        self._sent: set[int] = set()

    def close(self) -> None:
        """Close the manager."""
        self.manager.close()

    def open(self, room: int, count: int = _REQUEST_PAGES) -> CommonKVSender:
        """Open a room here."""
        sender: CommonKVSender = self.manager.sender(room)
        sender.init(count, aux_index=0)
        return sender

    def serve(self, firsts: list[int], seconds: float) -> None:
        """Serve the rooms that count up from each of these numbers."""
        rooms = {first: [self.open(first + n) for n in range(_AHEAD)] for first in firsts}
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            busy = False
            for queue in rooms.values():
                busy |= self._serve(queue)
            if not busy:
                time.sleep(_NAP_S)
        for queue in rooms.values():
            for sender in queue:
                sender.clear()
        self._sent.clear()

    def _serve(self, queue: list[CommonKVSender]) -> bool:
        """Go a step on with the oldest room of one decode rank."""
        sender = queue[0]
        status = sender.poll()
        if status is KVPoll.WaitingForInput and sender.bootstrap_room not in self._sent:
            self._sent.add(sender.bootstrap_room)
            sender.send(pages_of(_REQUEST_PAGES))
            return True
        if status in {KVPoll.Success, KVPoll.Failed}:
            sender.clear()
            queue.append(self.open(queue[-1].bootstrap_room + 1))
            del queue[0]
            return True
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ward:
    """Everybody who takes part."""

    prefill: Prefill
    healthy: list[Rank]
    sick: Rank
    silent: str
    seconds: float

    def half(self, first: int, *, silent: bool) -> tuple[float, float, int]:
        """The healthy ranks' requests for a while: rate, 99th percentile, failures."""
        firsts = [first + n * 10_000_000 for n in range(len(self.healthy))]
        for rank, number in zip(self.healthy, firsts, strict=True):
            rank.say(
                do="run",
                address=self.prefill.manager.bootstrap_address,
                first=number,
                seconds=self.seconds,
                think=0.005,
                pages=_REQUEST_PAGES,
                silent=self.silent if silent else None,
            )
        self.prefill.serve(firsts, self.seconds + 1.0)
        told = [rank.hear() for rank in self.healthy]
        taken = [each for one in told for each in one["seconds"]]
        failed = sum(one["failed"] for one in told)
        return len(taken) / self.seconds, float(np.percentile(taken, 99)), failed

    def turn(self, number: int, *, silent: bool) -> Turn:
        """Both halves, the one without a sick rank first in every other turn."""
        first = number * 100_000
        halves: dict[bool, tuple[float, float, int]] = {}
        for sick in (False, True) if number % 2 else (True, False):
            at = first + 50_000 * sick
            if sick:
                with self._stopped(90_000_000 + first):
                    halves[sick] = self.half(at, silent=silent)
            else:
                halves[sick] = self.half(at, silent=False)
        return Turn(
            rate=halves[False][0],
            rate_beside_sick=halves[True][0],
            p99=halves[False][1],
            p99_beside_sick=halves[True][1],
            failed=halves[False][2] + halves[True][2],
        )

    @contextmanager
    def _stopped(self, first: int) -> Iterator[None]:
        """The ninth rank is stopped while large requests of it are written; they end afterwards."""
        rooms = [first + n for n in range(_STUCK_ROOMS)]
        senders = [self.prefill.open(room, PAGES) for room in rooms]
        address = self.prefill.manager.bootstrap_address
        self.sick.say(do="ask", address=address, rooms=rooms)
        self.sick.hear()
        ends = time.monotonic() + 60
        while any(s.poll() is KVPoll.Bootstrapping for s in senders) and time.monotonic() < ends:
            time.sleep(_NAP_S)
        senders[0].send(pages_of(PAGES))
        self.sick.stop()
        for sender in senders[1:]:
            sender.send(pages_of(PAGES))
        try:
            yield
        finally:
            self.sick.go_on()
        self.sick.say(do="ends")
        told = self.sick.hear()
        for sender in senders:
            sender.clear()
        if set(told) != {"Success"}:
            raise RuntimeError(f"the sick rank's own rooms ended {told} after it was let go on")


@contextmanager
def _silent() -> Iterator[str]:
    """The address of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def measure_sick(
    backend: str,
    *,
    turns: int,
    seconds: float,
    healthy: int = 8,
    silent: bool = True,
    say: Callable[[str], None],
) -> list[Turn]:
    """Turns that count; one more comes before them.

    Args:
        backend: ``mooncake`` or ``nixl``.
        turns: how many count.
        seconds: of each half of a turn.
        healthy: decode ranks beside the sick one.
        silent: whether they ask a bootstrap server that never answers, too.
        say: is told how far it is.

    Raises:
        RuntimeError: a process ended, or the sick rank's rooms failed after it was let go on.
    """
    if backend == "nixl":
        os.environ.setdefault("UCX_TLS", "tcp,self")
    say(f"{backend}: starting {healthy + 1} decode processes")
    with ExitStack() as stack:
        ranks = [Rank(backend) for _ in range(healthy + 1)]
        for rank in ranks:
            stack.callback(rank.end)
        prefill = Prefill(backend)
        stack.callback(prefill.close)
        for rank in ranks:
            rank.hear()
        ward = Ward(
            prefill=prefill,
            healthy=ranks[1:],
            sick=ranks[0],
            silent=stack.enter_context(_silent()),
            seconds=seconds,
        )
        found = []
        for number in range(turns + 1):
            say(f"{backend}: turn {number} of {turns}")
            found.append(ward.turn(number, silent=silent))
        return found[1:]


def sick_json(measured: dict[str, list[Turn]]) -> dict[str, Any]:
    """One object: per backend the median shares that are kept, and every turn."""
    rows = [
        {
            "backend": backend,
            "rate_kept": median(turn.rate_kept for turn in turns),
            "p99_kept": median(turn.p99_kept for turn in turns),
            "failed": sum(turn.failed for turn in turns),
            "turns": [asdict(turn) for turn in turns],
        }
        for backend, turns in measured.items()
    ]
    return {"schema": "pdwire.bench.sick/1", "rows": rows}
