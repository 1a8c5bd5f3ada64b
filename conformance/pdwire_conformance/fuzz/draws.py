"""What is drawn for a property, and what is listed: samples of one layout.

Rules: what a sample expects is written by the second reading; what the target will encode
is prepared here, so that it is no part of what is timed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from pdwire.strategies.drawn import Example, examples_of
from pdwire.strategies.faults import Faulty, faulty_of
from pdwire.strategies.mutated import mutations
from pdwire.strategies.subjects import subjects
from pdwire.strategies.sweeps import edge_examples, listed_faults

from .context import Context
from .samples import Sample

__all__ = ["anything", "edges", "faults", "faulty", "mutated", "nothing", "of_example", "valid"]

_swept: dict[str, list[Example]] = {}


def of_example(context: Context, example: Example) -> Sample:
    """A message, with what the target encodes."""
    return Sample(
        values=example.values,
        frames=example.spelled,
        canonical=example.canonical,
        prepared=context.target.prepare(context.subject, example.values),
    )


def _of_fault(fault: Faulty) -> Sample:
    return Sample(
        frames=fault.frames,
        label=fault.label,
        kind=fault.kind,
        frame=fault.frame,
        field=fault.field,
    )


def valid(context: Context) -> SearchStrategy[Sample]:
    """Messages, in every spelling."""
    return examples_of(context.subject).map(partial(of_example, context))


def faulty(context: Context) -> SearchStrategy[Sample]:
    """Frames with one fault."""
    return faulty_of(context.subject).map(_of_fault)


def edges(context: Context) -> Iterator[Sample]:
    """Every field at its edges; worked out once for all properties."""
    key = context.subject.name
    if key not in _swept:
        _swept[key] = list(edge_examples(context.subject))
    return (of_example(context, example) for example in _swept[key])


def faults(context: Context) -> Iterator[Sample]:
    """Every frame spoiled in every listed way."""
    return map(_of_fault, listed_faults(context.subject))


def nothing(_: Context) -> Iterator[Sample]:
    """No listed samples."""
    return iter(())


def mutated(context: Context) -> SearchStrategy[Sample]:
    """Whatever may arrive instead, tails of the release's other messages among it."""
    good = examples_of(context.subject).map(lambda example: example.spelled)
    others = [
        examples_of(each).map(lambda example: example.spelled)
        for each in subjects(context.subject.backend)
        if each.codec.transport == "zmq" and each.codec.releases[-1] == context.release
    ]
    other = st.one_of(others[:6]) if others else None
    return mutations(good, other).map(lambda frames: Sample(frames=tuple(frames)))


def anything(context: Context) -> SearchStrategy[Sample]:
    """Frames of every sort."""
    return st.one_of(valid(context), faulty(context), mutated(context))
