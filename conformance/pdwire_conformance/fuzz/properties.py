"""What must hold of a codec, each as what to draw and what to look at.

Rules:

* A property is a strategy of samples for one layout, and a function of one sample and the
  sides that raises :class:`~.samples.Problem` where it does not hold. The function draws
  nothing, so that a finding is tried again from its file alone.
* What is expected is made by the second reading's writers, never by the target.
* A cause names message, operation and place, never a value: one fault is one finding.

============= =====================================================================
round-trip    what is encoded is decoded to the same values, and encoded alike again
differential  the target and the second reading agree about frames of every sort
against       the target and a real release agree about valid messages (``--against``)
refusal       frames with one known fault are refused, and for the reason told
mutations     whatever arrives is a message or an error of the wire, soon and cheaply
recognise     bytes are never taken for something that excludes what they were made as
============= =====================================================================
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from zlib import crc32

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from pdwire.reading.types import same
from pdwire.strategies.drawn import Example, examples_of
from pdwire.strategies.faults import Faulty, faulty_of
from pdwire.strategies.mutated import mutations
from pdwire.strategies.subjects import Subject, subjects
from pdwire.strategies.sweeps import edge_examples, listed_faults
from pdwire_conformance.conform.judge import show
from pdwire_conformance.proof.check import same_spelling
from pdwire_conformance.proof.spec import layout_of

from .samples import Problem, Sample
from .sides import (
    Broke,
    Direct,
    Interpreted,
    Outcome,
    Read,
    Refusal,
    Side,
    Told,
    Unasked,
    Wrote,
    to_json,
)

__all__ = ["PROPERTIES", "Context", "Property"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Who is asked, about what. ``release`` is one that speaks the subject's layout."""

    subject: Subject
    release: str
    target: Side
    reading: Interpreted
    against: Side | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """One property; ``needs`` are the operations that the target must have.

    ``samples`` are drawn; ``listed`` are tried once, first, and are always the same.
    """

    name: str
    samples: Callable[[Context], SearchStrategy[Sample]]
    listed: Callable[[Context], Iterator[Sample]]
    check: Callable[[Context, Sample], None]
    needs: tuple[str, ...]


_EDGE_BYTES: Final = 1 << 16
_PER_BYTE: Final = 48
_SLOW_S: Final = 0.5
_MEASURED_EVERY: Final = 16


_swept: dict[str, list[Example]] = {}

# ------------------------------------------------------------------ what is drawn


def _of_example(context: Context, example: Example) -> Sample:
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


def _valid(context: Context) -> SearchStrategy[Sample]:
    return examples_of(context.subject).map(partial(_of_example, context))


def _faulty(context: Context) -> SearchStrategy[Sample]:
    return faulty_of(context.subject).map(_of_fault)


def _edges(context: Context) -> Iterator[Sample]:
    """Every field at its edges; worked out once for all properties."""
    key = context.subject.name
    if key not in _swept:
        _swept[key] = list(edge_examples(context.subject))
    return (_of_example(context, example) for example in _swept[key])


def _listed_faults(context: Context) -> Iterator[Sample]:
    return map(_of_fault, listed_faults(context.subject))


def _nothing(_: Context) -> Iterator[Sample]:
    return iter(())


def _mutated(context: Context) -> SearchStrategy[Sample]:
    good = examples_of(context.subject).map(lambda example: example.spelled)
    others = [
        examples_of(each).map(lambda example: example.spelled)
        for each in subjects(context.subject.backend)
        if each.codec.transport == "zmq" and each.codec.releases[-1] == context.release
    ]
    other = st.one_of(others[:6]) if others else None
    return mutations(good, other).map(lambda frames: Sample(frames=tuple(frames)))


def _any(context: Context) -> SearchStrategy[Sample]:
    return st.one_of(_valid(context), _faulty(context), _mutated(context))


# --------------------------------------------------------------- what is looked at


def _round_trip(context: Context, sample: Sample) -> None:
    target, subject = context.target, context.subject
    prepared = sample.prepared
    if prepared is None:
        prepared = target.prepare(subject, sample.values or {})
    wrote = target.encode(subject, context.release, prepared)
    if isinstance(wrote, Unasked):
        return
    if not isinstance(wrote, Wrote):
        raise _problem(context, "encode", _place(wrote), "frames", wrote)
    back = target.decode(subject, context.release, wrote.frames)
    if isinstance(back, Unasked):
        return
    if not isinstance(back, Read):
        raise _problem(context, "decode", _place(back), "the message that was encoded", back)
    if "partial" in target.hello.features:
        _alike(context, "round trip", sample.values or {}, back)
        return  # it reads some fields only: there is not all that it takes to encode again
    if isinstance(target, Direct) and back.made == prepared:
        again = target.encode(subject, context.release, back.made)
    else:
        _alike(context, "round trip", sample.values or {}, back)
        again = target.encode(subject, context.release, target.prepare(subject, back.values))
    _same_frames(context, "encode again", wrote.frames, again)


def _differential(context: Context, sample: Sample) -> None:
    """Frames first, then values: who decodes wrongly is told apart from who encodes wrongly."""
    subject, release = context.subject, context.release
    ours = context.target.decode(subject, release, sample.frames)
    theirs = context.reading.decode(subject, release, sample.frames)
    _agree(context, "decode", ours, theirs)
    if sample.values is not None:
        prepared = context.target.prepare(subject, sample.values)
        wrote = context.target.encode(subject, release, prepared)
        _same_frames(context, "encode", sample.canonical, wrote)


def _agree(context: Context, op: str, ours: Outcome, theirs: Outcome) -> None:
    """Both read the same values, or both refuse."""
    if isinstance(ours, Unasked) or isinstance(theirs, Unasked):
        return
    if isinstance(ours, Broke) or isinstance(theirs, Broke):
        broken = ours if isinstance(ours, Broke) else theirs
        raise _problem(context, op, "breaks", "a message or a refusal", broken)
    if isinstance(theirs, Read):
        if not isinstance(ours, Read):
            raise _problem(context, op, f"refuses {_place(ours)}", show(_told(theirs)), ours)
        _alike(context, op, theirs.values, ours)
    elif isinstance(ours, Read):
        place = f"accepts {_place(theirs)}"
        raise _problem(context, op, place, f"a refusal: {_told(theirs)}", ours)


def _against(context: Context, sample: Sample) -> None:
    """Encoders spell alike; decoders read the same of either's frames."""
    other = context.against
    if other is None or sample.values is None:
        return
    subject, release = context.subject, context.release
    wrote = other.encode(subject, release, other.prepare(subject, sample.values))
    if isinstance(wrote, Wrote):
        written = Wrote(frames=sample.canonical)
        _same_frames(context, "encode against", wrote.frames, written, loose=True)
    spellings = [sample.canonical, *([wrote.frames] if isinstance(wrote, Wrote) else [])]
    for frames in dict.fromkeys(spellings):
        ours = context.target.decode(subject, release, frames)
        theirs = other.decode(subject, release, frames)
        if isinstance(theirs, Read) and isinstance(ours, Read):
            shared = {name: theirs.values[name] for name in theirs.values if name in ours.values}
            _alike(context, "decode against", shared, ours)
        else:
            _agree(context, "decode against", ours, theirs)


def _refusal(context: Context, sample: Sample) -> None:
    came = context.target.decode(context.subject, context.release, sample.frames)
    if isinstance(came, Unasked):
        return
    expected = f"an error {sample.kind}" + (f" at frame {sample.frame}" if sample.frame else "")
    if not isinstance(came, Refusal):
        place = f"{sample.label} {sample.field}".strip()
        raise _problem(context, "refuse", place, expected, came)
    if "typed-errors" in context.target.hello.features:
        right = came.kind == sample.kind and sample.frame in {None, came.frame}
        if not right or (sample.field and came.field != sample.field):
            raise _problem(context, "name", f"{sample.label} {sample.field}", expected, came)


def _totality(context: Context, sample: Sample) -> None:
    came = context.target.decode(context.subject, context.release, sample.frames)
    if isinstance(came, Broke):
        raise _problem(
            context, "decode", f"breaks {came.text.partition(':')[0]}", "a wire error", came
        )
    size = sum(map(len, sample.frames))
    if isinstance(context.target, Direct) and _measured(sample):
        _cheap(context, sample, size)
        _soon(context, sample, size)


def _measured(sample: Sample) -> bool:
    """Tracing costs a hundred times the decoding: some samples, always the same ones."""
    return crc32(b"".join(sample.frames)) % _MEASURED_EVERY == 0


def _cheap(context: Context, sample: Sample, size: int) -> None:
    context.target.decode(context.subject, context.release, sample.frames)  # tables are filled
    tracemalloc.start()
    try:
        context.target.decode(context.subject, context.release, sample.frames)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    allowed = _EDGE_BYTES + _PER_BYTE * size
    if peak > allowed:
        came = Broke(text=f"{peak} bytes for {size}")
        raise _problem(context, "decode", "allocates", f"at most {allowed} bytes", came)


def _soon(context: Context, sample: Sample, size: int) -> None:
    """The best of five: another process may have had the core."""
    allowed = _SLOW_S * (1 + size / (1 << 20))
    best = float("inf")
    for _ in range(5):
        begun = time.perf_counter()
        context.target.decode(context.subject, context.release, sample.frames)
        best = min(best, time.perf_counter() - begun)
        if best <= allowed:
            return
    came = Broke(text=f"{best:.2f} s for {size} bytes")
    raise _problem(context, "decode", "takes long", f"at most {allowed:.2f} s", came)


def _recognised(context: Context, sample: Sample) -> None:
    came = context.target.recognise(context.subject.backend, sample.frames)
    name, layout = context.subject.codec.message, context.subject.layout.id
    if isinstance(came, Unasked):
        return
    if not isinstance(came, Told):
        raise _problem(context, "recognise", _place(came), f"{name} {layout}", came)
    if layout not in came.candidates.get(name, ()):
        raise _problem(context, "recognise", "as another", f"{name} {layout}", came)


# -------------------------------------------------------------------- telling apart


def _problem(context: Context, op: str, place: str, expected: str, came: Outcome) -> Problem:
    cause = f"{context.subject.message.key}: {op}" + (f" {place}" if place else "")
    return Problem(cause, expected=expected, came=show(_told(came)))


def _told(outcome: Outcome) -> Any:  # noqa: ANN401 - JSON
    match outcome:
        case Refusal(kind=kind, text=text):
            return f"an error {kind}: {text}"
        case Broke(text=text):
            return text
        case Wrote(frames=frames):
            return [frame.hex() for frame in frames]
        case Told(ambiguous=ambiguous, candidates=candidates):
            return {"ambiguous": ambiguous, **candidates}
        case Read():
            return {name: to_json(value) for name, value in outcome.values.items()}
        case _:
            return "nothing"


def _place(outcome: Outcome) -> str:
    """Where an error is, for a cause: the field, or the kind where there is none."""
    if isinstance(outcome, Refusal):
        return outcome.field or outcome.kind
    return "breaks" if isinstance(outcome, Broke) else ""


def _alike(context: Context, op: str, wanted: Mapping[str, Any], came: Read) -> None:
    """Every field that both name, of one value and type; a peer's nothing is no array."""
    values = came.values
    partial = "partial" in context.target.hello.features
    for name, value in wanted.items():
        if name not in values:
            if partial:
                continue
            raise _problem(context, op, name, f"a value of {name}", came)
        other = values[name]
        if not same(value, other) and not _no_array(value, other):
            expected = show({name: to_json(value)})
            only = Read(made={name: other})
            raise _problem(context, op, name, expected, only)


def _no_array(one: object, other: object) -> bool:
    """A peer's ``None`` where there is no array is no array."""
    return (one is None and other == []) or (one == [] and other is None)


def _same_frames(
    context: Context,
    op: str,
    wanted: tuple[bytes, ...],
    came: Outcome,
    *,
    loose: bool = False,
) -> None:
    """The same bytes; ``loose``, and of a foreign target always, another allowed spelling."""
    if isinstance(came, Unasked):
        return
    if not isinstance(came, Wrote):
        raise _problem(context, op, _place(came), f"{len(wanted)} frames", came)
    if came.frames == wanted or _spelled_alike(context, wanted, came.frames, loose=loose):
        return
    if len(came.frames) != len(wanted):
        told = Broke(text=f"{len(came.frames)} frames")
        raise _problem(context, op, "count", f"{len(wanted)} frames", told)
    at = next(n for n, (a, b) in enumerate(zip(wanted, came.frames, strict=True)) if a != b)
    expected = f"frame {at} of the multipart {wanted[at].hex() or 'empty'}"
    told = Broke(text=came.frames[at].hex() or "empty")
    raise _problem(context, op, f"frame {at - context.subject.skip}", expected, told)


def _spelled_alike(
    context: Context, ours: tuple[bytes, ...], theirs: tuple[bytes, ...], *, loose: bool
) -> bool:
    """The other spellings that the spec allows; the generated codecs write none of them.

    Keys of a body may be left out or not where that means the same.
    """
    if isinstance(context.target, Direct) and not loose:
        return False
    subject, release = context.subject, context.release
    if subject.layout.keys:
        read = [context.reading.decode(subject, release, frames) for frames in (ours, theirs)]
        return all(isinstance(each, Read) for each in read) and read[0] == read[1]
    message, layout = layout_of(subject.backend, subject.codec.message, release)
    return same_spelling(message, layout, ours, theirs)


_BOTH: Final = ("decode", "encode")
_READS: Final = ("decode",)
PROPERTIES: Final[dict[str, Property]] = {
    name: Property(name=name, samples=samples, listed=listed, check=check, needs=needs)
    for name, samples, listed, check, needs in (
        ("round-trip", _valid, _edges, _round_trip, _BOTH),
        ("differential", _any, _edges, _differential, _BOTH),
        ("against", _valid, _edges, _against, _READS),
        ("refusal", _faulty, _listed_faults, _refusal, _READS),
        ("mutations", _mutated, _nothing, _totality, _READS),
        ("recognise", _valid, _edges, _recognised, ("recognise",)),
    )
}
"""Every property of codecs, by name."""
