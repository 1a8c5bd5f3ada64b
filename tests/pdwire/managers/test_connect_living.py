"""Ranks that are gone, servers that come back empty, DP ranks: field reports H4, H5, H6."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest
from tests.pdwire.bootstrap.raw_http import rank as entry
from tests.pdwire.managers.fleet import (
    Fleet,
    Manager,
    counter,
    found,
    hand_over,
    memory,
    pages,
    place,
    settled,
    wait_until,
)
from tests.pdwire.managers.silent import listening, silent

from pdwire.bootstrap.client import BootstrapClient, BootstrapError, Fault
from pdwire.bootstrap.server import BootstrapServer
from pdwire.managers.membership import proves_absence
from pdwire.managers.receiver import CommonKVReceiver
from pdwire.rooms import KVPoll

BEAT_S = 0.1
SOON_S = 10 * BEAT_S + 2
"""A few beats, and what two busy cores add."""


def asked(decode: Manager, address: str, room: int, **init: Any) -> CommonKVReceiver:  # noqa: ANN401
    receiver: CommonKVReceiver = decode.receiver(address, room)
    receiver.init(**init)
    receiver.send_metadata(pages(4, 5), aux_index=3)
    return receiver


def quick(fleet: Fleet) -> BootstrapServer:
    """A server that looks at its ranks often."""
    server = BootstrapServer("127.0.0.1", 0, probe_s=BEAT_S)
    fleet._stack.callback(server.close)
    return server


class TestRankGone:
    """H4: one of two prefill ranks is gone, its bootstrap server lives."""

    def test_h4_its_rooms_end_within_a_few_beats_and_others_go_on(
        self, fleet: Fleet, backend: str
    ) -> None:
        """The server is one of a release, as it were: it never takes anybody out."""
        server = BootstrapServer("127.0.0.1", 0, probe_s=60)
        fleet._stack.callback(server.close)
        ears = [fleet.ear() for _ in range(2)]
        for dp, ear in enumerate(ears):
            host, port = ear.endpoint
            BootstrapClient().register(
                server.address,
                entry(attn_dp_size=2, attn_dp_rank=dp, rank_ip=host, rank_port=port, page_size=4),
            )
        decode = fleet.decode(backend, memory(2), heartbeat_s=BEAT_S)
        sick, well = (asked(decode, server.address, n, prefill_dp_rank=n) for n in range(2))
        found(sick)
        found(well)
        host, port = ears[0].endpoint
        ears[0].close()
        begun = time.monotonic()
        assert settled(sick) == [KVPoll.Failed]
        assert time.monotonic() - begun < SOON_S
        told = f"the prefill rank at {host}:{port} does not answer: "
        assert str(sick.failure_reason).startswith(told)
        assert well.poll() is KVPoll.Transferring
        # The next room is not sent there: it ends as soon, and says why.
        begun = time.monotonic()
        later = asked(decode, server.address, 8, prefill_dp_rank=0)
        assert settled(later) == [KVPoll.Failed]
        assert time.monotonic() - begun < SOON_S + 2
        assert f"{host}:{port} is gone" in str(later.failure_reason)
        assert well.poll() is KVPoll.Transferring

    def test_h4_closing_takes_the_entry_out(self, fleet: Fleet, backend: str) -> None:
        server = fleet.server()
        ranks = [
            fleet.prefill(backend, memory(n), bootstrap=server, parallel=place(tp=2, tp_rank=n))
            for n in range(2)
        ]
        client = BootstrapClient()
        client.server_info(server.address)
        ranks[1].close()
        with pytest.raises(BootstrapError, match=r"503 1 of 2 .* tp 1 pp 0 has left") as caught:
            client.server_info(server.address)
        assert caught.value.fault is Fault.GONE
        with pytest.raises(BootstrapError, match="404 the rank dp 0 cp 0 tp 1 pp 0 has left"):
            client.rank_info(server.address, dp=0, cp=0, tp=1, pp=0)
        decode = fleet.decode(backend, memory(9))
        begun = time.monotonic()
        receiver = asked(decode, server.address, 7)
        assert settled(receiver) == [KVPoll.Failed]
        assert time.monotonic() - begun < SOON_S + 2
        assert "has left" in str(receiver.failure_reason)

    def test_h4_the_server_takes_out_a_rank_that_died(self, fleet: Fleet, backend: str) -> None:
        server = quick(fleet)
        prefill = fleet.prefill(backend, memory(1), bootstrap=server, heartbeat_s=60.0)
        client = BootstrapClient()
        assert client.server_info(server.address).attn_tp_size == 1
        prefill.loop.stop()  # as a process that was killed: nobody says goodbye

        def gone() -> bool:
            try:
                client.server_info(server.address)
            except BootstrapError as error:
                return "does not answer at" in str(error)
            return False

        wait_until(gone, "it is taken out")

    def test_h4_a_rank_that_comes_back_is_found(self, fleet: Fleet, backend: str) -> None:
        server = quick(fleet)
        source, target = memory(1), memory(2)
        decode = fleet.decode(backend, target, heartbeat_s=BEAT_S)
        first = fleet.prefill(backend, source, bootstrap=server)
        hand_over(first, decode, 1, pages(1, 2), pages(4, 5))
        first.close()
        failed = asked(decode, server.address, 2)
        assert settled(failed) == [KVPoll.Failed]
        again = fleet.prefill(backend, source, bootstrap=server)
        wait_until(lambda: goes_over(again, decode, server.address), "the new rank is found")


def goes_over(prefill: Manager, decode: Manager, address: str) -> bool:
    """One room; whether it went over."""
    receiver = asked(decode, address, 7)
    sender = prefill.sender(7)
    sender.init(2, aux_index=1)
    wait_until(
        lambda: sender.poll() is not KVPoll.Bootstrapping or receiver.poll() is KVPoll.Failed
    )
    sender.send(pages(1, 2)) if sender.poll() is KVPoll.WaitingForInput else sender.abort()
    ends = settled(sender, receiver)
    sender.clear()
    receiver.clear()
    return ends == [KVPoll.Success] * 2


class TestServerComesBack:
    """H5: the bootstrap server comes back empty on its port while prefill ranks live."""

    def test_h5_ranks_register_again(self, fleet: Fleet, backend: str) -> None:
        server = fleet.server()
        sources = [memory(n) for n in range(2)]
        ranks = [
            fleet.prefill(
                backend,
                sources[n],
                bootstrap_port=server.port,
                parallel=place(tp=2, tp_rank=n),
                heartbeat_s=BEAT_S,
            )
            for n in range(2)
        ]
        address, port = server.address, server.port
        server.close()
        again = BootstrapServer("127.0.0.1", port)
        fleet._stack.callback(again.close)

        def complete() -> bool:
            try:
                return BootstrapClient().server_info(address).attn_tp_size == 2
            except BootstrapError:
                return False

        wait_until(complete, "both have registered again")
        assert [counter(rank, "bootstrap", "rejoined") for rank in ranks] == [1, 1]
        decode = fleet.decode(backend, memory(9), parallel=place(tp=2, tp_rank=1))
        sender = ranks[1].sender(7)
        sender.init(2, aux_index=1)
        receiver = asked(decode, address, 7)
        wait_until(lambda: sender.poll() is KVPoll.WaitingForInput, "metadata")
        sender.send(pages(1, 2))
        assert settled(sender, receiver) == [KVPoll.Success] * 2

    def test_a_server_that_is_not_there_is_an_error_at_once(
        self, fleet: Fleet, backend: str
    ) -> None:
        begun = time.monotonic()
        with pytest.raises(BootstrapError, match="cannot be reached"):
            fleet.prefill(backend, memory(1), bootstrap_port=1)
        assert time.monotonic() - begun < 3


def test_h5_a_rank_that_waits_for_others_does_not_register_twice() -> None:
    """A release's server would count it twice, and call the side complete."""
    early = BootstrapError(
        "x/route: 503 Prefill server not fully registered yet (1 workers registered).",
        fault=Fault.EARLY,
        status=503,
    )
    assert not proves_absence(early, was_there=False, was_away=False)
    assert proves_absence(early, was_there=True, was_away=False)
    assert proves_absence(early, was_there=False, was_away=True)
    empty = BootstrapError("(0 workers registered).", fault=Fault.EARLY, status=503)
    assert proves_absence(empty, was_there=False, was_away=False)
    away = BootstrapError("cannot be reached", fault=Fault.EARLY)
    assert not proves_absence(away, was_there=True, was_away=True)


class TestDpRanks:
    """H6: which DP rank serves a room."""

    def sides(self, fleet: Fleet, backend: str, **config: Any) -> tuple[list[Manager], Manager]:  # noqa: ANN401
        self.sources, self.target = [memory(1), memory(2)], memory(9)
        server = fleet.server()
        ranks = [
            fleet.prefill(
                backend,
                source,
                bootstrap=server,
                parallel=place(attn_dp_size=2, attn_dp_rank=n),
                **config,
            )
            for n, source in enumerate(self.sources)
        ]
        return ranks, fleet.decode(backend, self.target)

    def one(self, rank: Manager, decode: Manager, room: int, **init: Any) -> None:  # noqa: ANN401
        receiver = asked(decode, rank.bootstrap_address, room, **init)
        sender = rank.sender(room)
        sender.init(2, aux_index=1)
        wait_until(lambda: sender.poll() is KVPoll.WaitingForInput, "metadata")
        sender.send(pages(1, 2))
        assert settled(sender, receiver) == [KVPoll.Success] * 2

    def test_h6_the_room_modulo_the_size(self, fleet: Fleet, backend: str) -> None:
        ranks, decode = self.sides(fleet, backend)
        for room in (6, 7, 8, 9):
            self.one(ranks[room % 2], decode, room)
            moved = self.sources[room % 2].kv[0][[1, 2]]
            np.testing.assert_array_equal(self.target.kv[0][[4, 5]], moved)

    def test_h6_or_what_the_prefill_side_says_of_each_room(
        self, fleet: Fleet, backend: str
    ) -> None:
        ranks, decode = self.sides(fleet, backend, load_balance_method="round_robin")
        for room in (6, 7):
            self.one(ranks[1], decode, room)
        self.one(ranks[0], decode, 9)

    def test_h6_a_rank_that_the_caller_names_wins(self, fleet: Fleet, backend: str) -> None:
        ranks, decode = self.sides(fleet, backend)
        self.one(ranks[0], decode, 7, prefill_dp_rank=0)

    def test_h6_a_rank_outside_the_size_is_refused(self, fleet: Fleet, backend: str) -> None:
        ranks, decode = self.sides(fleet, backend)
        receiver = asked(decode, ranks[0].bootstrap_address, 7, prefill_dp_rank=2)
        assert settled(receiver) == [KVPoll.Failed]
        assert "DP rank 2 is outside the DP size 2" in str(receiver.failure_reason)

    def test_h6_a_sender_waits_for_no_server(self, fleet: Fleet, backend: str) -> None:
        ranks, _ = self.sides(fleet, backend, load_balance_method="x", http_timeout_s=1.0)
        with listening(silent) as listener:
            begun = time.monotonic()
            senders = [ranks[0].sender(room, listener.address) for room in range(5)]
            assert time.monotonic() - begun < 0.5
            assert settled(*senders) == [KVPoll.Failed] * 5
            assert "no answer within 1 s" in str(senders[0].failure_reason)


def test_every_thread_of_a_sick_fleet_ends(fleet: Fleet, backend: str) -> None:
    server = quick(fleet)
    prefill = fleet.prefill(backend, memory(1), bootstrap=server, heartbeat_s=0.05)
    decode = fleet.decode(backend, memory(2), heartbeat_s=0.05)
    hand_over(prefill, decode, 7, pages(1, 2), pages(4, 5))
    rejoin = f"pdwire-{backend}-rejoin"
    wait_until(lambda: rejoin in {t.name for t in threading.enumerate()}, "it looks after itself")
    decode.close()
    prefill.close()
    server.close()
    assert [t.name for t in threading.enumerate() if t.name.startswith("pdwire-")] == []
