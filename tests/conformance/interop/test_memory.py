from __future__ import annotations

import ctypes
from typing import Any

import pytest

from pdwire_conformance.interop.memory import Memory
from pdwire_conformance.interop.options import Options


def memory(seed: int = 1, **more: int) -> Memory:
    told: dict[str, Any] = {"release": "ours", "backend": "mooncake", "role": "prefill"}
    made = Memory(Options(**{**told, "pages": 8, **more}))
    made.fill(seed)
    return made


def test_ranks_of_a_split_model_hold_the_bytes_of_the_whole() -> None:
    whole = memory().page_digests([3, 5])
    parts = [memory(tp_size=2, tp_rank=rank).page_digests([3, 5]) for rank in (0, 1)]
    assert parts[0].keys() & parts[1].keys() == set()
    assert parts[0] | parts[1] == whole


def test_stages_of_a_pipeline_hold_the_layers_of_the_whole() -> None:
    whole = memory(layers=4).page_digests([0])
    first, second = (memory(layers=4, pp_size=2, pp_rank=at).page_digests([0]) for at in (0, 1))
    assert {key.split(".")[0] for key in second} == {"2", "3"}
    assert first | second == whole


def test_ranks_that_share_a_head_hold_the_same_bytes() -> None:
    ranks = [memory(heads=2, tp_size=4, tp_rank=rank).page_digests([1]) for rank in range(4)]
    assert ranks[0] == ranks[1] != ranks[2] == ranks[3]


def test_one_changed_byte_changes_one_digest() -> None:
    held = memory()
    before = held.page_digests([0, 1])
    held.kv[0].array[1, 7, 2, 5] ^= 1
    after = held.page_digests([0, 1])
    changed = [key for key in before if before[key] != after[key]]
    assert changed == ["0.2"]
    assert before["0.2"][0] == after["0.2"][0]


def test_v_is_digested_as_k_is() -> None:
    held = memory()
    before = held.page_digests([0])
    held.kv[-1].array[0, 0, 0, 0] ^= 1
    assert held.page_digests([0])["3.0"] != before["3.0"]


def test_every_byte_is_told_from_one_that_was_never_written() -> None:
    held = memory(state=True)
    assert all(region.array.all() for region in (*held.kv, *held.aux, *held.state))
    held.wipe()
    assert not any(region.array.any() for region in (*held.kv, *held.aux, *held.state))


def test_another_seed_is_other_content_in_every_region() -> None:
    one, other = memory(1, state=True), memory(2, state=True)
    assert one.aux_digests(0) != other.aux_digests(0)
    assert one.state_digests([0])["0"] != other.state_digests([0])["0"]
    assert set(one.page_digests([0])["0.0"]).isdisjoint(other.page_digests([0])["0.0"])


def test_regions_are_k_of_every_layer_then_v() -> None:
    held = memory(layers=2, layer_ids=True)
    assert held.kv_layer_ids == [0, 1, 0, 1]
    assert [region.item for region in held.kv] == [16 * 4 * 16 * 2] * 4
    assert held.kv[0].length == 8 * held.kv[0].item


def test_mla_has_one_region_per_layer() -> None:
    held = memory(mla=True, layers=3)
    assert len(held.kv) == 3
    assert list(held.page_digests([0])) == ["0.0", "1.0", "2.0"]


@pytest.mark.parametrize("row", [-1, 16], ids=["before", "behind"])
def test_a_write_outside_of_every_region_is_seen(row: int) -> None:
    held = memory()
    before = held.outside(aux=[5])
    region = held.aux[1]
    ctypes.memset(region.address + row * region.item, 7, region.item)
    changed = [a != b for a, b in zip(before, held.outside(aux=[5]), strict=True)]
    assert changed == [False] * (len(held.kv) + 1) + [True, False]


def test_a_write_to_what_is_left_out_is_not_seen() -> None:
    held = memory(state=True)
    before = held.outside(pages=[2], aux=[5], state=[7])
    held.kv[3].array[2] = 0
    held.aux[0].array[5] = 0
    held.state[1].array[7] = 0
    assert held.outside(pages=[2], aux=[5], state=[7]) == before
    held.state[1].array[6] = 0
    assert held.outside(pages=[2], aux=[5], state=[7]) != before
