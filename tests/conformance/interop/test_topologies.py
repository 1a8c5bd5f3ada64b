from __future__ import annotations

from itertools import pairwise

import pytest

from pdwire_conformance.interop.cases import Run
from pdwire_conformance.interop.handover import Handover
from pdwire_conformance.interop.lacking import lacks_case
from pdwire_conformance.interop.run import Pair
from pdwire_conformance.interop.topologies import BY_NAME


def test_ranks_are_numbered_within_their_side() -> None:
    topology = BY_NAME["tp2-tp1"]
    sides = topology.prefill("0.5.19", "nixl")
    assert [(each.tp_size, each.tp_rank, each.role) for each in sides] == [
        (2, 0, "prefill"),
        (2, 1, "prefill"),
    ]
    assert [each.tp_size for each in topology.decode("ours", "nixl")] == [1]


def test_ours_speaks_the_release_of_the_other_side() -> None:
    prefill, (decode,) = Pair(backend="mooncake", prefill="0.5.16", decodes=("ours",)).sides()
    assert (prefill[0].wire, decode[0].wire) == ("", "0.5.16")


def test_a_prefill_of_a_mixed_fleet_is_told_no_release() -> None:
    pair = Pair(backend="mooncake", prefill="ours", decodes=("0.5.16", "0.5.23"))
    prefill, decodes = pair.sides()
    assert prefill[0].wire == ""
    assert [each[0].release for each in decodes] == ["0.5.16", "0.5.23"]


@pytest.mark.parametrize(("release", "said"), [("0.5.16", False), ("0.5.17", True)])
def test_layers_are_named_where_the_release_can(release: str, said: bool) -> None:
    pair = Pair(backend="nixl", prefill="ours", decodes=(release,), topology=BY_NAME["pp2-tp1"])
    prefill, (decode,) = pair.sides()
    assert {each.layer_ids for each in (*prefill, *decode)} == {said}


@pytest.mark.parametrize(
    ("release", "backend", "lacks"),
    [
        ("0.5.11", "mooncake", True),
        ("0.5.12", "mooncake", False),
        ("0.5.10", "nixl", True),
        ("0.5.11", "nixl", False),
    ],
)
def test_a_prefix_needs_a_frame_for_it(release: str, backend: str, lacks: bool) -> None:
    assert bool(lacks_case(release, backend, "prefix")) is lacks


def test_rooms_of_one_case_share_no_page_and_no_row() -> None:
    run = Run(handover=Handover([], []))
    rooms = [run.room(8, 3) for _ in range(4)]
    sent = [page for room in rooms for page in room.sent]
    asked = [page for room in rooms for page in room.pages]
    assert len(set(sent)) == len(set(asked)) == 44
    assert max(sent + asked) < 64
    assert len({room.row for room in rooms}) == len({room.source_row for room in rooms}) == 4


def test_destinations_are_partly_contiguous() -> None:
    pages = Run(handover=Handover([], [])).room(6).pages
    steps = {abs(after - before) for before, after in pairwise(pages)}
    assert steps == {1, 2}
