"""Asking: one kind of error, and a deadline whatever the server does."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

import pytest
from tests.pdwire.bootstrap.raw_http import misbehaving, rank

from pdwire.bootstrap.client import BootstrapClient, BootstrapError, Fault
from pdwire.bootstrap.server import BootstrapServer

OK = b"HTTP/1.1 200 OK\r\nContent-Length: "


def test_everything_that_a_client_asks(server: BootstrapServer, client: BootstrapClient) -> None:
    for tp in (0, 1):
        client.register(server.address, rank(attn_tp_size=2, attn_tp_rank=tp, rank_port=7000 + tp))
    info = client.server_info(server.address)
    assert (info.attn_tp_size, info.page_size, info.kv_cache_dtype) == (2, 16, "bfloat16")
    assert client.rank_info(server.address, dp=0, cp=0, tp=1, pp=0).rank_port == 7001
    client.register_dp_rank(server.address, 7, 3)
    assert client.query_dp_ranks(server.address, (7, 8)) == {7: 3}
    assert client.healthy(server.address)


def test_a_refusal_says_why(server: BootstrapServer, client: BootstrapClient) -> None:
    with pytest.raises(BootstrapError, match="503 no prefill rank has registered yet"):
        client.server_info(server.address)
    client.register(server.address, rank())
    with pytest.raises(BootstrapError, match="404 no rank with dp 0 cp 0 tp 9 pp 0"):
        client.rank_info(server.address, dp=0, cp=0, tp=9, pp=0)


def test_nobody_there(client: BootstrapClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    with pytest.raises(BootstrapError, match=address):
        client.server_info(address)
    assert not client.healthy(address)


@pytest.mark.parametrize("address", ["", "no port", "127.0.0.1:0", "127.0.0.1:70000", "[::1:5"])
def test_an_address_that_is_none(client: BootstrapClient, address: str) -> None:
    with pytest.raises(BootstrapError):
        client.server_info(address)


def silent(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.recv(1)  # until the client gives up


def trickling(connection: socket.socket) -> None:
    """A byte now and then: every read is in time, the whole never is."""
    with contextlib.suppress(OSError):
        connection.sendall(OK + b"1000000\r\n\r\n")
        connection.settimeout(0.05)
        while True:
            connection.sendall(b" ")
            with contextlib.suppress(TimeoutError):
                if not connection.recv(1):
                    return


def endless(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        while True:
            connection.sendall(b" " * 65_536)


def no_http(connection: socket.socket) -> None:
    connection.sendall(b"\x00\xff\xfe\r\n\r\n")


def closing(connection: socket.socket) -> None:
    connection.sendall(OK + b"50\r\n\r\n{")


def text(content: bytes) -> bytes:
    return OK + b"%d\r\n\r\n%s" % (len(content), content)


def no_json(connection: socket.socket) -> None:
    connection.sendall(text(b"<html>"))


def lacks_a_key(connection: socket.socket) -> None:
    connection.sendall(text(b'{"attn_tp_size": 2}'))


def wrong_type(connection: socket.socket) -> None:
    connection.sendall(text(b'{"attn_tp_size": "two", "dp_size": 1, "pp_size": 1}'))


@pytest.mark.parametrize(
    "server",
    [silent, trickling, endless, no_http, closing, no_json, lacks_a_key, wrong_type],
    ids=lambda server: server.__name__,
)
def test_whatever_a_server_does_it_is_one_error_in_time(server: object) -> None:
    assert callable(server)
    client = BootstrapClient(timeout_s=0.3)
    with misbehaving(server) as address:
        begun = time.monotonic()
        with pytest.raises(BootstrapError, match=address):
            client.server_info(address)
        assert time.monotonic() - begun < 3


def dripping(connection: socket.socket) -> None:
    """A header line now and then, for ever."""
    with contextlib.suppress(OSError):
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        connection.settimeout(0.05)
        while True:
            connection.sendall(b"X: drip\r\n")
            with contextlib.suppress(TimeoutError):
                if not connection.recv(1):
                    return


def dripping_bytes(connection: socket.socket) -> None:
    """A status line that never ends, a byte at a time."""
    with contextlib.suppress(OSError):
        connection.settimeout(0.05)
        while True:
            connection.sendall(b"H")
            with contextlib.suppress(TimeoutError):
                if not connection.recv(1):
                    return


def endless_head(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            connection.sendall(b"X: y\r\n" * 1000)


def continuing(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)


@pytest.mark.parametrize(
    "server",
    [dripping, dripping_bytes, endless_head, continuing],
    ids=lambda server: server.__name__,
)
def test_a7_one_deadline_over_the_whole_exchange(server: object) -> None:
    assert callable(server)
    client = BootstrapClient(timeout_s=0.4)
    with misbehaving(server) as address:
        begun = time.monotonic()
        with pytest.raises(BootstrapError, match=address):
            client.server_info(address)
        assert time.monotonic() - begun < 1.5


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("", "has no port"),
        ("host", "has no port"),
        ("[::1", "the port is not a number|in brackets|has no port"),
        ("h:x", "the port is not a number"),
        ("h:", "the port is not a number"),
        ("h:0", "the port is not in 1..65535"),
        ("h:65536", "the port is not in 1..65535"),
        ("h:\u0661", "the port is not a number"),
        (":1", "has no host"),
        ("a..b:1", "'' is no part of a host name"),
        (".a:1", "'' is no part of a host name"),
        ("user@host:1", "'user@host' is no part of a host name"),
        ("user:password@host:1", "in brackets"),
        ("host/path:1", "'host/path' is no part of a host name"),
        ("host:1/path", "the port is not a number"),
        ("h\r\nX-Y: z:1", "in brackets"),
        ("h x:1", "'h x' is no part of a host name"),
        ("::1:1", "in brackets"),
        ("[::g]:1", "'g'"),
        ("\xe4.example:1", "is no part of a host name"),
        ("a" * 64 + ":1", "is no part of a host name"),
        ("a." * 127 + "a:1", "more than 253 characters"),
    ],
)
def test_a7_what_is_wrong_with_an_address_is_said(
    client: BootstrapClient, address: str, told: str
) -> None:
    begun = time.monotonic()
    with pytest.raises(BootstrapError, match=told) as caught:
        client.server_info(address)
    assert caught.value.fault is Fault.REFUSED
    assert time.monotonic() - begun < 0.5


def test_a7_a_name_server_that_is_slow_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread per name, however often it is asked; no caller waits beyond its deadline."""
    gate = threading.Event()
    real = socket.getaddrinfo

    def slow(host: str, *args: object, **facts: object) -> object:
        if host.endswith(".slow"):
            gate.wait(20)
        return real("127.0.0.1" if host.endswith(".slow") else host, *args, **facts)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    client = BootstrapClient(timeout_s=0.2)
    try:
        for _ in range(5):
            begun = time.monotonic()
            with pytest.raises(BootstrapError, match=r"no answer within 0\.2 s") as caught:
                client.server_info("a.slow:1")
            assert caught.value.fault is Fault.SILENT
            assert time.monotonic() - begun < 1
        names = [t.name for t in threading.enumerate() if t.name.startswith("pdwire-name")]
        assert names == ["pdwire-name-a.slow"]
    finally:
        gate.set()


def test_chunked_and_delimited_answers_are_read(client: BootstrapClient) -> None:
    """Servers of other makes frame their answers otherwise."""
    info = b'{"attn_tp_size":1,"attn_cp_size":1,"dp_size":1,"pp_size":1,"page_size":4,'
    info += b'"kv_cache_dtype":"auto","follow_bootstrap_room":true}'
    head = b"HTTP/1.1 200 OK\r\n"

    def chunked(connection: socket.socket) -> None:
        parts = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in (info[:20], info[20:]))
        connection.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n" + parts + b"0\r\n\r\n")
        connection.recv(1)  # it stays open

    def delimited(connection: socket.socket) -> None:
        connection.sendall(head + b"\r\n" + info)

    for answer in (chunked, delimited):
        with misbehaving(answer) as address:
            assert client.server_info(address).page_size == 4
