"""The validator: a small good testee passes, and each way to break the protocol is pinpointed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pdwire_conformance.testees.check import Finding, Unstartable, as_json, check
from pdwire_conformance.testees.checks import CHECKS
from pdwire_conformance.testees.protocol import PROTOCOL

Checked = Callable[..., list[Finding]]
_ROOT = Path(__file__).parents[3]
_SCHEMA = _ROOT / "docs" / "schema" / "testee-check.schema.json"

# A whole testee of one message, WATERMARK; each fault below replaces one piece of it.
_GOOD = f"""
import json, sys
MESSAGES = {{"WATERMARK": ["decode", "encode"]}}
BACKENDS = {{"mooncake": {{"releases": ["0.5.23"], "messages": MESSAGES}}}}
HELLO = {{"protocol": "{PROTOCOL}", "name": "small", "roles": ["codec"], "backends": BACKENDS}}
NAMES = ["round", "tail", "session_id"]
def decode(frames):
    if len(frames) != 4 or frames[0] != b"WATERMARK":
        return {{"error": {{"kind": "other", "text": "no WATERMARK"}}}}
    return {{"values": {{"round": int(frames[1]), "tail": int(frames[2]),
                       "session_id": frames[3].decode()}}}}
def encode(values):
    told = [b"WATERMARK", *(str(values[name]).encode() for name in NAMES)]
    return {{"frames": [frame.hex() for frame in told]}}
def answer(request):
    op = request["op"]
    if op == "hello": return {{"hello": HELLO}}
    if op == "stop": return {{}}
    if op not in ("decode", "encode"):
        return {{"skip": "what is that?"}}
    if request["backend"] != "mooncake" or request["message"] not in MESSAGES:
        return {{"skip": "not mine"}}
    if request["release"] != "0.5.23": return {{"skip": "not mine"}}
    if op == "encode": return encode(request["values"])
    return decode([bytes.fromhex(frame) for frame in request["frames"]])
def say(told):
    print(json.dumps(told), flush=True)
def one(line):
    try:
        request = json.loads(line)
        op = request["op"]
    except Exception as fault:
        return say({{"id": None, "error": {{"kind": "other", "text": str(fault)}}}})
    say({{"id": request["id"], **answer(request)}})
    if op == "stop": sys.exit(0)
for line in sys.stdin.buffer:
    one(line)
"""


@pytest.fixture
def checked(tmp_path: Path) -> Checked:
    """What the validator finds in the good testee with one piece replaced."""

    def run(old: str = "", new: str = "", **deadlines: float) -> list[Finding]:
        assert old in _GOOD
        script = tmp_path / "testee.py"
        script.write_text(_GOOD.replace(old, new) if old else _GOOD, encoding="utf-8")
        limits = {"start_s": 30.0, "deadline_s": 30.0} | deadlines
        return list(check([sys.executable, str(script)], **limits))

    return run


def test_a_good_testee_passes_every_check(checked: Checked) -> None:
    found = checked()
    assert [finding.check for finding in found] == ["hello", *(each.name for each in CHECKS)]
    assert not [breach for finding in found for breach in finding.breaches]
    assert next(each.saw for each in found if each.check == "integers") == "2 numbers beyond 2^53"


_FAULTS: dict[str, tuple[str, str, str, str]] = {
    # what: (piece, its replacement, the check that finds it, what it says)
    "no hello": ('return {"hello": HELLO}', 'return {"values": {}}', "hello", "only hello"),
    "another version": (f'"{PROTOCOL}"', '"pdwire.testee/9"', "hello", "at /hello/protocol"),
    "a banner": ("def say(told):", "print('hi', flush=True)\ndef say(told):", "hello", "'hi'"),
    "a backend there is not": ('{"mooncake": {', '{"vllm": {', "claims", "at /hello/backends/vllm"),
    "a release there is not": ('["0.5.23"]', '["0.5.23", "9"]', "claims", "/releases/1"),
    "a message there is not": ("MESSAGES = {", 'MESSAGES = {"X": [], ', "claims", "/messages/X"),
    "a missing field": ('{"round": int(frames[1]), ', "{", "decode", "no round"),
    "a field there is not": ('{"round":', '{"rounds": 1, "round":', "decode", "at /values/rounds"),
    "no such kind": (
        '"kind": "other", "text": "no W',
        '"kind": "bad", "text": "no W',
        "refuses",
        "",
    ),
    "upper-case hex": ("[frame.hex() for", "[frame.hex().upper() for", "encode", "at /frames/0"),
    "rounded integers": ("int(frames[1])", "int(float(frames[1]))", "integers", "at /values/round"),
    "dies on garbage": (
        "if len(frames) != 4",
        "if not frames: sys.exit(7)\n    if len(frames) != 4",
        "refuses",
        "ended with status 7",
    ),
    "dies on no JSON": (
        "except Exception as fault:",
        "except KeyError as fault:",
        "malformed",
        "ended with status 1",
    ),
    "silent on no JSON": ("        return say(", "        return (", "malformed", "no answer"),
    "recognises as values": (
        'return {"skip": "what is that?"}',
        'return {"values": {}}',
        "recognise",
        "only recognised or error or skip",
    ),
    "dances": ('if op == "stop"', 'if op in ("stop", "dance")', "strange", "no such thing"),
    "says hello once": (
        'if op == "hello": return {"hello": HELLO}',
        'if op == "hello" and request["id"] == 1: return {"hello": HELLO}',
        "hello-again",
        "only hello",
    ),
    "takes any release": (
        'return {"skip": "not mine"}\n    if op',
        "pass\n    if op",
        "strange",
        "no such thing",
    ),
    "another id": (
        'say({"id": request["id"],',
        'say({"id": request["id"] // 9 * 9,',
        "hello",
        "at /id: expected 1, came 0",
    ),
    "two answers": (
        '    if op == "stop": sys.exit(0)',
        "    say({'id': 1})",
        "decode",
        "something unasked",
    ),
    "fails at stop": ("sys.exit(0)", "sys.exit(5)", "stop", "exit status 5"),
    "stays at stop": ("sys.exit(0)", "return", "stop", ""),
    "talks after stop": ("sys.exit(0)", "say({}); sys.exit(0)", "stop", "nothing after the answer"),
    "stays without input": (
        "    one(line)\n",
        "    one(line)\nimport time; time.sleep(60)\n",
        "end-of-input",
        "still running",
    ),
    "hangs": (
        "def decode(frames):",
        "def decode(frames):\n    import time; time.sleep(60)",
        "decode",
        "no answer within",
    ),
}


@pytest.mark.parametrize("what", _FAULTS)
def test_a_breach_is_found_where_it_is(checked: Checked, what: str) -> None:
    old, new, name, told = _FAULTS[what]
    waits = what in {"silent on no JSON", "hangs", "stays at stop", "stays without input"}
    found = checked(old, new, **({"deadline_s": 1.5} if waits else {}))
    texts = {each.check: [str(breach.fault) for breach in each.breaches] for each in found}
    assert texts[name], texts
    # A second answer is seen as surplus when it comes with the first, else as the next one's.
    words = {told, "expected 2, came 1"} if what == "two answers" else {told}
    assert any(word in text for text in texts[name] for word in words), texts[name]
    before = [each.check for each in found].index(name)
    assert not any(each.breaches for each in found[:before]), texts


_REORDERED = """
import os
rest = b""
while chunk := os.read(0, 1 << 20):
    *lines, rest = (rest + chunk).split(b"\\n")
    for line in reversed(lines):
        one(line)
"""


def test_reordered_answers_are_told_from_missing_ones(tmp_path: Path) -> None:
    # It answers what comes at once from the end, so only a check that pipelines can see it.
    script = tmp_path / "testee.py"
    text = _GOOD.replace("for line in sys.stdin.buffer:\n    one(line)\n", _REORDERED)
    script.write_text(text, encoding="utf-8")
    found = list(check([sys.executable, str(script)], start_s=30, deadline_s=30))
    (bad,) = [finding for finding in found if finding.breaches]
    assert bad.check == "pipelined"
    assert "reordered" in bad.breaches[0].fault.came


def test_a_command_that_is_not_there_cannot_be_checked() -> None:
    with pytest.raises(Unstartable, match="cannot be started"):
        list(check(["/no-such-testee"], start_s=1, deadline_s=1))


def _told(*words: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "pdwire.cli", "testee", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


def test_the_json_is_as_published(checked: Checked) -> None:
    schema = json.loads(_SCHEMA.read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    for found in (checked(), checked("[frame.hex() for", "[frame.hex().upper() for")):
        told: dict[str, Any] = as_json(["./mine"], found)
        Draft202012Validator(schema).validate(json.loads(json.dumps(told)))
        assert told["ok"] is not any(finding.breaches for finding in found)


def test_the_command_tells_and_exits_1_on_a_breach(tmp_path: Path) -> None:
    script = tmp_path / "testee.py"
    script.write_text(_GOOD.replace("int(frames[1])", "float(frames[1])"), encoding="utf-8")
    status, told, said = _told("check", "--", sys.executable, str(script))
    assert (status, said) == (1, "")
    assert "at /values/round" in told
    assert "read and write JSON integers exactly" in told
    assert told.splitlines()[-1] == "The protocol is broken in integers."
    assert max(map(len, told.splitlines())) <= 100


def test_what_we_serve_keeps_the_protocol() -> None:
    words = ("check", "--format", "json", "--", sys.executable, "-m", "pdwire.cli", "testee")
    status, told, _ = _told(*words, "serve", "pdwire")
    assert status == 0, told
    assert json.loads(told)["ok"] is True


def test_usage_is_told_with_status_2() -> None:
    status, _, said = _told("serve", "nobody")
    assert status == 2
    assert "no testee 'nobody'" in said
    assert _told("check", "--", "/no-such-testee")[0] == 2


def test_the_schemas_and_the_spec_are_printed() -> None:
    assert json.loads(_told("schema", "answer")[1])["title"].startswith("An answer")
    assert json.loads(_told("spec")[1])["schema"] == "pdwire.spec/1"
