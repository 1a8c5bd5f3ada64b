"""Our plans and the planning functions of real releases, on the same questions."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pdwire.plan import Stage, dcp_token_plan, group_contiguous, head_slice, pp_regions
from pdwire_conformance.peers.errors import PeerUnavailable
from pdwire_conformance.peers.wheels import fetch

pytestmark = pytest.mark.live

Case = dict[str, Any]

HAS_TOKEN_PLANS = {"0.5.16": False, "0.5.19": True, "0.5.23": True}
"""Release -> whether it relays for DCP at all."""

draw = random.Random(23)  # noqa: S311 - questions, not secrets


def pages(count: int) -> list[int]:
    """Runs and jumps."""
    found: list[int] = []
    while len(found) < count:
        start = draw.randrange(1000)
        found += range(start, start + draw.randint(1, 4))
    return found[:count]


def token_case() -> Case:
    page_size, ranks, count = draw.choice([1, 4, 16]), draw.choice([1, 2, 3, 8]), draw.randint(0, 9)
    offset = draw.randint(0, 5)
    return {
        "ask": "tokens",
        "src_pages": pages(count),
        "dst_pages": pages(-(-(offset + count) // ranks) + 1),
        "physical_page_size": page_size,
        "dcp_size": ranks,
        "dcp_rank": draw.randrange(ranks),
        "src_page_offset": offset,
        "decode_prefix_len": page_size * ranks * draw.randint(0, 2),
        "num_kv_tokens": max(0, count * page_size - draw.randrange(page_size)),
    }


SIZES = [1, 2, 4, 8]
RUNS = [{"ask": "runs", "src": pages(n), "dst": pages(n)} for n in (0, 1, 2, 7, 40)]
HEADS = {
    "ask": "heads",
    "of": [
        [src_tp, dst_tp, src, dst, total]
        for src_tp, dst_tp, total in itertools.product(SIZES, SIZES, SIZES)
        for src, dst in itertools.product(range(src_tp), range(dst_tp))
    ],
}
TOKENS = [token_case() for _ in range(40)]
STAGES = [
    {"ask": "stage", "n_src": n, "n_dst": to, "start_layer": start, "mla": mla, "pp_size": size}
    for n, to, start, mla, size in [
        *((4, 8, start, False, 2) for start in (0, 2)),
        *((2, 4, start, False, 2) for start in (0, 1)),
        *((8, 10, 0, False, 1), (4, 10, 2, False, 2), (6, 6, 3, False, 1)),
        *((2, 6, start, True, 3) for start in (0, 2, 4)),
        (5, 5, 7, True, 1),
    ]
]


@pytest.fixture(scope="module", params=sorted(HAS_TOKEN_PLANS))
def told(request: pytest.FixtureRequest) -> tuple[str, list[tuple[Case, Any]]]:
    """A release, the questions and its answers."""
    release: str = request.param
    try:
        fetch(release)
    except PeerUnavailable as reason:
        pytest.skip(f"{release} cannot be had here: {reason}")
    cases: list[Case] = [*RUNS, HEADS, *TOKENS, *STAGES]
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("real_release.py")), release],
        input="".join(json.dumps(case) + "\n" for case in cases),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return release, list(zip(cases, answers, strict=True))


def asked(told: tuple[str, list[tuple[Case, Any]]], kind: str) -> list[tuple[Case, Any]]:
    found = [(case, answer) for case, answer in told[1] if case["ask"] == kind]
    assert found
    return found


def test_runs_of_pages(told: tuple[str, list[tuple[Case, Any]]]) -> None:
    for case, answer in asked(told, "runs"):
        ours = (part.tolist() for part in group_contiguous(case["src"], case["dst"]))
        assert [list(run) for run in zip(*ours, strict=True)] == answer


def test_which_heads_move(told: tuple[str, list[tuple[Case, Any]]]) -> None:
    [(case, answer)] = asked(told, "heads")
    for (src_tp, dst_tp, src, dst, total), slice_ in zip(case["of"], answer, strict=True):
        ours = head_slice(src_tp, dst_tp, src, dst, total)
        assert [ours.src_head, ours.heads, ours.dst_head] == slice_, (src_tp, dst_tp, src, dst)


def test_which_tokens_a_dcp_rank_keeps(told: tuple[str, list[tuple[Case, Any]]]) -> None:
    for case, answer in asked(told, "tokens"):
        assert (answer is not None) == HAS_TOKEN_PLANS[told[0]]
        given = {name: value for name, value in case.items() if name != "ask"}
        plan = dcp_token_plan(page_size=given.pop("physical_page_size"), **given)
        assert answer is None or [plan.src.tolist(), plan.dst.tolist()] == answer


def test_which_layers_a_stage_writes(told: tuple[str, list[tuple[Case, Any]]]) -> None:
    """As the releases do, but where they guess: a stage beside a draft model's regions."""
    guessed = []
    for case, answer in asked(told, "stage"):
        start, n_src = case["start_layer"], case["n_src"] // (1 if case["mla"] else 2)
        stages = 1 if n_src == case["n_dst"] else case["pp_size"]
        stage = Stage(
            start_layer=start, pp_rank=start // n_src if stages > 1 else 0, pp_size=stages
        )
        try:
            found = pp_regions(case["n_src"], case["n_dst"], mla=case["mla"], stage=stage)
        except ValueError:
            guessed.append((case["n_src"], case["n_dst"]))
        else:
            assert list(found.dst) == answer, case
    assert guessed == [(4, 10)]
