# ruff: noqa: ANN401, ARG001 - adapters keep the signature that the runner calls

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from pdwire_conformance.peers import runner as runner_module
from pdwire_conformance.peers.errors import DroppedError, InexpressibleError, Unavailable
from pdwire_conformance.peers.loader import LoadedRelease, load
from pdwire_conformance.peers.registry import Decoder, Encoder
from pdwire_conformance.peers.runner import Runner, serve
from pdwire_conformance.peers.standins import StandIn

from .conftest import Tree

pytestmark = pytest.mark.usefixtures("loaded")

_CONN = """
calls = 0
def encode(values):
    global calls
    calls += 1
    return [str(values["room"]).encode("ascii")]
def decode(frames):
    return int(frames[0].decode("ascii"))
def careless(holder):
    return holder.missing
"""


@pytest.fixture
def release(tree: Tree) -> LoadedRelease:
    return load("9.9.9", tree({"conn.py": _CONN}))


@pytest.fixture
def runner(release: LoadedRelease, monkeypatch: pytest.MonkeyPatch) -> Runner:
    def encoder(peer: LoadedRelease) -> Encoder:
        conn = peer.module("conn")

        def prepare(values: Any) -> Any:
            if values["room"] is None:
                raise InexpressibleError("every message has a room")
            return lambda: conn.encode(values)

        return Encoder(prepare=prepare)

    def decoder(peer: LoadedRelease) -> Decoder:
        conn = peer.module("conn")

        def read(room: int) -> dict[str, int]:
            if room == 13:
                raise DroppedError("the peer ignored it")
            return {"room": room}

        return Decoder(prepare=lambda frames: lambda: conn.decode(frames), read=read)

    def careless(peer: LoadedRelease) -> Decoder:
        conn = peer.module("conn")
        return Decoder(prepare=lambda _: lambda: conn.careless(StandIn()), read=dict)

    def absent(peer: LoadedRelease) -> Decoder:
        raise Unavailable("9.9.9 has no such message")

    def broken(peer: LoadedRelease) -> Decoder:
        raise KeyError("ours")

    table = {
        ("b", "M", "encode"): encoder,
        ("b", "M", "decode"): decoder,
        ("b", "CARELESS", "decode"): careless,
        ("b", "ABSENT", "decode"): absent,
        ("b", "BROKEN", "decode"): broken,
    }
    monkeypatch.setattr(runner_module, "registered", lambda: table)
    return Runner(release, "f00d")


def _ask(runner: Runner, op: str, message: str = "M", **more: Any) -> dict[str, Any]:
    return runner.answer({"id": 1, "op": op, "backend": "b", "message": message, **more})


def test_hello_says_what_works_and_why_the_rest_does_not(runner: Runner) -> None:
    answer = _ask(runner, "hello")
    assert answer["release"] == "9.9.9"
    assert answer["wheel"] == "f00d"
    assert answer["backends"] == {"b": {"encode": ["M"], "decode": ["M", "CARELESS"]}}
    why = {each["message"]: each["why"] for each in answer["unavailable"]}
    assert why == {
        "ABSENT": "9.9.9 has no such message",
        "BROKEN": "runner fault: KeyError: 'ours'",
    }


def test_values_become_frames_and_frames_values(runner: Runner) -> None:
    assert _ask(runner, "encode", values={"room": 7}) == {"id": 1, "frames": ["37"]}
    assert _ask(runner, "decode", frames=["37"]) == {"id": 1, "values": {"room": 7}}


@pytest.mark.parametrize(
    ("op", "message", "given", "type_", "where"),
    [
        ("decode", "M", {"frames": ["78"]}, "ValueError", "peer"),
        ("decode", "M", {"frames": []}, "IndexError", "peer"),
        ("decode", "M", {"frames": ["3133"]}, "DroppedError", "peer"),
        ("decode", "M", {"frames": ["zz"]}, "ValueError", "runner"),
        ("decode", "CARELESS", {"frames": []}, "StandInGapError", "runner"),
        ("decode", "ABSENT", {"frames": []}, "Unavailable", "runner"),
        ("encode", "M", {"values": {"room": None}}, "InexpressibleError", "runner"),
        ("encode", "M", {"values": {}}, "KeyError", "runner"),
        ("shout", "M", {}, "KeyError", "runner"),
    ],
)
def test_a_failure_names_its_side(
    runner: Runner, op: str, message: str, given: dict[str, Any], type_: str, where: str
) -> None:
    error = _ask(runner, op, message, **given)["error"]
    assert (error["type"], error["where"]) == (type_, where)


def test_a_batch_answers_each_item(runner: Runner) -> None:
    items = [
        {"op": "decode", "backend": "b", "message": "M", "frames": [frame]}
        for frame in ("37", "78", "38")
    ]
    answers = _ask(runner, "batch", items=items)["items"]
    assert [answer.get("values") for answer in answers] == [{"room": 7}, None, {"room": 8}]


def test_a_bench_calls_the_real_code_so_many_times(runner: Runner, release: LoadedRelease) -> None:
    conn = release.module("conn")
    assert _ask(runner, "bench", values={"room": 7}, number=10)["seconds"] > 0
    assert conn.calls == 11  # one to warm up


def test_a_line_that_is_no_request_is_answered_and_the_next_one_served(runner: Runner) -> None:
    answers = io.StringIO()
    hello = json.dumps({"id": 5, "op": "hello"})
    serve(runner, io.StringIO(f"not json\n[]\n{hello}\n"), answers)
    first, second, third = map(json.loads, answers.getvalue().splitlines())
    assert first["error"]["where"] == second["error"]["where"] == "runner"
    assert third["id"] == 5
