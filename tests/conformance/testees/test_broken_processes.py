"""Testees that break the protocol while a case is asked: that case is an error, by name.

All other cases get their answers: the testee is started anew behind each break.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import pytest

from pdwire_conformance.conform.events import CaseEvent, Verdict
from pdwire_conformance.conform.plan import Plan
from pdwire_conformance.conform.run import run
from pdwire_conformance.conform.select import Filters
from pdwire_conformance.suite.load import cases
from pdwire_conformance.testees.stdio import Process

_SUITE = tuple(case for case in cases() if case.slug.startswith("mooncake/ABORT/r2/frame-1-"))
_PICKLED = {"mooncake/ABORT/r2/frame-1-pickle"}

# Our own codecs behind a loop of its own, so that the loop can be broken.
_GOOD = """
import json, os, sys, time
from pdwire_conformance.testees.ours import Generated
testee = Generated()
out = sys.stdout
def pickled(request):
    return any(frame.startswith("8005") for frame in request.get("frames", ()))
def say(told):
    out.write(json.dumps(told) + "\\n")
    out.flush()
def one(request):
    told = {} if request["op"] == "stop" else testee.answer(request)
    FAULT
    say({"id": request["id"], **told})
for line in sys.stdin:
    request = json.loads(line)
    one(request)
    if request["op"] == "stop":
        break
"""
_FAULTS = {
    "dies on garbage": "if pickled(request): os._exit(134)",
    "raises on garbage": "if pickled(request): raise ValueError('no')",
    "hangs on garbage": "if pickled(request): time.sleep(60)",
    "prints on garbage": "if pickled(request): print('WARNING: garbage', flush=True)",
    "answers another request": "if pickled(request): request['id'] -= 1",
    "answers twice": "if pickled(request): say({'id': request['id'], **told})",
    "answers half": "if pickled(request): out.write('{\"id\":'); out.flush(); time.sleep(60)",
    "says nothing": "if pickled(request): told = {}",
    "says two things": "if pickled(request): told |= {'skip': 'or not'}",
    "floods": "if pickled(request): out.write('x' * (1 << 27) + '\\n')",
    "kinds of its own": "if pickled(request): told['error']['kind'] = 'ValueError'",
    "forgets its id": "if pickled(request): request['id'] = None",
}


def _verdicts(script: Path, deadline_s: float) -> dict[str, Verdict]:
    command = [sys.executable, str(script)]
    plan = Plan(
        target="cmd:broken",
        make=partial(Process, command, target="cmd:broken", deadline_s=deadline_s),
        cases=_SUITE,
        filters=Filters(roles=("codec",)),
    )
    return {event.slug: event.verdict for event in run(plan) if isinstance(event, CaseEvent)}


@pytest.mark.parametrize("what", ["good", *_FAULTS])
def test_the_case_that_breaks_the_protocol_is_an_error_and_no_other(
    what: str, tmp_path: Path
) -> None:
    script = tmp_path / "testee.py"
    script.write_text(_GOOD.replace("FAULT", _FAULTS.get(what, "pass")), encoding="utf-8")
    waits = "time.sleep" in _FAULTS.get(what, "")
    told = _verdicts(script, 1.0 if waits else 30.0)
    wrong = {slug for slug, verdict in told.items() if verdict is not Verdict.PASSED}
    assert len(told) == len(_SUITE)
    assert wrong == (set() if what == "good" else _PICKLED)
    assert {told[slug] for slug in wrong} <= {Verdict.ERROR}
