"""Asking: one kind of error, and a deadline whatever the server does."""

from __future__ import annotations

import contextlib
import socket
import time

import pytest
from tests.pdwire.bootstrap.raw_http import misbehaving, rank

from pdwire.bootstrap.client import BootstrapClient, BootstrapError
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
