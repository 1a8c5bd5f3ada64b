"""The testee in JavaScript: it passes the whole suite, and the suite sees what is changed in it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pdwire_conformance.conform.judge import judge, request_of, unasked
from pdwire_conformance.proof.draw import draw_message
from pdwire_conformance.proof.spec import messages_of
from pdwire_conformance.suite.case import Case, Role
from pdwire_conformance.suite.load import cases
from pdwire_conformance.testees.find import find_testee
from pdwire_conformance.testees.protocol import Answer, Request
from pdwire_conformance.testees.stdio import Process

_TESTEE = Path(__file__).parents[3] / "examples" / "node" / "testee.mjs"
_SPEC = str(files("pdwire.wire") / "spec.json")
_NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(_NODE is None, reason="Node.js is not installed")


def _process(script: Path) -> Process:
    assert _NODE is not None
    return Process([_NODE, str(script), _SPEC], target="cmd:node")


def _verdicts(testee: Process, suite: Iterable[Case]) -> tuple[Counter[str], set[str]]:
    """How many were judged or skipped, and the slugs that failed."""
    told, failed = Counter[str](), set[str]()
    asked = [case for case in suite if not unasked(case, testee.hello())]
    answers = testee.ask([request_of(case, case.releases[-1]) for case in asked])
    for case, answer in zip(asked, answers, strict=True):
        judgement = judge(case, answer, testee.hello())
        told["skipped" if judgement.skip else "judged"] += 1
        if not judgement.ok and not judgement.skip:
            failed.add(case.slug)
    return told, failed


def test_it_passes_every_case_that_it_can_be_asked() -> None:
    suite = [case for case in cases() if case.role is Role.CODEC]
    with _process(_TESTEE) as testee:
        told, failed = _verdicts(testee, suite)
    assert not failed
    assert told["judged"] > 5000
    assert not told["skipped"]


def test_it_is_short_enough_to_be_read_and_stands_on_nothing_but_node() -> None:
    text = _TESTEE.read_text("utf-8")
    assert len(text.splitlines()) < 300
    assert max(map(len, text.splitlines())) <= 120
    imported = {line.rpartition(" from ")[2] for line in text.splitlines() if " from " in line}
    modules = {each.strip('";') for each in imported if each.endswith('";')}
    assert modules == {"node:fs", "node:net", "node:readline"}


_BROKEN = {
    # what: (text in it, text in its place, the case that sees it)
    "length": ('"readUInt32BE"', '"readUInt32LE"', "mooncake/AUX_DATA/r1/plain"),
    "sign": ('"readInt32LE"', '"readUInt32LE"', "mooncake/TransferInfo/r3/largest"),
    "zeros": ("(?:0|-?[1-9][0-9]{0,19})", "-?[0-9]{1,20}", "nixl/TransferInfo/r5/frame-0-zeros"),
    "doubles": ('integer":"${token}"', 'integer":"${+token}"', "mooncake/ABORT/r2/largest-encode"),
}


@pytest.mark.parametrize("what", _BROKEN)
def test_a_change_in_it_is_seen_by_name(what: str, tmp_path: Path) -> None:
    old, new, slug = _BROKEN[what]
    text = _TESTEE.read_text("utf-8")
    assert old in text
    script = tmp_path / "testee.mjs"
    script.write_text(text.replace(old, new, 1), encoding="utf-8")
    chosen = [case for case in cases() if case.slug == slug]
    assert chosen, f"no case {slug}"
    with _process(script) as testee:
        _, failed = _verdicts(testee, chosen)
    assert failed == {slug}


def _mutated(frames: list[str], rng: Random) -> list[str]:
    """The frames with one fault: one lost, doubled, cut, changed, or two swapped."""
    raws = [bytearray.fromhex(frame) for frame in frames]
    n = rng.randrange(len(raws))
    match rng.randrange(6):
        case 0:
            del raws[n]
        case 1:
            raws.insert(n, rng.choice(raws))
        case 2:
            raws[n] = raws[n][:-1]
        case 3:
            raws[n] += rng.choice([b"\0", b" ", b"0", b"\xff"])
        case 4:
            m = rng.randrange(len(raws))
            raws[n], raws[m] = raws[m], raws[n]
        case 5 if raws[n]:
            raws[n][rng.randrange(len(raws[n]))] = rng.randrange(256)
    return [bytes(raw).hex() for raw in raws]


def _outcome(answer: Answer) -> Any:  # noqa: ANN401 - whatever was answered
    """What both must say alike: values, frames, messages, or that there is an error."""
    return "refused" if "error" in answer else answer


def test_it_reads_what_ours_reads_of_a_thousand_faulty_messages() -> None:
    rng = Random(11)  # noqa: S311  # a seed, not a secret
    asked: list[Request] = []
    with find_testee("pdwire") as ours, _process(_TESTEE) as node:
        for release in ("0.5.6", "0.5.12", "0.5.18", "0.5.23"):
            for backend, messages in node.hello().messages.items():
                for message, layout in messages_of(backend, release):
                    if message["name"] not in messages:
                        continue
                    base = {"backend": backend, "release": release, "message": message["name"]}
                    for _ in range(8):
                        values = draw_message(message, layout, rng)
                        (sent,) = ours.ask([{"op": "encode", **base, "values": values}])
                        for _ in range(3):
                            frames = _mutated(sent["frames"], rng)
                            asked.append({"op": "decode", **base, "frames": frames})
        assert len(asked) > 1000
        both = zip(ours.ask(asked), node.ask(asked), asked, strict=True)
        differing = [each for each in both if _outcome(each[0]) != _outcome(each[1])]
    assert not differing, differing[0]


def test_the_validator_finds_nothing() -> None:
    words = [sys.executable, "-m", "pdwire.cli", "testee", "check", "--", str(_NODE)]
    done = subprocess.run(
        [*words, str(_TESTEE), _SPEC], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout
