"""Bodies, queries and notification texts with one fault.

Rules: what is drawn is wrong whatever was drawn. Of a body the key is named and no frame:
there is only the one.
"""

from __future__ import annotations

import json
from typing import Any, Final
from urllib.parse import quote_plus

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from pdwire.reading.bodies import WHOLE
from pdwire.reading.spec import Key, Slot
from pdwire.reading.texts import parts
from pdwire.reading.types import build, slot_construct
from pdwire.strategies.bad_values import bad_values
from pdwire.strategies.spellings import canonical
from pdwire.strategies.subjects import Subject

__all__ = ["body_labels", "draw_bad_body", "draw_bad_text", "text_labels"]

Told = tuple[bytes, str, str]
"""Bytes, kind of error, the key or field that is named."""

_NO_JSON: Final = (
    b"", b"null", b"[]", b"1", b"{", b"{}x", b'{"a":NaN}', b'{"a":1e400}', b'{"a":01}', b"\xff",
    b'{"a":"\\ud800"}', b"{'a':1}",
)  # fmt: skip
_NO_QUERY: Final = (b"", b"\xff", b"a", b"a=1&b", "é=1".encode())
_WRONG: Final[dict[str, tuple[Any, ...]]] = {
    "int": ("1", 1.0, True, [1], {}),
    "str": (1, False, ["a"], {}),
    "bool": (1, 0, "true", []),
    "object": ([], "a", 1, True),
}


def body_labels(subject: Subject) -> list[str]:
    """The kinds of fault that a body of the subject can have."""
    keys = [key for key in subject.layout.keys if key.key != WHOLE and not key.optional]
    ranged = [key for key in subject.layout.keys if _out_of_range(subject.slots[key.field])]
    query = subject.message.body == "query"
    known = {"query": query, "json": not query, "key": bool(keys), "range": bool(ranged)}
    return [*[label for label, there in known.items() if there], "spelling" if query else "type"]


def draw_bad_body(draw: DrawFn, subject: Subject, label: str, values: dict[str, Any]) -> Told:
    """A body with one fault of that kind."""
    if label == "json":
        return draw(st.sampled_from(_NO_JSON)), "frame-value", ""
    if label == "query":
        return draw(st.sampled_from(_NO_QUERY)), "frame-value", ""
    raw = canonical(subject, values)[0]
    if subject.message.body == "query":
        return _bad_query(draw, subject, label, raw)
    return _bad_json(draw, subject, label, json.loads(raw))


def _bad_json(draw: DrawFn, subject: Subject, label: str, told: dict[str, Any]) -> Told:
    keys = [key for key in subject.layout.keys if _can(subject, key, label)]
    key = draw(st.sampled_from(keys))
    slot = subject.slots[key.field]
    if label == "key":
        told.pop(key.key, None)
    else:
        wrong = _out_of_range(slot) if label == "range" else _of_another_type(slot)
        value = draw(st.sampled_from(wrong))
        if key.key == WHOLE:
            told = {**told, "7": value}
        else:
            told[key.key] = value
    return json.dumps(told, separators=(",", ":")).encode("utf-8"), "frame-value", key.key


def _can(subject: Subject, key: Key, label: str) -> bool:
    if label == "key":
        return key.key != WHOLE and not key.optional
    return label != "range" or bool(_out_of_range(subject.slots[key.field]))


def _kind(slot: Slot) -> tuple[str, str, bool]:
    """``int``, ``[]`` and whether null is a value."""
    kind = slot.type.removeprefix("json:")
    bare = kind.removesuffix("?")
    plain = bare.removesuffix("[]").removesuffix("{}")
    return plain, bare.removeprefix(plain), kind.endswith("?")


def _out_of_range(slot: Slot) -> list[Any]:
    """Numbers outside of the field's range; none where it has no numbers."""
    plain, many, _ = _kind(slot)
    if plain not in {"int", "dec"} or slot.min is None or slot.max is None:
        return []
    numbers = [slot.max + 1, slot.min - 1, 10**30]
    return [[number] for number in numbers] if many == "[]" else list(numbers)


def _of_another_type(slot: Slot) -> list[Any]:
    plain, many, nullable = _kind(slot)
    wrong = list(_WRONG[plain]) + ([] if nullable else [None])
    if many == "[]":
        return [{}, "a", 1, None, *[[item] for item in wrong]]
    return wrong


def _bad_query(draw: DrawFn, subject: Subject, label: str, raw: bytes) -> Told:
    pairs = [pair.split("=", 1) for pair in raw.decode("ascii").split("&")]
    keys = [key for key in subject.layout.keys if label != "range" or key.type == "dec"]
    key = draw(st.sampled_from(keys))
    if label == "key":
        kept = [pair for pair in pairs if pair[0] != key.key]
    else:
        bad = draw(bad_values(subject.slots[key.field])[label])
        kept = [[name, quote_plus(bad) if name == key.key else word] for name, word in pairs]
    return "&".join("=".join(pair) for pair in kept).encode("ascii"), "frame-value", key.key


def text_labels(subject: Subject) -> list[str]:
    """The kinds of fault that a text of the subject can have."""
    decimal = any(slot.type == "dec" for slot in subject.slots.values())
    return ["grammar", *(["range", "spelling"] if decimal else [])]


def draw_bad_text(draw: DrawFn, subject: Subject, label: str, values: dict[str, Any]) -> Told:
    """A text with one fault of that kind: of its grammar, or of a number in it."""
    if label == "grammar":
        raw = canonical(subject, values)[0]
        first = next(part.literal for part in parts(subject.layout.text or "") if part.literal)
        mark = first.encode("ascii")
        bends = (b"", b"x" + raw, b"_" + raw, raw.partition(mark)[0], raw.replace(mark, b"~", 1))
        return draw(st.sampled_from(bends)), "unknown-message", ""
    decimals = [name for name, slot in subject.slots.items() if slot.type == "dec"]
    name = draw(st.sampled_from(decimals))
    slot = subject.slots[name]
    if label == "range":
        bad = b"%d" % draw(st.sampled_from([(slot.max or 0) + 1, 2**64, 10**30]))
    else:
        bad = b"0%d" % draw(st.integers(0, 99))
    return _composed(subject, values, name, bad), "frame-value", name


def _composed(subject: Subject, values: dict[str, Any], name: str, bad: bytes) -> bytes:
    """The text with every piece written, and one of them as it must not be."""
    pieces = []
    for part in parts(subject.layout.text or ""):
        if part.field is None:
            pieces.append((part.literal or "").encode("ascii"))
        elif part.field == name:
            pieces.append(bad)
        else:
            slot = subject.slots[part.field]
            value = values[part.field]
            least = slot.min if value is None else value
            pieces.append(build(slot_construct(slot), least))
    return b"".join(pieces)
