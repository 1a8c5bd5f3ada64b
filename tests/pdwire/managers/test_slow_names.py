"""Slow names cost those alone who are named by them (field report A1), on whole managers."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest
from tests.pdwire.managers.fleet import Fleet, counter, hand_over, memory, pages, wait_until

from pdwire.wire.common import AbortNotification, Bootstrap

ROOMS = 100


class Names:
    """The system's resolver, where names under ``.slow`` are not answered before the end."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.gate = threading.Event()
        self._really = socket.getaddrinfo

    def __call__(self, host: str, *args: object, **facts: object) -> object:
        if host.endswith(".slow"):
            self.asked.append(host)
            self.gate.wait()
            host = "127.0.0.1"
        return self._really(host, *args, **facts)  # type: ignore[arg-type]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[Names]:
    made = Names()
    monkeypatch.setattr(socket, "getaddrinfo", made)
    yield made
    made.gate.set()


def rooms(fleet: Fleet, backend: str, prefill: object) -> float:
    """Hand over many rooms; seconds that took."""
    decode = fleet.decode(backend, memory(2))
    begun = time.monotonic()
    for room in range(ROOMS):
        hand_over(prefill, decode, room, pages(1, 2), pages(4, 5))  # type: ignore[arg-type]
    return time.monotonic() - begun


def test_a1_a_stranger_with_64_slow_names_changes_nothing(
    fleet: Fleet, backend: str, names: Names
) -> None:
    prefill = fleet.prefill(backend, memory(1))
    ear = fleet.ear()
    before = rooms(fleet, backend, prefill)
    for n in range(64):
        place = (f"n{n}.slow", 1000)
        abort = AbortNotification(
            room=7_000_000 + n, decode_ip=place[0], decode_port=1000, generation=1
        )
        ear.say(prefill.endpoint, abort.to_zmq())
    wait_until(lambda: counter(prefill, "messages", "ABORT") == 64)
    after = rooms(fleet, backend, prefill)

    assert names.asked == []
    assert counter(prefill, "undelivered", "stranger-name") == 64
    # Milliseconds a room, before and after; a name that blocked anything would be seconds.
    assert after < 3 * before + 1


def test_a1_a_peer_with_a_slow_name_is_served_late_and_the_others_in_time(
    fleet: Fleet, backend: str, names: Names
) -> None:
    prefill = fleet.prefill(backend, memory(1))
    slow = fleet.played_decode(prefill)
    slow.register(endpoint="decode.slow")
    slow.ask(1_000, pages(4, 5), 3, endpoint="decode.slow")
    sender = prefill.sender(1_000)
    wait_until(lambda: counter(prefill, "messages", "TransferInfo") == 1)
    sender.abort("no")
    assert rooms(fleet, backend, prefill) < 30
    assert slow.ear.is_silent()
    assert names.asked == ["decode.slow"]

    names.gate.set()
    assert slow.hear().room == 1_000


def test_a1_who_waits_for_the_forward_pass_under_a_slow_name_holds_up_nobody(
    fleet: Fleet, names: Names
) -> None:
    prefill = fleet.prefill("mooncake", memory(1))
    ear = fleet.ear()
    sender = prefill.sender(5_000)
    told = Bootstrap(room=5_000, decode_ip="decode.slow", decode_port=1000)
    ear.say(prefill.endpoint, told.to_zmq())
    wait_until(lambda: counter(prefill, "messages", "BOOTSTRAP") == 1)
    sender.mark_prefill_complete()
    assert rooms(fleet, "mooncake", prefill) < 30
    assert names.asked == []
