"""What a manager tells of itself."""

from __future__ import annotations

import json
import threading

import pytest
from tests.pdwire.managers.fleet import Pair, hand_over, pages, wait_until

from pdwire.managers.health import Counters, collector


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


def test_the_same_numbers_for_prometheus(pair: Pair) -> None:
    prometheus = pytest.importorskip("prometheus_client")
    registry = prometheus.CollectorRegistry()
    registry.register(collector(pair.prefill.counters, {"role": "prefill"}))
    hand_over(pair.prefill, pair.decode, 7, pages(1, 2), pages(4, 5))
    labels = {"role": "prefill", "name": "TransferInfo"}
    assert registry.get_sample_value("pdwire_messages", labels) == 1
    text = prometheus.generate_latest(registry).decode()
    assert 'pdwire_rooms{name="peers",role="prefill"} 1.0' in text
