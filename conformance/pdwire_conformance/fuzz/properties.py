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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final
from zlib import crc32

from hypothesis.strategies import SearchStrategy

from pdwire_conformance.conform.judge import show

from . import draws
from .context import Context
from .samples import Sample
from .sides import Broke, Direct, Outcome, Read, Refusal, Told, Unasked, Wrote
from .telling import alike, place_of, problem, same_frames, told

__all__ = ["PROPERTIES", "Context", "Property"]


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


def _round_trip(context: Context, sample: Sample) -> None:
    target, subject = context.target, context.subject
    prepared = sample.prepared
    if prepared is None:
        prepared = target.prepare(subject, sample.values or {})
    wrote = target.encode(subject, context.release, prepared)
    if isinstance(wrote, Unasked):
        return
    if not isinstance(wrote, Wrote):
        raise problem(context, "encode", place_of(wrote), "frames", wrote)
    back = target.decode(subject, context.release, wrote.frames)
    if isinstance(back, Unasked):
        return
    if not isinstance(back, Read):
        raise problem(context, "decode", place_of(back), "the message that was encoded", back)
    if "partial" in target.hello.features:
        alike(context, "round trip", sample.values or {}, back)
        return  # it reads some fields only: there is not all that it takes to encode again
    if isinstance(target, Direct) and back.made == prepared:
        again = target.encode(subject, context.release, back.made)
    else:
        alike(context, "round trip", sample.values or {}, back)
        again = target.encode(subject, context.release, target.prepare(subject, back.values))
    same_frames(context, "encode again", wrote.frames, again)


def _differential(context: Context, sample: Sample) -> None:
    """Frames first, then values: who decodes wrongly is told apart from who encodes wrongly."""
    subject, release = context.subject, context.release
    ours = context.target.decode(subject, release, sample.frames)
    theirs = context.reading.decode(subject, release, sample.frames)
    _agree(context, "decode", ours, theirs)
    if sample.values is not None:
        prepared = context.target.prepare(subject, sample.values)
        wrote = context.target.encode(subject, release, prepared)
        same_frames(context, "encode", sample.canonical, wrote)


def _agree(context: Context, op: str, ours: Outcome, theirs: Outcome) -> None:
    """Both read the same values, or both refuse."""
    if isinstance(ours, Unasked) or isinstance(theirs, Unasked):
        return
    if isinstance(ours, Broke) or isinstance(theirs, Broke):
        broken = ours if isinstance(ours, Broke) else theirs
        raise problem(context, op, "breaks", "a message or a refusal", broken)
    if isinstance(theirs, Read):
        if not isinstance(ours, Read):
            raise problem(context, op, f"refuses {place_of(ours)}", show(told(theirs)), ours)
        alike(context, op, theirs.values, ours)
    elif isinstance(ours, Read):
        place = f"accepts {place_of(theirs)}"
        raise problem(context, op, place, f"a refusal: {told(theirs)}", ours)


def _against(context: Context, sample: Sample) -> None:
    """Encoders spell alike; decoders read the same of either's frames."""
    other = context.against
    if other is None or sample.values is None:
        return
    subject, release = context.subject, context.release
    wrote = other.encode(subject, release, other.prepare(subject, sample.values))
    if isinstance(wrote, Wrote):
        written = Wrote(frames=sample.canonical)
        same_frames(context, "encode against", wrote.frames, written, loose=True)
    spellings = [sample.canonical, *([wrote.frames] if isinstance(wrote, Wrote) else [])]
    for frames in dict.fromkeys(spellings):
        ours = context.target.decode(subject, release, frames)
        theirs = other.decode(subject, release, frames)
        if isinstance(theirs, Read) and isinstance(ours, Read):
            shared = {name: theirs.values[name] for name in theirs.values if name in ours.values}
            alike(context, "decode against", shared, ours)
        else:
            _agree(context, "decode against", ours, theirs)


def _refusal(context: Context, sample: Sample) -> None:
    came = context.target.decode(context.subject, context.release, sample.frames)
    if isinstance(came, Unasked):
        return
    expected = f"an error {sample.kind}" + (f" at frame {sample.frame}" if sample.frame else "")
    if not isinstance(came, Refusal):
        place = f"{sample.label} {sample.field}".strip()
        raise problem(context, "refuse", place, expected, came)
    if "typed-errors" in context.target.hello.features:
        right = came.kind == sample.kind and sample.frame in {None, came.frame}
        if not right or (sample.field and came.field != sample.field):
            raise problem(context, "name", f"{sample.label} {sample.field}", expected, came)


def _totality(context: Context, sample: Sample) -> None:
    came = context.target.decode(context.subject, context.release, sample.frames)
    if isinstance(came, Broke):
        raise problem(
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
        raise problem(context, "decode", "allocates", f"at most {allowed} bytes", came)


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
    raise problem(context, "decode", "takes long", f"at most {allowed:.2f} s", came)


def _recognised(context: Context, sample: Sample) -> None:
    came = context.target.recognise(context.subject.backend, sample.frames)
    name, layout = context.subject.codec.message, context.subject.layout.id
    if isinstance(came, Unasked):
        return
    if not isinstance(came, Told):
        raise problem(context, "recognise", place_of(came), f"{name} {layout}", came)
    if layout not in came.candidates.get(name, ()):
        raise problem(context, "recognise", "as another", f"{name} {layout}", came)


_BOTH: Final = ("decode", "encode")
_READS: Final = ("decode",)
PROPERTIES: Final[dict[str, Property]] = {
    name: Property(name=name, samples=samples, listed=listed, check=check, needs=needs)
    for name, samples, listed, check, needs in (
        ("round-trip", draws.valid, draws.edges, _round_trip, _BOTH),
        ("differential", draws.anything, draws.edges, _differential, _BOTH),
        ("against", draws.valid, draws.edges, _against, _READS),
        ("refusal", draws.faulty, draws.faults, _refusal, _READS),
        ("mutations", draws.mutated, draws.nothing, _totality, _READS),
        ("recognise", draws.valid, draws.edges, _recognised, ("recognise",)),
    )
}
"""Every property of codecs, by name."""
