"""Which ranks a decode rank talks to: by hand, by rule, and as real releases compute it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from pdwire.bootstrap.mapping import RankMapping, Sizes, Target, map_ranks
from pdwire_conformance.peers.errors import PeerUnavailable
from pdwire_conformance.peers.wheels import fetch

TPS = (1, 2, 4, 8)


def tp_ranks(mapping: RankMapping) -> list[int]:
    return [target.tp_rank for target in mapping.targets]


def test_equal_sizes_are_one_to_one() -> None:
    mapping = map_ranks(Sizes(attn_tp_size=4), tp_size=4, tp_rank=3, is_mla=False)
    assert mapping == RankMapping(
        targets=(Target(cp_rank=0, tp_rank=3, pp_rank=0, is_dummy=False),),
        required_dst_info_num=1,
        required_prefill_response_num=1,
    )


def test_a_decode_rank_draws_from_several_prefill_ranks() -> None:
    mapping = map_ranks(Sizes(attn_tp_size=4), tp_size=2, tp_rank=1, is_mla=False)
    assert tp_ranks(mapping) == [2, 3]
    assert mapping.required_prefill_response_num == 2
    assert not any(target.is_dummy for target in mapping.targets)


def test_with_mla_all_but_the_first_are_dummies() -> None:
    mapping = map_ranks(Sizes(attn_tp_size=4), tp_size=2, tp_rank=1, is_mla=True)
    assert [(t.tp_rank, t.is_dummy) for t in mapping.targets] == [(2, False), (3, True)]
    assert mapping.required_prefill_response_num == 1


def test_several_decode_ranks_share_a_prefill_rank() -> None:
    mapping = map_ranks(Sizes(attn_tp_size=2), tp_size=8, tp_rank=5, is_mla=False)
    assert tp_ranks(mapping) == [1]
    assert mapping.required_dst_info_num == 4


def test_later_stages_come_first() -> None:
    mapping = map_ranks(Sizes(attn_tp_size=1, pp_size=3), tp_size=1, tp_rank=0, is_mla=False)
    assert [target.pp_rank for target in mapping.targets] == [2, 1, 0]
    assert mapping.required_prefill_response_num == 3


@pytest.mark.parametrize(
    ("prefill", "decode", "told"),
    [
        (Sizes(attn_tp_size=2), {"tp_size": 3, "tp_rank": 0}, "decode TP 3 is no multiple"),
        (Sizes(attn_tp_size=3), {"tp_size": 2, "tp_rank": 0}, "prefill TP 3 is no multiple"),
        (
            Sizes(attn_tp_size=1, pp_size=2),
            {"tp_size": 1, "tp_rank": 0, "pp_size": 4},
            "decode PP 4 is neither 1 nor prefill PP 2",
        ),
        (
            Sizes(attn_tp_size=4, kv_sharding=True),
            {"tp_size": 2, "tp_rank": 0},
            "a sharded MLA cache needs equal TP",
        ),
    ],
)
def test_sizes_that_do_not_fit_are_refused(
    prefill: Sizes, decode: dict[str, int], told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        map_ranks(prefill, is_mla=True, **decode)


@pytest.mark.parametrize("is_mla", [False, True])
@pytest.mark.parametrize(("src", "dst"), list(product(TPS, TPS)))
def test_both_sides_wait_for_what_the_other_sends(src: int, dst: int, is_mla: bool) -> None:
    """Each prefill rank hears from as many decode ranks as each of them tells it to expect."""
    mappings = [
        map_ranks(Sizes(attn_tp_size=src), tp_size=dst, tp_rank=r, is_mla=is_mla)
        for r in range(dst)
    ]
    heard = Counter(tp for mapping in mappings for tp in tp_ranks(mapping))
    assert set(heard) == set(range(src))
    for mapping in mappings:
        writers = [target for target in mapping.targets if not target.is_dummy]
        assert len(writers) == mapping.required_prefill_response_num
        assert {heard[tp] for tp in tp_ranks(mapping)} == {mapping.required_dst_info_num}


def cases(release: str) -> Iterator[dict[str, Any]]:
    """Many sizes; what a release does not know yet is off."""
    shards = (False, True) if release == "0.5.23" else (False,)
    splits = (False, True) if release != "0.5.10" else (False,)
    for src, dst, is_mla, cp, split, shard in product(
        TPS, TPS, (False, True), (1, 2), splits, shards
    ):
        for pp_size, own_pp in ((1, 1), (2, 1), (2, 2), (4, 1)):
            for tp_rank, pp_rank in {(0, 0), (dst - 1, own_pp - 1)}:
                yield {
                    "prefill": {
                        "attn_tp_size": src,
                        "attn_cp_size": cp,
                        "pp_size": pp_size,
                        "enable_dsa_cache_layer_split": split,
                        "enable_kv_cache_sharding": shard,
                    },
                    "decode": {
                        "tp_size": dst,
                        "tp_rank": tp_rank,
                        "pp_size": own_pp,
                        "pp_rank": pp_rank,
                    },
                    "is_mla": is_mla,
                }


def ours(case: dict[str, Any]) -> dict[str, Any] | str:
    prefill = case["prefill"]
    shard = prefill["enable_kv_cache_sharding"]
    sizes = Sizes(
        attn_tp_size=prefill["attn_tp_size"],
        attn_cp_size=prefill["attn_cp_size"],
        pp_size=prefill["pp_size"],
        all_cp_ranks=prefill["enable_dsa_cache_layer_split"] or shard,
        kv_sharding=shard,
    )
    try:
        mapping = map_ranks(sizes, is_mla=case["is_mla"], **case["decode"])
    except ValueError as refusal:
        return str(refusal)
    return {
        "targets": [[t.cp_rank, t.tp_rank, t.pp_rank, t.is_dummy] for t in mapping.targets],
        "required_dst_info_num": mapping.required_dst_info_num,
        "required_prefill_response_num": mapping.required_prefill_response_num,
    }


@pytest.mark.live
@pytest.mark.parametrize("release", ["0.5.10", "0.5.16", "0.5.19", "0.5.23"])
def test_a_real_release_computes_the_same(release: str) -> None:
    try:
        fetch(release)
    except PeerUnavailable as missing:
        pytest.skip(str(missing))
    asked = list(cases(release))
    assert len(asked) > 300
    script = Path(__file__).with_name("real_mapping.py")
    done = subprocess.run(
        [sys.executable, str(script), release],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    for case, theirs in zip(asked, json.loads(done.stdout), strict=True):
        mine = ours(case)
        if isinstance(theirs, str):
            assert isinstance(mine, str), case
        else:
            assert mine == theirs, case
