"""Every route of a running server, with what belongs there and what does not."""

from __future__ import annotations

import json
import socket
import threading

import pytest
from tests.pdwire.bootstrap.raw_http import Raw, body, rank

from pdwire.bootstrap.client import BootstrapClient
from pdwire.bootstrap.server import BootstrapServer
from pdwire.wire.bootstrap import QueryDpRanks, RegisterDpRank, RouteGet

ALL = "prefill_dp_rank=-1&prefill_cp_rank=-1&target_tp_rank=-1&target_pp_rank=-1"
ONE = "prefill_dp_rank=0&prefill_cp_rank=0&target_tp_rank=0&target_pp_rank=0"


def put(raw: Raw, **facts: object) -> tuple[int, str]:
    answer = raw("PUT", "/route", body("ROUTE_PUT", rank(**facts)))
    return answer.status, answer.text


def test_health(raw: Raw) -> None:
    answer = raw("GET", "/health")
    assert (answer.status, answer.text) == (200, "OK")


def test_a_rank_registers_and_is_found(raw: Raw) -> None:
    assert put(raw) == (200, "OK")
    answer = raw("GET", f"/route?{ONE}")
    assert answer.status == 200
    assert json.loads(answer.text) == {"rank_ip": "10.0.0.1", "rank_port": 7000}


def test_the_prefill_side_is_told_without_what_goes_without_saying(raw: Raw) -> None:
    put(raw, attn_tp_size=2, load_balance_method="round_robin")
    put(raw, attn_tp_size=2, attn_tp_rank=1)
    answer = raw("GET", f"/route?{ALL}")
    assert answer.status == 200
    told = json.loads(answer.text)
    assert told["attn_tp_size"] == 2
    assert told["page_size"] == 16
    assert told["kv_cache_dtype"] == "bfloat16"
    assert told["follow_bootstrap_room"] is False
    assert "kv_layout" not in told
    assert "dsv41_spec_layout" not in told


def test_an_unknown_rank_is_404(raw: Raw) -> None:
    put(raw)
    answer = raw("GET", f"/route?{ONE.replace('target_tp_rank=0', 'target_tp_rank=5')}")
    assert answer.status == 404
    assert answer.text == "no rank with dp 0 cp 0 tp 5 pp 0"


@pytest.mark.parametrize("query", [ALL, ONE])
def test_before_every_rank_has_registered_it_is_503(raw: Raw, query: str) -> None:
    answer = raw("GET", f"/route?{query}")
    assert (answer.status, answer.text) == (503, "no prefill rank has registered yet")
    put(raw, attn_tp_size=2, pp_size=2)
    answer = raw("GET", f"/route?{query}")
    assert (answer.status, answer.text) == (503, "1 of 4 prefill ranks have registered")


def test_a_rank_that_registers_again_replaces_itself_and_counts_once(raw: Raw) -> None:
    put(raw, attn_tp_size=2)
    put(raw, attn_tp_size=2, rank_port=7001)
    assert raw("GET", f"/route?{ONE}").status == 503
    put(raw, attn_tp_size=2, attn_tp_rank=1)
    assert json.loads(raw("GET", f"/route?{ONE}").text)["rank_port"] == 7001


def test_a_rank_that_contradicts_the_first_is_refused(raw: Raw) -> None:
    put(raw, attn_tp_size=2)
    status, text = put(raw, attn_tp_size=4, attn_tp_rank=3)
    assert status == 400
    assert text == "attn_tp_size: this rank says 4, the first rank said 2"


def test_dp_ranks_of_rooms(raw: Raw) -> None:
    for room, dp_rank in ((7, 1), (8, 0), (7, 3)):
        said = body("REGISTER_DP_RANK", RegisterDpRank(bootstrap_room=room, dp_rank=dp_rank))
        assert raw("POST", "/register_dp_rank", said).status == 200
    asked = body("QUERY_DP_RANKS", QueryDpRanks(bootstrap_rooms=(7, 8, 9)))
    answer = raw("POST", "/query_dp_ranks", asked)
    assert json.loads(answer.text) == {"7": 3, "8": 0}


BAD_BODIES = [
    b"",
    b"{",
    b"null",
    b"[]",
    b'"text"',
    b"\xff\xfe\x80",
    b"{}",
    b'{"bootstrap_room": "x", "dp_rank": 0, "bootstrap_rooms": "7"}',
    b'{"bootstrap_room": -1, "dp_rank": -1, "bootstrap_rooms": [-1]}',
    b'{"bootstrap_room": 1e400, "dp_rank": NaN, "bootstrap_rooms": [1.5]}',
    b'{"bootstrap_room": ' + b"9" * 10_000 + b', "bootstrap_rooms": [' + b"9" * 10_000 + b"]}",
    b"[" * 100_000,
    b'{"attn_tp_size": ' * 5_000,
    b"\x80\x05\x95",
]


@pytest.mark.parametrize("content", BAD_BODIES, ids=lambda content: repr(content[:24]))
@pytest.mark.parametrize(
    ("method", "path"),
    [("PUT", "/route"), ("POST", "/register_dp_rank"), ("POST", "/query_dp_ranks")],
)
def test_a_bad_body_is_400_and_says_what_was_expected(
    raw: Raw, method: str, path: str, content: bytes
) -> None:
    answer = raw(method, path, content)
    assert answer.status == 400
    assert "expected" in answer.text
    assert len(answer.text) < 1000
    assert raw("GET", "/health").status == 200


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?",
        "?x=1",
        "?prefill_dp_rank=0",
        f"?{ONE.replace('=0', '=')}",
        f"?{ONE.replace('=0', '=x')}",
        f"?{ONE.replace('=0', '=%30x')}",
        f"?{ONE.replace('=0', '=%ff%fe')}",
        f"?{ONE.replace('=0', '=%00')}",
        f"?{ONE.replace('=0', '=' + '9' * 500)}",
        "?" + "&".join(f"k{n}=1" for n in range(400)),
        "?%zz=%",
    ],
)
def test_a_bad_query_is_400(raw: Raw, query: str) -> None:
    answer = raw("GET", f"/route{query}")
    assert answer.status == 400
    assert "expected" in answer.text


@pytest.mark.parametrize(
    "query", [ONE.replace("=0", "=%30"), ONE + "&more=1", "&".join(reversed(ONE.split("&")))]
)
def test_a_query_may_be_spelled_otherwise(raw: Raw, query: str) -> None:
    put(raw)
    assert raw("GET", f"/route?{query}").status == 200


def test_other_paths_and_methods_are_not_there(raw: Raw) -> None:
    assert raw("GET", "/nowhere").status == 404
    assert raw("DELETE", "/route").status == 405
    assert raw("GET", "/register_dp_rank").status == 405


def test_a_body_that_is_too_large_is_refused(raw: Raw) -> None:
    try:
        status = raw("PUT", "/route", b" " * (2 << 20)).status
    except ConnectionError:  # it may hang up before all of it is sent
        status = 413
    assert status == 413
    assert raw("GET", "/health").status == 200


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\x01\x02\x03\r\n\r\n",
        b"GET /route?\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /route?a=\xf0\x9f\x98\x80 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"PUT /route HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"PUT /route HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
        b"GET " + b"/" * 20_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
    ids=lambda sent: repr(sent[:24]),
)
def test_what_is_hardly_http_ends_nothing(raw: Raw, sent: bytes) -> None:
    heard = raw.line(sent)
    assert not heard or b" 4" in heard.split(b"\r\n")[0], heard[:200]
    assert raw("GET", "/health").status == 200


class TestReleases:
    """A fleet of several releases at one server."""

    def test_a_query_of_the_first_releases_is_answered_in_their_words(self, raw: Raw) -> None:
        put(raw)
        asked = RouteGet(prefill_dp_rank=0, target_tp_rank=0, target_pp_rank=0)
        query = body("ROUTE_GET", asked, "0.5.8").decode()
        assert "engine_rank" in query
        assert json.loads(raw("GET", f"/route?{query}").text)["rank_port"] == 7000
        asked = RouteGet(
            prefill_dp_rank=-1, target_tp_rank=-1, target_pp_rank=-1, asks_server_info=True
        )
        query = body("ROUTE_GET", asked, "0.5.8").decode()
        answer = raw("GET", f"/route?{query}")
        assert answer.status == 200
        assert json.loads(answer.text)["prefill_attn_tp_size"] == 1

    @pytest.mark.parametrize("release", ["0.5.6", "0.5.10", "0.5.16", "0.5.21", "0.5.23"])
    def test_clients_of_any_release_find_each_other(
        self, server: BootstrapServer, release: str
    ) -> None:
        client = BootstrapClient(release=release)
        said = rank() if release != "0.5.6" else rank(page_size=None, kv_cache_dtype=None)
        client.register(server.address, said)
        info = client.server_info(server.address)
        assert (info.attn_tp_size, info.dp_size, info.pp_size) == (1, 1, 1)
        found = client.rank_info(server.address, dp=0, cp=0, tp=0, pp=0)
        assert (found.rank_ip, found.rank_port) == ("10.0.0.1", 7000)


class TestEnd:
    """Starting and closing."""

    def test_closing_joins_the_thread_and_frees_the_port(self) -> None:
        server = BootstrapServer("127.0.0.1", 0)
        server.close()
        server.close()
        assert "pdwire-bootstrap" not in {t.name for t in threading.enumerate()}
        again = BootstrapServer("127.0.0.1", server.port)
        assert again.port == server.port
        again.close()

    def test_a_port_that_is_taken_is_an_error_and_leaves_nothing(
        self, server: BootstrapServer
    ) -> None:
        before = threading.active_count()
        with pytest.raises(OSError, match="in use"):
            BootstrapServer("127.0.0.1", server.port)
        assert threading.active_count() == before

    def test_closing_does_not_wait_for_clients(self) -> None:
        server = BootstrapServer("127.0.0.1", 0)
        idle = socket.create_connection(("127.0.0.1", server.port))
        half = socket.create_connection(("127.0.0.1", server.port))
        half.sendall(b"PUT /route HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        Raw(server.port)("GET", "/health")
        server.close()
        assert "pdwire-bootstrap" not in {t.name for t in threading.enumerate()}
        for connection in (idle, half):
            connection.close()

    def test_ipv6(self) -> None:
        try:
            server = BootstrapServer("::1", 0)
        except OSError:
            pytest.skip("this machine has no IPv6 loopback")
        try:
            assert server.address == f"[::1]:{server.port}"
            BootstrapClient().register(server.address, rank(rank_ip="::1"))
            found = BootstrapClient().rank_info(server.address, dp=0, cp=0, tp=0, pp=0)
            assert found.rank_ip == "::1"
        finally:
            server.close()
