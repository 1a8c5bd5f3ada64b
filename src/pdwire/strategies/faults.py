"""Multiparts with exactly one fault, and what a decoder must say about it.

Rules: a fault is made, not searched for: whatever was drawn, both readings of the layout
refuse the frames. Its label says what was done; kind, frame and field what the error
names (``docs/spec-language.md`` and the error tree in :mod:`pdwire.errors`).

========== ============================================================ ===============
label      what is wrong                                                kind
========== ============================================================ ===============
count      more or fewer frames than any count of the layout            frame-count
guard      another guard, or none                                       unknown-message
tag        another constant where the message's own stands              unknown-message
width      a broken item, a number of another width                     frame-value
range      a number outside of its range                                frame-value
spelling   a number or flag that is not spelled canonically             frame-value
text       no host, no word, no UTF-8, a word that is not allowed       frame-value
empty      an empty frame that means nothing                            frame-value
nested     a nested list's header that lies                             frame-value
msgpack    descriptors that are something else                          frame-value
length     a length that is not the other frame's                       invariant
invariant  frames that contradict each other                            invariant
grammar    a notification of another form                               unknown-message
json query no object, no query string                                   frame-value
key type   a key that is missing, or of another type                    frame-value
========== ============================================================ ===============
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from pdwire.reading.rules import is_empty
from pdwire.reading.spec import Given, Invariant, Slot
from pdwire.strategies.bad_bodies import body_labels, draw_bad_body, draw_bad_text, text_labels
from pdwire.strategies.bad_values import LABELS, bad_values
from pdwire.strategies.scalars import filled, integers
from pdwire.strategies.spellings import Multipart, canonical
from pdwire.strategies.subjects import Subject, subject
from pdwire.strategies.values import draw_values, resized

__all__ = ["Faulty", "breakable", "faulty_frames", "faulty_of", "labels", "spoiled_frame"]

_OTHER_TAGS: Final = (b"", b"abort", b"XYZ", b"None ", b"\xff", b"ABORTED")
_OTHER_GUARDS: Final = (b"", b"nixlmsgguard", b"MsgGuard", b"None", b"\xff")
_EXTRA: Final = st.lists(st.sampled_from((b"", b"0", b"None", b"\x00" * 8)), min_size=1, max_size=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Faulty:
    """Frames with one fault.

    ``kind`` is a kind of error of the testee protocol. ``frame`` and ``field`` are what the
    error names, ``None`` and empty where that is not settled; of a body ``field`` is the key.
    """

    frames: Multipart
    label: str
    kind: str
    frame: int | None = None
    field: str = ""


def labels(subject: Subject) -> list[str]:
    """The kinds of fault that the layout's frames can have."""
    if subject.layout.keys:
        return body_labels(subject)
    if subject.layout.text is not None:
        rules = ["invariant"] if breakable(subject) else []
        return [*text_labels(subject), *rules]
    slots = subject.layout.frames
    known = {
        "count": True,
        "guard": subject.guard is not None,
        "tag": bool(_tags(subject)),
        "length": any(slot.kind == "length" for slot in slots),
        "invariant": bool(breakable(subject)),
    }
    single = [label for label in LABELS if _spoilable(subject, label)]
    return [label for label, there in known.items() if there] + single


def faulty_frames(
    backend: str,
    message: str,
    *,
    release: str | None = None,
    revision: str | None = None,
    label: str | None = None,
) -> SearchStrategy[Faulty]:
    """Multiparts that the layout's decoder must refuse, each with one fault that is named.

    Args:
        backend: ``"mooncake"``, ``"nixl"``, ``"mori"``, ``"ascend"``.
        message: name on the wire, class name or alias.
        release: a published release, ``"0.5.19"``.
        revision: a layout id, ``"r8"``.
        label: only faults of this kind.

    Raises:
        UnknownLayoutError: there is no such message or layout.
        ValueError: the layout cannot have such a fault; the text says which it can have.
    """
    return faulty_of(subject(backend, message, release=release, revision=revision), label)


def faulty_of(subject: Subject, label: str | None = None) -> SearchStrategy[Faulty]:
    """Faults of one layout, of every kind alike often or of one."""
    known = labels(subject)
    if label is None:
        return st.sampled_from(known).flatmap(partial(_faults, subject))
    if label not in known:
        told = ", ".join(known)
        raise ValueError(f"{subject.name} has no faults of the kind {label!r} (has: {told})")
    return _faults(subject, label)


@st.composite
def _faults(draw: DrawFn, subject: Subject, label: str) -> Faulty:
    values = draw_values(draw, subject)
    if subject.layout.keys:
        raw, kind, field = draw_bad_body(draw, subject, label, values)
        return Faulty(frames=(raw,), label=label, kind=kind, field=field)
    if label == "invariant":
        return _contradiction(draw, subject, values)
    if subject.layout.text is not None:
        raw, kind, field = draw_bad_text(draw, subject, label, values)
        return Faulty(frames=(raw,), label=label, kind=kind, field=field)
    return _spoiled(draw, subject, label, canonical(subject, values))


def _spoiled(draw: DrawFn, subject: Subject, label: str, good: Multipart) -> Faulty:
    match label:
        case "count":
            return _miscounted(draw, subject, good)
        case "guard":
            other = draw(st.sampled_from(_OTHER_GUARDS))
            without = draw(st.booleans())
            frames = good[1:] if without else (other, *good[1:])
            return Faulty(frames=frames, label=label, kind="unknown-message")
        case "tag":
            slot = draw(st.sampled_from(_tags(subject)))
            other = draw(st.sampled_from(_OTHER_TAGS))
            frames = _replaced(subject, good, slot, other)
            return Faulty(frames=frames, label=label, kind="unknown-message")
        case "length":
            return _mismeasured(draw, subject, good)
    slot = draw(st.sampled_from(_spoilable(subject, label)))
    bad = draw(bad_values(slot, ruled=slot.field in subject.ruled)[label])
    return spoiled_frame(subject, good, slot, label, bad)


def spoiled_frame(subject: Subject, good: Multipart, slot: Slot, label: str, bad: bytes) -> Faulty:
    """A message with ``bad`` in the place of one frame's bytes."""
    frames = _replaced(subject, _as_long_as(subject, slot, good), slot, bad)
    return Faulty(
        frames=frames, label=label, kind="frame-value", frame=slot.position, field=slot.name
    )


def _replaced(subject: Subject, frames: Multipart, slot: Slot, raw: bytes) -> Multipart:
    at = slot.position + subject.skip
    return (*frames[:at], raw, *frames[at + 1 :])


def _as_long_as(subject: Subject, slot: Slot, frames: Multipart) -> Multipart:
    """The frames, with those that may be missing put in as far as ``slot`` and its count."""
    wanted = min(n for n in subject.layout.counts if n > slot.position)
    have = len(frames) - subject.skip
    missing = subject.layout.frames[have : max(wanted, have)]
    return (*frames, *[_simplest(each) for each in missing])


def _simplest(slot: Slot) -> bytes:
    """A right frame where one may be missing: a number or a host that nothing contradicts."""
    return {"dec": b"%d" % (slot.min or 0), "host": b"h", "flag": b"0"}.get(slot.type, b"")


def _spoilable(subject: Subject, label: str) -> list[Slot]:
    """The frames that can have a fault of that kind."""
    return [
        slot
        for slot in subject.layout.frames
        if slot.kind == "field" and label in bad_values(slot, ruled=slot.field in subject.ruled)
    ]


def _tags(subject: Subject) -> list[Slot]:
    """The constants by which the message is told."""
    lead = {index - subject.skip for index, _ in subject.codec.lead}
    return [s for s in subject.layout.frames if s.kind == "const" and s.position in lead]


def _miscounted(draw: DrawFn, subject: Subject, good: Multipart) -> Faulty:
    """Frames behind the last one, or fewer than any count, but those that tell the message."""
    counts = subject.layout.counts
    least = len(subject.codec.lead) or 1
    shorter = [n for n in range(least, len(good) - subject.skip) if n not in counts]
    fewer: bool = draw(st.booleans())
    if shorter and fewer:
        count = draw(st.sampled_from(shorter[::-1]))
        return Faulty(frames=good[: count + subject.skip], label="count", kind="frame-count")
    whole = _as_long_as(subject, subject.layout.frames[-1], good)
    return Faulty(frames=(*whole, *draw(_EXTRA)), label="count", kind="frame-count")


def _mismeasured(draw: DrawFn, subject: Subject, good: Multipart) -> Faulty:
    slot: Slot = draw(st.sampled_from([s for s in subject.layout.frames if s.kind == "length"]))
    told = int.from_bytes(good[slot.position + subject.skip], "big")
    other: int = draw(st.sampled_from([n for n in (told + 1, told - 1, 2**32 - 1) if n >= 0]))
    frames = _replaced(subject, good, slot, other.to_bytes(4, "big"))
    return Faulty(frames=frames, label="length", kind="invariant", field=slot.name)


def breakable(subject: Subject) -> list[Invariant]:
    """Rules that frames of the layout can break at all."""
    return [rule for rule in subject.layout.invariants if _can_break(subject, rule)]


def _can_break(subject: Subject, rule: Invariant) -> bool:
    second = subject.slots[rule.fields[1]]
    if rule.kind != "needs":
        return True
    return isinstance(second.empty, Given) and is_empty(second.empty.value)


def _contradiction(draw: DrawFn, subject: Subject, values: dict[str, Any]) -> Faulty:
    rule = draw(st.sampled_from(breakable(subject)))
    bent = {**values, **_broken(draw, subject, rule, values)}
    return Faulty(frames=canonical(subject, bent), label="invariant", kind="invariant")


def _broken(
    draw: DrawFn, subject: Subject, rule: Invariant, values: dict[str, Any]
) -> dict[str, Any]:
    """Values of the rule's fields that break it."""
    one, other = rule.fields[:2]
    first, second = subject.slots[one], subject.slots[other]
    if rule.kind == "less":
        low, high = _numbers(second)
        bound = draw(integers(low, min(high, _numbers(first)[1])))
        return {one: draw(integers(bound, _numbers(first)[1])), other: bound}
    if rule.kind == "needs" and isinstance(second.empty, Given):
        value = draw(filled(first))
        declared = subject.message.field(one)
        flat = declared is not None and declared.type != first.type
        return {one: [value] if flat else value, other: second.empty.value}
    size = len(values[one])
    sizes: Sequence[int] = [n for n in (size + 1, size + 2, size - 1) if n > 0]
    return {other: resized(draw, subject, other, draw(st.sampled_from(sizes)))}


def _numbers(slot: Slot) -> tuple[int, int]:
    return slot.min or 0, slot.max or 0
