"""Counters of a manager: what came, what was dropped and why, how full things are.

One object per manager, written by its threads and read by anyone. ``snapshot`` is plain
data; ``collector`` gives the same numbers to ``prometheus_client``, which is an extra.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prometheus_client.core import Metric

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

    def count(self, family: str, name: str) -> int:
        """One count, 0 if it never happened."""
        with self._lock:
            return self._counts.get(family, Counter())[name]


class _Collector:
    """What ``prometheus_client`` asks at each scrape."""

    def __init__(self, counters: Counters, labels: dict[str, str]) -> None:
        from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415  # an extra

        self._family = GaugeMetricFamily
        self._counters = counters
        self._labels = labels

    def collect(self) -> Iterator[Metric]:
        """One metric per family, one sample per name."""
        for family, names in self._counters.snapshot().items():
            metric = self._family(
                f"pdwire_{family}", f"pdwire {family} by name", labels=[*self._labels, "name"]
            )
            for name, value in names.items():
                metric.add_metric([*self._labels.values(), name], value)
            yield metric


def collector(counters: Counters, labels: dict[str, str]) -> Any:  # noqa: ANN401  # untyped there
    """A collector for ``prometheus_client.REGISTRY.register``.

    Args:
        counters: a manager's counters.
        labels: put on every sample: backend, role, rank.

    Raises:
        ImportError: ``prometheus_client`` is missing: ``pip install 'pdwire[metrics]'``.
    """
    return _Collector(counters, labels)
