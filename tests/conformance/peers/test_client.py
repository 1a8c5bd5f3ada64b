"""The client against runners that misbehave: small programs that speak its protocol badly."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pdwire_conformance.peers.client import Peer
from pdwire_conformance.peers.errors import (
    InexpressibleError,
    PeerError,
    PeerUnavailable,
    RunnerError,
)

Start = Callable[..., Peer]

_PRELUDE = """
import json, os, sys, time
def requests():
    for line in sys.stdin:
        yield json.loads(line)
def reply(request, **answer):
    print(json.dumps({"id": request["id"], **answer}), flush=True)
def hello():
    request = next(asked)
    reply(request, backends={}, pid=os.getpid())
asked = requests()
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a peer whose runner is the given program; closed after the test."""
    started: list[Peer] = []

    def run(program: str, **deadlines: float) -> Peer:
        script = tmp_path / "runner.py"
        script.write_text(_PRELUDE + textwrap.dedent(program), encoding="utf-8")
        peer = Peer("9.9.9", command=[sys.executable, str(script)], **deadlines)
        started.append(peer)
        return peer.__enter__()

    yield run
    for peer in started:
        peer.close()


def test_answers_arrive_and_the_runner_is_gone_afterwards(start: Start) -> None:
    peer = start(
        """
        hello()
        for request in asked:
            reply(request, frames=[frame.upper().encode().hex() for frame in request["values"]])
        """
    )
    assert peer.encode("mooncake", "X", {"ab": 1, "c": 2}) == [b"AB", b"C"]
    pid = peer.hello()["pid"]
    peer.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(PeerUnavailable, match="not running"):
        peer.encode("mooncake", "X", {})


def test_a_runner_that_never_says_hello_is_given_up(start: Start) -> None:
    before = time.monotonic()
    with pytest.raises(PeerUnavailable, match=r"no answer within 0\.2 s"):
        start("time.sleep(60)", start_deadline_s=0.2)
    assert time.monotonic() - before < 30


def test_a_request_that_is_never_answered_ends_the_peer(start: Start) -> None:
    peer = start("hello()\nfor request in asked: time.sleep(60)", request_deadline_s=0.2)
    with pytest.raises(PeerUnavailable, match=r"no answer within 0\.2 s"):
        peer.encode("mooncake", "X", {})
    with pytest.raises(PeerUnavailable, match="not running"):
        peer.encode("mooncake", "X", {})


def test_a_runner_that_reads_nothing_meets_the_deadline_too(start: Start) -> None:
    peer = start("hello()\ntime.sleep(60)", request_deadline_s=0.2)
    with pytest.raises(PeerUnavailable, match="no answer"):
        peer.encode("mooncake", "X", {"much": "x" * 4_000_000})


def test_half_an_answer_is_no_answer(start: Start) -> None:
    peer = start(
        """
        hello()
        for request in asked:
            print('{"id":', end="", flush=True)
        """,
        request_deadline_s=0.3,
    )
    with pytest.raises(PeerUnavailable, match="no answer"):
        peer.encode("mooncake", "X", {})


def test_a_runner_that_dies_is_reported_with_its_last_words(start: Start) -> None:
    peer = start("hello()\nnext(asked)\nraise SystemExit('out of tea')")
    with pytest.raises(PeerUnavailable, match=r"ended with status 1 \(out of tea\)"):
        peer.encode("mooncake", "X", {})


@pytest.mark.parametrize(
    ("said", "told"),
    [("print('oops', flush=True)", "said no JSON"), ("reply({'id': 99})", "another request")],
)
def test_an_answer_that_is_none_ends_the_peer(start: Start, said: str, told: str) -> None:
    peer = start(f"hello()\nnext(asked)\n{said}\ntime.sleep(60)")
    with pytest.raises(PeerUnavailable, match=told):
        peer.encode("mooncake", "X", {})


_FAILING = """
hello()
for request in asked:
    error = {"type": request["message"], "text": "no", "where": request["backend"]}
    reply(request, error=error)
"""


def test_the_peer_s_faults_and_ours_are_told_apart(start: Start) -> None:
    peer = start(_FAILING)
    with pytest.raises(PeerError, match="IndexError: no") as theirs:
        peer.decode("peer", "IndexError", [b""])
    assert theirs.value.type == "IndexError"
    with pytest.raises(RunnerError, match="KeyError: no"):
        peer.decode("runner", "KeyError", [b""])
    with pytest.raises(InexpressibleError):
        peer.encode("runner", "InexpressibleError", {})
    with pytest.raises(PeerUnavailable):
        peer.encode("runner", "PeerUnavailable", {})


def test_a_batch_keeps_refusals_in_their_places(start: Start) -> None:
    peer = start(
        """
        hello()
        for request in asked:
            first, second, third = request["items"]
            assert first["frames"] == ["00ff"], first
            refused = {"type": "ValueError", "text": "bad", "where": "peer"}
            never = {"type": "InexpressibleError", "text": "never", "where": "runner"}
            reply(request, items=[{"values": {"a": 1}}, {"error": refused}, {"error": never}])
        """
    )
    one = {"op": "decode", "backend": "b", "message": "m", "frames": [b"\x00\xff"]}
    good, refused, never = peer.batch([one, one, one])
    assert good == {"a": 1}
    assert isinstance(refused, PeerError)
    assert refused.text == "bad"
    assert isinstance(never, InexpressibleError)


def test_a_large_request_and_a_large_answer_pass(start: Start) -> None:
    peer = start("hello()\nfor request in asked: reply(request, values=request['frames'])")
    frames = [bytes(1_000_000), b"\x01"]
    echoed = peer.decode("mooncake", "X", frames)
    assert [bytes.fromhex(frame) for frame in echoed] == frames


def test_settings_that_would_change_a_release_are_kept_from_it(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SGLANG_DISAGG_STAGING_BUFFER", "1")
    monkeypatch.setenv("MC_FORCE_TCP", "1")
    peer = start(
        """
        hello()
        for request in asked:
            reply(request, values={"seen": [n for n in os.environ if n.startswith(("SGL", "MC_"))]})
        """
    )
    assert peer.decode("mooncake", "X", []) == {"seen": []}
