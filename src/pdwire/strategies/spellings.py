"""Values as frames: the canonical spelling, and every other that a decoder must read alike.

Rules: bytes are made by the second reading's own writers, so that a fault of a generated
encoder is none of what its decoder is shown. The first of several spellings is the
canonical one, which failures shrink towards.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from pdwire.reading import ReadingError
from pdwire.reading.bodies import WHOLE
from pdwire.reading.encode import encodings
from pdwire.reading.errors import Refused
from pdwire.reading.rules import derived
from pdwire.reading.spec import Slot, Value
from pdwire.reading.types import build, is_nested, slot_construct
from pdwire.strategies.subjects import Subject
from pdwire.strategies.values import is_nothing

__all__ = ["Multipart", "canonical", "draw_spelling", "written"]

Multipart = tuple[bytes, ...]
Values = Mapping[str, Value]
_OTHERWISE: Final = st.integers(0, 2)
_BLANKS: Final = st.sampled_from(("", " ", "\n", "\t "))
_ORDERS: Final = st.randoms(use_true_random=False)


def canonical(subject: Subject, values: Values) -> Multipart:
    """The frames that an encoder writes, guard included.

    Raises:
        ReadingError: the layout cannot carry a value.
    """
    last: ReadingError | None = None
    for attempt in encodings(subject.message, subject.layout, values):
        if not isinstance(attempt, ReadingError):
            return tuple(attempt)
        last = attempt
    raise last or LookupError(f"{subject.name} allows no frame count")


def written(subject: Subject, slot: Slot, value: Value) -> bytes | None:
    """A value in a frame with bytes in it; ``None`` where there is no such spelling."""
    declared = subject.message.field(slot.field or "")
    kind = slot.type if declared is None else declared.type
    try:
        plain = _only(value) if is_nested(kind) and not is_nested(slot.type) else value
        return build(slot_construct(slot), plain) or None
    except Refused:
        return None


def _only(value: Value) -> Value:
    if not isinstance(value, list) or len(value) != 1:
        raise Refused("one component")
    return value[0]


def draw_spelling(draw: DrawFn, subject: Subject, values: Values) -> Multipart:
    """One of the spellings that mean ``values``."""
    if subject.layout.keys:
        return (_body(draw, subject, canonical(subject, values)[0]),)
    if subject.layout.text is not None:
        return canonical(subject, values)
    frames = list(canonical(subject, values))[subject.skip :]
    frames += _longer(draw, subject, values, len(frames))
    for place, slot in enumerate(subject.layout.frames[: len(frames)]):
        if slot.field is not None:
            others = [raw for raw in _spelled(subject, slot, values) if raw != frames[place]]
            if others and draw(_OTHERWISE) == 2:
                frames[place] = others[0]
    return (*_guards(subject), *_measured(subject, frames))


def _guards(subject: Subject) -> list[bytes]:
    return [] if subject.guard is None else [subject.guard]


def _spelled(subject: Subject, slot: Slot, values: Values) -> list[bytes]:
    """The ways to say the field's value in its frame: empty, filled, or both."""
    name = slot.field or ""
    rules = [rule for rule in subject.layout.derivations if rule.field == name]
    if rules:
        empty = derived(rules[0], values) == values[name]
    else:
        empty = is_nothing(slot.empty, values, values[name])
    filled = written(subject, slot, values[name])
    return ([b""] if empty else []) + ([] if filled is None else [filled])


def _longer(draw: DrawFn, subject: Subject, values: Values, count: int) -> list[bytes]:
    """Frames that might be missing, written all the same."""
    choices: list[list[bytes]] = [[]]
    for longer in (each for each in subject.layout.counts if each > count):
        slots = subject.layout.frames[count:longer]
        told = [_spelled(subject, slot, values) for slot in slots]
        if all(told):
            choices.append([each[-1] for each in told])
    return draw(st.sampled_from(choices)) if len(choices) > 1 else choices[0]


def _measured(subject: Subject, frames: list[bytes]) -> list[bytes]:
    """The frames with every length that another frame has."""
    sizes = {s.field: len(raw) for s, raw in zip(subject.layout.frames, frames, strict=False)}
    return [
        raw if slot.length_of is None else build(slot_construct(slot), sizes[slot.length_of])
        for slot, raw in zip(subject.layout.frames, frames, strict=False)
    ]


def _body(draw: DrawFn, subject: Subject, body: bytes) -> bytes:
    """Keys in another order, keys that nobody knows, blanks, escapes."""
    if draw(_OTHERWISE) != 2:
        return body
    if subject.message.body == "query":
        return _query(draw, body)
    told: dict[str, Any] = json.loads(body)
    whole = any(key.key == WHOLE for key in subject.layout.keys)
    pairs = list(told.items())
    if not whole:
        pairs.append(("a_key_of_tomorrow", {"n": [None, True, "é"]}))
    draw(_ORDERS).shuffle(pairs)
    blank = draw(_BLANKS)
    text = json.dumps(dict(pairs), ensure_ascii=draw(st.booleans()), separators=("," + blank, ":"))
    return (blank + text + blank).encode("utf-8")


def _query(draw: DrawFn, query: bytes) -> bytes:
    """Of a key that comes twice the first counts."""
    pairs = [pair.split("=", 1) for pair in query.decode("ascii").split("&")]
    first = pairs[0][0]
    draw(_ORDERS).shuffle(pairs)
    told = [
        f"{key}={quote(value) if value else ''}" if n else f"{key}={_escaped(value)}"
        for n, (key, value) in enumerate(pairs)
    ]
    return "&".join([*told, f"{first}=9", "a_key_of_tomorrow=%C3%A9"]).encode("ascii")


def _escaped(value: str) -> str:
    return "".join(f"%{byte:02X}" for byte in value.encode("utf-8"))
