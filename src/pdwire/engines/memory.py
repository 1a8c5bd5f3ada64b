"""What an engine has registered, and whether blocks stay inside it.

1. Registering the very same region again counts; overlapping another one is an error, because
   the two could not be told apart when one of them goes.
2. A source block lies inside one region of the kind that the caller named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from threading import Lock

import numpy as np

from pdwire.engines.base import EngineError, Region
from pdwire.plan import Blocks, Ranges
from pdwire.plan.arrays import I64Array

__all__ = ["Memory"]

_NOTHING = Ranges([], [])


class Memory:
    """The open regions of one engine, by kind. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open: Counter[Region] = Counter()
        self._tables: dict[str, tuple[Ranges, I64Array]] = {}

    def add(self, regions: Sequence[Region]) -> list[Region]:
        """Counts regions in; returns those that were not open before, without empty ones.

        Raises:
            EngineError: one overlaps another; nothing was counted.
        """
        wanted = [region for region in regions if region.length]
        with self._lock:
            counted = self._open + Counter(wanted)
            tables = _tables(counted)
            fresh = [region for region in dict.fromkeys(wanted) if region not in self._open]
            self._open, self._tables = counted, tables
        return fresh

    def remove(self, regions: Sequence[Region]) -> list[Region]:
        """Counts regions out; returns those that are not open any more."""
        with self._lock:
            known = [region for region in regions if region in self._open]
            counted = self._open - Counter(known)
            gone = [region for region in dict.fromkeys(known) if region not in counted]
            self._open, self._tables = counted, _tables(counted)
        return gone

    def length_at(self, address: int) -> int:
        """Bytes of the region that begins at an address; 0: none does."""
        with self._lock:
            return next((r.length for r in self._open if r.address == address), 0)

    def clear(self) -> list[Region]:
        """Closes everything; returns what was open."""
        with self._lock:
            gone = list(self._open)
            self._open, self._tables = Counter(), {}
        return gone

    def check(self, blocks: Blocks, kind: str) -> I64Array:
        """The device of each source block.

        Raises:
            EngineError: a block of which a byte is not registered as ``kind``.
        """
        ranges, devices = self._tables.get(kind, (_NOTHING, np.empty(0, np.int64)))
        owner = ranges.owner(blocks.src, blocks.size)
        stray = np.flatnonzero((owner < 0) & (blocks.size != 0))
        if len(stray):
            at = int(stray[0])
            raise EngineError(
                f"source block {at} of {len(blocks)}, {blocks.size[at]} bytes at "
                f"{blocks.src[at]:#x}, lies in no registered {kind} region"
            )
        return devices[owner] if len(devices) else owner

    def holds(self, blocks: Blocks, kind: str) -> bool:
        """Whether every destination byte is registered as ``kind``: the loopback peer's check."""
        ranges, _ = self._tables.get(kind, (_NOTHING, None))
        return ranges.outside(blocks.dst, blocks.size) is None


def _tables(counted: Counter[Region]) -> dict[str, tuple[Ranges, I64Array]]:
    by_kind: dict[str, list[Region]] = {}
    for region in counted:
        by_kind.setdefault(region.kind, []).append(region)
    return {kind: _table(kind, regions) for kind, regions in by_kind.items()}


def _table(kind: str, regions: list[Region]) -> tuple[Ranges, I64Array]:
    starts, lengths = [r.address for r in regions], [r.length for r in regions]
    try:
        ranges = Ranges(starts, lengths)
    except ValueError as error:
        raise EngineError(f"{len(regions)} {kind} regions cannot all be open: {error}") from error
    return ranges, np.array([region.device for region in regions], np.int64)
