"""The rules of the derivation know the spec language, not only the spec that is shipped.

A whole protocol is drawn, its cases are derived, and its own reading must answer all of
them rightly. So a spec that says something in a way that none has said it yet still gets
cases, and right ones.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from tests.codegen.strategies.specs import Files, protocols
from tests.codegen.test_random_spec import loaded

from pdwire.reading import Reading, ReadingError, spec_from_json
from pdwire.reading.match import candidates, families, rank
from pdwire_codegen.emit_json import spec_json
from pdwire_conformance.conform.judge import judge
from pdwire_conformance.suite.case import Case, Decode, Encode, Recognise
from pdwire_conformance.suite.clauses import clauses_of
from pdwire_conformance.suite.derived.bench import native
from pdwire_conformance.suite.derived.derive import derive
from pdwire_conformance.suite.derived.shelf import Shelf
from pdwire_conformance.testees.protocol import Answer, Hello

Json = dict[str, Any]
HELLO = Hello(name="reading", features=frozenset({"recognise"}))


@settings(
    max_examples=max(10, settings().max_examples // 4),
    phases=[Phase.generate],  # to make a failing spec small takes minutes
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(files=protocols())
def test_a_drawn_spec_has_cases_that_its_own_reading_passes(files: Files) -> None:
    spec = dict[str, Any](spec_json(loaded(files)))  # type: ignore[arg-type]
    reading, known = Reading(spec_from_json(spec)), set(clauses_of(spec))
    found = list(derive(Shelf(spec)))
    assert len(found) > 10
    for case in found:
        judgement = judge(case, answered(reading, case), HELLO)
        assert judgement.ok, (case, judgement)
        assert set(case.clauses) <= known


def answered(reading: Reading, case: Case) -> Answer:
    """What the reading says to a case, whatever the spec calls its backends and releases."""
    try:
        return _answered(reading, case)
    except ReadingError as fault:
        return {"error": {"kind": "other", "text": str(fault)}}


def _answered(reading: Reading, case: Case) -> Answer:
    match case.check:
        case Decode(frames=frames):
            message = _message(reading, case)
            read = reading.decode(message, case.layout, frames)
            return {"values": {name: _shown(value) for name, value in read.items()}}
        case Encode(values=values):
            told = {name: native(value) for name, value in values.items()}
            made = reading.encode(_message(reading, case), case.layout, told)
            return {"frames": [frame.hex() for frame in made]}
        case Recognise(frames=frames, direction=direction):
            return _recognised(reading, case.backend, list(frames), direction)
    raise AssertionError(case)


def _message(reading: Reading, case: Case) -> Any:  # noqa: ANN401 - the reading's own
    group = case.clauses[0].partition("/")[0]
    return reading.message(f"{group}.{case.message}")


def _recognised(reading: Reading, backend: str, frames: list[bytes], direction: str) -> Answer:
    among = [
        (message, layout)
        for message, layout in candidates(reading.spec, backend=backend)
        if message.transport == "zmq" and (not direction or direction in message.directions)
    ]
    fits = [fit for fit in rank(reading, frames, among) if fit.exact]
    if not fits:
        return {"error": {"kind": "unknown-message", "text": "no layout reads these frames"}}
    told: dict[str, list[str]] = {}
    for fit in fits:
        told.setdefault(fit.message.name, []).append(fit.layout.id)
    listed = [{"message": name, "layouts": layouts} for name, layouts in told.items()]
    return {"recognised": {"ambiguous": len(families(fits)) > 1, "candidates": listed}}


def _shown(value: Any) -> Any:  # noqa: ANN401 - values of every type
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    return [_shown(item) for item in value] if isinstance(value, list) else value
