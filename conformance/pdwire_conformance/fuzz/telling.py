"""How answers are held against what was expected, and how a fault gets its name.

Rules: a cause names message, operation and place, never a value, so that one fault is one
finding. What the spec lets a foreign encoder spell otherwise is no fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pdwire.reading.types import same
from pdwire_conformance.conform.judge import show
from pdwire_conformance.proof.check import same_spelling
from pdwire_conformance.proof.convert import to_json
from pdwire_conformance.proof.spec import layout_of

from .context import Context
from .samples import Problem
from .sides import Broke, Direct, Outcome, Read, Refusal, Told, Unasked, Wrote

__all__ = ["alike", "place_of", "problem", "same_frames", "told"]


def problem(context: Context, op: str, place: str, expected: str, came: Outcome) -> Problem:
    """What does not hold, named for the message, the operation and the place."""
    cause = f"{context.subject.message.key}: {op}" + (f" {place}" if place else "")
    return Problem(cause, expected=expected, came=show(told(came)))


def told(outcome: Outcome) -> Any:  # noqa: ANN401 - JSON
    """An answer in words or as JSON."""
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


def place_of(outcome: Outcome) -> str:
    """Where an error is, for a cause: the field, or the kind where there is none."""
    if isinstance(outcome, Refusal):
        return outcome.field or outcome.kind
    return "breaks" if isinstance(outcome, Broke) else ""


def alike(context: Context, op: str, wanted: Mapping[str, Any], came: Read) -> None:
    """Every field that both name, of one value and type; a peer's nothing is no array."""
    values = came.values
    partial = "partial" in context.target.hello.features
    for name, value in wanted.items():
        if name not in values:
            if partial:
                continue
            raise problem(context, op, name, f"a value of {name}", came)
        other = values[name]
        if not same(value, other) and not _no_array(value, other):
            expected = show({name: to_json(value)})
            only = Read(made={name: other})
            raise problem(context, op, name, expected, only)


def _no_array(one: object, other: object) -> bool:
    """A peer's ``None`` where there is no array is no array."""
    return (one is None and other == []) or (one == [] and other is None)


def same_frames(
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
        raise problem(context, op, place_of(came), f"{len(wanted)} frames", came)
    if came.frames == wanted or _spelled_alike(context, wanted, came.frames, loose=loose):
        return
    if len(came.frames) != len(wanted):
        words = Broke(text=f"{len(came.frames)} frames")
        raise problem(context, op, "count", f"{len(wanted)} frames", words)
    at = next(n for n, (a, b) in enumerate(zip(wanted, came.frames, strict=True)) if a != b)
    expected = f"frame {at} of the multipart {wanted[at].hex() or 'empty'}"
    words = Broke(text=came.frames[at].hex() or "empty")
    raise problem(context, op, f"frame {at - context.subject.skip}", expected, words)


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
