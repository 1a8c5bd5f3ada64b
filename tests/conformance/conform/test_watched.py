"""A testee in this process cannot hang the suite, nor leave Python with it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pdwire_conformance.conform.watched import Watched
from pdwire_conformance.testees.codec import CodecTestee
from pdwire_conformance.testees.inprocess import InProcess
from pdwire_conformance.testees.protocol import Hello, TesteeError

Make = Callable[..., Watched]
ASK = {"op": "decode", "backend": "mooncake", "release": "0.5.23", "message": "ABORT"}


class Mine(CodecTestee):
    """Does what its only frame says, and remembers in which thread."""

    def __init__(self, gate: threading.Event) -> None:
        self.gate = gate
        self.threads = {threading.current_thread().name}

    def hello(self) -> Hello:
        return Hello(
            name="mine",
            releases={"mooncake": ("0.5.23",)},
            messages={"mooncake": {"ABORT": ("decode",)}},
        )

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Any:  # noqa: ANN401
        del backend, release, message
        self.threads.add(threading.current_thread().name)
        if frames == [b"hang"]:
            self.gate.wait(60)
        if frames == [b"exit"]:
            raise SystemExit(4)
        return {"threads": sorted(self.threads)}

    def encode(self, *_: object) -> list[bytes]:
        return []


def threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "testee mine"]


def asked(*frames: bytes) -> list[dict[str, Any]]:
    return [{**ASK, "frames": [frame.hex()]} for frame in frames]


@pytest.fixture
def make() -> Iterator[Make]:
    """Watched testees; those that hang are let go at the end."""
    gate = threading.Event()

    def made(deadline_s: float = 30.0) -> Watched:
        return Watched(InProcess("mine", lambda: Mine(gate)), deadline_s)

    yield made
    gate.set()
    for each in threads():
        each.join(10)
    assert threads() == []


def test_it_lives_in_one_thread_from_making_to_end(make: Make) -> None:
    with make() as testee:
        assert testee.hello().name == "mine"
        answers = testee.ask(asked(b"", b""))
    assert answers == [{"values": {"threads": ["testee mine"]}}] * 2
    assert threads() == []


def test_a_deadline_that_is_missed_tells_which_request_and_keeps_what_came_before(
    make: Make,
) -> None:
    with make(0.2) as testee:
        with pytest.raises(TesteeError) as caught:
            testee.ask(asked(b"", b"hang", b""))
        assert caught.value.text == (
            "mine, asked to decode mooncake ABORT 0.5.23, gave no answer within 0.2 s"
        )
        assert len(caught.value.answers) == 1
        with pytest.raises(TesteeError, match="mine has ended"):
            testee.ask(asked(b""))
    with testee:
        assert len(testee.ask(asked(b""))) == 1


def test_leaving_python_is_a_breach_like_any_other(make: Make) -> None:
    with make() as testee, pytest.raises(TesteeError, match="left with status 4"):
        testee.ask(asked(b"exit"))


def test_what_its_end_raises_is_told(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def close(_: Mine) -> None:
        raise LookupError("no such handle")

    monkeypatch.setattr(Mine, "close", close)
    testee = make().__enter__()
    with pytest.raises(TesteeError, match="asked to end, raised LookupError: no such handle"):
        testee.__exit__(None, None, None)
    assert threads() == []


def test_one_that_cannot_be_made_leaves_no_thread() -> None:
    def broken() -> CodecTestee:
        raise SystemExit(2)

    with pytest.raises(TesteeError, match="asked to start, left with status 2"):
        Watched(InProcess("mine", broken), 30.0).__enter__()
    assert threads() == []
