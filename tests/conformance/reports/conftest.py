"""A stream like a real run's, drawn from the spec with a fixed seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import islice
from typing import Any

import pytest

from pdwire_conformance.conform.events import (
    CaseEvent,
    EndEvent,
    Event,
    StartEvent,
    TraceLine,
    Verdict,
    counts,
)
from pdwire_conformance.proof.spec import load_spec

CASE = CaseEvent(
    target="pdwire",
    slug="registration/staging-frame-14-width",
    release="0.5.23",
    backend="mooncake",
    role="codec",
    level="MUST",
    family="registration",
    message="KVArgsRegisterInfo",
    layout="r8",
    purpose="The staging pointer is eight bytes; seven or nine are no pointer.",
    expectation="A frame of seven bytes is refused, and the error names the frame.",
    verdict=Verdict.PASSED,
    seconds=0.001,
    clauses=("registration/KVArgsRegisterInfo/r8/frame-14",),
    reports=("F3",),
    rerun="pdwire conform pdwire --case registration/staging-frame-14-width --release 0.5.23",
    trace=(
        TraceLine(
            way="sent",
            text="decode KVArgsRegisterInfo",
            frames=("4e6f6e65", "31302e302e302e32", "00" * 7),
            names=("room", "endpoint", "staging_base_ptr"),
        ),
    ),
)
FAILED = replace(
    CASE,
    verdict=Verdict.FAILED,
    expected="an error frame-value at frame 14 (staging_base_ptr)",
    came='{"room": 7, "staging_base_ptr": 0}',
)


def run_of(
    *cases: CaseEvent, target: str = "pdwire", problems: tuple[str, ...] = ()
) -> list[Event]:
    """One testee's whole run."""
    own = [replace(case, target=target) for case in cases]
    releases = tuple(dict.fromkeys(case.release for case in own))
    start = StartEvent(
        target=target,
        name=target.partition("==")[0],
        version=target.partition("==")[2],
        pdwire="0.1.0",
        roles=("codec",),
        backends=tuple(dict.fromkeys(case.backend for case in own)),
        releases=releases,
        selected=len({case.slug for case in own}),
        started="2026-11-29T21:00:00Z",
    )
    end = EndEvent(target=target, counts=counts(own), seconds=1.5, problems=problems)
    return [start, *own, end]


def lines_of(events: Sequence[Event]) -> list[str]:
    """The stream, a line an event."""
    return [json.dumps(asdict(event)) for event in events]


def drawn(targets: Sequence[str], many: int, seed: int = 4) -> list[Event]:
    """``many`` cases of the spec's layouts for every target, with every verdict in it."""
    cases = list(islice(_cases(), many))
    events: list[Event] = []
    for number, target in enumerate(targets):
        chance = random.Random(seed + number)  # noqa: S311 (a picture, not a secret)
        release = target.partition("==")[2] or "0.5.23"
        events += run_of(*(_ended(case, target, release, chance) for case in cases), target=target)
    return events


_WHAT = (
    ("frames-0", "No frame at all is refused."),
    ("frames-too-few", "A frame less than the layout has is refused."),
    ("frames-too-many", "A frame more than the layout has is refused."),
    ("values-drawn", "Values within their ranges are read as they were written."),
    ("encode-drawn", "Values are written frame by frame as the release writes them."),
    ("recognise", "The bytes prove the message and no other."),
)


def _cases() -> Iterator[CaseEvent]:
    for message in load_spec()["messages"]:
        for layout in message["layouts"]:
            names = tuple(each.get("field") or "constant" for each in layout["frames"])
            for backend, releases in layout["speakers"].items():
                for what, purpose in (*_WHAT, *_per_frame(names)):
                    yield _case(message, layout["id"], backend, releases, what, purpose, names)


def _per_frame(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    for at, name in enumerate(names):
        yield f"frame-{at}-empty", f"An empty frame {at} ({name}) means what the spec says."
        yield f"frame-{at}-long", f"Frame {at} ({name}) with bytes behind its value is refused."
        yield f"frame-{at}-non-ascii", f"Frame {at} ({name}) of bytes beyond ASCII is refused."


def _case(
    message: dict[str, Any],
    layout: str,
    backend: str,
    releases: Sequence[str],
    what: str,
    purpose: str,
    names: tuple[str, ...],
) -> CaseEvent:
    level = "MAY" if what == "recognise" else "SHOULD" if what.endswith("empty") else "MUST"
    frames = tuple(f"{at:02x}" * (at % 9) for at in range(len(names)))
    return replace(
        CASE,
        slug=f"{backend}/{message['name']}/{layout}/{what}",
        family="spec",
        backend=backend,
        release=releases[-1],
        message=message["name"],
        layout=layout,
        level=level,
        purpose=purpose,
        expectation="The answer is that of the spec, or a refusal that names the frame.",
        clauses=(f"{message['group']}/{message['name']}/{layout}/count",),
        reports=("F3",) if what.endswith("long") else (),
        origin=f"derived: {what.partition('-')[0]}",
        trace=(TraceLine(way="sent", text=f"decode {layout}", frames=frames, names=names),),
    )


def _ended(case: CaseEvent, target: str, release: str, chance: random.Random) -> CaseEvent:
    weights = (90, 0 if target == "pdwire" else 3, 4, 0.3, 2, 0.2, 0.2)
    verdict = chance.choices(list(Verdict), weights)[0]
    rerun = f"pdwire conform {target} --case {case.slug} --release {release}"
    case = replace(case, target=target, verdict=verdict, release=release, rerun=rerun)
    match verdict:
        case Verdict.FAILED | Verdict.KNOWN:
            came = '{"room": 7, "dst_aux_index": 3, "required_dst_info_num": 1}'
            return replace(
                case,
                expected="an error frame-value at frame 3 (dst_kv_indices)",
                came=came,
                reason="int() reads text with spaces" if verdict is Verdict.KNOWN else "",
                link="https://github.com/sgl-project/sglang" if verdict is Verdict.KNOWN else "",
            )
        case Verdict.SKIPPED:
            return replace(case, reason=f"it has no backend {case.backend}", trace=())
        case Verdict.ERROR:
            return replace(case, reason="no answer within 5 s; it was started anew")
        case Verdict.UNEXPECTED:
            return replace(case, reason="listed as failing, and passes")
        case _:
            return case


@pytest.fixture(scope="session")
def realistic() -> Callable[[Sequence[str], int], list[Event]]:
    return drawn
