from __future__ import annotations

from itertools import pairwise

import pytest

from pdwire.wire.table import ORDER
from pdwire_conformance.interop.cases import CASES, Run
from pdwire_conformance.interop.handover import Handover, _held, _sent
from pdwire_conformance.interop.lacking import LACKS, lacks_case, lacks_topology
from pdwire_conformance.interop.options import BACKENDS
from pdwire_conformance.interop.run import Pair
from pdwire_conformance.interop.topologies import BY_NAME, EQUAL


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


@pytest.mark.parametrize(("release", "kind"), [("0.5.14", "VRAM"), ("0.5.15", "DRAM")])
def test_a_release_that_takes_gpu_memory_for_granted_is_not_contradicted(
    release: str, kind: str
) -> None:
    prefill, (decode,) = Pair(backend="nixl", prefill="ours", decodes=(release,)).sides()
    assert {each.memory for each in (*prefill, *decode)} == {kind}


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
    assert bool(lacks_case(release, backend, EQUAL, "prefix")) is lacks


@pytest.mark.parametrize(
    ("release", "topology", "lacks"),
    [
        ("0.5.11", "pp2-tp1", False),
        ("0.5.12", "pp2-tp1", True),
        ("0.5.16", "pp2-tp1", True),
        ("0.5.17", "pp2-tp1", False),
        ("0.5.12", "tp1-tp1", True),
        ("0.5.12", "state", False),
        ("0.5.12.post1", "tp1-tp1", False),
    ],
)
def test_a_lack_has_a_first_and_a_last_release(release: str, topology: str, lacks: bool) -> None:
    assert bool(lacks_topology(release, "nixl", BY_NAME[topology])) is lacks


def test_a_case_may_lack_on_some_topologies_only() -> None:
    staged = BY_NAME["tp1-tp2-staged"]
    assert "scatters" in lacks_case("0.5.16", "mooncake", staged, "prefix")
    assert lacks_case("0.5.16", "mooncake", EQUAL, "prefix") == ""
    assert lacks_case("0.5.18", "mooncake", staged, "prefix") == ""


def test_every_lack_names_what_there_is() -> None:
    for lack in LACKS:
        assert set(lack.topologies) <= set(BY_NAME)
        assert set(lack.cases) <= set(CASES)
        assert lack.backend in BACKENDS
        assert ORDER.index(lack.first) <= ORDER.index(lack.last)


def test_rooms_of_one_case_share_no_page_and_no_row() -> None:
    run = Run(handover=Handover([], []))
    rooms = [run.room(8, 3) for _ in range(4)]
    sent = [page for room in rooms for page in room.sent]
    asked = [page for room in rooms for page in room.pages]
    assert len(set(sent)) == len(set(asked)) == 44
    assert max(sent + asked) < 64
    assert len({room.row for room in rooms}) == len({room.source_row for room in rooms}) == 4


def test_with_dcp_a_rank_s_pages_hold_its_own_tokens_only() -> None:
    room = Run(handover=Handover([], []), dcp_size=2).room(6, 3, prefix=4)
    assert (len(room.sent), len(room.pages)) == (5, 3)
    (first, second) = BY_NAME["mla-tp1-dcp2"].decode("ours", "mooncake")
    sent, held = _sent(room, second)["tokens"], _held(room, second)["tokens"]
    assert (first.dcp_rank, second.dcp_rank) == (0, 1)
    assert sent[:2] == [(room.sent[0], 1), (room.sent[0], 3)]
    assert held[:2] == [(room.pages[0], 0), (room.pages[0], 1)]
    assert len(sent) == len(held) == 5 * 16 // 2
    assert sent[-1] == (room.sent[-1], 15)


def test_destinations_are_partly_contiguous() -> None:
    pages = Run(handover=Handover([], [])).room(6).pages
    steps = {abs(after - before) for before, after in pairwise(pages)}
    assert steps == {1, 2}
