"""Nothing that is sent blocks, and nothing is lost without a count (field reports A1, A3)."""

from __future__ import annotations

import errno
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import zmq
from tests.pdwire.managers.fleet import Ear, wait_until

from pdwire.managers import lines
from pdwire.managers.health import Counters
from pdwire.managers.sockets import Endpoint, Outbox, SendError

GONE: Endpoint = ("127.0.0.1", 1)
"""Nobody listens at that port."""


class Lost:
    """What was given up."""

    def __init__(self) -> None:
        self.told: list[tuple[Endpoint, str, list[bytes], str]] = []

    def __call__(self, endpoint: Endpoint, kind: str, frames: Any, reason: str) -> None:  # noqa: ANN401
        self.told.append((endpoint, kind, list(frames), reason))


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


@pytest.fixture
def counters() -> Counters:
    return Counters()


@pytest.fixture
def lost() -> Lost:
    return Lost()


@pytest.fixture
def make(stack: ExitStack, counters: Counters, lost: Lost) -> Callable[..., Outbox]:
    def made(**facts: Any) -> Outbox:  # noqa: ANN401
        settings: dict[str, Any] = {"deadline_s": 0.2, "on_undelivered": lost} | facts
        outbox = Outbox(counters, **settings)
        stack.callback(outbox.close)
        return outbox

    return made


@pytest.fixture
def ears(stack: ExitStack) -> Callable[[int], list[Ear]]:
    def made(count: int) -> list[Ear]:
        found = [Ear() for _ in range(count)]
        for ear in found:
            stack.callback(ear.close)
        return found

    return made


def count(counters: Counters, family: str) -> int:
    return sum(counters.snapshot().get(family, {}).values())


def blocked(stack: ExitStack, answers: dict[str, str]) -> tuple[Callable[[str], list[str]], Any]:
    """A name server that answers nothing before its gate is open."""
    gate = threading.Event()
    stack.callback(gate.set)

    def lookup(host: str) -> list[str]:
        gate.wait()
        return [answers[host]]

    return lookup, gate


class TestNothingIsLost:
    """Field report A3."""

    def test_what_nobody_takes_in_time_is_counted_and_told_with_the_reason(
        self, make: Callable[..., Outbox], counters: Counters, lost: Lost
    ) -> None:
        outbox = make()
        outbox.send(GONE, [b"7", b"4"], "KV_STATUS", patience_s=0.05)
        outbox.send(GONE, [b"x"], "ABORT", patience_s=60)
        assert outbox.waiting(GONE) == 2
        wait_until(lambda: lost.told)
        assert lost.told == [(GONE, "KV_STATUS", [b"7", b"4"], "nobody takes it")]
        assert counters.snapshot() == {"undelivered": {"KV_STATUS": 1}}
        outbox.close()
        assert lost.told[1] == (GONE, "ABORT", [b"x"], "the outbox was closed; nobody takes it")
        assert counters.snapshot() == {"undelivered": {"KV_STATUS": 1, "ABORT": 1}}

    def test_a_verdict_waits_for_a_peer_that_comes_back(
        self, make: Callable[..., Outbox], counters: Counters, lost: Lost
    ) -> None:
        outbox = make()
        with zmq.Context() as context:
            with context.socket(zmq.PULL) as before:
                port = before.bind_to_random_port("tcp://127.0.0.1")
                outbox.send(("127.0.0.1", port), [b"first"], "X")
                assert before.poll(10_000)
            wait_until(lambda: not outbox._peers.lines["127.0.0.1", port].takes())
            for n in range(200):
                outbox.send(("127.0.0.1", port), [b"%d" % n], "X")
            assert counters.count("sent", "X") == 1
            with context.socket(zmq.PULL) as after:
                after.bind(f"tcp://127.0.0.1:{port}")
                heard = []
                for _ in range(200):
                    assert after.poll(10_000)
                    heard.append(after.recv())
        assert heard == [b"%d" % n for n in range(200)]
        assert counters.count("sent", "X") == 201
        assert lost.told == []

    def test_an_endpoint_that_is_forgotten_loses_its_words_with_a_count(
        self, make: Callable[..., Outbox], counters: Counters, lost: Lost
    ) -> None:
        outbox = make()
        outbox.send(GONE, [b"x"], "X")
        outbox.forget(GONE)
        wait_until(lambda: lost.told)
        assert count(counters, "undelivered") == 1
        assert outbox._peers.lines == {}
        assert outbox.waiting(GONE) == 0

    def test_closing_takes_the_deadline_and_no_longer_and_counts_what_is_left(
        self, make: Callable[..., Outbox], counters: Counters, ears: Callable[[int], list[Ear]]
    ) -> None:
        outbox = make(deadline_s=0.3)
        [ear] = ears(1)
        for n in range(100):
            outbox.send(GONE, [b"x"], "X")
            outbox.send(ear.endpoint, [b"%d" % n], "X")
        begun = time.monotonic()
        outbox.close()
        assert time.monotonic() - begun < 3
        assert [ear.hear() for _ in range(100)] == [[b"%d" % n] for n in range(100)]
        assert (count(counters, "sent"), count(counters, "undelivered")) == (100, 100)

    @pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
    def test_when_no_socket_can_be_had_the_message_waits_and_the_idle_one_goes(
        self,
        make: Callable[..., Outbox],
        lost: Lost,
        ears: Callable[[int], list[Ear]],
        monkeypatch: pytest.MonkeyPatch,
        number: int,
    ) -> None:
        outbox = make()
        one, two = ears(2)
        outbox.send(one.endpoint, [b"1"], "X")
        assert one.hear() == [b"1"]
        really = lines.Line.open
        refused: list[str] = []

        def fail(line: lines.Line, context: Any, address: str, now: float) -> None:  # noqa: ANN401
            if one.endpoint in outbox._peers.lines:
                refused.append(address)
                raise zmq.ZMQError(number)
            really(line, context, address, now)

        monkeypatch.setattr(lines.Line, "open", fail)
        monkeypatch.setattr(outbox._peers._files, "spare", lambda _: False)
        monkeypatch.setattr("pdwire.managers.post._FIRST", 0)
        outbox.send(two.endpoint, [b"2"], "X")
        assert two.hear() == [b"2"]
        assert lost.told == []

    def test_when_there_is_never_a_socket_it_is_given_up_with_that_reason(
        self, make: Callable[..., Outbox], lost: Lost, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object) -> None:
            raise zmq.ZMQError(errno.EMFILE)

        monkeypatch.setattr(lines.Line, "open", fail)
        outbox = make()
        outbox.send(GONE, [b"x"], "X", patience_s=0.3)
        wait_until(lambda: lost.told)
        assert lost.told == [(GONE, "X", [b"x"], "no socket can be had: Too many open files")]

    def test_a_listener_that_fails_ends_nothing(
        self, make: Callable[..., Outbox], counters: Counters, ears: Callable[[int], list[Ear]]
    ) -> None:
        def fail(*_: object) -> None:
            raise ValueError

        outbox = make(on_undelivered=fail)
        outbox.send(GONE, [b"x"], "X", patience_s=0.01)
        wait_until(lambda: count(counters, "undelivered"))
        [ear] = ears(1)
        outbox.send(ear.endpoint, [b"x"], "X")
        assert ear.hear() == [b"x"]
        assert counters.count("loop_errors", "on_undelivered") == 1


class TestSockets:
    """Field report A3: more endpoints than sockets."""

    def test_a3_100_endpoints_and_room_for_20_sockets(
        self, make: Callable[..., Outbox], counters: Counters, ears: Callable[[int], list[Ear]]
    ) -> None:
        outbox = make(most=20, deadline_s=1.0)
        listening = ears(100)
        for n in range(3):
            for ear in listening:
                outbox.send(ear.endpoint, [b"%d" % n], "KV_STATUS")
        for ear in listening:
            assert [ear.hear() for _ in range(3)] == [[b"0"], [b"1"], [b"2"]]
        assert counters.snapshot() == {"sent": {"KV_STATUS": 300}}
        assert len(outbox._peers._open) <= 20

    def test_peers_that_take_nothing_keep_no_socket_from_others(
        self, make: Callable[..., Outbox], ears: Callable[[int], list[Ear]], lost: Lost
    ) -> None:
        outbox = make(most=4)
        for port in range(1, 9):
            outbox.send(("127.0.0.1", port), [b"x"], "X")
        [ear] = ears(1)
        outbox.send(ear.endpoint, [b"x"], "X")
        assert ear.hear() == [b"x"]
        assert lost.told == []
        assert {port for _, port in outbox._peers.lines} >= set(range(1, 9))

    def test_a3_300_decodes_and_1024_files_and_900_verdicts_in_a_burst(self) -> None:
        ran = subprocess.run(
            [sys.executable, "-c", BURST], capture_output=True, text=True, timeout=120, check=True
        )
        assert ran.stdout.split() == ["900", "{'sent':", "{'KV_STATUS':", "900}}"]


BURST = """
import resource, subprocess, sys
from pdwire.managers.health import Counters
from pdwire.managers.sockets import Outbox

EARS = '''
import zmq
context, poller, heard = zmq.Context(), zmq.Poller(), 0
for _ in range(300):
    ear = context.socket(zmq.PULL)
    print(ear.bind_to_random_port("tcp://127.0.0.1"), flush=True)
    poller.register(ear, zmq.POLLIN)
while heard < 900 and (ready := poller.poll(20_000)):
    for ear, _ in ready:
        ear.recv_multipart()
        heard += 1
print(heard, flush=True)
context.destroy(linger=0)
'''
ears = subprocess.Popen([sys.executable, "-c", EARS], stdout=subprocess.PIPE, text=True)
ports = [int(ears.stdout.readline()) for _ in range(300)]
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
counters = Counters()
outbox = Outbox(counters)
for n in range(3):
    for port in ports:
        outbox.send(("127.0.0.1", port), [b"%d" % n, b"4", b"0"], "KV_STATUS")
print(ears.stdout.readline().strip(), counters.snapshot())
ears.wait()
outbox.close()
"""


class TestNobodyElsePays:
    """A sick endpoint costs its own words alone."""

    def test_an_endpoint_that_takes_nothing_costs_others_nothing(
        self, make: Callable[..., Outbox], ears: Callable[[int], list[Ear]]
    ) -> None:
        outbox = make()
        [ear] = ears(1)
        for _ in range(1_500):
            outbox.send(GONE, [b"x"], "X")
        begun = time.monotonic()
        for n in range(1_000):
            outbox.send(ear.endpoint, [b"%d" % n], "X")
            with pytest.raises(SendError, match="its queue is full"):
                outbox.send(GONE, [b"x"], "X")
        assert [ear.hear() for _ in range(1_000)] == [[b"%d" % n] for n in range(1_000)]
        assert time.monotonic() - begun < 5

    def test_bytes_that_wait_are_bounded_and_a_verdict_still_may(
        self, make: Callable[..., Outbox], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("pdwire.managers.outbox._QUEUED_BYTES", 1 << 20)
        outbox = make(deadline_s=0.01)
        large = [bytes(512 << 10)]
        for port in range(1, 5):
            outbox.send(("127.0.0.1", port), large, "TransferInfo")
            outbox.send(("127.0.0.1", port), large, "TransferInfo")
            with pytest.raises(SendError, match="2 messages, 1048576 bytes wait"):
                outbox.send(("127.0.0.1", port), large, "TransferInfo")
        with pytest.raises(SendError, match="its queue is full: 0 messages"):
            outbox.send(("127.0.0.1", 9), large, "TransferInfo")
        outbox.send(("127.0.0.1", 9), [b"7", b"4", b"0"], "KV_STATUS")

    def test_a1_a_peer_with_a_slow_name_delays_its_own_words_alone(
        self, make: Callable[..., Outbox], stack: ExitStack, ears: Callable[[int], list[Ear]]
    ) -> None:
        lookup, gate = blocked(stack, {"decode.slow": "127.0.0.1"})
        outbox = make(lookup=lookup)
        slow, quick = ears(2)
        for n in range(100):
            outbox.send(("decode.slow", slow.endpoint[1]), [b"%d" % n], "X")
            outbox.send(quick.endpoint, [b"%d" % n], "X")
        assert [quick.hear() for _ in range(100)] == [[b"%d" % n] for n in range(100)]
        assert slow.is_silent()
        gate.set()
        assert [slow.hear() for _ in range(100)] == [[b"%d" % n] for n in range(100)]

    def test_a_name_that_nobody_knows_is_the_reason(
        self, make: Callable[..., Outbox], lost: Lost
    ) -> None:
        def lookup(host: str) -> list[str]:
            raise OSError(f"no {host}")

        outbox = make(lookup=lookup)
        outbox.send(("nobody", 5), [b"x"], "X", patience_s=0.3)
        wait_until(lambda: lost.told)
        assert lost.told[0][3] == "the name nobody is not known: no nobody"

    def test_a1_a_stranger_with_slow_names_is_not_answered_and_nobody_is_asked(
        self, make: Callable[..., Outbox], counters: Counters, ears: Callable[[int], list[Ear]]
    ) -> None:
        asked: list[str] = []

        def lookup(host: str) -> list[str]:
            asked.append(host)
            raise OSError(host)

        outbox = make(lookup=lookup)
        for n in range(64):
            outbox.send((f"n{n}.slow", 1000), [b"x"], "ABORT_ACK", courtesy=True)
        [ear] = ears(1)
        outbox.send(ear.endpoint, [b"x"], "ABORT_ACK", courtesy=True)
        assert ear.hear() == [b"x"]
        assert asked == []
        assert counters.snapshot() == {
            "undelivered": {"stranger-name": 64},
            "sent": {"ABORT_ACK": 1},
        }

    def test_a_stranger_whose_name_is_known_already_is_answered(
        self, make: Callable[..., Outbox], ears: Callable[[int], list[Ear]]
    ) -> None:
        outbox = make(lookup=lambda _: ["127.0.0.1"])
        peer, stranger = ears(2)
        outbox.send(("decode-3", peer.endpoint[1]), [b"1"], "X")
        assert peer.hear() == [b"1"]
        outbox.send(("decode-3", stranger.endpoint[1]), [b"2"], "X", courtesy=True)
        assert stranger.hear() == [b"2"]

    def test_strangers_are_few_and_a_newer_one_takes_the_oldest_ones_place(
        self, make: Callable[..., Outbox], counters: Counters, ears: Callable[[int], list[Ear]]
    ) -> None:
        outbox = make(strangers=8)
        for port in range(1, 1_000):
            outbox.send(("127.0.0.1", port), [b"x"], "ABORT_ACK", courtesy=True)
        assert len(outbox._strangers.lines) == 8
        wait_until(lambda: counters.count("undelivered", "ABORT_ACK") >= 991)
        [ear] = ears(1)
        outbox.send(ear.endpoint, [b"x"], "ABORT_ACK", courtesy=True)
        assert ear.hear() == [b"x"]
        assert len(outbox._peers.lines) == 0


def test_threads_have_names_start_when_needed_and_end(
    make: Callable[..., Outbox], ears: Callable[[int], list[Ear]]
) -> None:
    def ours() -> list[str]:
        return sorted(t.name for t in threading.enumerate() if t.name.startswith("pdwire-o"))

    outbox = make(name="pdwire-o", lookup=lambda _: ["127.0.0.1"])
    assert ours() == []
    [ear] = ears(1)
    outbox.send(("a-name", ear.endpoint[1]), [b"x"], "X")
    outbox.send(ear.endpoint, [b"x"], "X", courtesy=True)
    assert [ear.hear(), ear.hear()] == [[b"x"], [b"x"]]
    assert ours() == ["pdwire-o", "pdwire-o-names-0", "pdwire-o-strangers"]
    outbox.close()
    assert ours() == []
    assert outbox._peers.context.closed
    assert outbox._strangers.context.closed
