"""Two live managers of one backend in this process, driven step by step.

Rules:

* A pair is made for one script and closed behind it: what a script does not end is ended
  by deadlines of seconds. Engines are loopbacks of one fabric, sockets are real.
* Whatever is said to them, afterwards the loops live, every room has an end, no byte of KV
  outside of the pages of opened rooms has changed, no room is left in the books, and the
  next request is served.
* Rooms are small numbers, each with pages of its own; a forged message that a peer could
  have sent may end a room, and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from threading import Event
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
import zmq
from numpy.typing import NDArray

from pdwire.engines import Fabric, LoopbackEngine
from pdwire.managers.config import DisaggregationMode, KVArgs, ManagerConfig
from pdwire.managers.mooncake import MooncakeKVManager
from pdwire.managers.mori import MoriKVManager
from pdwire.managers.nixl import NixlKVManager
from pdwire.managers.receiver import CommonKVReceiver
from pdwire.managers.sender import CommonKVSender
from pdwire.managers.sockets import tcp
from pdwire.rooms import KVPoll, RoomLimits

from .samples import Problem

__all__ = ["MANAGERS", "ROOMS", "Pair"]

Manager = MooncakeKVManager | NixlKVManager | MoriKVManager
MANAGERS: Final[Mapping[str, type[Manager]]] = {
    "mooncake": MooncakeKVManager,
    "nixl": NixlKVManager,
    "mori": MoriKVManager,
}
ROOMS: Final = 3
LAST_ROOM: Final = 7_777_777_777
"""The request that must still be served; no script knows its number."""

_PAGES, _PAGE, _OF_ROOM = 16, 64, 4
_ROW, _ROWS = 16, 8
_FINAL: Final = frozenset({KVPoll.Success, KVPoll.Failed})
_PATIENCE_S: Final = 15.0
_LIMITS: Final = RoomLimits(
    bootstrap_s=60, waiting_s=60, write_s=60, unopened_s=60, abort_release_s=60
)
_REFUSED: Final = frozenset(
    {
        "UnknownMessageError", "FrameCountError", "FrameValueError", "InvariantError",
        "AmbiguousMessageError",
    }
)  # fmt: skip
_NAP: Final = Event()
_numbers = count(30_000)

Bytes = NDArray[np.uint8]
Step = Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class _Memory:
    """One rank's memory: K and V of one layer, one auxiliary buffer."""

    kv: list[Bytes]
    aux: Bytes

    def args(self) -> KVArgs:
        """As a manager takes it."""
        return KVArgs(
            kv_data_ptrs=tuple(each.ctypes.data for each in self.kv),
            kv_data_lens=tuple(each.nbytes for each in self.kv),
            kv_item_lens=(_PAGE,) * len(self.kv),
            aux_data_ptrs=(self.aux.ctypes.data,),
            aux_data_lens=(self.aux.nbytes,),
            aux_item_lens=(_ROW,),
            page_size=4,
        )


def _memory(seed: int) -> _Memory:
    rng = np.random.default_rng(seed)
    kv = [rng.integers(0, 256, (_PAGES, _PAGE), dtype=np.uint8) for _ in range(2)]
    return _Memory(kv=kv, aux=rng.integers(0, 256, (_ROWS, _ROW), dtype=np.uint8))


@dataclass(slots=True, kw_only=True)
class _Room:
    sender: CommonKVSender
    receiver: CommonKVReceiver
    sent: bool = False


@dataclass(slots=True, kw_only=True)
class Pair:
    """A prefill and a decode manager; use as a context manager.

    ``name`` goes into causes: which property, which backend.
    """

    name: str
    backend: str
    staging_bytes: int = 0
    prefill: Manager = field(init=False)
    decode: Manager = field(init=False)
    _stack: ExitStack = field(default_factory=ExitStack)
    _rooms: dict[int, _Room] = field(default_factory=dict)
    _opened: set[int] = field(default_factory=set)
    _said: dict[str, int] = field(default_factory=lambda: {"prefill": 0, "decode": 0})
    _read: dict[str, int] = field(default_factory=lambda: {"prefill": 0, "decode": 0})
    _aborts: dict[str, int] = field(default_factory=lambda: {"prefill": 0, "decode": 0})
    _source: _Memory = field(default_factory=lambda: _memory(1))
    _target: _Memory = field(default_factory=lambda: _memory(2))
    _before: list[list[Bytes]] = field(default_factory=list)
    _out: dict[str, zmq.Socket[bytes]] = field(default_factory=dict)

    def __enter__(self) -> Self:
        fabric = Fabric()
        self._before = [[each.copy() for each in m.kv] for m in (self._source, self._target)]
        self.prefill = self._manager(fabric, DisaggregationMode.PREFILL, self._source)
        self.decode = self._manager(fabric, DisaggregationMode.DECODE, self._target)
        context = self._stack.enter_context(zmq.Context())
        for to, manager in (("prefill", self.prefill), ("decode", self.decode)):
            manager.loop.watch = partial(self._came, to)
            socket = self._out[to] = self._stack.enter_context(context.socket(zmq.PUSH))
            socket.setsockopt(zmq.LINGER, 0)
            socket.setsockopt(zmq.SNDTIMEO, int(_PATIENCE_S * 1000))
            socket.connect(tcp(manager.endpoint))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _manager(self, fabric: Fabric, mode: DisaggregationMode, mem: _Memory) -> Manager:
        n = next(_numbers)
        name = f"127.0.0.1:{n}" if self.backend == "mooncake" else f"{self.backend}-{n}"
        config = ManagerConfig(
            limits=_LIMITS,
            staging_bytes=self.staging_bytes,
            transfer_threads=2,
            heartbeat_s=60.0,
            send_timeout_s=0.2,
        )
        engine = LoopbackEngine(name, fabric=fabric)
        manager = MANAGERS[self.backend](mem.args(), mode, config, engine=engine)
        self._stack.callback(manager.close)
        return manager

    def _came(self, to: str, frames: list[bytes]) -> bool:
        """A loop has a message before it; it is left to it."""
        self._read[to] += 1
        self._aborts[to] += frames[:1] == [b"ABORT"]
        return False

    # ------------------------------------------------------------------- steps

    def do(self, step: Step) -> None:
        """One step of a script; one that cannot be done now is passed over.

        Raises:
            Problem: the managers' own interface raised something.
        """
        try:
            _STEPS[step["do"]](self, step)
        except Problem:
            raise
        except Exception as fault:
            raise self._problem(
                f"{step['do']} raises {type(fault).__name__}", "no exception", str(fault)[:200]
            ) from fault

    def _open(self, step: Step) -> None:
        room = step["room"]
        if room not in self._rooms:
            self._begin(room, room * _OF_ROOM)

    def _begin(self, room: int, first: int) -> _Room:
        receiver = self.decode.receiver(self.prefill.bootstrap_address, room)
        receiver.init()
        sender = self.prefill.sender(room)
        sender.init(_OF_ROOM - 1, aux_index=1)
        pages = np.arange(first, first + _OF_ROOM - 1, dtype=np.int32)
        receiver.send_metadata(pages[::-1].copy(), aux_index=room % _ROWS)
        self._opened.add(room)
        made = self._rooms[room] = _Room(sender=sender, receiver=receiver)
        return made

    def _send(self, step: Step) -> None:
        room = self._rooms.get(step["room"])
        if room is None or room.sent:
            return
        self._until(lambda: room.sender.poll() is not KVPoll.Bootstrapping, 0.2)
        if room.sender.poll() is KVPoll.WaitingForInput:
            first = step["room"] * _OF_ROOM
            room.sender.send(np.arange(first, first + _OF_ROOM - 1, dtype=np.int32))
            room.sent = True

    def _abort(self, step: Step) -> None:
        room = self._rooms.get(step["room"])
        if room is not None:
            (room.sender if step["side"] == "prefill" else room.receiver).abort("aborted")

    def _close(self, step: Step) -> None:
        if step["room"] in self._rooms:
            self._end(step["room"])

    def _say(self, step: Step) -> None:
        frames = [bytes.fromhex(frame) for frame in step["frames"]]
        if frames:
            self._out[step["to"]].send_multipart(frames)
            self._said[step["to"]] += 1

    # ------------------------------------------------------------------ the end

    def finish(self) -> None:
        """End every room, then look at everything.

        Raises:
            Problem: a rule does not hold.
        """
        for to, manager in (("prefill", self.prefill), ("decode", self.decode)):
            said = self._said[to]
            if not self._until(lambda to=to, n=said: self._read[to] >= n):  # type: ignore[misc]
                came = f"{self._read[to]} of {said} messages are read"
                raise self._problem(f"{to} stops reading", "every message is read", came)
            if not self._until(lambda m=manager, to=to: self._adds_up(m, to)):  # type: ignore[misc]
                came = f"{self._read[to]} messages, {manager.health()['counters']}"
                raise self._problem(f"{to}'s counters", "one count per message", came)
        for room in list(self._rooms):
            self._end(room)
        self._look()
        self._serve_one_more()
        self._look()

    def _adds_up(self, manager: Manager, to: str) -> bool:
        """Each message is counted once, as read or as refused.

        An ABORT that only cannot be answered is obeyed without a count (field report A3).
        """
        counters: Any = manager.health()["counters"]
        refused = sum(counters.get("dropped", {}).get(name, 0) for name in _REFUSED)
        counted = sum(counters.get("messages", {}).values()) + refused
        return bool(counted <= self._read[to] <= counted + self._aborts[to])

    def _end(self, number: int) -> None:
        room = self._rooms.pop(number)
        ends: dict[str, CommonKVSender | CommonKVReceiver]
        ends = {"prefill": room.sender, "decode": room.receiver}
        for side, end in ends.items():
            if end.poll() not in _FINAL and not room.sent:
                end.abort("the script is over")
            if not self._until(lambda e=end: e.poll() in _FINAL, 2.0):  # type: ignore[misc]
                end.abort("the script is over")
            if not self._until(lambda e=end: e.poll() in _FINAL):  # type: ignore[misc]
                raise self._problem(f"a room never ends at {side}", "an end", end.poll().name)
        self._until(room.receiver.pages_released, 0.2)
        room.sender.clear()
        room.receiver.clear()

    def _look(self) -> None:
        for side, manager in (("prefill", self.prefill), ("decode", self.decode)):
            told: Any = manager.health()
            if not told["loop"]["alive"] or told["loop"]["dead"] is not None:
                raise self._problem(f"{side}'s loop died", "a loop", str(told["loop"]["dead"]))
            if errors := told["counters"].get("loop_errors"):
                raise self._problem(f"{side}'s loop stumbled", "no loop errors", str(errors))
            rooms = {
                name: number
                for name, number in told["counters"].get("rooms", {}).items()
                if name.startswith("rooms-") and name not in {"rooms-parked", "rooms-doomed"}
            }
            if any(rooms.values()):
                raise self._problem(f"{side} keeps rooms", "no room in the books", str(rooms))
        self._untouched()

    def _untouched(self) -> None:
        for region, before in zip(self._source.kv, self._before[0], strict=True):
            if (region != before).any():
                raise self._problem("prefill's own pages change", "the same bytes", "others")
        mine = [n for room in self._opened for n in _pages_of(room)]
        others = np.setdiff1d(np.arange(_PAGES), np.array(mine, dtype=np.int64))
        for region, before in zip(self._target.kv, self._before[1], strict=True):
            changed = others[(region[others] != before[others]).any(axis=1)]
            if changed.size:
                came = f"pages {changed.tolist()} changed"
                raise self._problem("a page of no room is written", "pages of rooms", came)

    def _serve_one_more(self) -> None:
        """The next request; its pages hold what was sent."""
        first = ROOMS * _OF_ROOM
        room = self._begin(LAST_ROOM, first)
        if not self._until(lambda: room.sender.poll() is not KVPoll.Bootstrapping):
            raise self._problem("the next room is not served", "metadata", "none came")
        room.sender.send(np.arange(first, first + _OF_ROOM - 1, dtype=np.int32))
        room.sent = True
        ends = (room.sender, room.receiver)
        self._until(lambda: all(end.poll() in _FINAL for end in ends))
        stand = [end.poll().name for end in ends]
        if stand != ["Success", "Success"]:
            raise self._problem("the next room is not served", "Success", str(stand))
        for mine, theirs in zip(self._source.kv, self._target.kv, strict=True):
            wanted = mine[first : first + _OF_ROOM - 1]
            if (theirs[first : first + _OF_ROOM - 1][::-1] != wanted).any():
                raise self._problem("the next room holds other bytes", "what was sent", "others")
        self._end(LAST_ROOM)

    def _until(self, condition: Callable[[], object], patience_s: float = _PATIENCE_S) -> bool:
        ends = time.monotonic() + patience_s
        while not condition():
            if time.monotonic() > ends:
                return False
            _NAP.wait(0.0005)
        return True

    def _problem(self, cause: str, expected: str, came: str) -> Problem:
        return Problem(f"{self.name}: {cause}", expected=expected, came=came)


def _pages_of(room: int) -> Sequence[int]:
    first = (ROOMS if room == LAST_ROOM else room) * _OF_ROOM
    return range(first, first + _OF_ROOM - 1)


_STEPS: Final[Mapping[str, Callable[[Pair, Step], None]]] = {
    "open": Pair._open,  # noqa: SLF001 - the table of this class's own steps
    "send": Pair._send,  # noqa: SLF001
    "abort": Pair._abort,  # noqa: SLF001
    "close": Pair._close,  # noqa: SLF001
    "say": Pair._say,  # noqa: SLF001
}
