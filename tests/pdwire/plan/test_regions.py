from __future__ import annotations

import pytest

from pdwire.plan import Pairs, pp_regions


def layers(*, mla: bool, start: int, count: int) -> list[str]:
    """The regions of a pool by name: K and V of each layer, or one of each."""
    wanted = range(start, start + count)
    if mla:
        return [f"c{layer}" for layer in wanted]
    return [f"k{layer}" for layer in wanted] + [f"v{layer}" for layer in wanted]


def named(pairs: Pairs, src: list[str], dst: list[str]) -> dict[str, str]:
    return {src[i]: dst[j] for i, j in zip(pairs.src, pairs.dst, strict=True)}


STAGES = [(0, 2, 8), (6, 2, 8), (0, 8, 8), (4, 4, 8), (3, 3, 9)]


@pytest.mark.parametrize("mla", [True, False])
@pytest.mark.parametrize(("start", "count", "total"), STAGES)
def test_a_stage_goes_to_its_own_layers(mla: bool, start: int, count: int, total: int) -> None:
    src, dst = layers(mla=mla, start=start, count=count), layers(mla=mla, start=0, count=total)
    pairs = pp_regions(len(src), len(dst), mla=mla, start_layer=start)
    assert named(pairs, src, dst) == {name: name for name in src}


def test_equal_counts_pair_in_order_whatever_the_start() -> None:
    assert pp_regions(4, 4, mla=False, start_layer=7) == Pairs((0, 1, 2, 3), (0, 1, 2, 3))
    assert pp_regions(3, 3, mla=True, start_layer=7) == Pairs((0, 1, 2), (0, 1, 2))


def test_a_decode_pool_may_end_with_a_draft_models_regions() -> None:
    """K and V of the 4 layers, then K and V of the draft's one layer."""
    dst = [*layers(mla=False, start=0, count=4), "draft k", "draft v"]
    src = layers(mla=False, start=0, count=4)
    assert named(pp_regions(8, 10, mla=False), src, dst) == {name: name for name in src}
    stage = layers(mla=False, start=2, count=2)
    pairs = pp_regions(4, 10, mla=False, start_layer=2)
    assert named(pairs, stage, dst) == {name: name for name in stage}


def test_draft_regions_of_an_mla_pool_pair_from_the_end() -> None:
    src, dst = ["c4", "c5", "d0"], [f"c{n}" for n in range(8)] + ["d0"]
    pairs = pp_regions(3, 9, mla=True, start_layer=4, draft=1)
    assert named(pairs, src, dst) == {"c4": "c4", "c5": "c5", "d0": "d0"}


def test_layer_ids_decide_and_may_repeat() -> None:
    pairs = pp_regions(
        4, 6, mla=False, start_layer=0, src_layer_ids=[5, 6, 5, 6], dst_layer_ids=[6, 5, 4, 6, 5, 4]
    )
    assert pairs == Pairs((0, 1, 2, 3), (1, 0, 4, 3))


@pytest.mark.parametrize(
    ("kwargs", "what"),
    [
        ({"n_src": 2, "src_layer_ids": [1], "dst_layer_ids": [1, 2, 3, 4]}, r"1 layer ids for 2"),
        ({"n_src": 1, "src_layer_ids": [9], "dst_layer_ids": [1, 2, 3, 4]}, r"left for layer 9"),
        ({"n_src": 2, "src_layer_ids": [1, 1], "dst_layer_ids": [1, 2, 3, 4]}, r"for layer 1"),
        ({"n_src": 2, "src_layer_ids": [1, 2], "pipelined": True}, r"on one side only \(2 here, 0"),
        ({"n_src": 2, "start_layer": 2}, r"layers 2 to 2 of this stage, but the dest"),
        ({"n_src": 2, "start_layer": -1}, r"layers -1 to -1"),
        ({"n_src": 6}, r"layers 0 to 2 of this stage, but the destination has 2"),
        ({"n_src": 3}, r"3 and 4 regions do not split into K and V halves"),
        ({"n_src": 3, "mla": True, "start_layer": 2}, r"layers 2 to 4 .* the destination has 4"),
    ],
)
def test_what_cannot_be_placed_is_refused(kwargs: dict[str, object], what: str) -> None:
    given: dict[str, object] = {"n_dst": 4, "mla": False} | kwargs
    with pytest.raises(ValueError, match=what):
        pp_regions(**given)  # type: ignore[arg-type]


def test_ids_on_one_side_are_ignored_without_stages() -> None:
    assert pp_regions(2, 2, mla=True, src_layer_ids=[3, 1]) == Pairs((0, 1), (0, 1))


def test_no_regions_here_are_no_pairs() -> None:
    assert len(pp_regions(0, 4, mla=False)) == 0
