"""The generated codecs and the interpreted reading of the shipped spec agree about everything.

Two programs that share no code read every layout of every message: what one accepts the
other accepts, with the same values; what one refuses the other refuses; values become the
same bytes on both sides, or on neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.differential.mutations import MUTATIONS, ODD, bent_body, bent_query
from tests.differential.sides import Pair, Refusal, differences, pairs
from tests.differential.spoils import spoiled
from tests.differential.values import valid

from pdwire.reading import Reading, packaged_spec
from pdwire.wire import layouts
from pdwire_conformance.proof.spec import load_spec

PAIRS = list(pairs(layouts(), Reading(packaged_spec()), load_spec()))
DRAWS = max(6, settings().max_examples // 8)
BENT = 6
"""Mutations, and spoiled values, of each drawn message."""

each_layout = pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.shown)


def draws(pair: Pair) -> Iterator[tuple[Random, dict[str, object]]]:
    """Values that the layout carries, and the generator to go on drawing with."""
    rng = Random(pair.shown)  # noqa: S311  # repeatable, nothing secret
    for _ in range(DRAWS):
        yield rng, valid(pair.message, pair.layout, rng)


def test_every_layout_is_compared() -> None:
    assert len(PAIRS) == len({(pair.key, pair.layout["id"]) for pair in PAIRS}) >= 82


@each_layout
def test_valid_values_are_written_and_read_alike(pair: Pair) -> None:
    for _, values in draws(pair):
        frames = pair.encoded(values)
        assert not isinstance(frames, Refusal), values
        assert frames == pair.written(values)
        ours, theirs = pair.decoded(frames), pair.read(frames)
        assert differences(ours, theirs) == []
        kept = {f["name"]: values[f["name"]] for f in pair.message["fields"] if not f["ignorable"]}
        assert {name: ours[name] for name in kept} == kept  # type: ignore[index]  # no Refusal
        assert pair.encoded(ours) == frames  # type: ignore[arg-type]  # no Refusal


@each_layout
def test_values_of_any_kind_are_written_alike_or_refused_alike(pair: Pair) -> None:
    for rng, values in draws(pair):
        for _ in range(BENT):
            odd = spoiled(pair.message, values, rng)
            assert pair.encoded(odd) == pair.written(odd), odd


@each_layout
def test_mutated_frames_are_read_alike(pair: Pair) -> None:
    for rng, values in draws(pair):
        frames = pair.encoded(values)
        assert isinstance(frames, list)
        for _ in range(BENT):
            told, bent = mutated(pair, frames, rng)
            assert differences(pair.decoded(bent), pair.read(bent)) == [], told


def mutated(pair: Pair, frames: list[bytes], rng: Random) -> tuple[str, list[bytes]]:
    """Other frames, and what was done to them."""
    bodies: dict[str, Callable[[bytes, Random], bytes]] = {"json": bent_body, "query": bent_query}
    bend = bodies.get(pair.message["body"] or "")
    if bend is not None and rng.random() < 0.8:
        return "bent body", [bend(frames[0], rng)]
    name = rng.choice(list(MUTATIONS))
    return name, MUTATIONS[name](frames, rng.randrange(len(frames)), rng)


@settings(derandomize=True, max_examples=settings().max_examples * 4)
@given(
    pair=st.sampled_from(PAIRS),
    drawn=st.lists(st.sampled_from(ODD) | st.binary(max_size=12), min_size=20, max_size=24),
    count=st.integers(-1, 1),
)
def test_frames_that_nobody_meant_are_read_alike(
    pair: Pair, drawn: list[bytes], count: int
) -> None:
    """Any bytes where the message's own constants stand, in a number that may be right."""
    wanted = pair.codec.counts[-1] + (pair.codec.guard is not None) + count
    frames = drawn[: max(wanted, 0)]
    for place, constant in pair.codec.lead:
        frames[place : place + 1] = [constant]
    assert differences(pair.decoded(frames), pair.read(frames)) == []
