"""A fault planted in a generated codec is found, named and made as simple as it can be."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest
from tests.conformance.fuzz.planted import FAULTS

from pdwire.strategies.subjects import subject
from pdwire.strategies.sweeps import simplest
from pdwire_conformance.fuzz.findings import Finding, read_finding, save
from pdwire_conformance.fuzz.plan import Choice
from pdwire_conformance.fuzz.replay import Verdict, replay
from pdwire_conformance.fuzz.run import fuzz, open_sides

REGISTRATION: Final = "mooncake.KVArgsRegisterInfo"
TRANSFER: Final = "nixl.TransferInfo"
CAUSES: Final = {
    "swapped": f"{REGISTRATION}: round trip dst_tp_rank",
    "swapped_both_ways": REGISTRATION,
    "widened": f"{REGISTRATION}: refuse range dst_port",
    "without_invariant": f"{REGISTRATION}: refuse invariant",
    "off_by_one": f"{REGISTRATION}: round trip staging_total_size",
    "last_dropped": f"{REGISTRATION}: round trip dst_kv_ptrs",
    "signed": f"{REGISTRATION}: round trip dst_kv_item_len",
    "three": f"{REGISTRATION}: round trip dst_kv_ptrs",
    "lenient_count": f"{REGISTRATION}: refuse count",
    "dies": f"{TRANSFER}: name range room",
    "guessed_dummy": f"{TRANSFER}: round trip is_dummy",
    "padded": "mori.TransferInfo: decode dst_kv_indices",
    "cut_text": f"{TRANSFER}: round trip agent_name",
    "spaces": f"{TRANSFER}: refuse spelling room",
    "through_float": f"{TRANSFER}: round trip room",
}


def target_of(name: str) -> str:
    return f"python:tests.conformance.fuzz.planted:make_{name}"


def found(name: str, *properties: str, listed: bool = True) -> Finding:
    """The first finding within a minute."""
    fault = FAULTS[name]
    choice = Choice(backend=fault.backend, message=fault.message, properties=properties)
    with ExitStack() as stack:
        sides = open_sides(stack, target_of(name))
        result = fuzz(sides, choice, seed=1, time_s=60, fail_fast=True, listed=listed)
    assert result.findings, f"{name} was not found in {result.seconds:.0f} s"
    return result.findings[0]


def test_every_fault_has_a_cause_that_names_it() -> None:
    assert CAUSES.keys() == FAULTS.keys()


@pytest.mark.parametrize("name", sorted(CAUSES))
def test_a_fault_is_found_within_a_minute(name: str) -> None:
    assert found(name).cause.startswith(CAUSES[name])


def test_what_is_drawn_shrinks_to_the_one_value_that_matters() -> None:
    three = dict(found("three", "round-trip", listed=False).sample.values or {})
    assert three["dst_kv_ptrs"] in ([0, 0, 1], [0, 1, 0], [1, 0, 0])
    assert three["endpoint"] == "h"
    assert three["staging_base_ptr"] == 0
    assert three["dst_state_data_ptrs"] == []


@pytest.mark.parametrize("listed", [True, False])
def test_a_number_is_the_least_that_shows_the_fault(*, listed: bool) -> None:
    """Not a large one that is on the list, nor one that halving alone ends at."""
    values = dict(found("through_float", "round-trip", listed=listed).sample.values or {})
    assert values["room"] == 2**53 + 1
    del values["room"]
    base = dict(simplest(subject("nixl", "TransferInfo")).values)
    del base["room"]
    assert values == base


def test_what_is_listed_is_made_simpler_too() -> None:
    signed = dict(found("signed", "round-trip").sample.values or {})
    assert signed["dst_kv_item_len"] == 2**31
    cut = dict(found("cut_text", "round-trip").sample.values or {})
    assert len(cut["agent_name"]) == 64
    dropped = dict(found("last_dropped", "round-trip").sample.values or {})
    assert dropped["dst_kv_ptrs"] == [0]


def test_a_finding_is_a_file_that_replays(tmp_path: Path) -> None:
    finding = found("guessed_dummy")
    path = save(finding, tmp_path)
    assert path.name.startswith("round-trip-nixl-TransferInfo-")
    again = read_finding(path)
    assert again.sample == finding.sample
    assert again.cause == finding.cause
    assert replay(path).verdict is Verdict.FAILED
    assert replay(path, "pdwire").verdict is Verdict.FIXED
    before = path.read_text(encoding="utf-8")
    assert save(finding, tmp_path) == path
    assert path.read_text(encoding="utf-8") == before
