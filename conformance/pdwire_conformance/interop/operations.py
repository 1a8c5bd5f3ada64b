"""What every side answers to, whoever's manager it runs.

Rules:

* Nothing waits here: ``send`` and ``receive`` start something, ``poll`` moves it on, as a
  scheduler does between two forward passes.
* A prefill side sends what the decode side does not have already, chunk by chunk, the
  last one flagged by count.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .lines import Answer, Request
from .memory import Memory
from .options import Options

POLLS = ("Failed", "Bootstrapping", "WaitingForInput", "Transferring", "Success")


@dataclass(slots=True, kw_only=True)
class Room:
    """A room of a side: its sender or receiver, and the chunks that are still to be sent."""

    end: Any
    aux: int = 0
    chunks: list[list[int]] | None = None
    """``None`` on a decode side."""
    state: list[int] | None = None
    held: int = 0
    """Chunks kept back until ``release``."""
    started: bool = False


class Operations(ABC):
    """The operations of a side; a subclass drives one kind of manager."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.memory = Memory(options)
        self.rooms: dict[int, Room] = {}

    def operations(self) -> dict[str, Callable[[Request], Answer]]:
        """What this side answers to."""
        return {
            "hello": self.hello,
            "start": self.start,
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
            "outside": self._outside,
            "resources": resources,
            "health": self.health,
            "stop": self.stop,
        }

    # ------------------------------------------------- what a subclass does

    @abstractmethod
    def hello(self, request: Request) -> Answer:
        """Say what this is, and what it listens to.

        ``tells_abort``, ``hears_abort``: a decode side says, a prefill side learns, that
        decode gave up. ``hears_status``: a decode side learns that prefill did.
        ``awaits_release``: a decode side waits for an abort to be acknowledged.
        """

    @abstractmethod
    def start(self, request: Request) -> Answer:
        """Make the manager; ``bootstrap``, ``rank_port``, ``shared``."""

    @abstractmethod
    def sender(self, number: int) -> Any:
        """A sender of a room."""

    @abstractmethod
    def receiver(
        self, number: int, bootstrap: str, metadata: dict[str, Any], prefix_len: int | None
    ) -> Any:
        """A receiver of a room that has sent its metadata; ``None``: not connected yet."""

    @abstractmethod
    def prefix_len(self, sender: Any) -> int:
        """Tokens that the decode side has already."""

    @abstractmethod
    def reason(self, number: int, end: Any) -> str:
        """Why a room failed; empty when nobody says."""

    @abstractmethod
    def abort(self, number: int, end: Any) -> None:
        """Give a room up."""

    @abstractmethod
    def released(self, number: int, end: Any) -> bool:
        """Whether nobody can write into an aborted room's pages any more."""

    @abstractmethod
    def health(self, request: Request) -> Answer:
        """What the manager says of itself, where it says anything."""

    def stop(self, request: Request) -> Answer:
        """Last request."""
        return {}

    def begin(self, number: int) -> None:  # noqa: B027  # most sides have nothing to do here
        """A room's decode side has asked, its first chunk is about to be sent."""

    def ready(self, number: int) -> bool:
        """Whether the first chunk of a room that has begun may be sent."""
        return True

    def cut(self, chunks: list[list[int]]) -> list[list[int]]:
        """The chunks as this side's scheduler may send them."""
        return chunks

    def push(self, end: Any, pages: Any, state: Any) -> None:
        """Send one chunk; ``pages`` is an int32 array."""
        end.send(pages, state)

    def status(self, number: int, end: Any) -> int:
        """KVPoll of a room."""
        return int(end.poll())

    def clear(self, number: int, end: Any) -> None:
        """Forget a room; the oldest senders and receivers over NIXL have nothing to forget."""
        getattr(end, "clear", _nothing)()

    def state_indices(self, rows: list[int] | None) -> Any:
        """State rows in the shape that the manager takes; one component here."""
        return None if rows is None else [rows]

    # -------------------------------------------------------------- memory

    def _fill(self, request: Request) -> Answer:
        self.memory.fill(int(request["seed"]))
        return {}

    def _wipe(self, _: Request) -> Answer:
        self.memory.wipe()
        return {}

    def _digest(self, request: Request) -> Answer:
        told: Answer = {}
        if "pages" in request:
            told["kv"] = self.memory.page_digests(request["pages"])
        if "tokens" in request:
            told["kv"] = self.memory.token_digests([tuple(place) for place in request["tokens"]])
        if "aux" in request:
            told["aux"] = self.memory.aux_digests(int(request["aux"]))
        if "state" in request:
            told["state"] = self.memory.state_digests(request["state"])
        return told

    def _outside(self, request: Request) -> Answer:
        """What lies outside of rooms: anything written there was written out of bounds."""
        given = {name: request.get(name, ()) for name in ("pages", "aux", "state")}
        return {"digests": self.memory.outside(**given)}

    # --------------------------------------------------------------- rooms

    def _send(self, request: Request) -> Answer:
        number = int(request["room"])
        self.rooms[number] = Room(
            end=self.sender(number),
            aux=int(request["aux_index"]),
            chunks=[list(chunk) for chunk in request["chunks"]],
            state=request.get("state"),
            held=int(request.get("hold", 0)),
        )
        return {}

    def _release(self, request: Request) -> Answer:
        self.rooms[int(request["room"])].held = 0
        return {}

    def _receive(self, request: Request) -> Answer:
        number = int(request["room"])
        metadata = {
            "kv_indices": np.array(request["pages"], np.int32),
            "aux_index": int(request["aux_index"]),
            "state_indices": self.state_indices(request.get("state")),
        }
        prefix = request.get("decode_prefix_len")
        end = self.receiver(number, str(request["bootstrap"]), metadata, prefix)
        if end is None:
            return {"connected": False}
        self.rooms[number] = Room(end=end)
        return {"connected": True}

    def _poll(self, request: Request) -> Answer:
        return {"rooms": {str(room): self._told(int(room)) for room in request["rooms"]}}

    def _told(self, number: int) -> list[str]:
        room = self.rooms[number]
        status = self.status(number, room.end)
        if room.chunks is not None and status in {2, 3}:
            self._advance(number, room, room.chunks)
        return [POLLS[status], self.reason(number, room.end) if status == 0 else ""]

    def _advance(self, number: int, room: Room, chunks: list[list[int]]) -> None:
        """Send what may be sent, as a scheduler does once the decode side has asked."""
        if not room.started:
            skip = self.prefix_len(room.end) // self.options.page_size
            chunks[:] = self.cut(_without(chunks, skip))
            room.end.init(sum(map(len, chunks)), room.aux)
            self.begin(number)
            room.started = True
        while len(chunks) > room.held and self.ready(number):
            chunk = chunks.pop(0)
            state = None if chunks else self.state_indices(room.state)
            self.push(room.end, np.array(chunk, np.int32), state)

    def _abort(self, request: Request) -> Answer:
        number = int(request["room"])
        self.abort(number, self.rooms[number].end)
        return {}

    def _released(self, request: Request) -> Answer:
        number = int(request["room"])
        return {"released": self.released(number, self.rooms[number].end)}

    def _clear(self, request: Request) -> Answer:
        number = int(request["room"])
        self.clear(number, self.rooms.pop(number).end)
        return {}


def _nothing() -> None:
    return None


def resources(request: Request) -> Answer:
    """What this process holds: threads, open files, and resident memory in KiB."""
    del request
    told = dict(
        line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if line
    )
    return {
        "threads": int(told["Threads"]),
        "files": sum(1 for _ in Path("/proc/self/fd").iterdir()),
        "rss_kib": int(told["VmRSS"].split()[0]),
    }


def _without(chunks: list[list[int]], skipped: int) -> list[list[int]]:
    """The chunks without their first pages; the last chunk stays, even when it is empty."""
    starts = [sum(map(len, chunks[:index])) for index in range(len(chunks))]
    kept = [chunk[max(0, skipped - start) :] for start, chunk in zip(starts, chunks, strict=True)]
    return [chunk for chunk in kept[:-1] if chunk] + kept[-1:]
