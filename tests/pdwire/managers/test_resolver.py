"""Names are asked for by a few threads, once at a time, and remembered (field report A1)."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.pdwire.managers.fleet import wait_until

from pdwire.managers import resolver as module
from pdwire.managers.endpoints import is_host, is_unspecified, numeric
from pdwire.managers.resolver import Resolver, Unknown


class Server:
    """A name server that answers when it is let."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.asked: list[str] = []
        self.answers: dict[str, list[str]] = {}

    def __call__(self, host: str) -> list[str]:
        self.asked.append(host)
        self.gate.wait()
        if host not in self.answers:
            raise socket.gaierror(-2, "Name or service not known")
        return self.answers[host]


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


@pytest.fixture
def server(stack: ExitStack) -> Server:
    made = Server()
    stack.callback(made.gate.set)
    return made


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def resolver(stack: ExitStack, server: Server, told: list[str]) -> Resolver:
    made = Resolver("pdwire-test-names", told.append, lookup=server, threads=2)
    stack.callback(made.close, 5.0)
    stack.callback(server.gate.set)
    return made


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("10.0.0.2", "10.0.0.2"),
        ("[::1]", "::1"),
        ("fe80::1%eth0", "fe80::1%eth0"),
        ("localhost", "127.0.0.1"),
        ("decode-3", None),
        ("1.2.3", None),
    ],
)
def test_what_is_an_address_needs_nobody(host: str, expected: str | None) -> None:
    assert numeric(host) == expected


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "[::]", "*", "", "::ffff:0.0.0.0", "0"])  # noqa: S104
def test_spellings_of_every_interface(host: str) -> None:
    assert is_unspecified(host)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "decode-3", "10.0.0.0"])
def test_what_is_one_interface(host: str) -> None:
    assert not is_unspecified(host)
    assert is_host(host)


def test_whoever_asks_does_not_wait_and_a_name_is_asked_for_once(
    resolver: Resolver, server: Server, told: list[str]
) -> None:
    server.answers["a.slow"] = ["10.0.0.7"]
    assert [resolver.ask("a.slow") for _ in range(100)] == [None] * 100
    assert resolver.known("a.slow") is None
    server.gate.set()
    wait_until(lambda: told == ["a.slow"])
    assert resolver.ask("a.slow") == resolver.known("a.slow") == "10.0.0.7"
    assert server.asked == ["a.slow"]


def test_that_there_is_none_is_remembered_too_but_not_for_long(
    resolver: Resolver, server: Server, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SOUR_S", 60.0)
    server.gate.set()
    assert resolver.ask("nobody") is None
    wait_until(lambda: told)
    found = resolver.ask("nobody")
    assert isinstance(found, Unknown)
    assert "the name nobody is not known" in found.reason
    assert server.asked == ["nobody"]
    monkeypatch.setattr(module, "_SOUR_S", 0.0)
    assert resolver.ask("other") is None
    wait_until(lambda: "other" in told)
    server.answers["other"] = ["10.0.0.8"]
    wait_until(lambda: resolver.ask("other") == "10.0.0.8")


def test_an_old_answer_is_used_while_it_is_asked_for_again(
    resolver: Resolver, server: Server, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_FRESH_S", 0.0)
    server.answers["moves"] = ["10.0.0.7"]
    server.gate.set()
    resolver.ask("moves")
    wait_until(lambda: told)
    server.answers["moves"] = ["10.0.0.8"]
    server.gate.clear()
    assert resolver.ask("moves") == "10.0.0.7"
    server.gate.set()
    wait_until(lambda: resolver.ask("moves") == "10.0.0.8")


def test_threads_are_few_and_end(resolver: Resolver, server: Server) -> None:
    for n in range(50):
        resolver.ask(f"n{n}")
    names = [t.name for t in threading.enumerate() if t.name.startswith("pdwire-test-names")]
    assert sorted(names) == ["pdwire-test-names-0", "pdwire-test-names-1"]
    server.gate.set()
    resolver.close(5.0)
    assert not [t for t in threading.enumerate() if t.name.startswith("pdwire-test-names")]


def test_questions_are_bounded(
    resolver: Resolver, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST", 3)
    found = [resolver.ask(f"n{n}") for n in range(4)]
    assert found[:3] == [None] * 3
    assert found[3] == Unknown("too many names are being asked for")
    server.gate.set()


def test_an_odd_answer_is_no_address(resolver: Resolver, server: Server, told: list[str]) -> None:
    server.answers["odd"] = ["not an address"]
    server.gate.set()
    resolver.ask("odd")
    wait_until(lambda: told)
    assert resolver.ask("odd") == Unknown("the name odd has no address")


def test_the_system_is_asked_by_default_and_ipv4_comes_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def answer(*_: object, **__: object) -> list[tuple[object, ...]]:
        return [
            (socket.AF_INET6, 1, 6, "", ("::7", 0, 0, 0)),
            (socket.AF_INET, 1, 6, "", ("10.0.0.7", 0)),
        ]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    assert module.addresses_of("both") == ["10.0.0.7", "::7"]
