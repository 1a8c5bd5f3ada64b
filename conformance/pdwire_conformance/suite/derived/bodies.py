"""HTTP bodies: JSON objects and queries, key by key.

Rules: a required key that is missing is an error that names it; a key that nobody knows
is ignored, for the next release brings one; a value of another type is refused, and true
is not 1. Of a key that comes twice the last counts in JSON, the first in a query, as the
servers' own parsers have it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote_plus

from pdwire_conformance.suite.case import Case, Level, Refuse

from .jsons import json_right, json_wrong
from .numbers import bad_decimals
from .prose import bytes_of, doc_of, kind_of, shown
from .rules import truth_table
from .subject import BAD_FRAME, Subject

__all__ = ["RULES"]

Json = dict[str, Any]
_REFUSED: Final = Refuse(kinds=BAD_FRAME)


def _where(at: Subject) -> str:
    told = "query" if at.message["body"] == "query" else "JSON body"
    verb = f"{at.message['method']} {at.message['path']}"
    side = "answer to" if at.message["part"] == "response" else "request"
    return f"The {told} of the {side} {verb}"


def _key_words(at: Subject, key: Json) -> str:
    slot = at.bench.slots[key["field"]]
    return f"{_where(at)} has the key {key['key']!r}, {kind_of(slot)}. {doc_of(slot)}"


def _dump(body: object) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def _body(at: Subject) -> Json:
    body: Json = json.loads(at.bench.frames[0])
    return body


def _is_json(at: Subject) -> bool:
    return bool(at.layout["keys"]) and at.message["body"] == "json"


def missing(at: Subject) -> Iterator[Case]:
    """Each key left out: required ones are missed, optional ones mean something."""
    if not _is_json(at):
        return
    for key in at.layout["keys"]:
        if key["key"] == "*":
            continue
        body = _body(at)
        body.pop(key["key"], None)
        clauses = (at.clause(f"key-{key['key']}"),)
        if not key["optional"]:
            yield at.refuse(
                f"key-{key['key']}-missing",
                (_dump(body),),
                purpose=f"{_key_words(at, key)} Here the key is missing.",
                why="The key is required; whatever a reader puts in its place is made up.",
                expect=_REFUSED,
                clauses=clauses,
            )
            continue
        meaning = key["absent"]["value"]
        if (values := _changed(at, key["field"], meaning)) is None:
            continue
        yield at.accept(
            f"key-{key['key']}-missing",
            (_dump(body),),
            values,
            purpose=f"{_key_words(at, key)} Here the key is missing.",
            expectation=f"Accepted: {key['field']} is {shown(meaning)}.",
            clauses=(*clauses, at.clause(f"field-{key['field']}/absent")),
        )


def _changed(at: Subject, name: str, value: object) -> Json | None:
    """The good values with this one changed; ``None`` where another has to change with it."""
    made = at.bench.given({name: value})
    if made is None:
        return None
    others = [each for each in at.bench.slots if each != name]
    same = all(made[0][each] == at.bench.values[each] for each in others)
    return made[0] if same else None


def types(at: Subject) -> Iterator[Case]:
    """Each key with a value of another type, or out of range."""
    if not _is_json(at):
        return
    for key in at.layout["keys"]:
        slot = at.bench.slots[key["field"]]
        for tag, token in json_wrong(slot, slot["type"][5:]).items():
            yield at.refuse(
                f"key-{_tag(key)}-{tag}",
                (_with(at, key, token),),
                level=Level.MUST,
                purpose=f"{_key_words(at, key)} Here it is {token if len(token) < 60 else 'huge'}.",
                why="A value of another type, or none of the range, stands for nothing here.",
                expect=_REFUSED,
                clauses=(at.clause(f"key-{key['key']}"),),
            )
        for tag, value in json_right(slot, slot["type"][5:]).items():
            values = _changed(at, key["field"], value)
            if values is not None:
                yield at.accept(
                    f"key-{_tag(key)}-{tag}",
                    (_with(at, key, json.dumps(value)),),
                    values,
                    purpose=f"{_key_words(at, key)} Here it is {shown(value)}.",
                    expectation=f"Accepted, and {key['field']} is {shown(value)}.",
                    clauses=(at.clause(f"key-{key['key']}"),),
                )


def _tag(key: Json) -> str:
    return "all" if key["key"] == "*" else str(key["key"])


def _with(at: Subject, key: Json, token: str) -> bytes:
    """The good body with one key's value spelled as ``token``."""
    if key["key"] == "*":
        return token.encode("utf-8")
    body = {name: json.dumps(value) for name, value in _body(at).items()} | {key["key"]: token}
    return (
        "{" + ",".join(f"{json.dumps(name)}:{told}" for name, told in body.items()) + "}"
    ).encode()


def odd(at: Subject) -> Iterator[Case]:
    """Numbers and texts that JSON does not have, or has in a form that readers differ about."""
    if not _is_json(at):
        return
    for kind, tokens in _ODD.items():
        key = next(
            (key for key in at.layout["keys"] if key["type"].rstrip("?") == f"json:{kind}"), None
        )
        if key is None:
            continue
        for tag, token in tokens.items():
            yield at.refuse(
                f"key-{_tag(key)}-{tag}",
                (_with(at, key, token),),
                purpose=f"{_key_words(at, key)} Here it is {token if len(token) < 60 else 'huge'}.",
                why="It is not JSON, or no value of the key's type in every reader.",
                expect=_REFUSED,
                clauses=(at.clause(f"key-{key['key']}"),),
            )


_ODD: Final[dict[str, dict[str, str]]] = {
    "int": {
        "nan": "NaN", "infinity": "Infinity", "exponent": "1e2", "far-exponent": "1e400",
        "huge": "1" + "0" * 4000, "zeros": "007", "plus": "+7", "hex": "0x7", "list": "[7]",
        "fraction": "7.5", "whole-fraction": "7.0", "true": "true",
    },
    "str": {"half-pair": r'"\ud800"', "true": "true", "line-end": '"a\nb"'},
    "bool": {"list": "[]", "word": "True", "string": '"true"'},
    "object": {"string": '"{}"', "number": "7"},
}  # fmt: skip


def whole(at: Subject) -> Iterator[Case]:
    """What is no body of that kind at all, and what is one with something more."""
    if not _is_json(at):
        return
    good = at.bench.frames[0]
    open_ended = at.layout["keys"][0]["key"] == "*"
    bad = {
        "empty": b"", "null": b"null", "list": b"[" + good + b"]", "string": b'"x"',
        "cut": good[:-1], "twice": good + good, "trailing": good + b"x",
        "single-quotes": good.replace(b'"', b"'"), "trailing-comma": good[:-1] + b",}",
        "not-utf8": b'{"\xff":1,' + good[1:], "deep": b"[" * 100_000, "pickle": b"\x80\x05}.",
        "utf-16": good.decode().encode("utf-16"),
    }  # fmt: skip
    for tag, raw in bad.items():
        yield at.refuse(
            f"body-{tag}",
            (raw,),
            purpose=f"{_where(at)} is one JSON object. Here it is {_BODY_WORDS[tag]}.",
            why="It is no JSON object; the server answers with an error and serves the next.",
            expect=_REFUSED,
            clauses=_keys(at),
        )
    if open_ended:
        return
    yield at.accept(
        "body-unknown-key",
        (_dump(_body(at) | {"a_key_of_the_next_release": [1, None, {"x": "y"}]}),),
        at.bench.values,
        purpose=f"{_where(at)} with one key more than this release knows.",
        expectation="Accepted, the key ignored: so an older side can talk to a newer one.",
        clauses=_keys(at),
    )
    yield from _spelled_otherwise(at)


def _spelled_otherwise(at: Subject) -> Iterator[Case]:
    body = _body(at)
    yield at.accept(
        "body-other-spelling",
        (json.dumps(dict(reversed(body.items())), indent=2).encode("utf-8"),),
        at.bench.values,
        purpose=f"{_where(at)} with its keys in reverse order, on lines of their own.",
        expectation="Accepted: order and blanks mean nothing in JSON.",
        clauses=_keys(at),
    )
    if not body:
        return  # every key is optional, and the good message has no need of any
    name, value = next(iter(body.items()))
    yield at.accept(
        "body-key-twice",
        (b"{" + _dump(name) + b":null," + at.bench.frames[0][1:],),
        at.bench.values,
        level=Level.MAY,
        purpose=f"{_where(at)} with the key {name!r} twice: null first, then {shown(value)}.",
        expectation="Read as the last one says, as the servers' own parsers do.",
        clauses=(at.clause(f"key-{name}"),),
    )


_BODY_WORDS: Final = {
    "empty": "empty",
    "null": "the word null",
    "list": "a list with the object in it",
    "string": "a text",
    "cut": "cut before its last brace",
    "twice": "there twice",
    "trailing": "followed by a letter",
    "single-quotes": "written with single quotes",
    "trailing-comma": "with a comma behind its last value",
    "not-utf8": "not UTF-8",
    "deep": "100,000 brackets that open",
    "pickle": "bytes that begin as a pickle does",
    "utf-16": "UTF-16",
}


def _keys(at: Subject) -> tuple[str, ...]:
    return tuple(at.clause(f"key-{key['key']}") for key in at.layout["keys"])


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
                purpose=f"{_key_words(at, key)} Here it is {bytes_of(raw)}.",
                why=why,
                expect=_REFUSED,
                clauses=(at.clause(f"key-{key['key']}"),),
            )
        yield from _query_edges(at, key, pairs, number)
    yield from _whole_query(at, pairs)


def _without(at: Subject, key: Json, left: list[tuple[str, str]]) -> Iterator[Case]:
    """A query without one of its keys."""
    clauses = (at.clause(f"key-{key['key']}"),)
    purpose = f"{_key_words(at, key)} Here it is missing."
    if not key["optional"]:
        yield at.refuse(
            f"key-{key['key']}-missing",
            (_query(left),),
            purpose=purpose,
            why="The key is required; whatever a reader puts in its place is made up.",
            expect=_REFUSED,
            clauses=clauses,
        )
        return
    meaning = key["absent"]["value"]
    if (values := _changed(at, key["field"], meaning)) is None:
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
                purpose=f"{_key_words(at, key)} Here it is {value}, its {tag} value.",
                expectation=f"Accepted, and {key['field']} is {value}.",
                clauses=(at.clause(f"key-{name}"),),
            )
    yield at.accept(
        f"key-{name}-twice",
        (_query([*pairs, (name, "1")]),),
        at.bench.values,
        level=Level.MAY,
        purpose=f"{_key_words(at, key)} Here it is there twice, at the end as 1.",
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
        purpose=f"{_key_words(at, key)} Here every digit is percent-escaped.",
        expectation="Accepted: escapes mean what they escape.",
        clauses=(at.clause(f"key-{name}"),),
    )


def _whole_query(at: Subject, pairs: list[tuple[str, str]]) -> Iterator[Case]:
    good = at.bench.frames[0]
    for tag, raw in {
        "empty": b"", "no-values": b"&".join(key.encode() for key, _ in pairs),
        "not-ascii": good + b"&x=\xff", "json": _dump(dict(pairs)),
        "semicolons": good.replace(b"&", b";"),
    }.items():  # fmt: skip
        if at.bench.read((raw,)) is not None:
            continue  # the only required key is a text, and has swallowed the rest
        yield at.refuse(
            f"query-{tag}",
            (raw,),
            purpose=f"{_where(at)}. Here it is {bytes_of(raw)}.",
            why="Not every required key has a value.",
            expect=_REFUSED,
            clauses=_keys(at),
        )
    yield at.accept(
        "query-unknown-key",
        (good + b"&a_key_of_the_next_release=1",),
        at.bench.values,
        purpose=f"{_where(at)} with one key more than this release knows.",
        expectation="Accepted, the key ignored: so an older server can serve a newer client.",
        clauses=_keys(at),
    )


def derived(at: Subject) -> Iterator[Case]:
    """Each derived value of a body, for every combination of what it follows from."""
    if not at.layout["keys"]:
        return
    for rule in at.layout["derivations"]:
        name = rule["field"]
        for number, (_, changes) in enumerate(truth_table(rule, at)):
            made = at.bench.given(changes)
            if made is None:
                continue
            told = ", ".join(f"{key} {value}" for key, value in changes.items())
            clauses = (at.clause(f"derived-{name}"),)
            yield at.accept(
                f"derived-{name}-{number}",
                made[1],
                made[0],
                purpose=f"{_where(at)} says {name} only by its other keys, all of them negative. "
                f"Here: {told}.",
                expectation=f"Accepted: {name} is {shown(made[0][name])}.",
                clauses=clauses,
            )
            yield at.encode(
                f"derived-{name}-{number}-against",
                {**made[0], name: not made[0][name]},
                Refuse(kinds=("lossy-encode",)),
                purpose=f"Values that contradict what the other keys say of {name}: {told}.",
                expectation="Refused: no key says it, so it would arrive as the opposite.",
                clauses=clauses,
            )


RULES: Final = (missing, types, odd, whole, queries, derived)
