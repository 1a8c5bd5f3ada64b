"""A manager's counters for Prometheus.

What only grows is a counter, named ``…_total``; what is read at the moment is a gauge. One
registry may hold the collectors of many managers: they are told apart by their labels, and
each family stands once in what is scraped, with the samples of all of them.
"""

from __future__ import annotations

import inspect
import re
import weakref
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

    from pdwire.managers.health import Counters

__all__ = ["Collector"]

_COUNTERS: Final[dict[str, tuple[str, str]]] = {
    "messages": ("kind", "Messages that came and were read"),
    "dropped": ("reason", "What came and was not obeyed"),
    "sent": ("kind", "Messages that a connection took"),
    "undelivered": ("kind", "Messages that were accepted and given up"),
    "send_errors": ("kind", "Messages that were refused where they were to be sent"),
    "unsaid": ("kind", "Messages that the other side's release has no words for"),
    "loop_errors": ("error", "Faults of our own that a thread outlived"),
    "bytes": ("direction", "Bytes that the engine moved"),
    "rooms_events": ("event", "What befell rooms without anybody asking for it"),
    "bootstrap": ("event", "What befell the talk with bootstrap servers"),
    "heartbeats": ("result", "Questions whether a prefill side lives"),
    "staging_chunks": ("way", "Chunks of staged rooms by the way they went"),
}
"""Family of counts -> what its names are, and what it counts."""
_GAUGES: Final[dict[str, tuple[str, str]]] = {
    "rooms": ("name", "Rooms by state (rooms-*), and what is held for them"),
    "staging": ("name", "Staged chunks by step, and the ring"),
    "transfers": ("name", "Transfers by what they wait for"),
    "connect": ("name", "Prefill sides that are looked for, and rooms that wait for them"),
}
_GROWS: Final = "dropped-"
"""How a gauge's own count of what it dropped begins; ``dropped`` has it already."""
_HAPPENED: Final = frozenset(
    {"unopened-expired", "unopened-displaced", "rows-refused", "released-by-timeout"}
)
"""Names among the rooms' that only grow."""
_ODD: Final = re.compile(r"[^a-zA-Z0-9_]")
_LABEL: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


class Collector:
    """What ``prometheus_client`` asks at each scrape.

    Args:
        counters: a manager's counters.
        labels: put on every sample; no two collectors of a registry may have the same.

    Raises:
        ImportError: ``prometheus_client`` is missing: ``pip install 'pdwire[metrics]'``.
        ValueError: a label's name is none, or one that the families use themselves.
    """

    def __init__(self, counters: Counters, labels: Mapping[str, str]) -> None:
        from prometheus_client import core  # noqa: PLC0415  # an extra

        taken = {label for label, _ in (*_COUNTERS.values(), *_GAUGES.values())}
        for name in labels:
            if not _LABEL.fullmatch(name) or name.startswith("__") or name in taken:
                raise ValueError(f"{name!r} cannot be a label: it is no name, or one of {taken}")
        self.counters = counters
        self.labels = dict(labels)
        self._core = core
        self._registry: weakref.ref[Any] | None = None

    def describe(self) -> Iterator[Metric]:
        """No families: those of several collectors have the same names.

        ``prometheus_client`` calls this while it registers a collector, and gives nothing of
        itself. Which registry it is, and so who else is in it, is read from the caller.

        Raises:
            ValueError: another collector with the same labels is registered there.
        """
        frame = inspect.currentframe()
        caller = None if frame is None or frame.f_back is None else frame.f_back.f_locals
        found = None if caller is None else caller.get("self")
        if found is not None and hasattr(found, "_collector_to_names"):
            self._registry = weakref.ref(found)
            for other in self._together():
                if other is not self and other.labels == self.labels:
                    raise ValueError(
                        f"a collector with the labels {self.labels} is registered already: give "
                        "each manager its own (backend, role, rank)"
                    )
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """One family per kind of count, with the samples of every collector of the registry.

        The first of them gives them all, the others nothing.
        """
        together = self._together() or [self]
        if together[0] is not self:
            return
        names = sorted({name for each in together for name in each.labels})
        families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
        for each in together:
            place = [each.labels.get(name, "") for name in names]
            for family, is_gauge, name, value in each.values():
                metric = families.get(family)
                if metric is None:
                    metric = families[family] = self._family(family, names, is_gauge=is_gauge)
                metric.add_metric([*place, name], value)
        yield from families.values()

    def values(self) -> Iterator[tuple[str, bool, str, int]]:
        """Family, whether it is a gauge, name and value of everything that is told."""
        for family, is_gauge, values in self.counters.families():
            for name, value in values.items():
                if is_gauge and name in _HAPPENED:
                    yield f"{family}_events", False, name, value
                elif not (is_gauge and name.startswith(_GROWS)):
                    yield family, is_gauge, name, value

    def _together(self) -> list[Collector]:
        """The collectors of this one's registry, in their order."""
        registry = None if self._registry is None else self._registry()
        known = list(getattr(registry, "_collector_to_names", ()))
        return [each for each in known if isinstance(each, Collector)]

    def _family(
        self, family: str, labels: list[str], *, is_gauge: bool
    ) -> CounterMetricFamily | GaugeMetricFamily:
        table, make = (
            (_GAUGES, self._core.GaugeMetricFamily)
            if is_gauge
            else (_COUNTERS, self._core.CounterMetricFamily)
        )
        label, told = table.get(family, ("name", f"{family} by name"))
        # The counter's own name lacks the suffix: its samples get it.
        name = _ODD.sub("_", family).removesuffix("_total")
        return make(f"pdwire_{name}", told, labels=[*labels, label])
