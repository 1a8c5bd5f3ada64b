"""Notifications: one text that travels with a transfer, read by its separators.

Rules: the text is in one frame and has neither guard nor tag; what tells it are the words
between its fields. A tail in brackets is there whole or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from pdwire_conformance.suite.case import Case, Level, Refuse

from .numbers import bad_decimals
from .prose import bytes_of, doc_of, kind_of, shown
from .rules import clause_of
from .subject import Subject
from .values import edges

__all__ = ["RULES"]

Json = dict[str, Any]
_REFUSED: Final = Refuse(kinds=("frame-value", "unknown-message"))
"""A text that is no value of a field is also none that is known."""
_FIELD: Final = re.compile(r"\{(\w+)\}")
_UNSAFE: Final = frozenset({"underscore", "text-none"})
"""Spellings that a separator makes something else of, or that have cases of their own."""


def _text(
    at: Subject, pieces: Mapping[str, bytes] = MappingProxyType({}), *, tail: bool = True
) -> bytes:
    """The good text with some fields' bytes replaced."""
    head, _, rest = at.layout["text"].partition("[")
    template = head + (rest.removesuffix("]") if tail else "")

    def piece(match: re.Match[str]) -> str:
        raw = pieces.get(match[1])
        if raw is None:
            value = at.bench.values[match[1]]
            raw = str(int(value) if isinstance(value, bool) else value).encode("ascii")
        return raw.decode("latin-1")

    return _FIELD.sub(piece, template).encode("latin-1")


def fields(at: Subject) -> Iterator[Case]:
    """Each field of the text at its edges, and as something that it is not."""
    if not at.layout["text"]:
        return
    for name in _FIELD.findall(at.layout["text"]):
        slot = at.bench.slots[name]
        if slot["type"] == "dec":
            yield from _edges(at, name, slot)
        yield from _bad(at, name, slot)


def _edges(at: Subject, name: str, slot: Json) -> Iterator[Case]:
    for word, number in zip(
        ("least", "greatest"), edges(slot, at.layout, dict(at.bench.slots)), strict=True
    ):
        made = at.bench.given({name: number})
        if made is not None:
            yield at.accept(
                f"field-{name}-{word}",
                made[1],
                made[0],
                purpose=f"The notification {at.layout['text']}: {name} is {kind_of(slot)}. "
                f"{doc_of(slot)} Here it is {number}, its {word} value.",
                expectation=f"Accepted, and {name} is {number}.",
                clauses=(at.clause("text"),),
            )


def _bad(at: Subject, name: str, slot: Json) -> Iterator[Case]:
    for tag, raw, level, why in _spellings(slot):
        yield at.refuse(
            f"field-{name}-{tag}",
            (_text(at, {name: raw}),),
            level=level,
            purpose=f"The notification {at.layout['text']}: {name} is {kind_of(slot)}. "
            f"{doc_of(slot)} Here it is {bytes_of(raw)}.",
            why=why,
            expect=_REFUSED,
            clauses=(at.clause("text"),),
        )


def _spellings(slot: Json) -> Iterator[tuple[str, bytes, Level, str]]:
    yield "empty", b"", Level.MUST, "Two separators with nothing between say nothing, not 0."
    if slot["type"] == "dec":
        yield from (each for each in bad_decimals(slot) if each[0] not in _UNSAFE)
    elif slot["type"] == "flag":
        yield "two", b"2", Level.MUST, "Only 0 and 1 are answers to yes or no."
        yield "true", b"True", Level.MUST, "A language's own word for yes is not the wire's."
        yield "zeros", b"01", Level.SHOULD, "A flag has one spelling."
    else:
        yield "blank", b"a b", Level.SHOULD, "A name has no blanks."
        yield "not-ascii", b"\xff\xfe", Level.MUST, "It is no ASCII; decoding it as such raises."


def structure(at: Subject) -> Iterator[Case]:
    """The text cut, prolonged, with other words or separators."""
    if not at.layout["text"]:
        return
    text = _text(at)
    short = _text(at, tail=False)
    bad = {
        "empty": b"",
        "leading-blank": b" " + text,
        "line-end": text + b"\n",
        "nul": text + b"\x00",
        "no-first": text[text.find(b"_") :],
        "first-only": text.partition(b"_")[0],
        "other-word": text.replace(b"_", b"_x", 1),
        "other-case": text.upper() if text.upper() != text else text.swapcase(),
        "dashes": text.replace(b"_", b"-"),
        "first-separator-twice": text.replace(b"_", b"__", 1),
        "pickle": b"\x80\x05K\x07.",
        "json": b'{"room":7}',
        "not-ascii": b"\xff\xfe" + text,
    }
    bad |= {f"cut-{n}": b"_".join(text.split(b"_")[:n]) for n in _cuts(text, short)}
    if not at.layout["text"].endswith("{agent_name}"):
        bad["one-more"] = text + b"_9"
        bad["trailing-separator"] = text + b"_"
    for tag, raw in bad.items():
        if at.bench.read((raw,)) is None:
            yield at.refuse(
                f"text-{tag}",
                (raw,),
                purpose=f"A notification is the text {at.layout['text']}. Here it is "
                f"{bytes_of(raw)}.",
                why="It is another notification, or a broken one; filling in what is missing "
                "counts a chunk that never came.",
                expect=_REFUSED,
                clauses=(at.clause("text"),),
            )


def _cuts(text: bytes, short: bytes) -> list[int]:
    """Numbers of pieces at which the text ends early, those of the short form apart."""
    whole = len(text.split(b"_"))
    return [n for n in range(2, whole) if n != len(short.split(b"_"))]


def tails(at: Subject) -> Iterator[Case]:
    """The optional end of the text: not there, and then not sent."""
    rest = (at.layout["text"] or "").partition("[")[2]
    if not rest:
        return
    names = _FIELD.findall(rest)
    lacks = {name: at.bench.slots[name]["absent"]["value"] for name in names}
    made = at.bench.given(lacks)
    if made is None:
        return
    clauses = (at.clause("text"), *(at.clause(f"field-{name}/absent") for name in names))
    told = " and ".join(f"{name} is {shown(value)}" for name, value in lacks.items())
    yield at.accept(
        "tail-absent",
        made[1],
        made[0],
        purpose=f"The notification {at.layout['text']} without its end in brackets.",
        expectation=f"Accepted; {told}.",
        clauses=clauses,
    )
    yield at.encode(
        "tail-absent-encode",
        made[0],
        made[1],
        purpose=f"A notification in which {told}: what the lack of the end in brackets says.",
        expectation="The end in brackets is not written.",
        clauses=clauses,
    )


def order(at: Subject) -> Iterator[Case]:
    """Two fields of the text of which the first must be below the second."""
    if not at.layout["text"]:
        return
    for invariant in at.layout["invariants"]:
        if invariant["kind"] != "less":
            continue
        first, second = invariant["fields"]
        clauses = (at.clause(clause_of(invariant)),)
        for a, b in ((7, 7), (8, 7)):
            yield at.refuse(
                f"{clause_of(invariant)}-broken-{a}-{b}",
                (_text(at, {first: str(a).encode(), second: str(b).encode()}),),
                purpose=f"{' '.join(invariant['doc'].split())} Here {first} is {a} and {second} "
                f"is {b}.",
                why="The two contradict each other.",
                expect=Refuse(kinds=("invariant",)),
                clauses=clauses,
            )
        made = at.bench.given({first: 6, second: 7})
        if made is not None:
            yield at.accept(
                f"{clause_of(invariant)}-kept-6-7",
                made[1],
                made[0],
                purpose=f"{' '.join(invariant['doc'].split())} Here {first} is 6 and {second} 7.",
                expectation="Accepted: the two agree.",
                clauses=clauses,
            )


RULES: Final = (fields, structure, tails, order)
