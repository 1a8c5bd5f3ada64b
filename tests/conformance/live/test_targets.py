"""Targets beside our own processes: a program of somebody's, and a rank that only has sockets."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pdwire_conformance.conform.judge import Judgement
from pdwire_conformance.live.driven import LiveTarget
from pdwire_conformance.live.load import live_cases
from pdwire_conformance.live.run import run_script
from pdwire_conformance.live.targets import open_live
from pdwire_conformance.testees.protocol import TesteeError

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(
        importlib.util.find_spec("mooncake") is None, reason="the mooncake engine is not installed"
    ),
]
SPEAKER = Path(__file__).parent / "broken" / "speaker.py"


def judged(target: LiveTarget, slug: str) -> Judgement:
    case = {each.slug: each for each in live_cases()}[f"{slug}/mooncake"]
    return run_script(case, target)[0]


def opened(words: str, role: str) -> LiveTarget:
    return open_live(words, role, "mooncake", "0.5.23")


@pytest.fixture(scope="module")
def rank() -> Iterator[LiveTarget]:
    """A prefill rank that somebody else has started."""
    with opened("pdwire", "prefill") as made:
        made.need(frozenset())
        yield made


@pytest.mark.parametrize(
    ("role", "slug"),
    [("prefill", "transfer/several-chunks-prefill"), ("decode", "loop/garbage-before-a-status")],
)
def test_a_program_that_speaks_the_protocol_is_driven(role: str, slug: str) -> None:
    with opened(f"cmd:{sys.executable} {SPEAKER}", role) as target:
        assert judged(target, slug) == Judgement(ok=True)


def test_a_program_that_ends_is_no_target() -> None:
    with (
        opened(f"cmd:{sys.executable} -c 0", "prefill") as target,
        pytest.raises(TesteeError, match="ended"),
    ):
        judged(target, "loop/one-frame")


def test_a_rank_of_which_there_are_only_sockets(rank: LiveTarget) -> None:
    with opened(f"live:prefill@{rank.bootstrap}", "prefill") as outside:
        assert judged(outside, "loop/one-frame") == Judgement(ok=True)
        assert judged(outside, "sockets/half-a-greeting-prefill") == Judgement(ok=True)
        assert judged(outside, "abort/unknown-room-is-acknowledged") == Judgement(ok=True)
        skipped = judged(outside, "transfer/one-chunk-prefill")
        assert "needs a target that is driven" in skipped.skip
        assert "not driven" in judged(outside, "transfer/state-prefill").skip


def test_a_rendezvous_of_which_there_is_only_the_address(rank: LiveTarget) -> None:
    with opened(f"live:bootstrap@{rank.bootstrap}", "bootstrap") as outside:
        assert judged(outside, "bootstrap/where-a-rank-is") == Judgement(ok=True)
        assert judged(outside, "bootstrap/huge-body") == Judgement(ok=True)


def test_a_decode_rank_of_which_there_are_only_sockets_proves_no_life(rank: LiveTarget) -> None:
    host, port = rank.endpoint
    with opened(f"live:decode@{host}:{port}", "decode") as outside:
        assert "nothing proves from outside" in judged(outside, "loop/not-text-decode").skip


def test_nobody_at_the_address_is_said() -> None:
    with (
        opened("live:prefill@127.0.0.1:9", "prefill") as outside,
        pytest.raises(TesteeError, match=r"live:prefill@127\.0\.0\.1:9.*cannot be reached"),
    ):
        judged(outside, "loop/one-frame")
