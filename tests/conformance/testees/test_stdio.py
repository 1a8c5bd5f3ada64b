"""Testees that are processes: good ones, and ones that break the protocol."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pdwire_conformance.testees.protocol import PROTOCOL, Request, TesteeError
from pdwire_conformance.testees.stdio import Process

Program = Callable[..., Process]

_PRELUDE = f"""
import json, os, sys, time
HELLO = {{"protocol": "{PROTOCOL}", "name": "small", "version": str(os.getpid()),
         "roles": ["codec"],
         "backends": {{"mooncake": {{"releases": ["0.5.23"],
                                   "messages": {{"ABORT": ["decode"]}}}}}}}}
def say(request, **answer):
    print(json.dumps({{"id": request["id"], **answer}}), flush=True)
def requests():
    for line in sys.stdin:
        yield json.loads(line)
asked = requests()
"""
_DECODE: Request = {
    "op": "decode",
    "backend": "mooncake",
    "release": "0.5.23",
    "message": "ABORT",
    "frames": ["41"],
}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """A testee that runs the given program behind the prelude."""

    def make(text: str, **deadlines: float) -> Process:
        script = tmp_path / "testee.py"
        script.write_text(_PRELUDE + text, encoding="utf-8")
        return Process([sys.executable, str(script)], target="cmd:small", **deadlines)

    return make


_GOOD = """
for request in asked:
    match request["op"]:
        case "hello": say(request, hello=HELLO)
        case "decode": say(request, values={"room": int(request["frames"][0], 16)})
        case "stop":
            say(request)
            break
open(sys.argv[0] + ".stopped", "w").close()
"""


def test_answers_come_in_order_and_the_process_ends_politely(
    program: Program, tmp_path: Path
) -> None:
    with program(_GOOD) as testee:
        assert testee.hello().messages == {"mooncake": {"ABORT": ("decode",)}}
        told = testee.ask([_DECODE | {"frames": [f"{n:04x}"]} for n in range(300)])
        pid = int(testee.hello().version)
    assert [answer["values"]["room"] for answer in told] == list(range(300))
    assert (tmp_path / "testee.py.stopped").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


_HI = "say(next(asked), hello=HELLO)\n"
_THIRD = _HI + "say(next(asked), values={}); say(next(asked), values={}); request = next(asked)\n"
_BREACHES = {
    "dies": (_THIRD + "sys.exit('no more')", r"ended with status 1 \(it said: no more\)"),
    "hangs": (_THIRD + "time.sleep(60)", r"no answer within 0\.5 s"),
    "chatters": (_THIRD + "print('hm', flush=True)", r"expected one JSON object .*'hm'"),
    "other id": (_THIRD + "say({'id': 9}, values={})", "at /id: expected 4, came 9"),
    "no outcome": (_THIRD + "say(request)", "exactly one of values or error or skip"),
    "two outcomes": (_THIRD + "say(request, values={}, skip='x')", "values and skip"),
    "bad hex": (_THIRD + "say(request, values={'a': {'hex': 'F'}})", "at /values/a/hex"),
    "bad kind": (_THIRD + "say(request, error={'kind': 'bad', 'text': ''})", "at /error/kind"),
}


@pytest.mark.parametrize("name", _BREACHES)
def test_a_breach_is_pinpointed_and_the_answers_before_it_are_kept(
    program: Program, name: str
) -> None:
    text, told = _BREACHES[name]
    testee = program(text, deadline_s=0.5 if name == "hangs" else 30)
    with testee, pytest.raises(TesteeError, match=told) as caught:
        testee.ask([_DECODE] * 5)
    # What is said out of turn may belong to the answer before it.
    kept = 1 if name in {"chatters", "other id"} else 2
    assert list(caught.value.answers) == [{"values": {}}] * kept
    assert "cmd:small, asked to decode mooncake ABORT 0.5.23," in caught.value.text


@pytest.mark.parametrize(
    "after", ["print('bye', flush=True)", "say(request, values={})", "exit(3)"]
)
def test_what_comes_behind_the_last_answer_is_its_own_fault(program: Program, after: str) -> None:
    text = _HI + "say(next(asked), values={}); request = next(asked); say(request, values={})\n"
    with program(text + after) as testee, pytest.raises(TesteeError) as caught:
        testee.ask([_DECODE, _DECODE])
    assert list(caught.value.answers) == [{"values": {}}]


def test_after_a_breach_it_is_unusable_until_it_is_entered_again(program: Program) -> None:
    testee = program(
        _HI + "say(next(asked), values={}); say(next(asked), hello=HELLO)\nnext(asked)"
    )
    with testee:
        testee.ask([_DECODE])
        with pytest.raises(TesteeError):
            testee.ask([_DECODE])
    with pytest.raises(TesteeError, match="not running"):
        testee.ask([_DECODE])
    with testee:
        assert testee.ask([_DECODE]) == [{"values": {}}]


_HELLOS = {
    "time.sleep(60)": "no answer within",
    "say(next(asked), hello=HELLO | {'protocol': 'pdwire.testee/2'})": "at /hello/protocol",
    "say(next(asked), hello=HELLO | {'roles': ['coder']})": "at /hello/roles/0",
    "print('welcome', flush=True)": "welcome",
}


@pytest.mark.parametrize("text", _HELLOS)
def test_a_testee_that_says_no_proper_hello_is_not_started(program: Program, text: str) -> None:
    testee = program(text, start_deadline_s=0.5 if "sleep" in text else 30)
    with pytest.raises(TesteeError, match=_HELLOS[text]):
        testee.__enter__()


def test_a_command_that_is_not_there_is_named() -> None:
    with pytest.raises(TesteeError, match="cannot be started"):
        Process(shlex.split("/no-such-testee"), target="cmd:/no-such-testee").__enter__()
