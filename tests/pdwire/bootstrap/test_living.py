"""Who lives decides: field reports A12 (PUT /route), A15 (the server), H4 (entries)."""

from __future__ import annotations

import logging
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import zmq
from tests.pdwire.bootstrap.raw_http import Answer, Raw, body, rank

from pdwire.bootstrap.client import BootstrapClient, BootstrapError
from pdwire.bootstrap.server import BootstrapServer
from pdwire.bootstrap.table import BootstrapTable, Refused

SOON_S = 10.0


@pytest.fixture
def server() -> Iterator[BootstrapServer]:
    running = BootstrapServer("127.0.0.1", 0, probe_s=0.1)
    yield running
    running.close()


@pytest.fixture
def living() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


class Rank:
    """A control socket that lives until it is closed."""

    def __init__(self, stack: ExitStack) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = self._context.socket(zmq.PULL)
        self.port = self._socket.bind_to_random_port("tcp://127.0.0.1")
        stack.callback(self.close)

    def close(self) -> None:
        self._context.destroy(linger=0)


def dead_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def put(raw: Raw, port: int, **facts: object) -> Answer:
    said = rank(rank_ip="127.0.0.1", rank_port=port, **facts)
    return raw("PUT", "/route", body("ROUTE_PUT", said))


def until(raw: Raw, path: str, status: int) -> Answer:
    ends = time.monotonic() + SOON_S
    while (answer := raw("GET", path)).status != status:
        assert time.monotonic() < ends, answer
        threading.Event().wait(0.02)
    return answer


ONE = "/route?prefill_dp_rank=0&prefill_cp_rank=0&target_tp_rank=0&target_pp_rank=0"
ALL = "/route?prefill_dp_rank=-1&prefill_cp_rank=-1&target_tp_rank=-1&target_pp_rank=-1"


class TestStrangers:
    """A12: what a stranger registers does not outlast ranks that live."""

    @pytest.mark.parametrize(
        "sizes",
        [
            {"attn_tp_size": 1_000_000},
            {"pp_size": 1_000_000},
            {"attn_cp_size": 70_000},
            {"attn_dp_size": 2**31 - 1},
            {"attn_tp_size": 300, "pp_size": 300},
        ],
        ids=" ".join,
    )
    def test_a12_sizes_that_no_fleet_has_are_refused(
        self, raw: Raw, living: ExitStack, sizes: dict[str, int]
    ) -> None:
        answer = put(raw, Rank(living).port, **sizes)
        assert answer.status == 400
        assert "more than 65536 prefill ranks" in answer.text
        assert put(raw, Rank(living).port).status == 200
        assert raw("GET", ALL).status == 200

    @pytest.mark.parametrize(
        "lie", [{"attn_tp_size": 1000}, {"page_size": 1}, {"kv_cache_dtype": "fp8"}], ids=str
    )
    def test_a12_a_size_that_no_living_rank_confirms_is_given_up(
        self, raw: Raw, living: ExitStack, lie: dict[str, object]
    ) -> None:
        assert put(raw, dead_port(), **lie).status == 200
        real = Rank(living)
        assert put(raw, real.port).status == 200
        assert f'"rank_port":{real.port}' in raw("GET", ONE).text.replace(" ", "")

    def test_a12_a_contradiction_of_a_rank_that_lives_is_refused(
        self, raw: Raw, living: ExitStack
    ) -> None:
        assert put(raw, Rank(living).port).status == 200
        answer = put(raw, Rank(living).port, attn_tp_size=2, attn_tp_rank=1)
        assert (answer.status, answer.text) == (
            400,
            "attn_tp_size: this rank says 2, the first rank said 1",
        )
        assert raw("GET", ALL).status == 200

    def test_a12_a_contradiction_of_ranks_that_nobody_hears_needs_one_that_lives(
        self, raw: Raw
    ) -> None:
        """Ranks may be hidden from this machine: only who lives settles it anew."""
        assert put(raw, dead_port()).status == 200
        assert put(raw, dead_port(), attn_tp_size=2, attn_tp_rank=1).status == 400

    def test_a12_the_place_of_a_rank_that_lives_is_not_given_away(
        self, raw: Raw, living: ExitStack
    ) -> None:
        first, second = Rank(living), Rank(living)
        assert put(raw, first.port).status == 200
        for port in (second.port, dead_port()):
            answer = put(raw, port)
            told = f"the rank dp 0 cp 0 tp 0 pp 0 lives at 127.0.0.1:{first.port}"
            assert (answer.status, answer.text) == (409, told)
        assert f":{first.port}" in raw("GET", ONE).text.replace(" ", "")
        first.close()
        assert put(raw, second.port).status == 200  # a restart on a new port
        assert f":{second.port}" in raw("GET", ONE).text.replace(" ", "")

    def test_the_same_rank_again_changes_nothing(self, raw: Raw, living: ExitStack) -> None:
        port = Rank(living).port
        for _ in range(3):
            assert put(raw, port).status == 200
        assert raw("GET", ALL).status == 200


class TestEntries:
    """H4: a rank that is gone is noticed, and its entry with it."""

    def test_h4_a_rank_that_died_is_taken_out(self, raw: Raw, living: ExitStack) -> None:
        ranks = [Rank(living) for _ in range(2)]
        for n, each in enumerate(ranks):
            put(raw, each.port, attn_tp_size=2, attn_tp_rank=n)
        assert raw("GET", ALL).status == 200
        ranks[1].close()
        answer = until(raw, ALL, 503)
        place = "the rank dp 0 cp 0 tp 1 pp 0"
        told = f"{place} does not answer at 127.0.0.1:{ranks[1].port}"
        assert answer.text == f"1 of 2 prefill ranks have registered; {told}"
        again = raw("GET", ONE.replace("target_tp_rank=0", "target_tp_rank=1"))
        assert (again.status, again.text) == (404, told)
        put(raw, Rank(living).port, attn_tp_size=2, attn_tp_rank=1)
        assert raw("GET", ALL).status == 200

    def test_one_that_never_answered_stays(self, raw: Raw) -> None:
        put(raw, dead_port())
        threading.Event().wait(1.0)  # ten looks
        assert raw("GET", ALL).status == 200

    def test_another_prefill_side_may_follow_the_last_rank(
        self, raw: Raw, living: ExitStack
    ) -> None:
        one = Rank(living)
        put(raw, one.port)
        until(raw, ALL, 200)
        said = rank(rank_ip="127.0.0.1", rank_port=one.port)
        assert raw("POST", "/leave", body("ROUTE_PUT", said)).status == 200
        assert raw("GET", ALL).text.endswith("the rank dp 0 cp 0 tp 0 pp 0 has left")
        assert put(raw, Rank(living).port, attn_tp_size=2).status == 200
        assert raw("GET", ALL).text == "1 of 2 prefill ranks have registered"

    def test_nobody_leaves_for_another(self, raw: Raw, living: ExitStack) -> None:
        put(raw, Rank(living).port)
        said = rank(rank_ip="127.0.0.1", rank_port=dead_port())
        assert raw("POST", "/leave", body("ROUTE_PUT", said)).status == 200
        assert raw("GET", ALL).status == 200

    def test_misses_in_a_row_count_and_only_after_an_answer(self) -> None:
        table = BootstrapTable()
        table.register(rank())
        place, where = (0, 0, 0, 0), ("10.0.0.1", 7000)
        told = [table.heard(place, where, answers=False) for _ in range(9)]
        assert told == [False] * 9
        for answers in (True, False, False, True, False, False):
            assert not table.heard(place, where, answers=answers)
        assert not table.heard(place, ("10.0.0.1", 7001), answers=False)  # of the one before
        assert table.heard(place, where, answers=False)
        with pytest.raises(Refused, match=r"does not answer at 10\.0\.0\.1:7000"):
            table.rank_info(0, 0, 0, 0)


class TestServer:
    """A15: the server's half."""

    @pytest.mark.parametrize("host", ["::1", "[::1]"])
    def test_a15_an_ipv6_host_with_or_without_brackets(self, host: str) -> None:
        try:
            server = BootstrapServer(host, 0)
        except OSError:
            pytest.skip("this machine has no IPv6 loopback")
        try:
            assert server.address == f"[::1]:{server.port}"
            assert BootstrapClient().healthy(server.address)
        finally:
            server.close()

    @pytest.mark.parametrize("how", ["closes", "resets", "no http", "bad chunk"])
    def test_a15_clients_that_leave_in_mid_body_cost_a_line(
        self, server: BootstrapServer, raw: Raw, caplog: pytest.LogCaptureFixture, how: str
    ) -> None:
        caplog.set_level(logging.DEBUG)
        begun = b"PUT /route HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"
        sent = {
            "no http": b"\x00\xff\r\n\r\n",
            "bad chunk": b"PUT /route HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        }.get(how, begun)
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(sent)
            raw("GET", "/health")  # it has been read
            if how == "resets":
                linger = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        ends = time.monotonic() + SOON_S
        while not (said := [r for r in caplog.records if r.name.startswith("pdwire")]):
            assert time.monotonic() < ends, caplog.records
            raw("GET", "/health")
        assert len(said) == 1
        assert not any(record.exc_info for record in caplog.records)
        assert "\n" not in said[0].getMessage()

    def test_a15_noting_dp_ranks_takes_constant_time(self) -> None:
        table = BootstrapTable(most_rooms=50_000)

        def note(rooms: range) -> float:
            begun = time.process_time()
            for room in rooms:
                table.note_dp_rank(room, room % 8)
            return time.process_time() - begun

        first = note(range(50_000))
        later = note(range(50_000, 150_000)) / 2
        assert later < 5 * first + 0.05  # 45 times as long it was
        assert len(table.dp_ranks(tuple(range(150_000)))) == 50_000


def test_a_silent_rank_does_not_hold_up_the_server(raw: Raw) -> None:
    """Looks at ranks stand beside the questions of clients."""
    with socket.create_server(("127.0.0.1", 0), backlog=1) as listener:
        port = listener.getsockname()[1]
        clog = [socket.socket() for _ in range(8)]  # nobody accepts: connections time out
        for each in clog:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))
        put(raw, port)
        begun = time.monotonic()
        for _ in range(20):
            assert raw("GET", "/health").status == 200
        assert time.monotonic() - begun < 2
        for each in clog:
            each.close()


def test_a_question_to_a_server_that_is_gone_says_where(client: BootstrapClient) -> None:
    port = dead_port()
    with pytest.raises(BootstrapError, match=f"127.0.0.1:{port}: cannot be reached"):
        client.server_info(f"127.0.0.1:{port}")
