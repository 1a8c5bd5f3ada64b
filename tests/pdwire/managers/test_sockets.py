"""The loop and the outbox by themselves, on real sockets."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
import zmq
from tests.pdwire.managers.fleet import Ear, wait_until

from pdwire.managers.health import Counters
from pdwire.managers.sockets import Loop, Outbox, SendError, tcp

Frames = list[bytes]


@pytest.fixture
def counters() -> Counters:
    return Counters()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


@pytest.fixture
def ear(stack: ExitStack) -> Ear:
    made = Ear()
    stack.callback(made.close)
    return made


@pytest.fixture
def outbox(stack: ExitStack, counters: Counters) -> Outbox:
    made = Outbox(counters, deadline_s=0.1)
    stack.callback(made.close)
    return made


def started(
    stack: ExitStack,
    counters: Counters,
    handler: Callable[[Frames], None],
    *,
    host: str = "127.0.0.1",
    tick: Callable[[], None] = lambda: None,
) -> Loop:
    loop = Loop(
        "pdwire-test",
        host,
        handler,
        tick=tick,
        on_dead=lambda _: None,
        counters=counters,
        poll_s=0.01,
    )
    stack.callback(loop.stop)
    loop.start()
    return loop


@pytest.mark.parametrize(
    ("endpoint", "expected"),
    [
        (("10.0.0.2", 5000), "tcp://10.0.0.2:5000"),
        (("decode-3", 5000), "tcp://decode-3:5000"),
        (("::1", 5000), "tcp://[::1]:5000"),
        (("[::1]", 5000), "tcp://[::1]:5000"),
        (("fe80::1%eth0", 5000), "tcp://[fe80::1%eth0]:5000"),
    ],
)
def test_an_endpoint_as_an_address(endpoint: tuple[str, int], expected: str) -> None:
    assert tcp(endpoint) == expected


class TestLoop:
    def test_whatever_a_handler_raises_is_counted_and_the_next_message_handled(
        self, stack: ExitStack, counters: Counters, ear: Ear
    ) -> None:
        seen: list[bytes] = []

        def handler(frames: Frames) -> None:
            seen.append(frames[0])
            if frames[0] != b"fine":
                raise {b"a": ValueError, b"b": KeyError, b"c": MemoryError}[frames[0]]

        loop = started(stack, counters, handler)
        for word in (b"a", b"a", b"b", b"c", b"fine"):
            ear.say(("127.0.0.1", loop.port), [word])
        wait_until(lambda: len(seen) == 5)
        assert counters.snapshot()["loop_errors"] == {
            "ValueError": 2,
            "KeyError": 1,
            "MemoryError": 1,
        }
        assert loop.alive

    def test_a_tick_that_raises_does_not_end_it(
        self, stack: ExitStack, counters: Counters, ear: Ear
    ) -> None:
        seen: list[Frames] = []

        def tick() -> None:
            raise RuntimeError

        loop = started(stack, counters, seen.append, tick=tick)
        wait_until(lambda: counters.count("loop_errors", "RuntimeError") > 2)
        ear.say(("127.0.0.1", loop.port), [b"x", b""])
        wait_until(lambda: seen == [[b"x", b""]])

    def test_it_ticks_under_a_flood(self, stack: ExitStack, counters: Counters, ear: Ear) -> None:
        order: list[str] = []
        gate = threading.Event()

        def handler(_: Frames) -> None:
            gate.wait()
            order.append("message")

        loop = started(stack, counters, handler, tick=lambda: order.append("tick"))
        for _ in range(2_000):
            ear.say(("127.0.0.1", loop.port), [b"x"])
        order.clear()
        gate.set()
        wait_until(lambda: order.count("message") == 2_000)
        last = len(order) - 1 - order[::-1].index("message")
        assert order[:last].count("tick") >= 2_000 // 256 - 1

    def test_it_ends_at_once_when_asked(self, stack: ExitStack, counters: Counters) -> None:
        loop = started(stack, counters, lambda _: None)
        loop._poll_s = 60
        wait_until(lambda: loop.alive)
        begun = time.monotonic()
        loop.stop()
        assert time.monotonic() - begun < 5
        assert not loop.alive
        assert loop.dead is None

    def test_it_can_be_stopped_before_it_was_started(self, counters: Counters) -> None:
        nothing: Callable[..., None] = lambda *_: None  # noqa: E731
        loop = Loop("x", "127.0.0.1", nothing, tick=nothing, on_dead=nothing, counters=counters)
        loop.stop()
        loop.stop()

    def test_ipv6(self, stack: ExitStack, counters: Counters, outbox: Outbox) -> None:
        seen: list[Frames] = []
        try:
            loop = started(stack, counters, seen.append, host="::1")
        except zmq.ZMQError:
            pytest.skip("this machine has no IPv6 loopback")
        outbox.send(("::1", loop.port), [b"x"], "X")
        wait_until(lambda: seen == [[b"x"]])


def test_whoever_watches_sees_what_comes_and_goes_and_may_take_it(
    stack: ExitStack, counters: Counters, outbox: Outbox
) -> None:
    handled: list[Frames] = []
    came: list[Frames] = []
    went: list[tuple[tuple[str, int], list[bytes]]] = []

    def watch(frames: Frames) -> bool:
        came.append(frames)
        return frames == [b"taken"]

    loop = started(stack, counters, handled.append)
    loop.watch = watch
    outbox.watch = lambda endpoint, frames: went.append((endpoint, list(frames)))
    there = ("127.0.0.1", loop.port)
    for text in (b"taken", b"left"):
        outbox.send(there, [text], "test")
    wait_until(lambda: handled, "the message that was left")
    assert handled == [[b"left"]]
    assert came == [[b"taken"], [b"left"]]
    assert went == [(there, [b"taken"]), (there, [b"left"])]


class TestOutbox:
    def test_f1_many_threads_share_a_socket_and_every_message_stays_whole(
        self, outbox: Outbox, ear: Ear, counters: Counters
    ) -> None:
        threads, each = 8, 100

        def send(n: int) -> None:
            for m in range(each):
                outbox.send(ear.endpoint, [b"%d" % n, b"%d" % m, b"%d" % (n * m)], "X")

        senders = [threading.Thread(target=send, args=(n,)) for n in range(threads)]
        for sender in senders:
            sender.start()
        heard = [ear.hear() for _ in range(threads * each)]
        for sender in senders:
            sender.join()
        assert all(len(frames) == 3 for frames in heard)
        assert all(int(a) * int(b) == int(c) for a, b, c in heard)
        assert counters.count("sent", "X") == threads * each

    def test_a_peer_that_takes_nothing_costs_no_time_and_is_refused_when_its_queue_is_full(
        self, outbox: Outbox, counters: Counters
    ) -> None:
        gone = "127.0.0.1", 1
        begun = time.monotonic()
        with pytest.raises(SendError, match=r"127.0.0.1:1: its queue is full: 1500 messages"):
            fill(outbox, gone)
        with pytest.raises(SendError, match="its queue is full"):
            outbox.send(gone, [b"x"], "X")
        assert time.monotonic() - begun < 5
        assert counters.count("send_errors", "X") == 2
        outbox.close()
        assert counters.count("undelivered", "X") == 1_500
        assert counters.count("sent", "X") == 0

    def test_a_courtesy_never_waits(self, outbox: Outbox) -> None:
        gone = "127.0.0.1", 1
        with pytest.raises(SendError, match="its queue is full: 64 messages"):
            fill(outbox, gone, courtesy=True)

    def test_messages_wait_for_a_peer_that_starts_late(self, outbox: Outbox) -> None:
        with zmq.Context() as context, context.socket(zmq.PULL) as first:
            port = first.bind_to_random_port("tcp://127.0.0.1")
            first.unbind(f"tcp://127.0.0.1:{port}")
            outbox.send(("127.0.0.1", port), [b"early"], "X")
            with context.socket(zmq.PULL) as late:
                wait_until(lambda: bound(late, port), "the port is free")
                assert late.poll(10_000)
                assert late.recv_multipart() == [b"early"]

    def test_a_peer_that_restarts_is_found_again(self, outbox: Outbox) -> None:
        with zmq.Context() as context:
            with context.socket(zmq.PULL) as before:
                port = before.bind_to_random_port("tcp://127.0.0.1")
                outbox.send(("127.0.0.1", port), [b"1"], "X")
                assert before.poll(10_000)
                assert before.recv_multipart() == [b"1"]
            with context.socket(zmq.PULL) as after:
                wait_until(lambda: bound(after, port), "the port is free")
                # What was on its way when the peer went may be lost; what follows is not.
                wait_until(lambda: sent_again(outbox, port, after), "it is heard again")

    def test_sockets_are_bounded_and_the_idle_one_unused_longest_goes(
        self, stack: ExitStack, counters: Counters
    ) -> None:
        outbox = Outbox(counters, most=2, strangers=1)
        stack.callback(outbox.close)
        ears = [Ear() for _ in range(4)]
        for made in ears:
            stack.callback(made.close)
        one, two, three, other = ears
        for ear in (one, two, one, three):
            outbox.send(ear.endpoint, [b"x"], "X")
            assert ear.hear() == [b"x"]
        assert list(outbox._peers.lines) == [one.endpoint, three.endpoint]
        for ear in (two, other, one):
            outbox.send(ear.endpoint, [b"x"], "X", courtesy=True)
            assert ear.hear() == [b"x"]
        assert list(outbox._peers.lines) == [three.endpoint, one.endpoint]
        assert list(outbox._strangers.lines) == [other.endpoint]
        assert "undelivered" not in counters.snapshot()

    def test_a_stranger_and_a_peer_share_no_socket(self, outbox: Outbox, ear: Ear) -> None:
        outbox.send(ear.endpoint, [b"1"], "X", courtesy=True)
        assert ear.hear() == [b"1"]
        outbox.send(ear.endpoint, [b"2"], "X")
        assert ear.hear() == [b"2"]
        assert outbox._peers.context is not outbox._strangers.context
        assert list(outbox._peers.lines) == list(outbox._strangers.lines) == [ear.endpoint]

    def test_a_host_that_is_none_is_an_error_and_leaves_no_socket(self, outbox: Outbox) -> None:
        for host, port in (("no host", 5000), ("", 5000), ("127.0.0.1", 0), ("127.0.0.1", 70_000)):
            with pytest.raises(SendError, match="no host and port"):
                outbox.send((host, port), [b"x"], "X")
        assert outbox._peers.lines == {}

    def test_last_words_are_said(self, counters: Counters, ear: Ear) -> None:
        outbox = Outbox(counters)
        for n in range(100):
            outbox.send(ear.endpoint, [b"%d" % n], "X")
        outbox.close()
        assert [ear.hear() for _ in range(100)] == [[b"%d" % n] for n in range(100)]

    def test_forgetting_says_what_is_queued_and_opens_anew(self, outbox: Outbox, ear: Ear) -> None:
        outbox.send(ear.endpoint, [b"1"], "X")
        outbox.forget(ear.endpoint)
        outbox.forget(ear.endpoint)
        outbox.send(ear.endpoint, [b"2"], "X")
        assert sorted([ear.hear(), ear.hear()]) == [[b"1"], [b"2"]]

    def test_a_closed_outbox_says_so(self, counters: Counters, ear: Ear) -> None:
        outbox = Outbox(counters)
        outbox.close()
        outbox.close()
        with pytest.raises(SendError, match="the outbox is closed"):
            outbox.send(ear.endpoint, [b"x"], "X")


def fill(outbox: Outbox, endpoint: tuple[str, int], *, courtesy: bool = False) -> None:
    """More than any queue holds."""
    for _ in range(2_000):
        outbox.send(endpoint, [b"x"], "X", courtesy=courtesy)


def bound(socket: zmq.Socket[bytes], port: int) -> bool:
    try:
        socket.bind(f"tcp://127.0.0.1:{port}")
    except zmq.ZMQError:
        return False
    return True


def sent_again(outbox: Outbox, port: int, peer: zmq.Socket[bytes]) -> bool:
    outbox.send(("127.0.0.1", port), [b"2"], "X")
    return bool(peer.poll(20))
