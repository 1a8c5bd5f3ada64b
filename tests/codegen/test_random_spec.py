"""Any valid spec becomes codecs that do what its second reading does.

A protocol directory is drawn, checked, emitted, imported as it was emitted, and every
layout of it is driven from both sides: values that a layout carries go there and back,
values of any kind and bent frames are taken or refused alike.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.codegen.imported import import_wire, write_tree
from tests.codegen.strategies.specs import Files, protocols
from tests.differential.mutations import MUTATIONS, bent_body, bent_query
from tests.differential.sides import Pair, Refusal, differences, pairs
from tests.differential.spoils import spoiled
from tests.differential.values import valid

from pdwire.reading import Reading, spec_from_json
from pdwire_codegen.emit_json import spec_json
from pdwire_codegen.emitters import emit_all
from pdwire_codegen.load import load
from pdwire_codegen.model import Spec

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
VALUES = 6
BENT = 4

drawn = settings(
    # To make a failing spec small takes minutes: that is for HYPOTHESIS_PROFILE=nightly.
    phases=set(Phase) - (set() if NIGHTLY else {Phase.shrink, Phase.explain}),
    derandomize=not NIGHTLY,
    database=settings().database if NIGHTLY else None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
many = settings(drawn, max_examples=settings().max_examples * 2)
few = settings(drawn, max_examples=settings().max_examples // 4)


def loaded(files: Files) -> Spec:
    """The checked spec of drawn files."""
    with tempfile.TemporaryDirectory() as folder:
        return load(files.write(Path(folder) / "protocol"), allow_unlocked=True)


def imported(spec: Spec) -> ModuleType:
    """The package that is emitted for a spec."""
    with tempfile.TemporaryDirectory() as folder:
        return import_wire(write_tree(emit_all(spec), Path(folder)))


@many
@given(files=protocols(), seed=st.integers(0, 2**32))
def test_a_drawn_spec_becomes_codecs_that_agree_with_its_reading(files: Files, seed: int) -> None:
    spec = loaded(files)
    wire, export = imported(spec), dict[str, Any](spec_json(spec))  # type: ignore[arg-type]
    rng = Random(seed)  # noqa: S311  # repeatable, nothing secret
    for pair in pairs(wire.layouts(), Reading(spec_from_json(export)), export):
        for _ in range(VALUES):
            values = valid(pair.message, pair.layout, rng)
            frames = _there_and_back(pair, values)
            for _ in range(BENT):
                odd = spoiled(pair.message, values, rng)
                assert pair.encoded(odd) == pair.written(odd), (pair.shown, odd)
                bent = _bent(pair, frames, rng)
                assert differences(pair.decoded(bent), pair.read(bent)) == [], (pair.shown, bent)


def _there_and_back(pair: Pair, values: dict[str, Any]) -> list[bytes]:
    """The frames of values that the layout carries, once both sides agree about them."""
    frames = pair.encoded(values)
    assert isinstance(frames, list), (pair.shown, values, frames)
    assert frames == pair.written(values), (pair.shown, values)
    ours = pair.decoded(frames)
    assert not isinstance(ours, Refusal), (pair.shown, frames, ours)
    assert differences(ours, pair.read(frames)) == [], (pair.shown, frames)
    dropped = {field["name"] for field in pair.message["fields"] if field["ignorable"]}
    kept = {name: value for name, value in values.items() if name not in dropped}
    assert {name: ours[name] for name in kept} == kept, (pair.shown, frames)
    assert pair.encoded(ours) == frames, (pair.shown, ours)
    return frames


def _bent(pair: Pair, frames: list[bytes], rng: Random) -> list[bytes]:
    if pair.message["transport"] == "http" and rng.random() < 0.8:
        bend = bent_query if pair.message["body"] == "query" else bent_body
        return [bend(frames[0], rng)]
    mutation = rng.choice(list(MUTATIONS.values()))
    return mutation(frames, rng.randrange(len(frames)), rng)


@few
@given(files=protocols())
def test_a_drawn_spec_is_emitted_the_same_again(files: Files) -> None:
    assert emit_all(loaded(files)) == emit_all(loaded(files))


@few
@given(files=protocols(), seed=st.integers(0, 2**32))
def test_every_release_of_a_drawn_spec_has_its_layout(files: Files, seed: int) -> None:
    """``layout(…, release=…)`` and ``recognise`` find what the spec says."""
    spec = loaded(files)
    wire = imported(spec)
    rng = Random(seed)  # noqa: S311  # repeatable, nothing secret
    for message, told in zip(spec.messages, _messages(spec), strict=True):
        for layout, facts in zip(message.layouts, told["layouts"], strict=True):
            for backend, releases in layout.speakers.items():
                found = {wire.layout(backend, message.name, release=r) for r in releases}
                assert {codec.layout for codec in found} == {layout.id}
                codec = wire.layout(backend, message.class_name, revision=layout.id)
                assert found == {codec}
                assert set(releases) == set(codec.releases) <= set(wire.releases(backend))
                if message.transport == "zmq":
                    _recognised(wire, codec, valid(told, facts, rng))


def _messages(spec: Spec) -> list[dict[str, Any]]:
    export: Any = spec_json(spec)
    return list(export["messages"])


def _recognised(wire: ModuleType, codec: Any, values: dict[str, Any]) -> None:  # noqa: ANN401
    frames = codec.encode(codec.cls(**values))
    if codec.number is not None and not frames[codec.number].isdigit():
        return  # a number that may be empty tells nothing when it is
    assert codec in wire.recognise(frames, backend=codec.backend).candidates
