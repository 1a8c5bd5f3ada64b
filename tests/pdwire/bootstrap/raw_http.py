"""Raw HTTP for tests: requests of any content, and servers that misbehave on purpose."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pdwire.wire import layout
from pdwire.wire.bootstrap import RoutePut

PREFILL = RoutePut(
    attn_tp_size=1,
    attn_tp_rank=0,
    attn_cp_size=1,
    attn_cp_rank=0,
    attn_dp_size=1,
    attn_dp_rank=0,
    pp_size=1,
    pp_rank=0,
    system_dp_size=1,
    system_dp_rank=0,
    rank_ip="10.0.0.1",
    rank_port=7000,
    page_size=16,
    kv_cache_dtype="bfloat16",
)


def rank(**facts: object) -> RoutePut:
    """A registration of the only prefill rank, with some facts replaced."""
    return replace(PREFILL, **facts)  # type: ignore[arg-type]  # fields of the message


def body(message: str, value: object, release: str = "0.5.23") -> bytes:
    """The body that a release sends."""
    [frame] = layout("mooncake", message, release=release).encode(value)
    return frame


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    text: str


@dataclass(frozen=True, slots=True)
class Raw:
    """Requests to a port of this machine."""

    port: int

    def __call__(self, method: str, path: str, content: bytes = b"") -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request(method, path, content)
            answer = connection.getresponse()
            return Answer(answer.status, answer.read().decode())
        finally:
            connection.close()

    def line(self, sent: bytes) -> bytes:
        """What comes back for bytes that may be no HTTP at all."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            return connection.recv(65_536)


@contextmanager
def misbehaving(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """The address of a server that does ``answer`` with its one connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(10)
                connection.recv(65_536)
                answer(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        host, port = listener.getsockname()
        yield f"{host}:{port}"
        thread.join(10)
        assert not thread.is_alive()
