"""One side that is a real manager of a real release.

Rules:

* Manager, sender, receiver and bootstrap server are the release's own classes, unmodified.
  The scheduler that drives them is ours: it makes them, polls them and clears them in the
  order in which the release's own scheduler does.
* Nothing waits here: ``send`` and ``receive`` start something, ``poll`` moves it on.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pdwire_conformance.peers.loader import LoadedRelease

from .answers import Context
from .kv_args import kv_args
from .lines import Answer, Request
from .memory import Memory
from .options import Options

POLLS = ("Failed", "Bootstrapping", "WaitingForInput", "Transferring", "Success")
_NAMES = {"mooncake": "Mooncake", "nixl": "Nixl"}
START_S = 20.0
"""Seconds that a bootstrap server has to listen."""


@dataclass(slots=True, kw_only=True)
class Sending:
    """A room on a prefill side: its sender, and the chunks that are still to be sent."""

    sender: Any
    aux: int
    chunks: list[list[int]]
    state: list[int] | None
    held: int = 0
    """Chunks kept back until ``release``."""
    started: bool = False


@dataclass(slots=True, kw_only=True)
class Receiving:
    """A room on a decode side: its receiver, and what to ask for once it is connected."""

    receiver: Any
    metadata: dict[str, Any] = field(default_factory=dict)
    asked: bool = False


class Theirs:
    """The operations of a side whose manager is a release's."""

    def __init__(self, options: Options, peer: LoadedRelease, context: Context) -> None:
        self.options = options
        self.memory = Memory(options)
        self._peer = peer
        self._context = context
        self._manager: Any = None
        self._server: Any = None
        self._bootstrap = ""
        self._rooms: dict[int, Sending | Receiving] = {}

    def operations(self) -> dict[str, Callable[[Request], Answer]]:
        """What this side answers to."""
        return {
            "hello": self._hello,
            "start": self._start,
            "fill": self._fill,
            "wipe": self._wipe,
            "send": self._send,
            "release": self._release,
            "receive": self._receive,
            "poll": self._poll,
            "abort": self._abort,
            "released": self._released,
            "clear": self._clear,
            "digest": self._digest,
            "stop": lambda _: {},
        }

    def _hello(self, _: Request) -> Answer:
        conn = self._peer.module("common.conn")
        backend = self._peer.module(f"{self.options.backend}.conn")
        source = inspect.getsource(backend) + inspect.getsource(conn)
        return {
            "release": self.options.release,
            "backend": self.options.backend,
            "hears_abort": 'b"ABORT"' in source,
            "awaits_release": self._awaits_release(),
        }

    def _start(self, request: Request) -> Answer:
        self._bootstrap = str(request.get("bootstrap") or "")
        self._serve_bootstrap()
        self._context.group.shared = request.get("shared")
        mode = self._peer.attribute("utils", "DisaggregationMode")
        made = self._class("Manager")(
            kv_args(self._peer, self.options, self.memory),
            mode(self.options.role),
            self._context.server_args,
            self.options.mla,
        )
        self._manager = made
        shared = self._context.group.shared
        return {"bootstrap": self._bootstrap, "rank_port": made.rank_port, "shared": shared}

    def _serve_bootstrap(self) -> None:
        if not self.options.is_prefill:
            return
        if not self._bootstrap:
            self._server = self._class("BootstrapServer")("127.0.0.1", 0)
            self._bootstrap = f"127.0.0.1:{_listening_port(self._server)}"
        self._context.set_bootstrap(int(self._bootstrap.rpartition(":")[2]))

    def _class(self, kind: str) -> Any:
        name = f"{_NAMES[self.options.backend]}KV{kind}"
        return self._peer.attribute(f"{self.options.backend}.conn", name)

    def _fill(self, request: Request) -> Answer:
        self.memory.fill(int(request["seed"]))
        return {}

    def _wipe(self, _: Request) -> Answer:
        self.memory.wipe()
        return {}

    def _send(self, request: Request) -> Answer:
        room = int(request["room"])
        chunks = [list(chunk) for chunk in request["chunks"]]
        given: dict[str, Any] = {
            "mgr": self._manager,
            "bootstrap_addr": self._bootstrap,
            "bootstrap_room": room,
            "dest_tp_ranks": [self.options.tp_rank],
            "pp_rank": self.options.pp_rank,
        }
        self._rooms[room] = Sending(
            sender=_called(self._class("Sender"), given),
            aux=int(request["aux_index"]),
            chunks=chunks,
            state=request.get("state"),
            held=int(request.get("hold", 0)),
        )
        return {}

    def _release(self, request: Request) -> Answer:
        room = self._rooms[int(request["room"])]
        assert isinstance(room, Sending)
        room.held = 0
        return {}

    def _receive(self, request: Request) -> Answer:
        room, address = int(request["room"]), str(request["bootstrap"])
        connected = getattr(self._manager, "try_ensure_parallel_info", None)
        if connected is not None and not connected(address):
            return {"connected": False}
        given = {
            "mgr": self._manager,
            "bootstrap_addr": address,
            "bootstrap_room": room,
            "prefill_dp_rank": 0,
        }
        receiver = _called(self._class("Receiver"), given)
        if hasattr(receiver, "send_metadata"):
            receiver.init(0)
            ask = receiver.send_metadata
        else:
            ask = receiver.init  # before 0.5.10 the one call does both
        self._rooms[room] = Receiving(receiver=receiver)
        prefix = request.get("decode_prefix_len")
        metadata = {
            "kv_indices": np.array(request["pages"], np.int32),
            "aux_index": int(request["aux_index"]),
            "state_indices": self._state(request.get("state")),
        }
        ask(**metadata, **({} if prefix is None else {"decode_prefix_len": prefix}))
        return {"connected": True}

    def _state(self, rows: list[int] | None) -> Any:
        """Flat up to 0.5.11, one list per component from then on."""
        if rows is None:
            return None
        return [rows] if self._peer.has_class("base.conn", "StateType") else rows

    def _poll(self, request: Request) -> Answer:
        return {"rooms": {str(room): self._told(int(room)) for room in request["rooms"]}}

    def _told(self, number: int) -> list[str]:
        room = self._rooms[number]
        if isinstance(room, Sending):
            status = int(room.sender.poll())
            self._advance(room, status)
        else:
            status = int(room.receiver.poll())
        reason = self._manager.failure_records.get(number, "") if status == 0 else ""
        return [POLLS[status], str(reason)]

    def _advance(self, room: Sending, status: int) -> None:
        """Send what may be sent, as the scheduler does once the decode side has asked."""
        if status not in (2, 3):
            return
        if not room.started:
            self._skip_prefix(room)
            room.sender.init(sum(map(len, room.chunks)), room.aux)
            room.started = True
        while len(room.chunks) > room.held:
            chunk = room.chunks.pop(0)
            last = not room.chunks
            state = self._state(room.state) if last else None
            room.sender.send(np.array(chunk, np.int32), state)

    def _skip_prefix(self, room: Sending) -> None:
        """Drop the pages that the decode side says it has; the last chunk is sent, even empty."""
        ask = getattr(room.sender, "pop_decode_prefix_len", None)
        skipped = ask() // self.options.page_size if ask is not None else 0
        pages = [len(chunk) for chunk in room.chunks]
        starts = [sum(pages[:index]) for index in range(len(pages))]
        kept = [
            chunk[max(0, skipped - start) :]
            for start, chunk in zip(starts, room.chunks, strict=True)
        ]
        room.chunks = [chunk for chunk in kept[:-1] if chunk] + kept[-1:]

    def _abort(self, request: Request) -> Answer:
        number = int(request["room"])
        end = self._end(number)
        # Up to 0.5.20 it is the scheduler that begins to count acknowledgements.
        if self._awaits_release() and not hasattr(end, "ensure_abort_notified"):
            self._manager.register_deferred_abort_room(number)
        end.abort()
        return {}

    def _awaits_release(self) -> bool:
        """Whether this decode side keeps an aborted room's pages until it is acknowledged."""
        on = getattr(self._manager, "enable_deferred_decode_kv_release", False)
        return bool(on) and not self.options.is_prefill

    def _released(self, request: Request) -> Answer:
        """Whether the decode side may reuse the pages of an aborted room."""
        number = int(request["room"])
        receiver = self._end(number)
        needed = len(receiver.bootstrap_infos)
        return {"released": bool(self._manager.is_abort_release_safe(number, needed))}

    def _clear(self, request: Request) -> Answer:
        number = int(request["room"])
        self._end(number).clear()
        del self._rooms[number]
        return {}

    def _end(self, number: int) -> Any:
        room = self._rooms[number]
        return room.sender if isinstance(room, Sending) else room.receiver

    def _digest(self, request: Request) -> Answer:
        told: Answer = {}
        if "pages" in request:
            told["kv"] = self.memory.page_digests(request["pages"])
        if "aux" in request:
            told["aux"] = self.memory.aux_digests(int(request["aux"]))
        if "state" in request:
            told["state"] = self.memory.state_digests(request["state"])
        return told


def _called(function: Any, given: dict[str, Any]) -> Any:
    """Call with those of the arguments that this release's signature takes."""
    taken = inspect.signature(function).parameters
    return function(**{name: value for name, value in given.items() if name in taken})


def _listening_port(server: Any) -> int:
    """The port that a release's bootstrap server was given by the system."""
    ends = time.monotonic() + START_S
    while time.monotonic() < ends:
        runner = getattr(server, "_runner", None)
        if runner is not None and runner.addresses:
            return int(runner.addresses[0][1])
        time.sleep(0.01)
    raise TimeoutError(f"the bootstrap server does not listen after {START_S:g} s")
