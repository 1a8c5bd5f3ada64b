"""Real releases on real engines, both directions: what the harness is for."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from pdwire_conformance.interop.cases import Run
from pdwire_conformance.interop.fleet import run_fleet
from pdwire_conformance.interop.handover import Handover
from pdwire_conformance.interop.options import OURS
from pdwire_conformance.interop.results import Result
from pdwire_conformance.interop.run import Pair, run_pair
from pdwire_conformance.interop.topologies import BY_NAME
from pdwire_conformance.peers.errors import PeerUnavailable
from pdwire_conformance.peers.wheels import fetch

pytestmark = [pytest.mark.live, pytest.mark.engine]


def needs(backend: str, *releases: str) -> None:
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"the {backend} engine is not installed: make engines")
    try:
        for release in releases:
            fetch(release)
    except PeerUnavailable as reason:
        pytest.skip(str(reason))


def verdicts(results: Iterator[Result]) -> dict[str, str]:
    return {row.case: f"{row.verdict} {row.reason}".strip() for row in results}


PASSED = dict.fromkeys(
    ("rooms", "again", "prefix", "abort by decode", "abort by prefill"), "passed"
)


@pytest.mark.parametrize("release", ["0.5.16", "0.5.19", "0.5.21", "0.5.23"])
def test_mooncake_theirs_to_ours(release: str) -> None:
    needs("mooncake", release)
    pair = Pair(backend="mooncake", prefill=release, decodes=(OURS,))
    assert verdicts(run_pair(pair)) == PASSED


@pytest.mark.parametrize("release", ["0.5.16", "0.5.19", "0.5.21", "0.5.23"])
def test_mooncake_ours_to_theirs(release: str) -> None:
    needs("mooncake", release)
    pair = Pair(backend="mooncake", prefill=OURS, decodes=(release,))
    assert verdicts(run_pair(pair)) == PASSED


def test_a_server_of_before_0_5_10_is_asked_in_its_own_query_keys() -> None:
    needs("mooncake", "0.5.9")
    pair = Pair(backend="mooncake", prefill="0.5.9", decodes=(OURS,))
    told = verdicts(run_pair(pair))
    assert told.pop("prefix") == "not run the release's metadata has no decode prefix length"
    assert told == {name: "passed" for name in PASSED if name != "prefix"}


@pytest.mark.parametrize("release", ["0.5.19", "0.5.23"])
def test_nixl_theirs_to_ours(release: str) -> None:
    needs("nixl", release)
    pair = Pair(backend="nixl", prefill=release, decodes=(OURS,))
    assert verdicts(run_pair(pair)) == PASSED


@pytest.mark.parametrize("release", ["0.5.19", "0.5.23"])
def test_nixl_ours_to_theirs(release: str) -> None:
    needs("nixl", release)
    pair = Pair(backend="nixl", prefill=OURS, decodes=(release,))
    assert verdicts(run_pair(pair)) == PASSED


def test_one_prefill_of_ours_serves_three_releases_at_once() -> None:
    needs("mooncake", "0.5.16", "0.5.19", "0.5.23")
    told = verdicts(run_fleet("mooncake", ["0.5.16", "0.5.19", "0.5.23"]))
    assert told == {"mixed fleet": "passed", "mixed fleet, one aborts": "passed"}


@pytest.mark.parametrize("topology", ["tp2-tp1-staged", "tp1-tp2-staged"])
@pytest.mark.parametrize(("prefill", "decode"), [("0.5.23", OURS), (OURS, "0.5.23")])
def test_staging_with_the_real_thing(prefill: str, decode: str, topology: str) -> None:
    needs("mooncake", "0.5.23")
    needs("torch")
    pair = Pair(backend="mooncake", prefill=prefill, decodes=(decode,), topology=BY_NAME[topology])
    assert verdicts(run_pair(pair, ["rooms", "again"])) == {"rooms": "passed", "again": "passed"}


@pytest.mark.parametrize(("prefill", "decode"), [("0.5.23", OURS), (OURS, "0.5.23")])
def test_a_killed_side_fails_its_rooms_and_a_new_one_is_served(prefill: str, decode: str) -> None:
    needs("mooncake", "0.5.23")
    pair = Pair(backend="mooncake", prefill=prefill, decodes=(decode,))
    told = verdicts(run_pair(pair, ["decode killed", "prefill killed"]))
    assert told == {"decode killed": "passed", "prefill killed": "passed"}


@pytest.mark.parametrize(("prefill", "decode"), [("0.5.23", OURS), (OURS, "0.5.23")])
def test_decode_ranks_share_out_the_tokens(prefill: str, decode: str) -> None:
    needs("mooncake", "0.5.23")
    needs("torch")
    pair = Pair(
        backend="mooncake", prefill=prefill, decodes=(decode,), topology=BY_NAME["mla-tp1-dcp2"]
    )
    assert verdicts(run_pair(pair)) == PASSED


def test_a_wrong_byte_anywhere_is_seen() -> None:
    needs("mooncake", "0.5.23")
    pair = Pair(backend="mooncake", prefill="0.5.23", decodes=("0.5.23",))
    with Handover(*pair.sides()) as handover:
        run = Run(handover=handover)
        handover.fill(1)
        room = run.room(2, 1)
        handover.open(room)
        handover.settle(room)
        assert handover.differences(room) == []
        handover.decodes[0][0].ask("fill", seed=2)
        found = handover.differences(room)
    assert len(found) == 4 * 4 + 1
    assert "0.5.23 decode aux row differs at positions [0, 1, 2] of 3" in found
