"""Mooncake's transfer engine: peers by ``host:port``, TCP or RDMA, no notifications.

1. A session id is the host that this engine was given and the RPC port that it found, an IPv6
   host in brackets. It changes with every start, so a peer that restarted has another id.
   IPv6 must be asked for in the environment (``MC_USE_IPV6``); a host with a colon does.
2. Over TCP every block is a submission of its own, in a window that is polled. The engine's
   own batch call occupies a processor until the batch is over, fails as a whole when a peer's
   queue holds more than about two thousand pieces, and returns with the first failed piece
   while others may still be written.
3. Elsewhere blocks go in batches, on the caller's thread: RDMA wants many of them per call.
   When such a batch fails, parts of it may still be written, and the error says so. An engine
   that is asked for RDMA and finds no device uses TCP without a word; then rule 2 holds.
4. The first write to a peer shakes hands with it on the caller's thread, and while that waits (up
   to 60 s for a process that is stopped) no write to any other peer is taken. So a peer's door is
   knocked at first, without waiting: nothing is submitted before the process behind it answers.
5. However many transfers there are to one peer, together they keep at most ``PEER_WINDOW``
   pieces in the engine's queue.

Measurements are in ``docs/engines.md``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import partial
from threading import Lock
from time import monotonic, sleep
from typing import Any, Final

from pdwire.engines.base import DONE, EngineError, Region, Transfer
from pdwire.engines.batches import Batches
from pdwire.engines.door import Door
from pdwire.engines.memory import Memory
from pdwire.engines.optional import load
from pdwire.engines.pieces import PeerQueue, Pieces
from pdwire.plan import Blocks

__all__ = ["MooncakeEngine"]

TRANSFER_WINDOW: Final = 128
"""Pieces of one transfer that are in the engine at a time."""
PEER_WINDOW: Final = 512
"""Pieces of all transfers to one peer; the engine queues 1,024, and refuses some beyond that."""
PIECE_BYTES: Final = 4 << 20
"""Longer blocks are cut, so that the connections to a peer share them."""
DRAIN_S: Final = 2.0
"""How long ``close`` waits for pieces under way before it closes memory under them."""


class MooncakeEngine:
    """An `Engine` on ``mooncake.engine.TransferEngine``, with its peer-to-peer handshake.

    Args:
        host: Address by which peers reach this engine; IPv6 without brackets.
        protocol: ``tcp`` or ``rdma``.
        device: RDMA devices, comma-separated; all of them where empty.
        piecewise: Submit blocks one by one (rule 2) or in batches (rule 3); by the protocol
            where it is not given.

    Raises:
        EngineMissing: the package is not installed, or libibverbs is not.
        EngineError: the engine does not start.
    """

    name = "mooncake"

    def __init__(
        self,
        host: str = "127.0.0.1",
        *,
        protocol: str = "tcp",
        device: str | None = None,
        piecewise: bool | None = None,
    ) -> None:
        if ":" in host:  # read when the first engine of a process is made
            os.environ.setdefault("MC_USE_IPV6", "1")
        module = load("mooncake.engine", engine="Mooncake", extras="mooncake")
        self._engine: Any = module.TransferEngine()
        # Behind the session ids of a stand-in for the native engine there is no door.
        self._knocks = getattr(module, "__file__", None) is not None
        code = self._engine.initialize(host, "P2PHANDSHAKE", protocol, device or "")
        if code:
            raise EngineError(f"Mooncake does not start on {host} over {protocol}: code {code}")
        bracketed = f"[{host}]" if ":" in host else host
        self._session_id = f"{bracketed}:{self._engine.get_rpc_port()}"
        over_tcp = protocol == "tcp" or not _devices(self._engine.get_local_topology())
        self._piecewise = over_tcp if piecewise is None else piecewise
        self._memory = Memory()
        self._lock = Lock()
        self._pid = os.getpid()
        self._peers: dict[str, PeerQueue] = {}

    @property
    def session_id(self) -> str:
        """``host:port`` of the engine's handshake."""
        return self._session_id

    @property
    def metadata(self) -> bytes:
        """Nothing: the session id is enough."""
        return b""

    def register(self, regions: Sequence[Region]) -> None:
        """See `Engine`."""
        fresh = self._memory.add(regions)
        if not fresh:
            return
        addresses = [region.address for region in fresh]
        code = self._engine.batch_register_memory(addresses, [region.length for region in fresh])
        if code:
            self._close_memory(self._memory.remove(regions))
            raise EngineError(f"Mooncake refuses {len(fresh)} regions: code {code}")

    def deregister(self, regions: Sequence[Region]) -> None:
        """See `Engine`."""
        self._close_memory(self._memory.remove(regions))

    def add_peer(self, session_id: str, metadata: bytes = b"") -> None:  # noqa: ARG002 - protocol
        """See `Engine`; the peer is connected to with the first write."""
        submit = partial(self._engine.transfer_submit_write, session_id)
        check = self._engine.transfer_check_status
        door = Door(session_id) if self._knocks else None
        queue = PeerQueue(session_id, submit, check, limit=PEER_WINDOW, door=door)
        with self._lock:
            self._peers.setdefault(session_id, queue)

    def forget_peer(self, session_id: str) -> None:
        """See `Engine`; transfers under way go on."""
        with self._lock:
            queue = self._peers.pop(session_id, None)
        if queue is not None:
            queue.shut()

    def write(
        self,
        session_id: str,
        blocks: Blocks,
        *,
        src_kind: str = "DRAM",
        dst_kind: str = "DRAM",  # noqa: ARG002 - the protocol's; an address says it all here
        dst_device: int = 0,  # noqa: ARG002 - as above
        notify: bytes | None = None,
    ) -> Transfer:
        """See `Engine`; one by one, a transfer moves on whenever it is polled.

        Raises:
            EngineError: as the protocol says, and for any ``notify``: there is no such thing.
        """
        if notify is not None:
            raise EngineError("Mooncake's engine has no notifications")
        with self._lock:
            queue = self._peers.get(session_id)
        if queue is None:
            raise EngineError(f"unknown peer {session_id!r}")
        self._memory.check(blocks, src_kind)
        full = blocks.nonzero()
        if not len(full):
            return DONE
        if self._piecewise:
            return Pieces(queue, full.cut(PIECE_BYTES), window=TRANSFER_WINDOW)
        return Batches(queue, partial(self._batch, session_id), full)

    def notifications(self) -> list[tuple[str, bytes]]:
        """None, ever."""
        return []

    def notify(self, session_id: str, text: bytes) -> None:
        """Not possible.

        Raises:
            EngineError: always.
        """
        raise EngineError(f"Mooncake cannot notify {session_id!r} of {len(text)} bytes")

    def close(self) -> None:
        """See `Engine`; waits briefly for pieces under way.

        In a process that was forked after the engine was made nothing happens: threads and files
        are the parent's.
        """
        if os.getpid() != self._pid:
            return
        with self._lock:
            queues = list(self._peers.values())
            self._peers.clear()
        end = monotonic() + DRAIN_S
        while sum(queue.collect() for queue in queues) and monotonic() < end:
            sleep(1e-3)
        for queue in queues:
            queue.shut()
        self._close_memory(self._memory.clear())

    def _batch(self, session_id: str, batch: Blocks) -> int:
        lists = [array.tolist() for array in (batch.src, batch.dst, batch.size)]
        code: int = self._engine.batch_transfer_sync_write(session_id, *lists)
        return code

    def _close_memory(self, regions: Sequence[Region]) -> None:
        if regions:
            self._engine.batch_unregister_memory([region.address for region in regions])


def _devices(topology: str) -> set[str]:
    """RDMA devices in what the engine says of the machine: location -> [preferred, others]."""
    by_location: dict[str, list[list[str]]] = json.loads(topology)
    return {name for lists in by_location.values() for names in lists for name in names}
