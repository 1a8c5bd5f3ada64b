"""Counters of a manager: what came, what was dropped and why, how full things are.

One object per manager, written by its threads and read by anyone. ``snapshot`` is plain
data; ``collector`` gives the same numbers to ``prometheus_client``, which is an extra.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

from pdwire.managers.metrics import Collector

__all__ = ["Counters", "collector"]


class Counters:
    """Thread-safe counts by name, and gauges that are read when asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, Counter[str]] = {}
        self._gauges: dict[str, Callable[[], dict[str, int]]] = {}

    def add(self, family: str, name: str, amount: int = 1) -> int:
        """Count ``name`` in ``family`` (``messages``, ``dropped``, ``sent`` …); the new count."""
        with self._lock:
            counts = self._counts.setdefault(family, Counter())
            counts[name] += amount
            return counts[name]

    def gauge(self, family: str, read: Callable[[], dict[str, int]]) -> None:
        """Have ``family`` read by ``read`` at each snapshot (rooms by state, ring bytes)."""
        with self._lock:
            self._gauges[family] = read

    def snapshot(self) -> dict[str, dict[str, int]]:
        """All counts and gauges, by family and name."""
        with self._lock:
            counts = {family: dict(names) for family, names in self._counts.items()}
            gauges = dict(self._gauges)
        # Gauges take locks of their own, so they are read outside of ours.
        return counts | {family: read() for family, read in gauges.items()}

    def families(self) -> list[tuple[str, bool, dict[str, int]]]:
        """Each family, whether it is a gauge, and its values by name."""
        with self._lock:
            gauges = set(self._gauges)
        return [(family, family in gauges, names) for family, names in self.snapshot().items()]

    def count(self, family: str, name: str) -> int:
        """One count, 0 if it never happened."""
        with self._lock:
            return self._counts.get(family, Counter())[name]


def collector(counters: Counters, labels: dict[str, str]) -> Collector:
    """A collector for ``prometheus_client.REGISTRY.register``.

    Args:
        counters: a manager's counters.
        labels: put on every sample: backend, role, rank. No two managers of one registry have
            the same.

    Raises:
        ImportError: ``prometheus_client`` is missing: ``pip install 'pdwire[metrics]'``.
        ValueError: a label that is none.
    """
    return Collector(counters, labels)
