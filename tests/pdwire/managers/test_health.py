"""What a manager tells of itself."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.pdwire.managers.fleet import Pair, hand_over, pages, wait_until

from pdwire import rooms
from pdwire.managers import metrics
from pdwire.managers.health import Counters, collector

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


def test_counts_of_many_threads_add_up() -> None:
    counters = Counters()

    def count() -> None:
        for _ in range(2_000):
            counters.add("messages", "X")
            counters.add("bytes", "written", 10)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counters.snapshot() == {"messages": {"X": 8_000}, "bytes": {"written": 80_000}}
    assert counters.count("messages", "Y") == 0
    assert counters.count("nothing", "Y") == 0
    assert counters.snapshot() == {"messages": {"X": 8_000}, "bytes": {"written": 80_000}}


def test_a_gauge_is_read_when_asked_for() -> None:
    counters, state = Counters(), {"open": 1}
    counters.gauge("rooms", lambda: dict(state))
    assert counters.snapshot() == {"rooms": {"open": 1}}
    state["open"] = 5
    assert counters.snapshot() == {"rooms": {"open": 5}}


def test_health_is_plain_data_and_tells_the_story(pair: Pair, backend: str) -> None:
    hand_over(pair.prefill, pair.decode, 7, pages(1, 2), pages(4, 5))
    pair.prefill.sender(8)
    for manager, mode in ((pair.prefill, "prefill"), (pair.decode, "decode")):
        told = json.loads(json.dumps(manager.health()))
        assert told["backend"] == backend
        assert told["mode"] == mode
        assert told["loop"] == {"alive": True, "dead": None, "port": manager.loop.port}
    # The room is done a moment before its last word is counted.
    wait_until(lambda: pair.prefill.counters.count("sent", "KV_STATUS") == 1)
    counters = pair.prefill.counters.snapshot()
    assert counters["messages"] == {"KVArgsRegisterInfo": 1, "TransferInfo": 1}
    assert counters["bytes"] == {"written": 2 * 256 * 4}
    assert counters["sent"] == {"KV_STATUS": 1}
    assert counters["rooms"]["rooms-bootstrapping"] == 1
    assert counters["rooms"]["peers"] == 1


class TestPrometheus:
    """Field report O2."""

    @pytest.fixture
    def registry(self) -> CollectorRegistry:
        prometheus = pytest.importorskip("prometheus_client")
        made: CollectorRegistry = prometheus.CollectorRegistry(auto_describe=True)
        return made

    def test_o2_what_only_grows_is_a_counter_and_the_rest_a_gauge(
        self, pair: Pair, registry: CollectorRegistry
    ) -> None:
        registry.register(collector(pair.prefill.counters, {"role": "prefill"}))
        hand_over(pair.prefill, pair.decode, 7, pages(1, 2), pages(4, 5))
        pair.prefill.prefill_side().handle([b"x"])
        labels = {"role": "prefill", "kind": "TransferInfo"}
        assert registry.get_sample_value("pdwire_messages_total", labels) == 1
        labels = {"role": "prefill", "reason": "UnknownMessageError"}
        assert registry.get_sample_value("pdwire_dropped_total", labels) == 1
        types = {name: family.type for name, family in scraped(registry).items()}
        gauges = {f"pdwire_{family}" for family in pair.prefill.counters._gauges}
        assert "pdwire_rooms" in gauges
        for name, kind in types.items():
            assert kind == ("gauge" if name in gauges else "counter"), name
        assert {"pdwire_messages", "pdwire_bytes", "pdwire_sent", "pdwire_dropped"} <= set(types)

    def test_o2_what_a_gauge_counts_itself_is_told_once_and_as_a_counter(
        self, registry: CollectorRegistry
    ) -> None:
        counters = Counters()
        state = {"rooms-waiting": 3, "dropped-late": 9, "unopened-expired": 2}
        counters.gauge("rooms", lambda: state)
        registry.register(collector(counters, {}))
        families = scraped(registry)
        assert set(families) == {"pdwire_rooms", "pdwire_rooms_events"}
        assert [s.labels for s in families["pdwire_rooms"].samples] == [{"name": "rooms-waiting"}]
        assert (
            registry.get_sample_value("pdwire_rooms_events_total", {"event": "unopened-expired"})
            == 2
        )

    def test_o2_every_name_that_the_rooms_only_count_up_is_known_as_one(self) -> None:
        sources = [path.read_text() for path in Path(rooms.__file__).parent.glob("*.py")]
        grows = {
            name for text in sources for name in re.findall(r'_counts\["([a-z-]+)"\] \+=', text)
        }
        assert grows == metrics._HAPPENED

    def test_o2_one_registry_holds_several_managers_and_each_family_stands_once(
        self, pair: Pair, registry: CollectorRegistry
    ) -> None:
        first = collector(pair.prefill.counters, {"role": "prefill", "rank": "0"})
        registry.register(first)
        registry.register(collector(pair.decode.counters, {"role": "decode"}))
        hand_over(pair.prefill, pair.decode, 7, pages(1, 2), pages(4, 5))
        told = {tuple(sorted(s.labels.items())): s.value for s in scraped_all(registry, "messages")}
        assert told[("kind", "TransferInfo"), ("rank", "0"), ("role", "prefill")] == 1
        assert told[("kind", "KV_STATUS"), ("rank", ""), ("role", "decode")] == 1
        registry.unregister(first)
        roles = {s.labels["role"] for f in scraped(registry).values() for s in f.samples}
        assert roles == {"decode"}

    def test_o2_managers_of_two_registries_do_not_meet(self, registry: CollectorRegistry) -> None:
        prometheus = pytest.importorskip("prometheus_client")
        other = prometheus.CollectorRegistry()
        here, there = Counters(), Counters()
        here.add("messages", "A")
        there.add("messages", "B")
        registry.register(collector(here, {"role": "prefill"}))
        other.register(collector(there, {"role": "prefill"}))
        for each, kind in ((registry, "A"), (other, "B")):
            assert [s.labels["kind"] for s in scraped_all(each, "messages")] == [kind]

    def test_o2_two_managers_that_nothing_tells_apart_are_refused(
        self, registry: CollectorRegistry
    ) -> None:
        registry.register(collector(Counters(), {"role": "prefill"}))
        with pytest.raises(ValueError, match="give each manager its own"):
            registry.register(collector(Counters(), {"role": "prefill"}))

    @pytest.mark.parametrize("label", ["kind", "reason", "a b", "__x", ""])
    def test_a_label_that_is_none_is_refused(self, label: str) -> None:
        pytest.importorskip("prometheus_client")
        with pytest.raises(ValueError, match="cannot be a label"):
            collector(Counters(), {label: "x"})


def scraped(registry: CollectorRegistry) -> dict[str, Any]:
    """What is scraped, by family, as both parsers of ``prometheus_client`` read it."""
    from prometheus_client import generate_latest, parser
    from prometheus_client.openmetrics import exposition
    from prometheus_client.openmetrics import parser as strict

    usual: Any = parser.text_string_to_metric_families
    openly: Any = exposition.generate_latest
    found = list(usual(generate_latest(registry).decode()))
    strictly: Any = strict.text_string_to_metric_families
    again = list(strictly(openly(registry).decode()))
    assert {f.name for f in again} == {f.name for f in found}
    assert len({f.name for f in found}) == len(found)
    for family in found:
        suffix = "_total" if family.type == "counter" else ""
        assert {sample.name for sample in family.samples} == {family.name + suffix}
    return {family.name: family for family in found}


def scraped_all(registry: CollectorRegistry, family: str) -> list[Any]:
    samples: list[Any] = scraped(registry)[f"pdwire_{family}"].samples
    return samples
