"""What each property looks at, with sides that answer whatever a test wants."""

# ruff: noqa: ANN401 - sides and values of every type

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from pdwire.strategies.subjects import Subject, subject
from pdwire.strategies.sweeps import simplest
from pdwire_conformance.fuzz import properties
from pdwire_conformance.fuzz.plan import Cell
from pdwire_conformance.fuzz.properties import PROPERTIES, Context
from pdwire_conformance.fuzz.run import context_of, open_sides
from pdwire_conformance.fuzz.samples import Problem, Sample
from pdwire_conformance.fuzz.sides import Asked, Direct, Read, Refusal, Unasked, Wrote
from pdwire_conformance.proof.convert import from_json

TRANSFER = subject("nixl", "TransferInfo")


@pytest.fixture
def context() -> Iterator[Context]:
    with ExitStack() as stack:
        cell = Cell(prop="", backend="nixl", release="0.5.23", subject=TRANSFER)
        yield context_of(cell, open_sides(stack, "pdwire"))


def with_codec(context: Context, **parts: Any) -> Context:
    """The context with another decoder or encoder."""
    codec = replace(context.subject.codec, **parts)
    return replace(context, subject=replace(context.subject, codec=codec))


def sample() -> Sample:
    example = simplest(TRANSFER)
    return Sample(values=example.values, frames=example.spelled, canonical=example.canonical)


def cause(prop: str, context: Context, tried: Sample) -> str:
    with pytest.raises(Problem) as caught:
        PROPERTIES[prop].check(context, tried)
    return caught.value.cause


@pytest.mark.parametrize("prop", sorted(PROPERTIES))
def test_the_generated_codecs_hold(prop: str, context: Context) -> None:
    tried = sample()
    if prop == "refusal":
        tried = next(PROPERTIES[prop].listed(context))
    PROPERTIES[prop].check(context, tried)


def test_an_exception_of_another_kind_is_told_by_every_property(context: Context) -> None:
    def dies(_: object) -> None:
        raise KeyError("x")

    wrong = with_codec(context, decode=dies)
    assert cause("round-trip", wrong, sample()) == "nixl.TransferInfo: decode breaks"
    assert cause("differential", wrong, sample()) == "nixl.TransferInfo: decode breaks"
    assert cause("mutations", wrong, sample()) == "nixl.TransferInfo: decode breaks KeyError"


def test_a_decoder_that_allocates_out_of_proportion_is_found(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = TRANSFER.codec.decode

    def greedy(frames: Any) -> Any:
        bytearray(1 << 20)
        return right(frames)

    monkeypatch.setattr(properties, "_MEASURED_EVERY", 1)
    told = cause("mutations", with_codec(context, decode=greedy), sample())
    assert told == "nixl.TransferInfo: decode allocates"
    PROPERTIES["mutations"].check(context, sample())


def test_a_decoder_that_takes_its_time_is_found(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(properties, "_MEASURED_EVERY", 1)
    monkeypatch.setattr(properties, "_SLOW_S", 0.0)
    assert cause("mutations", context, sample()) == "nixl.TransferInfo: decode takes long"


def test_a_message_taken_for_another_is_found(context: Context) -> None:
    other = replace(context, subject=subject("nixl", "ABORT"))
    assert cause("recognise", other, sample()) == "common.ABORT: recognise as another"


class Scripted(Asked):
    """A testee that answers what it is told to."""

    def __init__(self, real: Direct, **answers: Callable[[Any], Any]) -> None:
        self._real = real
        self._answers = answers

    @property
    def target(self) -> str:
        return "sglang==9"

    @property
    def hello(self) -> Any:
        return self._real.hello

    def prepare(self, subject: Subject, values: Any) -> Any:
        return self._real.prepare(subject, values)

    def encode(self, subject: Subject, release: str, prepared: Any) -> Any:
        came = self._real.encode(subject, release, prepared)
        return self._answers.get("encode", lambda it: it)(came)

    def decode(self, subject: Subject, release: str, frames: Any) -> Any:
        came = self._real.decode(subject, release, frames)
        return self._answers.get("decode", lambda it: it)(came)


def against(context: Context, **answers: Callable[[Any], Any]) -> Context:
    assert isinstance(context.target, Direct)
    return replace(context, against=Scripted(context.target, **answers))


def test_a_release_that_agrees_is_no_finding(context: Context) -> None:
    PROPERTIES["against"].check(against(context), sample())
    dropped = against(context, decode=lambda _: Unasked(why="ignored"))
    PROPERTIES["against"].check(dropped, sample())


def test_a_release_that_reads_or_writes_otherwise_is_found(context: Context) -> None:
    def another(came: Read) -> Read:
        return Read(made={**came.values, "dst_port": 7})

    told = cause("against", against(context, decode=another), sample())
    assert told == "nixl.TransferInfo: decode against dst_port"

    def shorter(came: Wrote) -> Wrote:
        return Wrote(frames=came.frames[:-1])

    told = cause("against", against(context, encode=shorter), sample())
    assert told == "nixl.TransferInfo: encode against count"

    def refuses(_: object) -> Refusal:
        return Refusal(kind="other", text="no")

    told = cause("against", against(context, decode=refuses), sample())
    assert told == "nixl.TransferInfo: decode against accepts other"


def test_nothing_is_not_an_array_in_json() -> None:
    assert from_json({"hex": "00ff"}) == b"\x00\xff"
    assert from_json([{"hex": ""}, None, [1]]) == [b"", None, [1]]
    assert from_json({"hex": "00", "more": 1}) == {"hex": "00", "more": 1}
