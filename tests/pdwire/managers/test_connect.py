"""Finding prefill ranks: nothing a scheduler calls waits, and a sick address costs its own rooms.

Field reports H2, H7 (decode's half), A7, P7.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from tests.pdwire.bootstrap.raw_http import rank as entry
from tests.pdwire.managers.fleet import (
    Fleet,
    Manager,
    counter,
    hand_over,
    memory,
    pages,
    place,
    settled,
    wait_until,
    with_limits,
)
from tests.pdwire.managers.silent import Behaviour, Listener, dripping, listening, silent

from pdwire.bootstrap.client import BootstrapClient
from pdwire.bootstrap.server import BootstrapServer
from pdwire.managers.receiver import CommonKVReceiver
from pdwire.rooms import KVPoll

AT_ONCE_S = 0.5
"""Five calls that wait for nobody take milliseconds; one that waits takes ``TIMEOUT_S``."""
TIMEOUT_S = 2.0


@pytest.fixture
def servers() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def asked(decode: Manager, address: str, room: int, **init: Any) -> CommonKVReceiver:  # noqa: ANN401
    """A receiver that has said everything, whether or not anybody is found."""
    receiver: CommonKVReceiver = decode.receiver(address, room)
    receiver.init(**init)
    receiver.send_metadata(pages(4, 5), aux_index=3)
    return receiver


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


class TestSilentServer:
    """H2: a bootstrap server that accepts and never answers."""

    @pytest.mark.parametrize("behave", [silent, dripping], ids=lambda b: b.__name__)
    def test_h2_no_call_waits_and_its_rooms_fail_with_the_reason(
        self, fleet: Fleet, backend: str, servers: ExitStack, behave: Behaviour
    ) -> None:
        listener = servers.enter_context(listening(behave))
        decode = fleet.decode(backend, memory(2), http_timeout_s=TIMEOUT_S)
        begun = time.monotonic()
        receivers = [asked(decode, listener.address, room) for room in range(5)]
        states = [receiver.poll() for receiver in receivers]
        assert time.monotonic() - begun < AT_ONCE_S
        assert states == [KVPoll.Bootstrapping] * 5

        assert settled(*receivers) == [KVPoll.Failed] * 5
        assert time.monotonic() - begun < TIMEOUT_S + 2
        for receiver in receivers:
            told = f"bootstrap server {listener.address}: no answer within {TIMEOUT_S:g} s"
            assert receiver.failure_reason == told
        assert listener.accepted == 1  # they wait for one answer

    def test_h2_it_is_remembered(self, fleet: Fleet, backend: str, servers: ExitStack) -> None:
        listener = servers.enter_context(listening(silent))
        decode = fleet.decode(backend, memory(2), http_timeout_s=0.2)
        settled(asked(decode, listener.address, 1))
        before = listener.accepted
        begun = time.monotonic()
        later = asked(decode, listener.address, 2)
        assert settled(later) == [KVPoll.Failed]
        assert time.monotonic() - begun < 0.2  # of what is remembered, not of another silence
        assert listener.accepted == before

    def test_h2_rooms_of_others_go_on(self, fleet: Fleet, backend: str, servers: ExitStack) -> None:
        """More silent addresses than any pool would have threads."""
        silent_ones = [servers.enter_context(listening(silent)) for _ in range(40)]
        prefill, decode = fleet.prefill(backend, memory(1)), fleet.decode(backend, memory(2))
        for n, listener in enumerate(silent_ones):
            for room in range(3):
                asked(decode, listener.address, 100 + 10 * n + room)
        begun = time.monotonic()
        hand_over(prefill, decode, 7, pages(1, 2), pages(4, 5))
        assert time.monotonic() - begun < 3  # of a deadline of 5

    def test_h2_a_dead_prefill_is_noticed_beside_silent_ones(
        self, fleet: Fleet, backend: str, servers: ExitStack
    ) -> None:
        decode = fleet.decode(backend, memory(2), heartbeat_s=0.2, http_timeout_s=3.0)
        sick = [Sick() for _ in range(6)]
        for each in sick:
            servers.callback(each.close)
        dead = fleet.server()
        ears = [fleet.ear() for _ in range(7)]
        addresses = [*(each.address for each in sick), dead.address]
        for address, ear in zip(addresses, ears, strict=True):
            host, port = ear.endpoint
            BootstrapClient().register(address, entry(rank_ip=host, rank_port=port, page_size=4))
        receivers = [asked(decode, address, n) for n, address in enumerate(addresses)]
        wait_until(lambda: all(r.poll() is KVPoll.Transferring for r in receivers))
        for each in sick:
            each.is_silent = True
        dead.close()
        begun = time.monotonic()
        assert settled(receivers[-1]) == [KVPoll.Failed]
        assert time.monotonic() - begun < 2.5  # less than one silence
        told = f"the prefill side at {dead.address} does not answer"
        assert receivers[-1].failure_reason == told

    def test_closing_waits_for_no_silence(
        self, fleet: Fleet, backend: str, servers: ExitStack
    ) -> None:
        listener = servers.enter_context(listening(dripping))
        decode = fleet.decode(backend, memory(2), http_timeout_s=20.0)
        receiver = asked(decode, listener.address, 7)
        wait_until(lambda: listener.accepted, "it is asked")
        begun = time.monotonic()
        decode.close()
        assert time.monotonic() - begun < 3
        assert receiver.failure_reason == "the manager was closed"


class Sick:
    """A bootstrap server behind a door that can fall silent."""

    def __init__(self) -> None:
        self.is_silent = False
        self._server = BootstrapServer("127.0.0.1", 0)
        self._door = Listener(self._pass)

    @property
    def address(self) -> str:
        return self._door.address

    def _pass(self, connection: socket.socket) -> None:
        question = connection.recv(65_536)
        if self.is_silent:
            silent(connection)
            return
        while b"\r\n\r\n" not in question:
            question += connection.recv(65_536)
        with socket.create_connection(("127.0.0.1", self._server.port), timeout=5) as inner:
            inner.sendall(question)
            inner.settimeout(5)
            while answer := inner.recv(65_536):
                connection.sendall(answer)

    def close(self) -> None:
        self._door.close()
        self._server.close()


class TestStartUp:
    """A server that is not there yet, or does not know its ranks yet, is asked again."""

    def test_decode_may_come_before_prefill(self, fleet: Fleet, backend: str) -> None:
        port = free_port()
        decode = fleet.decode(backend, memory(2))
        receiver = asked(decode, f"127.0.0.1:{port}", 7)
        wait_until(lambda: counter(decode, "bootstrap", "early"), "it was asked in vain")
        server = BootstrapServer("127.0.0.1", port)
        try:
            before = counter(decode, "bootstrap", "early")
            wait_until(lambda: counter(decode, "bootstrap", "early") > before, "nobody registered")
            prefill = fleet.prefill(backend, memory(1), bootstrap=server)
            sender = prefill.sender(7)
            sender.init(2, aux_index=1)
            wait_until(lambda: sender.poll() is KVPoll.WaitingForInput, "metadata")
            sender.send(pages(1, 2))
            assert settled(sender, receiver) == [KVPoll.Success] * 2
        finally:
            server.close()

    def test_a_room_that_waited_in_vain_says_what_came_last(
        self, fleet: Fleet, backend: str
    ) -> None:
        server = fleet.server()
        BootstrapClient().register(server.address, entry(attn_tp_size=2, page_size=4))
        decode = fleet.decode(backend, memory(2), limits=with_limits(bootstrap_s=0.6))
        receiver = asked(decode, server.address, 7)
        assert settled(receiver) == [KVPoll.Failed]
        told = "503 1 of 2 prefill ranks have registered"
        assert receiver.failure_reason == (
            f"the prefill side was not found ({server.address}/route: {told}) within 0.6 s"
        )

    @pytest.mark.parametrize(
        "address",
        [
            "a..b:1", "h:x", "[::1", "", "h", "[::1]", "h:0", "h:65536", "u:p@h:1", "h:1/x",
            "::1:5", "h :1", "h:1?q", "\xfc:1", "h\r\nX: y:1", "a" * 64 + ".b:1", "[zz]:1",
        ],
    )  # fmt: skip
    def test_a7_an_address_that_is_none_fails_the_room_with_the_reason(
        self, fleet: Fleet, backend: str, address: str
    ) -> None:
        decode = fleet.decode(backend, memory(2))
        receiver = asked(decode, address, 7)
        assert settled(receiver) == [KVPoll.Failed]
        assert repr(address) in str(receiver.failure_reason)
        assert counter(decode, "loop_errors") == 0


class TestLives:
    """Whom an answer is for: the life of the room that asked, if it still waits."""

    @pytest.fixture
    def slow(self, servers: ExitStack) -> Slow:
        slow = Slow()
        servers.callback(slow.close)
        return slow

    def test_h7_a_room_that_is_given_up_early_is_told_as_soon_as_its_ranks_are_found(
        self, fleet: Fleet, backend: str, slow: Slow
    ) -> None:
        prefill = fleet.prefill(backend, memory(1), bootstrap_port=slow.port)
        decode = fleet.decode(backend, memory(2))
        slow.shut()
        ends = {}
        for room, how in enumerate(("abort", "clear", "never")):
            sender = prefill.sender(room)
            sender.init(2, aux_index=1)
            receiver = decode.receiver(slow.address, room)
            if how != "never":
                receiver.init()
                receiver.send_metadata(pages(4, 5), aux_index=3)
            receiver.abort() if how == "abort" else receiver.clear()
            ends[how] = sender
        assert [sender.poll() for sender in ends.values()] == [KVPoll.Bootstrapping] * 3
        slow.open()
        assert settled(*ends.values()) == [KVPoll.Failed] * 3
        assert {s.failure_reason for s in ends.values()} == {"aborted by the decode side"}
        assert counter(decode, "sent", "TransferInfo") == 0
        assert counter(decode, "bootstrap", "told-late") == 3

    def test_h7_a_deadline_that_passed_is_told_too(
        self, fleet: Fleet, backend: str, slow: Slow
    ) -> None:
        prefill = fleet.prefill(backend, memory(1), bootstrap_port=slow.port)
        decode = fleet.decode(backend, memory(2), limits=with_limits(bootstrap_s=0.3))
        slow.shut()
        sender = prefill.sender(7)
        receiver = asked(decode, slow.address, 7)
        assert settled(receiver) == [KVPoll.Failed]
        slow.open()
        assert settled(sender) == [KVPoll.Failed]

    def test_a_number_that_is_used_again_meanwhile_is_neither_told_nor_mixed_up(
        self, fleet: Fleet, backend: str, slow: Slow
    ) -> None:
        target = memory(2)
        source = memory(1)
        prefill = fleet.prefill(backend, source, bootstrap_port=slow.port)
        decode = fleet.decode(backend, target)
        slow.shut()
        first = decode.receiver(slow.address, 7)
        first.init()
        first.send_metadata(pages(8, 9), aux_index=1)
        first.clear()
        second = asked(decode, slow.address, 7)
        sender = prefill.sender(7)
        sender.init(2, aux_index=1)
        before = target.kv[0][[8, 9]].copy()
        slow.open()
        wait_until(lambda: sender.poll() is not KVPoll.Bootstrapping, "metadata")
        sender.send(pages(1, 2))
        assert settled(sender, second) == [KVPoll.Success] * 2
        assert (target.kv[0][[4, 5]] == source.kv[0][[1, 2]]).all()
        assert (target.kv[0][[8, 9]] == before).all()
        assert counter(decode, "sent", "TransferInfo") == 1

    def test_what_was_said_is_kept_as_it_was(self, fleet: Fleet, backend: str, slow: Slow) -> None:
        """A scheduler may use its array again as soon as the call returns."""
        source, target = memory(1), memory(2)
        prefill = fleet.prefill(backend, source, bootstrap_port=slow.port)
        decode = fleet.decode(backend, target)
        slow.shut()
        receiver = decode.receiver(slow.address, 7)
        receiver.init()
        dst = pages(4, 5)
        receiver.send_metadata(dst, aux_index=3)
        dst[:] = 0
        slow.open()
        sender = prefill.sender(7)
        sender.init(2, aux_index=1)
        wait_until(lambda: sender.poll() is not KVPoll.Bootstrapping, "metadata")
        sender.send(pages(1, 2))
        assert settled(sender, receiver) == [KVPoll.Success] * 2
        assert (target.kv[0][[4, 5]] == source.kv[0][[1, 2]]).all()


class Slow:
    """A bootstrap server behind a door that can be shut for a while; who waits there gets in."""

    def __init__(self) -> None:
        self._let_in = threading.Event()
        self._let_in.set()
        self._server = BootstrapServer("127.0.0.1", 0)
        self._door = Listener(self._pass)
        self.open, self.shut = self._let_in.set, self._let_in.clear

    @property
    def address(self) -> str:
        return self._door.address

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def _pass(self, connection: socket.socket) -> None:
        question = connection.recv(65_536)
        self._let_in.wait(20)
        with socket.create_connection(("127.0.0.1", self._server.port), timeout=5) as inner:
            inner.sendall(question)
            inner.settimeout(5)
            while answer := inner.recv(65_536):
                connection.sendall(answer)

    def close(self) -> None:
        self._let_in.set()
        self._door.close()
        self._server.close()


class TestFacts:
    """P7: what makes bytes mean something is compared before anything is handed over."""

    @pytest.mark.parametrize(
        ("theirs", "ours", "told"),
        [
            ({"kv_cache_dtype": "fp8_e4m3"}, {"kv_cache_dtype": "fp8_e5m2"},
             "kv_cache_dtype fp8_e5m2 here, fp8_e4m3"),
            ({"kv_cache_dtype": "bfloat16"}, {"kv_cache_dtype": "float16"},
             "kv_cache_dtype float16 here, bfloat16"),
            ({"kv_layout": "a"}, {"kv_layout": "b"}, "kv_layout b here, a"),
            ({"dsv41_spec_layout": {"x": 1, "y": 2}}, {"dsv41_spec_layout": {"x": 1, "y": 3}},
             "dsv41_spec_layout {'y': 3} here, {'y': 2}"),
            ({"page_size": 8}, {}, "page size 4 here, 8"),
        ],
        ids=lambda part: next(iter(part), "") if isinstance(part, dict) else "",
    )  # fmt: skip
    def test_p7_sides_that_differ_are_refused_on_both(
        self, fleet: Fleet, backend: str, theirs: dict[str, Any], ours: dict[str, Any], told: str
    ) -> None:
        prefill = fleet.prefill(backend, memory(1, **theirs))
        target = memory(2, **ours)
        decode = fleet.decode(backend, target)
        before = target.copy()
        sender = prefill.sender(7)
        receiver = asked(decode, prefill.bootstrap_address, 7)
        assert settled(receiver, sender) == [KVPoll.Failed] * 2
        assert receiver.failure_reason == f"{told} at {prefill.bootstrap_address}"
        assert sender.failure_reason == "aborted by the decode side"
        assert counter(decode, "sent", "KVArgsRegisterInfo") == 0
        assert not target.changed(before)

    def test_p7_another_allocation_policy_is_refused(self, fleet: Fleet, backend: str) -> None:
        prefill = fleet.prefill(backend, memory(1), decode_allocation_policy="prefill_complete")
        decode = fleet.decode(backend, memory(2))
        receiver = asked(decode, prefill.bootstrap_address, 7)
        assert settled(receiver) == [KVPoll.Failed]
        told = "decode_allocation_policy early here, prefill_complete at"
        assert str(receiver.failure_reason).startswith(told)

    @pytest.mark.parametrize(
        ("theirs", "ours"),
        [
            ({"kv_cache_dtype": "auto"}, {"kv_cache_dtype": "fp8_e5m2"}),
            ({"kv_cache_dtype": "fp8_e5m2"}, {}),
            ({"kv_cache_dtype": "bf16"}, {"kv_cache_dtype": "bfloat16"}),
            ({"kv_layout": "a"}, {}),
        ],
    )
    def test_p7_what_one_side_does_not_say_is_not_compared(
        self, fleet: Fleet, backend: str, theirs: dict[str, Any], ours: dict[str, Any]
    ) -> None:
        prefill = fleet.prefill(backend, memory(1, **theirs))
        decode = fleet.decode(backend, memory(2, **ours))
        hand_over(prefill, decode, 7, pages(1, 2), pages(4, 5))

    def test_p7_sizes_that_do_not_fit_are_told_to_prefill(self, fleet: Fleet, backend: str) -> None:
        server = fleet.server()
        sides = [
            fleet.prefill(backend, memory(n), bootstrap=server, parallel=place(tp=2, tp_rank=n))
            for n in range(2)
        ]
        decode = fleet.decode(backend, memory(9), parallel=place(tp=3, tp_rank=0))
        senders = [side.sender(7) for side in sides]
        receiver = asked(decode, server.address, 7)
        assert settled(receiver, *senders) == [KVPoll.Failed] * 3
        assert receiver.failure_reason == "decode TP 3 is no multiple of prefill TP 2"
