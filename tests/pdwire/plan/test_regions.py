from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pdwire.plan import Pairs, Stage, pp_regions


def layers(*, mla: bool, start: int, count: int) -> list[str]:
    """The regions of a pool by name: K and V of each layer, or one of each."""
    wanted = range(start, start + count)
    if mla:
        return [f"c{layer}" for layer in wanted]
    return [f"k{layer}" for layer in wanted] + [f"v{layer}" for layer in wanted]


def named(pairs: Pairs, src: list[str], dst: list[str]) -> dict[str, str]:
    return {src[i]: dst[j] for i, j in zip(pairs.src, pairs.dst, strict=True)}


STAGES = [(0, 2, 8, 0, 4), (6, 2, 8, 3, 4), (0, 8, 8, 0, 1), (4, 4, 8, 1, 2), (3, 3, 9, 1, 3)]


@pytest.mark.parametrize("mla", [True, False])
@pytest.mark.parametrize(("start", "count", "total", "rank", "size"), STAGES)
def test_a_stage_goes_to_its_own_layers(
    mla: bool, start: int, count: int, total: int, rank: int, size: int
) -> None:
    src, dst = layers(mla=mla, start=start, count=count), layers(mla=mla, start=0, count=total)
    stage = Stage(start_layer=start, pp_rank=rank, pp_size=size)
    pairs = pp_regions(len(src), len(dst), mla=mla, stage=stage)
    assert named(pairs, src, dst) == {name: name for name in src}


def test_equal_counts_pair_in_order_whatever_the_start() -> None:
    stage = Stage(start_layer=7, pp_rank=1, pp_size=2)
    assert pp_regions(4, 4, mla=False, stage=stage) == Pairs((0, 1, 2, 3), (0, 1, 2, 3))
    assert pp_regions(3, 3, mla=True, stage=stage) == Pairs((0, 1, 2), (0, 1, 2))


@pytest.mark.parametrize("draft", [1, 2, 4, 8])
def test_p6_a_decode_pool_may_end_with_a_draft_models_regions(draft: int) -> None:
    """K and V of the 4 layers, then K and V of the draft's, however many it has."""
    src = layers(mla=False, start=0, count=4)
    dst = [*src, *("draft k" for _ in range(draft)), *("draft v" for _ in range(draft))]
    assert named(pp_regions(8, len(dst), mla=False), src, dst) == {name: name for name in src}


@pytest.mark.parametrize("rank", [0, 1])
def test_p5_stages_of_unequal_size_without_ids_are_refused(rank: int) -> None:
    """The first stage cannot know whether one of decode's six layers is a draft model's."""
    first, count = [(0, 4), (4, 2)][rank]
    stage = Stage(start_layer=first, pp_rank=rank, pp_size=2)
    if rank == 0:
        with pytest.raises(ValueError, match="its target may have 5 or 6 of them"):
            pp_regions(8, 12, mla=False, stage=stage)
    else:  # the last one knows where the target ends
        assert pp_regions(4, 12, mla=False, stage=stage).dst == (4, 5, 10, 11)
    assert count * 2 == [8, 4][rank]


def test_the_last_stage_refuses_what_another_stage_has_read_otherwise() -> None:
    """Stages of 2 and 1 layers and a draft of one: the first stage sees two stages of 2."""
    assert pp_regions(4, 8, mla=False, stage=Stage(pp_rank=0, pp_size=2)).dst == (0, 1, 4, 5)
    last = Stage(start_layer=2, pp_rank=1, pp_size=2)
    with pytest.raises(ValueError, match="its target may have 3 or 4 of them"):
        pp_regions(2, 8, mla=False, stage=last)


def test_lengths_rule_readings_out() -> None:
    stage = Stage(pp_rank=0, pp_size=2)
    dst_lens = (*([64] * 6), *([32] * 4))  # three target layers, two of a draft model
    pairs = pp_regions(4, 10, mla=False, stage=stage, src_lens=(64,) * 4, dst_lens=dst_lens)
    assert pairs.dst == (0, 1, 3, 4)


def test_layer_ids_decide_and_may_repeat() -> None:
    pairs = pp_regions(
        4, 6, mla=False, src_layer_ids=[5, 6, 5, 6], dst_layer_ids=[6, 5, 4, 6, 5, 4]
    )
    assert pairs == Pairs((0, 1, 2, 3), (1, 0, 4, 3))


@pytest.mark.parametrize(
    ("kwargs", "what"),
    [
        ({"n_src": 2, "src_layer_ids": [1], "dst_layer_ids": [1, 2, 3, 4]}, r"1 layer ids for 2"),
        ({"n_src": 1, "src_layer_ids": [9], "dst_layer_ids": [1, 2, 3, 4]}, r"left for layer 9"),
        ({"n_src": 2, "src_layer_ids": [1, 1], "dst_layer_ids": [1, 2, 3, 4]}, r"for layer 1"),
        (
            {"n_src": 2, "src_layer_ids": [1, 2], "stage": Stage(pp_size=2)},
            r"on one side only \(2 here, 0",
        ),
        ({"n_src": 2, "stage": Stage(start_layer=2)}, r"layers 2 to 2 of this stage, but the dest"),
        ({"n_src": 2, "stage": Stage(start_layer=-1)}, r"layers -1 to -1"),
        ({"n_src": 6}, r"layers 0 to 2 of this stage, but the destination has 2"),
        ({"n_src": 3}, r"3 and 4 regions do not split into K and V halves"),
        (
            {"n_src": 3, "mla": True, "stage": Stage(start_layer=2)},
            r"layers 2 to 4 .* the destination has 4",
        ),
        ({"n_src": 2, "stage": Stage(pp_size=3)}, r"2 stages behind it, .* has 2 layers"),
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


@dataclass(frozen=True)
class Pipeline:
    """What really is: stages, a draft model that only decode runs, and lengths of pages."""

    stages: tuple[int, ...]
    draft: int
    lens: tuple[int, int, int]
    says_lens: bool
    mla: bool

    def decode(self) -> tuple[list[str], list[int]]:
        """Decode's regions by name, and the bytes of a page of each."""
        target, (key, value, other) = sum(self.stages), self.lens
        names = layers(mla=self.mla, start=0, count=target)
        lens = [key] * target + ([] if self.mla else [value] * target)
        names += [f"draft {n}" for n in range(self.draft * (1 if self.mla else 2))]
        return names, lens + [other] * (len(names) - len(lens))

    def moved(self) -> list[dict[str, str] | None]:
        """Where each stage's regions go; ``None``: it refuses."""
        names, lens = self.decode()
        found: list[dict[str, str] | None] = []
        for rank, count in enumerate(self.stages):
            start = sum(self.stages[:rank])
            src = layers(mla=self.mla, start=start, count=count)
            own = [lens[names.index(name)] for name in src]
            try:
                pairs = pp_regions(
                    len(src),
                    len(names),
                    mla=self.mla,
                    stage=Stage(start_layer=start, pp_rank=rank, pp_size=len(self.stages)),
                    src_lens=own,
                    dst_lens=lens if self.says_lens else (),
                )
            except ValueError:
                found.append(None)
            else:
                found.append(named(pairs, src, names))
        return found


pipelines = st.builds(
    Pipeline,
    stages=st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple),
    draft=st.integers(0, 5),
    lens=st.tuples(*[st.sampled_from([32, 64])] * 3),
    says_lens=st.booleans(),
    mla=st.booleans(),
)


@example(Pipeline((4, 2), 0, (64, 64, 64), says_lens=True, mla=False))
@example(Pipeline((4, 2), 2, (64, 64, 64), says_lens=True, mla=False))
@example(Pipeline((2, 1), 1, (64, 64, 64), says_lens=False, mla=False))
@example(Pipeline((2,), 2, (64, 64, 64), says_lens=False, mla=False))
@given(pipelines)
def test_a_room_reaches_its_own_layers_or_a_stage_refuses(whole: Pipeline) -> None:
    """Success needs every stage: where one reads wrongly, another refuses."""
    moved = whole.moved()
    if None not in moved:
        assert all(name == to for stage in moved if stage for name, to in stage.items())


@given(pipelines)
def test_what_only_one_reading_fits_is_served(whole: Pipeline) -> None:
    even = len(set(whole.stages)) == 1 and not whole.draft
    if whole.mla or len(whole.stages) == 1 or even:
        assert None not in whole.moved()
