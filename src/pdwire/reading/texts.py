"""Notification texts: ``{room}_kv_{chunk_id}[_part_{part_idx}]`` both ways.

Rules: literals stand as they are, ``{name}`` is a field, square brackets hold one
optional tail at the end. A ``text`` field may only come last and takes the rest. The
tail is written unless every field in it has the value that its lack means.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from pdwire.reading.errors import Refused, shorten, shorten_value
from pdwire.reading.result import Draft
from pdwire.reading.spec import Field, Given, Layout, Message, Slot, Value
from pdwire.reading.types import build, parse, same, slot_construct

_TOKEN = re.compile(r"\{(\w+)\}|([^{}]+)")
_STRICT = {"dec": r"(-?[0-9]+)", "flag": r"([01])", "text": r"([!-~]+)"}
# Where nothing fits: what a field may look like so that the wrong one can be pointed at.
_LOOSE = {"dec": r"([^_]*)", "flag": r"([^_]*)", "text": r"(.*)"}
_LOOSE_MOST = 1024  # a loose pattern may try many ways; a longer text is just another text


@dataclass(frozen=True, slots=True)
class Part:
    """A literal or a field of a text, and whether it belongs to the tail."""

    literal: str | None
    field: str | None
    tail: bool


@lru_cache(maxsize=256)
def parts(text: str) -> tuple[Part, ...]:
    """The text's parts in order."""
    head, _, tail = text.partition("[")
    found = [(piece, place) for place, piece in enumerate((head, tail.removesuffix("]")))]
    return tuple(
        Part(literal=match[2], field=match[1], tail=place == 1)
        for piece, place in found
        for match in _TOKEN.finditer(piece)
    )


def slot_of(message: Message, name: str) -> Slot:
    """The field as the slot that its text is read with."""
    field = message.field(name)
    if field is None:
        raise ValueError(f"{message.key} has no field {name!r}")
    return _slot(field)


def _slot(field: Field) -> Slot:
    return Slot(
        position=0,
        name=field.name,
        kind="field",
        type=field.type,
        field=field.name,
        min=field.min,
        max=field.max,
        allowed=field.allowed,
        absent=field.absent,
    )


def _pattern(message: Message, chosen: list[Part], shapes: Mapping[str, str]) -> str:
    told = []
    for part in chosen:
        if part.literal is not None:
            told.append(re.escape(part.literal))
        elif part.field is not None:
            told.append(shapes[slot_of(message, part.field).type])
    return "".join(told)


def _match(
    message: Message, known: tuple[Part, ...], raw: bytes, shapes: Mapping[str, str]
) -> re.Match[bytes] | None:
    tail = [part for part in known if part.tail]
    pattern = _pattern(message, [part for part in known if not part.tail], shapes)
    if tail:
        pattern += f"(?:{_pattern(message, tail, shapes)})?"
    return re.fullmatch(pattern.encode("ascii"), raw, re.DOTALL)


def split(message: Message, layout: Layout, raw: bytes) -> dict[str, bytes]:
    """The bytes of each field that the text has; :class:`Refused` when it is another text."""
    known = parts(layout.text or "")
    found = _match(message, known, raw, _STRICT)
    if found is None and len(raw) <= _LOOSE_MOST:
        found = _match(message, known, raw, _LOOSE)
    if found is None:
        raise Refused(f"the text {layout.text}", shorten(raw))
    names = [part.field for part in known if part.field is not None]
    pairs = zip(names, found.groups(), strict=True)
    return {name: piece for name, piece in pairs if piece is not None}


def read_text(draft: Draft, raw: bytes) -> None:
    """Fill ``draft`` from the one text."""
    try:
        pieces = split(draft.message, draft.layout, raw)
    except Refused as refusal:
        draft.bad(Slot(position=0, name="text", kind="const", type="text"), raw, 0, refusal)
        return
    for name in fields(draft.layout):
        slot = slot_of(draft.message, name)
        if name in pieces:
            _read(draft, slot, pieces[name])
        else:
            draft.lacking(slot)


def _read(draft: Draft, slot: Slot, raw: bytes) -> None:
    try:
        value: Value = parse(slot_construct(slot), raw)
    except Refused as refusal:
        draft.bad(slot, raw, 0, refusal)
    else:
        draft.good(slot, raw, 0, Given(value=value))


def fields(layout: Layout) -> list[str]:
    """The names of the fields in the text, in order."""
    return [part.field for part in parts(layout.text or "") if part.field is not None]


def write(message: Message, layout: Layout, values: Mapping[str, Value]) -> bytes:
    """The text of ``values``; :class:`Refused` names no field, the caller knows the text."""
    known = parts(layout.text or "")
    tail = [part.field for part in known if part.tail and part.field is not None]
    kept = [part for part in known if not part.tail or not _lacking(message, tail, values)]
    return b"".join(_piece(message, part, values) for part in kept)


def _lacking(message: Message, tail: list[str], values: Mapping[str, Value]) -> bool:
    """Whether the tail says no more than its lack does."""
    for name in tail:
        absent = slot_of(message, name).absent
        if not isinstance(absent, Given) or not same(absent.value, values[name]):
            return False
    return True


def _piece(message: Message, part: Part, values: Mapping[str, Value]) -> bytes:
    if part.literal is not None:
        return part.literal.encode("ascii")
    slot = slot_of(message, part.field or "")
    try:
        return build(slot_construct(slot), values[slot.name])
    except Refused as refusal:
        came = refusal.came or shorten_value(values[slot.name])
        raise Refused(f"{slot.name} to be {refusal.expected}", came) from refusal
