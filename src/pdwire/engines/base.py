"""What a transfer engine is, whoever makes it: register memory, write into a peer's, notify.

1. A caller's fault (a peer that was never added, a source range that was not registered) raises
   in ``write``; a failure of the transfer itself is raised by ``poll``. Both are `EngineError`.
2. ``write`` does not join blocks: planners do, and they know where regions end. It bounds its
   batches, and skips what is empty.
3. Whether a destination range may be written is the manager's business: engines do not know
   what a peer's memory is for.
4. All methods may be called from several threads at once.

::

    EngineError
    ├── EngineMissing      the optional package is not installed, or does not load
    └── EngineUnsettled    the transfer is lost, but parts of it may still be written
        └── EngineTimeout  also a TimeoutError: a deadline passed, and it is not over
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Final, Protocol, final, runtime_checkable

from pdwire.plan import Blocks

__all__ = [
    "DONE",
    "Engine",
    "EngineError",
    "EngineMissing",
    "EngineTimeout",
    "EngineUnsettled",
    "Failed",
    "Region",
    "SeesPeers",
    "Transfer",
    "progress",
    "wait",
]

_NAP_SHARE: Final = 0.05  # of the time waited so far: what a nap too long can cost
_SHORTEST_NAP_S: Final = 10e-6
_LONGEST_NAP_S: Final = 1e-3


class EngineError(Exception):
    """A transfer or a registration failed; the text says which and why."""


class EngineMissing(EngineError):
    """The engine's optional package cannot be loaded; the text names the extra to install."""


class EngineUnsettled(EngineError):
    """The transfer is lost, but parts of it may still be written for a while."""


class EngineTimeout(EngineUnsettled, TimeoutError):
    """A deadline passed with the transfer still going on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A stretch of memory that an engine may read from and peers may write to."""

    address: int
    """Unit: address."""

    length: int
    """Zero is allowed and means nothing. Unit: bytes."""

    kind: str = "DRAM"
    """``DRAM`` or ``VRAM``."""

    device: int = 0
    """GPU that holds it; 0 for DRAM."""


class Transfer(Protocol):
    """One submitted write."""

    def poll(self) -> bool:
        """Whether all bytes have arrived; once True it stays so.

        Raises:
            EngineUnsettled: the transfer failed, but parts of it may still be written.
            EngineError: the transfer failed; it is over and writes no more.
        """

    def release(self) -> None:
        """Gives back what the engine keeps for it. Allowed at any time, and more than once."""


class Engine(Protocol):
    """A way to write into the memory of peers."""

    @property
    def name(self) -> str:
        """``mooncake``, ``nixl`` or ``loopback``."""

    @property
    def session_id(self) -> str:
        """What peers call this engine: Mooncake ``host:port``, NIXL an agent name."""

    @property
    def metadata(self) -> bytes:
        """What a peer needs to reach this engine; read it again after ``register``."""

    def register(self, regions: Sequence[Region]) -> None:
        """Opens memory to the engine and to its peers; all of the regions or none.

        Registering a region again counts; it is open until it was deregistered as often.

        Raises:
            EngineError: the engine refuses, or a region overlaps another that is open.
        """

    def deregister(self, regions: Sequence[Region]) -> None:
        """Takes back ``register``; regions that are not open are ignored."""

    def add_peer(self, session_id: str, metadata: bytes) -> None:
        """Makes a peer known; the same id again replaces it (a peer that restarted).

        Raises:
            EngineError: the metadata is not a peer's.
        """

    def forget_peer(self, session_id: str) -> None:
        """Forgets a peer; an unknown one is ignored."""

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
        """Copies blocks into a peer's memory, then delivers ``notify`` where the engine can.

        Returns at once where the engine can; Mooncake's writes on the caller's thread. No
        blocks at all are complete at once, and still deliver ``notify``.

        Raises:
            EngineError: unknown peer, or a source range that is not registered here.
        """

    def notifications(self) -> list[tuple[str, bytes]]:
        """What peers have sent since the last call: (their session id, bytes)."""

    def notify(self, session_id: str, text: bytes) -> None:
        """Sends bytes to a peer without writing anything.

        Raises:
            EngineError: unknown peer, or an engine without notifications.
        """

    def close(self) -> None:
        """Deregisters everything and forgets all peers. Allowed more than once."""


@runtime_checkable
class SeesPeers(Protocol):
    """An engine that can say what a peer has registered; not every engine can."""

    def lengths_at(self, session_id: str, addresses: Sequence[int]) -> tuple[int, ...]:
        """Bytes of the region of a peer that begins at each address; 0 where it is not known."""


@final
class _Done:
    """A transfer with nothing left to do."""

    __slots__ = ()

    def poll(self) -> bool:
        """True."""
        return True

    def release(self) -> None:
        """Nothing is kept."""


DONE: Final[Transfer] = _Done()


@final
class Failed:
    """A transfer that failed; ``settled`` says whether nothing of it can be written any more."""

    __slots__ = ("_kind", "_reason")

    def __init__(self, reason: str, *, settled: bool = True) -> None:
        self._kind = EngineError if settled else EngineUnsettled
        self._reason = reason

    def poll(self) -> bool:
        """Raises the reason, every time."""
        raise self._kind(self._reason)

    def release(self) -> None:
        """Nothing is kept."""


def progress(transfer: Transfer) -> int:
    """How far a transfer is, in whatever it counts: it moves when this changes.

    A transfer that does not say (it has no ``progress``) stands still until it is over.
    """
    found: int = getattr(transfer, "progress", 0)
    return found


def wait(transfer: Transfer, deadline_s: float) -> None:
    """Polls until the transfer is over, then releases it.

    Args:
        transfer: What to wait for.
        deadline_s: Longest wait from now. Unit: seconds.

    Raises:
        EngineTimeout: it is not over. It was not released: it may still write, and whoever
            gives up on it must not reuse memory until ``poll`` answers.
        EngineError: it failed; it was released.
    """
    begin = monotonic()
    while not _over(transfer):
        waited = monotonic() - begin
        if waited >= deadline_s:
            raise EngineTimeout(f"the transfer was not over after {deadline_s:g} s")
        sleep(min(max(waited * _NAP_SHARE, _SHORTEST_NAP_S), _LONGEST_NAP_S))


def _over(transfer: Transfer) -> bool:
    try:
        over = transfer.poll()
    except EngineError:
        transfer.release()
        raise
    if over:
        transfer.release()
    return over
