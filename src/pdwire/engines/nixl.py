"""NIXL's agent: peers by agent name and metadata, UCX underneath, notifications.

1. The agent's name is drawn at every start; metadata holds the name, how to connect, and what
   is registered, so peers need it again after a ``register``.
2. A block must lie inside one registration on both sides. NIXL looks both up when a request
   is made: a destination that the peer did not register fails before a byte moves.
3. A transfer is one request after another, each of at most ``BATCH_BLOCKS`` blocks; the last
   carries the notification, so it arrives when everything has.
4. The agent is in its strict mode: any thread may call it.
5. Each UCX worker has an endpoint of its own to a peer, and closes it only when it has something
   to do. Small requests use one worker, so the others would keep a file each of every peer that
   is gone. Forgetting a peer gives every worker something to do: a sweep.

Measurements are in ``docs/engines.md``.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final, final
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from pdwire.engines.base import DONE, EngineError, EngineUnsettled, Failed, Region, Transfer, wait
from pdwire.engines.memory import Memory
from pdwire.engines.optional import load, load_verbs_first
from pdwire.plan import Blocks
from pdwire.plan.arrays import I64Array, U64Array

__all__ = ["NixlEngine"]

BATCH_BLOCKS: Final = 16_384
"""Blocks of one request."""
BATCH_BYTES: Final = 1 << 40
"""Bytes of one request: no limit that matters."""
_LARGEST: Final = 1 << 48
"""No region is longer: what reads so was not a length."""
THREADS: Final = 8
"""UCX workers that share the blocks of a request, as many as the releases' prefill side has."""
WORKER_BLOCKS: Final = 1024
"""Blocks of a request that NIXL 1.5.1 gives to one worker before it takes the next one."""
SWEEP_S: Final = 2.0
"""How long a sweep may take; it takes milliseconds where nothing is wrong."""


class NixlEngine:
    """An `Engine` on ``nixl._api.nixl_agent``.

    Args:
        agent_name: What peers call this engine; drawn where it is not given.
        backend: NIXL's plugin.
        threads: UCX workers; 0 writes on the caller's thread.
        params: More parameters of the plugin.

    Raises:
        EngineMissing: the package is not installed, or a library that it links is not.
        EngineError: the agent or its plugin does not start.
    """

    name = "nixl"

    def __init__(
        self,
        agent_name: str | None = None,
        *,
        backend: str = "UCX",
        threads: int = THREADS,
        params: Mapping[str, str] | None = None,
    ) -> None:
        load_verbs_first()
        api = load("nixl._api", engine="NIXL", extras="nixl")
        self._session_id = agent_name or str(uuid4())
        self._pid = os.getpid()
        config = api.nixl_agent_config(
            backends=[], sync_mode=api.nixl_thread_sync_t.NIXL_THREAD_SYNC_STRICT
        )
        given = {"num_threads": str(threads)} if threads and backend == "UCX" else {}
        try:
            self._agent: Any = api.nixl_agent(self._session_id, config)
            self._agent.create_backend(backend, given | dict(params or {}))
        except Exception as error:
            raise EngineError(f"NIXL does not start with {backend}: {error}") from error
        self._memory = Memory()
        self._lock = Lock()
        self._peers: dict[str, bytes] = {}
        self._leftover: deque[Any] = deque()
        self._workers = threads if given else 0
        self._sweeping = Lock()
        self._unswept = False
        self._scratch: NDArray[np.uint8] | None = None

    @property
    def session_id(self) -> str:
        """The agent's name."""
        return self._session_id

    @property
    def metadata(self) -> bytes:
        """The agent's metadata, with everything that is registered now."""
        return bytes(self._agent.get_agent_metadata())

    def register(self, regions: Sequence[Region]) -> None:
        """See `Engine`."""
        fresh = self._memory.add(regions)
        opened: list[Any] = []
        try:
            for kind, rows in _by_kind(fresh):
                opened.append(self._agent.register_memory(rows, kind))
        except Exception as error:
            for descriptors in opened:
                self._agent.deregister_memory(descriptors)
            self._memory.remove(regions)
            raise EngineError(f"NIXL refuses {len(fresh)} regions: {error}") from error

    def deregister(self, regions: Sequence[Region]) -> None:
        """See `Engine`."""
        self._close_memory(self._memory.remove(regions))

    def add_peer(self, session_id: str, metadata: bytes) -> None:
        """See `Engine`; other metadata under the same name drops the old connection."""
        with self._lock:
            if self._peers.get(session_id) == metadata:
                return
            self._drop(session_id)
            try:
                name = self._agent.add_remote_agent(metadata)
            except Exception as error:
                raise EngineError(f"metadata of peer {session_id!r}: {error}") from error
            told = name.decode() if isinstance(name, bytes) else str(name)
            self._peers[told] = metadata
            if told != session_id:
                self._drop(told)
                raise EngineError(f"metadata of peer {session_id!r} is that of {told!r}")

    def forget_peer(self, session_id: str) -> None:
        """See `Engine`; gives back the files of every worker (rule 5)."""
        with self._lock:
            known = session_id in self._peers
            self._drop(session_id)
            self._unswept |= known
        while self._unswept and self._sweeping.acquire(blocking=False):
            try:
                self._unswept = False  # whoever forgets another one meanwhile is swept for next
                with suppress(Exception):  # files stay until the next sweep, nothing else
                    self._sweep()
            finally:
                self._sweeping.release()

    def write(
        self,
        session_id: str,
        blocks: Blocks,
        *,
        src_kind: str = "DRAM",
        dst_kind: str = "DRAM",
        dst_device: int = 0,
        notify: bytes | None = None,
    ) -> Transfer:
        """See `Engine`."""
        self._known(session_id)
        devices = self._memory.check(blocks, src_kind)
        self._collect()
        keep = blocks.size != 0
        if not keep.any():
            return self._tell(session_id, notify)
        source = _rows(blocks.src[keep], blocks.size[keep], devices[keep])
        target = _rows(blocks.dst[keep], blocks.size[keep], np.int64(dst_device))
        route = _Route(self._agent, session_id, src_kind, dst_kind, self._leftover)
        return _Requests(route, source, target, notify or b"")

    def lengths_at(self, session_id: str, addresses: Sequence[int]) -> tuple[int, ...]:
        """See `SeesPeers`: metadata lists regions as address, length, device, 8 bytes each."""
        with self._lock:
            metadata = self._peers.get(session_id, b"")
        return tuple(_length_in(metadata, address) for address in addresses)

    def notifications(self) -> list[tuple[str, bytes]]:
        """See `Engine`."""
        try:
            arrived = self._agent.get_new_notifs()
        except Exception as error:
            raise EngineError(f"NIXL's notifications: {error}") from error
        return [(name, bytes(text)) for name, texts in arrived.items() for text in texts]

    def notify(self, session_id: str, text: bytes) -> None:
        """See `Engine`."""
        self._known(session_id)
        self._tell(session_id, text).poll()

    def close(self) -> None:
        """See `Engine`; UCX's threads, which spin, end with the agent.

        The agent stays while a request that was given up is still under way. In a process that
        was forked after the agent was made nothing happens: threads and files are the parent's.
        """
        if self._agent is None or os.getpid() != self._pid:
            return
        with self._lock:
            for session_id in list(self._peers):
                self._drop(session_id)
        self._collect()
        self._close_memory(self._memory.clear())
        if self._scratch is not None:
            scratch = [(self._scratch.ctypes.data, 2, 0, "")]
            self._agent.deregister_memory(self._agent.get_reg_descs(scratch, "DRAM"))
            self._scratch = None
        if not self._leftover:
            self._agent = None

    def _known(self, session_id: str) -> None:
        with self._lock:
            if session_id not in self._peers:
                raise EngineError(f"unknown peer {session_id!r}")

    def _tell(self, session_id: str, text: bytes | None) -> Transfer:
        if text is None:
            return DONE
        try:
            self._agent.send_notif(session_id, text)
        except Exception as error:  # noqa: BLE001 - NIXL's errors share no base class
            return Failed(f"notifying peer {session_id!r} failed: {error}")
        return DONE

    def _sweep(self) -> None:
        """Write a byte to ourselves, as often as every worker needs to take part."""
        if not self._workers:
            return
        agent = self._agent
        if self._scratch is None:
            self._scratch = np.zeros(2, np.uint8)
            agent.register_memory([(self._scratch.ctypes.data, 2, 0, "")], "DRAM")
        row = np.array([[self._scratch.ctypes.data, 1, 0]], np.uint64)
        rows = np.tile(row, (self._workers * WORKER_BLOCKS, 1))
        route = _Route(agent, self._session_id, "DRAM", "DRAM", self._leftover)
        wait(_Requests(route, rows, rows + np.array([1, 0, 0], np.uint64), b""), SWEEP_S)

    def _drop(self, session_id: str) -> None:
        if self._peers.pop(session_id, None) is not None:
            with suppress(Exception):  # it is gone already, which is what was wanted
                self._agent.remove_remote_agent(session_id)

    def _close_memory(self, regions: Sequence[Region]) -> None:
        for kind, rows in _by_kind(regions):
            self._agent.deregister_memory(self._agent.get_reg_descs(rows, kind))

    def _collect(self) -> None:
        """Releases requests that were given up, as far as NIXL lets them go by now."""
        for _ in range(len(self._leftover)):
            try:
                handle = self._leftover.popleft()
            except IndexError:  # another thread was faster
                return
            _let_go(handle, self._leftover)


@dataclass(frozen=True, slots=True)
class _Route:
    """Whose requests, to whom, between which kinds of memory, and where given-up ones go."""

    agent: Any
    peer: str
    src_kind: str
    dst_kind: str
    leftover: deque[Any]

    def request(self, source: U64Array, target: U64Array) -> Any:  # noqa: ANN401 - untyped
        """A request that can be posted; may raise whatever NIXL raises."""
        sources = self.agent.get_xfer_descs(source, self.src_kind)
        targets = self.agent.get_xfer_descs(target, self.dst_kind)
        return self.agent.initialize_xfer("WRITE", sources, targets, self.peer)


@final
class _Requests:
    """A `Transfer`: requests one after another, the last with the notification."""

    def __init__(self, route: _Route, source: U64Array, target: U64Array, notify: bytes) -> None:
        self._route, self._source, self._target = route, source, target
        self._notify = notify
        self._next = 0
        self._handle: Any = None
        self._error: EngineError | None = None
        self._state = "DONE"
        self.progress = 0
        self._step()

    def poll(self) -> bool:
        """See `Transfer`."""
        if self._state == "PROC":
            self._ask()
            self._step()
        if self._error is not None:
            raise self._error
        return self._state == "DONE"

    def release(self) -> None:
        """See `Transfer`; a request under way is given up, which it may survive for a while."""
        if self._handle is not None:
            self._fail("it was given up")

    def _ask(self) -> None:
        try:
            self._state = self._route.agent.check_xfer_state(self._handle)
        except Exception as error:  # noqa: BLE001 - NIXL's errors share no base class
            self._fail(repr(error))

    def _step(self) -> None:
        while self._state == "DONE" and self._error is None:
            if self._handle is not None:
                _let_go(self._handle, self._route.leftover)
                self._handle = None
                self.progress += 1
            if self._next == len(self._source):
                return
            self._post()
        if self._state not in {"DONE", "PROC"} and self._error is None:
            self._fail(f"state {self._state}")

    def _post(self) -> None:
        rows = slice(self._next, self._next + BATCH_BLOCKS)
        self._next = min(rows.stop, len(self._source))
        notify = self._notify if self._next == len(self._source) else b""
        try:
            self._handle = self._route.request(self._source[rows], self._target[rows])
            self._state = self._route.agent.transfer(self._handle, notify)
        except Exception as error:  # noqa: BLE001 - NIXL's errors share no base class
            self._fail(repr(error))

    def _fail(self, what: str) -> None:
        text = f"writing to peer {self._route.peer!r} failed: {what}"
        gone = self._handle is None or _let_go(self._handle, self._route.leftover)
        self._handle, self._state = None, "ERR"
        self._error = EngineError(text) if gone else EngineUnsettled(text)


def _let_go(handle: Any, leftover: deque[Any]) -> bool:  # noqa: ANN401 - NIXL is untyped
    """Releases a request; one that cannot be stopped yet is kept for later (False)."""
    try:
        handle.release()
    except Exception:  # noqa: BLE001 - NIXL's errors share no base class
        leftover.append(handle)
        return False
    return True


def _by_kind(regions: Sequence[Region]) -> list[tuple[str, list[tuple[int, int, int, str]]]]:
    """What NIXL registers: (address, length, device, no name) by kind of memory."""
    kinds = dict.fromkeys(region.kind for region in regions)
    return [
        (kind, [(r.address, r.length, r.device, "") for r in regions if r.kind == kind])
        for kind in kinds
    ]


def _rows(address: U64Array, size: U64Array, device: I64Array | np.int64) -> U64Array:
    """What NIXL transfers: one row of address, length, device for each block."""
    rows = np.empty((len(address), 3), np.uint64)
    rows[:, 0], rows[:, 1], rows[:, 2] = address, size, device
    return rows


def _length_in(metadata: bytes, address: int) -> int:
    """Bytes of the region that begins at an address, as metadata of NIXL 1.5 says; 0: not said."""
    key = address.to_bytes(8, "little")
    at = metadata.find(key)
    if at < 0 or metadata.find(key, at + 1) >= 0:  # an address that stands there twice says nothing
        return 0
    size = int.from_bytes(metadata[at + 8 : at + 16], "little")
    return size if size < _LARGEST else 0
