"""An engine within one process: copies between registered regions, and nothing else.

1. Source and destination must be registered, on either side; a byte outside fails the transfer
   before the first byte moves.
2. A closed engine is a peer that died: writes to it fail, they never hang.
3. Faults are asked for, one call each, so that tests see failures and delays without a network.

Engines meet on a :class:`Fabric`; all that name none share one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from ctypes import memmove
from functools import partial
from threading import Event, Lock
from typing import Final, final
from uuid import uuid4

from pdwire.engines.base import DONE, EngineError, Failed, Region, Transfer
from pdwire.engines.memory import Memory
from pdwire.plan import Blocks

__all__ = ["Fabric", "LoopbackEngine"]


class Port:
    """Where a loopback engine is reached: what it opened, and what was sent to it."""

    def __init__(self) -> None:
        self.memory = Memory()
        self._inbox: deque[tuple[str, bytes]] = deque()

    def copy_in(self, blocks: Blocks, kind: str) -> bool:
        """Copies all blocks, or none where one lies outside what is open (then False)."""
        if not self.memory.holds(blocks, kind):
            return False
        arrays = (blocks.dst, blocks.src, blocks.size)
        for dst, src, size in zip(*(array.tolist() for array in arrays), strict=True):
            memmove(dst, src, size)
        return True

    def put(self, sender: str, text: bytes) -> None:
        """Keeps a notification until it is fetched."""
        self._inbox.append((sender, text))

    def take(self) -> list[tuple[str, bytes]]:
        """The notifications that have arrived."""
        return [self._inbox.popleft() for _ in range(len(self._inbox))]


class Fabric:
    """Who can reach whom: ports by session id. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._ports: dict[str, Port] = {}

    def join(self, session_id: str, port: Port) -> None:
        """Makes a port reachable; one of the same id before it is no longer."""
        with self._lock:
            self._ports[session_id] = port

    def leave(self, session_id: str, port: Port) -> None:
        """Makes it unreachable, unless another has its id by now."""
        with self._lock:
            if self._ports.get(session_id) is port:
                del self._ports[session_id]

    def find(self, session_id: str) -> Port | None:
        """The port of that id, if it lives."""
        with self._lock:
            return self._ports.get(session_id)


_SHARED: Final = Fabric()


class LoopbackEngine:
    """An `Engine` whose peers live in the same process; notifications included."""

    name = "loopback"

    def __init__(self, session_id: str | None = None, *, fabric: Fabric | None = None) -> None:
        self._session_id = session_id or f"loopback-{uuid4()}"
        self._fabric = fabric or _SHARED
        self._port = Port()
        self._lock = Lock()
        self._peers: set[str] = set()
        self._failures: deque[str] = deque()
        self._held: list[_Held] | None = None
        self._held_by: dict[str, list[_Held]] = {}
        self._blocked: dict[str, Event] = {}
        self._fabric.join(self._session_id, self._port)

    @property
    def session_id(self) -> str:
        """What peers call this engine."""
        return self._session_id

    @property
    def metadata(self) -> bytes:
        """The session id: nothing more is needed to reach it."""
        return self._session_id.encode()

    def register(self, regions: Sequence[Region]) -> None:
        """See `Engine`."""
        self._port.memory.add(regions)

    def deregister(self, regions: Sequence[Region]) -> None:
        """See `Engine`."""
        self._port.memory.remove(regions)

    def add_peer(self, session_id: str, metadata: bytes = b"") -> None:
        """See `Engine`; metadata of another engine is refused, none at all is fine."""
        if metadata and metadata != session_id.encode():
            raise EngineError(f"this is not the metadata of loopback peer {session_id!r}")
        with self._lock:
            self._peers.add(session_id)

    def forget_peer(self, session_id: str) -> None:
        """See `Engine`."""
        with self._lock:
            self._peers.discard(session_id)

    def write(
        self,
        session_id: str,
        blocks: Blocks,
        *,
        src_kind: str = "DRAM",
        dst_kind: str = "DRAM",
        dst_device: int = 0,  # noqa: ARG002 - the protocol's; an address says it all here
        notify: bytes | None = None,
    ) -> Transfer:
        """See `Engine`; copies on the caller's thread unless writes are held."""
        self._known(session_id)
        self._port.memory.check(blocks, src_kind)
        with self._lock:
            blocked = self._blocked.get(session_id)
        if blocked is not None:
            blocked.wait()
        with self._lock:
            if self._failures:
                return Failed(self._failures.popleft())
            shelf = self._held_by.get(session_id, self._held)
            if shelf is not None:
                held = _Held(partial(self._copy, session_id, blocks, dst_kind, notify))
                shelf.append(held)
                return held
        return self._copy(session_id, blocks, dst_kind, notify)

    def notifications(self) -> list[tuple[str, bytes]]:
        """See `Engine`."""
        return self._port.take()

    def notify(self, session_id: str, text: bytes) -> None:
        """See `Engine`."""
        self._known(session_id)
        peer = self._fabric.find(session_id)
        if peer is None:
            raise EngineError(f"peer {session_id!r} is gone")
        peer.put(self._session_id, text)

    def lengths_at(self, session_id: str, addresses: Sequence[int]) -> tuple[int, ...]:
        """See `SeesPeers`."""
        peer = self._fabric.find(session_id)
        return tuple(peer.memory.length_at(a) if peer is not None else 0 for a in addresses)

    def close(self) -> None:
        """See `Engine`; peers that write here from now on fail."""
        self._fabric.leave(self._session_id, self._port)
        self._port.memory.clear()
        with self._lock:
            self._peers.clear()
            for blocked in self._blocked.values():
                blocked.set()
            self._blocked.clear()

    def fail_next(self, reason: str) -> None:
        """The next write fails with this reason; calls queue up."""
        with self._lock:
            self._failures.append(reason)

    def hold(self, session_id: str | None = None) -> None:
        """Writes from now on stay open, and move nothing, until :meth:`let_go`; to one peer."""
        with self._lock:
            if session_id is not None:
                self._held_by.setdefault(session_id, [])
            elif self._held is None:
                self._held = []

    def block(self, session_id: str) -> None:
        """Writes to a peer do not come back, as an engine's that connects, until :meth:`let_go`."""
        with self._lock:
            self._blocked.setdefault(session_id, Event())

    def held(self, session_id: str) -> int:
        """How many writes to a peer stay open."""
        with self._lock:
            return len(self._held_by.get(session_id, ()))

    def let_go(self, session_id: str | None = None) -> None:
        """Does the held writes (to one peer) in order, and holds and blocks no more."""
        with self._lock:
            if session_id is None:
                held, self._held = self._held or [], None
            else:
                held = self._held_by.pop(session_id, [])
                if (blocked := self._blocked.pop(session_id, None)) is not None:
                    blocked.set()
        for transfer in held:
            transfer.run()

    def _known(self, session_id: str) -> None:
        with self._lock:
            if session_id not in self._peers:
                raise EngineError(f"unknown peer {session_id!r}")

    def _copy(
        self, session_id: str, blocks: Blocks, dst_kind: str, notify: bytes | None
    ) -> Transfer:
        peer = self._fabric.find(session_id)
        if peer is None:
            return Failed(f"peer {session_id!r} is gone")
        if not peer.copy_in(blocks, dst_kind):
            return Failed(f"peer {session_id!r} has not registered all of the destination")
        if notify is not None:
            peer.put(self._session_id, notify)
        return DONE


@final
class _Held:
    """A write that waits for :meth:`LoopbackEngine.let_go`."""

    def __init__(self, write: Callable[[], Transfer]) -> None:
        self._write = write
        self._outcome: Transfer | None = None

    def run(self) -> None:
        self._outcome = self._write()

    def poll(self) -> bool:
        """See `Transfer`."""
        return self._outcome is not None and self._outcome.poll()

    def release(self) -> None:
        """See `Transfer`."""
