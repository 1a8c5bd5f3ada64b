"""What a manager binds and what it tells peers (O1), and how much it takes from them (A13)."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest
import zmq
from tests.pdwire.managers.fleet import (
    Fleet,
    Pair,
    alive,
    counter,
    hand_over,
    memory,
    pages,
    settled,
    wait_until,
    with_limits,
)

from pdwire.bootstrap.server import BootstrapServer
from pdwire.managers import ManagerConfig
from pdwire.managers.loop import MAX_FRAME_BYTES
from pdwire.rooms import KVPoll

EVERYWHERE = ["0.0.0.0", "::", "[::]", "*", ""]  # noqa: S104


class TestAnnounced:
    """Field report O1."""

    @pytest.mark.parametrize("host", EVERYWHERE)
    def test_o1_every_interface_is_refused_as_an_address(self, host: str) -> None:
        with pytest.raises(ValueError, match=r"announce_host='10\.0\.0\.2'"):
            ManagerConfig(host=host)
        with pytest.raises(ValueError, match="give the one by which peers reach this rank"):
            ManagerConfig(announce_host=host)

    @pytest.mark.parametrize("host", ["0.0.0.0", "*", ""])  # noqa: S104
    def test_o1_what_is_bound_and_what_is_told_are_two_things(
        self, fleet: Fleet, backend: str, host: str
    ) -> None:
        source, target = memory(1), memory(2)
        place: dict[str, Any] = {"host": host, "announce_host": "127.0.0.1"}
        prefill = fleet.prefill(backend, source, bootstrap_host=host, **place)
        decode = fleet.decode(backend, target, **place)
        assert prefill.endpoint == ("127.0.0.1", prefill.loop.port)
        assert prefill.bootstrap is not None
        assert prefill.bootstrap_address == f"127.0.0.1:{prefill.bootstrap.port}"
        entry = decode.client.rank_info(prefill.bootstrap_address, dp=0, cp=0, tp=0, pp=0)
        assert (entry.rank_ip, entry.rank_port) == prefill.endpoint
        assert decode.registration_facts()["endpoint"] == "127.0.0.1"
        assert decode.metadata_facts(7, 1, is_dummy=False)["endpoint"] == "127.0.0.1"
        hand_over(prefill, decode, 7, pages(1, 2), pages(4, 5))
        assert (target.kv[0][[4, 5]] == source.kv[0][[1, 2]]).all()

    def test_o1_a_server_of_every_interface_is_reached_where_the_rank_is(
        self, fleet: Fleet, backend: str
    ) -> None:
        server = BootstrapServer("0.0.0.0")  # noqa: S104
        fleet._stack.callback(server.close)
        prefill = fleet.prefill(backend, memory(1), bootstrap=server)
        assert prefill.bootstrap_address == f"127.0.0.1:{server.port}"
        hand_over(prefill, fleet.decode(backend, memory(2)), 7, pages(1, 2), pages(4, 5))

    def test_o1_a_name_is_bound_and_told(
        self, fleet: Fleet, backend: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        really = socket.getaddrinfo

        def answer(host: str, *args: object, **facts: object) -> object:
            return really("127.0.0.1" if host == "rank-3" else host, *args, **facts)  # type: ignore[arg-type]

        monkeypatch.setattr(socket, "getaddrinfo", answer)
        prefill = fleet.prefill(backend, memory(1), host="rank-3")
        decode = fleet.decode(backend, memory(2), host="localhost")
        assert prefill.endpoint[0] == "rank-3"
        assert decode.endpoint[0] == "localhost"
        hand_over(prefill, decode, 7, pages(1, 2), pages(4, 5))

    @pytest.mark.parametrize("host", ["::1", "[::1]"])
    def test_o1_ipv6_with_and_without_brackets(self, fleet: Fleet, backend: str, host: str) -> None:
        try:
            with socket.create_server(("::1", 0), family=socket.AF_INET6):
                pass
        except OSError:
            pytest.skip("this machine has no IPv6 loopback")
        prefill = fleet.prefill(backend, memory(1), host=host)
        decode = fleet.decode(backend, memory(2), host=host)
        assert prefill.endpoint[0] == decode.endpoint[0] == "::1"
        hand_over(prefill, decode, 7, pages(1, 2), pages(4, 5))


class TestLargeFrames:
    """Field report A13."""

    def test_a13_the_limit_fits_the_largest_request(self, fleet: Fleet) -> None:
        tokens = 10 << 20  # the longest context that a release serves, a page a token
        decode = fleet.decode("mooncake", memory(2))
        assert 4 * tokens <= MAX_FRAME_BYTES == decode.config.max_frame_bytes
        assert decode.loop._socket.getsockopt(zmq.MAXMSGSIZE) == MAX_FRAME_BYTES

    def test_a13_who_sends_a_huge_frame_is_cut_off_and_memory_stays_flat(self, pair: Pair) -> None:
        size = 512 << 20
        hand_over(pair.prefill, pair.decode, 1, pages(1, 2), pages(4, 5))
        before = resident()
        for victim in (pair.prefill, pair.decode):
            with socket.create_connection(victim.endpoint) as peer:
                shake_hands(peer)
                with pytest.raises(OSError):  # noqa: PT011  # reset, or a broken pipe
                    pour(peer, size)
            assert alive(victim)
        assert resident() - before < 64 << 20
        hand_over(pair.prefill, pair.decode, 2, pages(1, 2), pages(4, 5))

    def test_a13_the_limit_is_the_users_and_what_fits_is_taken(
        self, fleet: Fleet, backend: str
    ) -> None:
        prefill = fleet.prefill(backend, memory(1), max_frame_bytes=1 << 20)
        good, bad = fleet.ear(), fleet.ear()
        good.say(prefill.endpoint, [bytes(1 << 20)])
        wait_until(lambda: counter(prefill, "dropped") == 1)
        bad.say(prefill.endpoint, [bytes((1 << 20) + 1)])
        good.say(prefill.endpoint, [b"x"])
        wait_until(lambda: counter(prefill, "dropped") == 2)
        assert set(prefill.counters.snapshot()["dropped"]) == {"UnknownMessageError"}

    def test_a13_many_frames_are_dropped_with_a_count(self, fleet: Fleet, backend: str) -> None:
        prefill = fleet.prefill(backend, memory(1), max_frame_bytes=1 << 20)
        decode = fleet.decode(backend, memory(2))
        ear = fleet.ear()
        ear.say(prefill.endpoint, [b"x"] * 5_000)
        ear.say(prefill.endpoint, [bytes(1 << 20)] * 3)
        wait_until(lambda: counter(prefill, "dropped") == 2)
        assert prefill.counters.snapshot()["dropped"] == {
            "too-many-frames": 1,
            "too-many-bytes": 1,
        }
        hand_over(prefill, decode, 7, pages(1, 2), pages(4, 5))


def resident() -> int:
    """Bytes of this process in memory."""
    held = Path("/proc/self/statm").read_text().split()[1]
    return int(held) * os.sysconf("SC_PAGE_SIZE")


def shake_hands(peer: socket.socket) -> None:
    """Be a PUSH socket of ZMTP 3.0 without security."""
    peer.settimeout(20)
    peer.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32))
    ready = b"\x05READY\x0bSocket-Type\x00\x00\x00\x04PUSH"
    peer.sendall(b"\x04" + bytes([len(ready)]) + ready)
    came = 0
    while came < 64:
        came += len(peer.recv(4096))


def pour(peer: socket.socket, size: int) -> None:
    """Send one long frame until the other side hangs up."""
    peer.sendall(b"\x02" + size.to_bytes(8, "big"))
    block = bytes(1 << 20)
    for _ in range(size >> 20):
        peer.sendall(block)


class TestUnreachable:
    """Who takes no metadata fails its room with the reason, long before the room's own deadline."""

    def test_a3_metadata_that_is_not_taken_fails_the_room_and_the_next_one_registers_again(
        self, fleet: Fleet, backend: str
    ) -> None:
        decode = fleet.decode(backend, memory(2), limits=with_limits(waiting_s=1.0))
        [prefill] = fleet.played_prefill(decode)
        receiver = decode.receiver(prefill.address, 1)
        receiver.init()
        wait_until(lambda: counter(decode, "sent", "KVArgsRegisterInfo") == 1)
        prefill.ear.close()
        place = prefill.ear.endpoint
        wait_until(lambda: not decode.outbox._peers.lines[place].takes(), "it is noticed")
        receiver.send_metadata(pages(4, 5), aux_index=3)
        assert settled(receiver) == [KVPoll.Failed]
        told = f"TransferInfo did not reach tcp://127.0.0.1:{place[1]}: nobody takes it"
        assert receiver.failure_reason == told
        assert counter(decode, "undelivered", "TransferInfo") == 1
        assert decode.decode_side()._lines == {}
