"""The live cases test themselves: sides with one fault each are caught, the sound side passes.

Each fault is caught by the case that is named for it; a sound side passes the same case. So
a case that passes everything, or nothing, is seen.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pdwire_conformance.live.driven import LiveTarget
from pdwire_conformance.live.load import live_cases
from pdwire_conformance.live.run import run_script
from pdwire_conformance.live.targets import open_live
from pdwire_conformance.suite.case import Case

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(
        importlib.util.find_spec("mooncake") is None, reason="the mooncake engine is not installed"
    ),
]
SIDE = Path(__file__).parent / "broken" / "side.py"
RELEASE = "0.5.23"

CAUGHT = [
    ("forgets_abort", "abort/fails-the-room", "status"),
    ("acknowledges_another_generation", "abort/generation-comes-back", "expect"),
    ("acknowledges_nothing", "abort/is-acknowledged", "expect"),
    ("dies_on_garbage", "loop/not-text-prefill", "alive"),
    ("dies_on_garbage", "loop/unknown-tag-decode", "alive"),
    ("trusts_aux_data", "memory/auxiliary-row-of-another", "untouched"),
    ("trusts_aux_data", "memory/auxiliary-data-too-long", "untouched"),
    ("resurrects", "rooms/failed-is-final", "stays"),
    ("makes_rooms_of_statuses", "rooms/early-success", "stays"),
    ("releases_at_once", "abort/pages-are-held", "held"),
    ("believes_any_acknowledgement", "abort/another-generation", "held"),
    ("never_says_success", "transfer/one-chunk-prefill", "arrived"),
    ("swaps_pages", "transfer/one-chunk-prefill", "arrived"),
    ("drops_the_aux_row", "empty/full-prefix-hit-prefill", "arrived"),
    ("second_metadata_ends_the_room", "rooms/second-metadata", "arrived"),
    ("fails_in_silence", "rooms/prefill-fails-one", "expect"),
    ("leaks_files", "resources/garbage-prefill", "bounded"),
    ("answers_for_any_rank", "bootstrap/rank-that-never-registered", "http"),
    ("forgets_to_check_bodies", "bootstrap/missing-key", "http"),
]
SLOWLY_CAUGHT = [
    ("never_expires", "rooms/nobody-asks-prefill", "status"),
    ("keeps_every_room", "resources/rooms-nobody-opened", "bounded"),
    ("gives_another_place", "staging/same-question-twice", "expect"),
]


def case(slug: str) -> Case:
    return {each.slug: each for each in live_cases()}[f"{slug}/mooncake"]


def target(role: str, patience: float = 1.0) -> LiveTarget:
    made = open_live("pdwire", role, "mooncake", RELEASE)
    made.patience = patience
    return made


@pytest.fixture(scope="module")
def sound() -> Iterator[dict[str, LiveTarget]]:
    made = {role: target(role) for role in ("prefill", "decode", "bootstrap")}
    yield made
    for each in made.values():
        each.close()


def catches(fault: str, slug: str, step: str) -> None:
    found = case(slug)
    with target(found.role, 1.0) as broken:
        broken.program = [sys.executable, str(SIDE), fault]
        judgement, _ = run_script(found, broken)
    assert not judgement.ok
    assert f"({step})" in judgement.expected


@pytest.mark.parametrize(("fault", "slug", "step"), CAUGHT)
def test_a_fault_is_caught_by_its_case(fault: str, slug: str, step: str) -> None:
    catches(fault, slug, step)


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "slug", "step"), SLOWLY_CAUGHT)
def test_a_fault_is_caught_by_its_slow_case(fault: str, slug: str, step: str) -> None:
    catches(fault, slug, step)


@pytest.mark.parametrize("slug", sorted({slug for _, slug, _ in CAUGHT}))
def test_a_sound_side_passes_the_same_case(slug: str, sound: dict[str, LiveTarget]) -> None:
    found = case(slug)
    judgement, trace = run_script(found, sound[found.role])
    assert judgement.ok, judgement
    assert any(line.way in {"sent", "came"} for line in trace) or found.role == "bootstrap"
