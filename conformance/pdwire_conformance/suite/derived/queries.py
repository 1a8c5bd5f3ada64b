"""Queries, key by key: missing, twice, spelled with escapes, no value of the key's type.

Rules: a value counts after percent-decoding, and is then held to what a frame of its type
is held to. Of a key that comes twice the first counts, as the servers' own parser has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote_plus

from pdwire_conformance.suite.case import Case, Level

from .bodies import REFUSED, changed, dump, key_words, keys_of, where
from .numbers import bad_decimals
from .prose import bytes_of, shown
from .subject import Subject

__all__ = ["RULES"]

Json = dict[str, Any]


def _spelled(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _query(pairs: list[tuple[str, str]]) -> bytes:
    return "&".join(f"{quote_plus(key)}={quote_plus(value)}" for key, value in pairs).encode()


def queries(at: Subject) -> Iterator[Case]:
    """A query's keys, one by one: missing, twice, spelled with escapes, no number."""
    if not at.layout["keys"] or at.message["body"] != "query":
        return
    pairs = [(key["key"], _spelled(at.bench.values[key["field"]])) for key in at.layout["keys"]]
    for number, key in enumerate(at.layout["keys"]):
        yield from _without(at, key, [*pairs[:number], *pairs[number + 1 :]])
        for tag, raw, level, why in [*_bad(at.bench.slots[key["field"]]), _NOTHING]:
            told = [*pairs[:number], (key["key"], raw.decode("latin-1")), *pairs[number + 1 :]]
            yield at.refuse(
                f"key-{key['key']}-{tag}",
                (_query(told),),
                level=level,
                purpose=f"{key_words(at, key)} Here it is {bytes_of(raw)}.",
                why=why,
                expect=REFUSED,
                clauses=(at.clause(f"key-{key['key']}"),),
            )
        yield from _query_edges(at, key, pairs, number)
    yield from _whole_query(at, pairs)


def _without(at: Subject, key: Json, left: list[tuple[str, str]]) -> Iterator[Case]:
    """A query without one of its keys."""
    clauses = (at.clause(f"key-{key['key']}"),)
    purpose = f"{key_words(at, key)} Here it is missing."
    if not key["optional"]:
        yield at.refuse(
            f"key-{key['key']}-missing",
            (_query(left),),
            purpose=purpose,
            why="The key is required; whatever a reader puts in its place is made up.",
            expect=REFUSED,
            clauses=clauses,
        )
        return
    meaning = key["absent"]["value"]
    if (values := changed(at, key["field"], meaning)) is None:
        return
    yield at.accept(
        f"key-{key['key']}-missing",
        (_query(left),),
        values,
        purpose=purpose,
        expectation=f"Accepted: {key['field']} is {shown(meaning)}.",
        clauses=(*clauses, at.clause(f"field-{key['field']}/absent")),
    )


def _bad(slot: Json) -> Iterator[tuple[str, bytes, Level, str]]:
    """What a query's value must not be, after percent-decoding."""
    if slot["type"] == "dec":
        yield from bad_decimals(slot)
    elif slot["type"] == "flag":
        yield "two", b"2", Level.MUST, "Only 0 and 1 are answers to yes or no."
    else:
        yield "blank", b"a b", Level.SHOULD, "A name has no blanks."


_NOTHING: Final = ("empty", b"", Level.MUST, "Nothing is not 0.")


def _query_edges(
    at: Subject, key: Json, pairs: list[tuple[str, str]], number: int
) -> Iterator[Case]:
    slot, name = at.bench.slots[key["field"]], key["key"]
    numeric = slot["type"] == "dec"
    ends = ("least", "greatest") if numeric else ()
    for tag, value in zip(ends, (slot["min"], slot["max"]), strict=False):
        made = at.bench.given({key["field"]: value})
        if made is not None:
            yield at.accept(
                f"key-{name}-{tag}",
                made[1],
                made[0],
                purpose=f"{key_words(at, key)} Here it is {value}, its {tag} value.",
                expectation=f"Accepted, and {key['field']} is {value}.",
                clauses=(at.clause(f"key-{name}"),),
            )
    yield at.accept(
        f"key-{name}-twice",
        (_query([*pairs, (name, "1")]),),
        at.bench.values,
        level=Level.MAY,
        purpose=f"{key_words(at, key)} Here it is there twice, at the end as 1.",
        expectation="Read as the first one says, as the servers' own parsers do.",
        clauses=(at.clause(f"key-{name}"),),
    )
    escaped = "".join(f"%{byte:02X}" for byte in pairs[number][1].encode())
    sent = b"&".join(
        f"{quote_plus(k)}={escaped if k == name else quote_plus(v)}".encode() for k, v in pairs
    )
    yield at.accept(
        f"key-{name}-escaped",
        (sent,),
        at.bench.values,
        purpose=f"{key_words(at, key)} Here every digit is percent-escaped.",
        expectation="Accepted: escapes mean what they escape.",
        clauses=(at.clause(f"key-{name}"),),
    )


def _whole_query(at: Subject, pairs: list[tuple[str, str]]) -> Iterator[Case]:
    good = at.bench.frames[0]
    for tag, raw in {
        "empty": b"", "no-values": b"&".join(key.encode() for key, _ in pairs),
        "not-ascii": good + b"&x=\xff", "json": dump(dict(pairs)),
        "semicolons": good.replace(b"&", b";"),
    }.items():  # fmt: skip
        if at.bench.read((raw,)) is not None:
            continue  # the only required key is a text, and has swallowed the rest
        yield at.refuse(
            f"query-{tag}",
            (raw,),
            purpose=f"{where(at)}. Here it is {bytes_of(raw)}.",
            why="Not every required key has a value.",
            expect=REFUSED,
            clauses=keys_of(at),
        )
    yield at.accept(
        "query-unknown-key",
        (good + b"&a_key_of_the_next_release=1",),
        at.bench.values,
        purpose=f"{where(at)} with one key more than this release knows.",
        expectation="Accepted, the key ignored: so an older server can serve a newer client.",
        clauses=keys_of(at),
    )


RULES: Final = (queries,)
