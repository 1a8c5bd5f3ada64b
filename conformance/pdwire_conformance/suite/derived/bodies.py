"""JSON bodies, key by key; what queries share with them.

Rules: a required key that is missing is an error that names it; a key that nobody knows
is ignored, for the next release brings one; a value of another type is refused, and true
is not 1. Of a key that comes twice the last counts in JSON, the first in a query, as the
servers' own parsers have it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from pdwire_conformance.suite.case import Case, Level, Refuse

from .jsons import json_right, json_wrong
from .prose import doc_of, kind_of, shown
from .rules import truth_table
from .subject import BAD_FRAME, Subject

__all__ = ["REFUSED", "RULES", "changed", "dump", "key_words", "keys_of", "where"]

Json = dict[str, Any]
REFUSED: Final = Refuse(kinds=BAD_FRAME)


def where(at: Subject) -> str:
    """Which body of which request or answer, for prose."""
    told = "query" if at.message["body"] == "query" else "JSON body"
    verb = f"{at.message['method']} {at.message['path']}"
    side = "answer to" if at.message["part"] == "response" else "request"
    return f"The {told} of the {side} {verb}"


def key_words(at: Subject, key: Json) -> str:
    """What a key holds, in two sentences."""
    slot = at.bench.slots[key["field"]]
    return f"{where(at)} has the key {key['key']!r}, {kind_of(slot)}. {doc_of(slot)}"


def dump(body: object) -> bytes:
    """JSON in its shortest form."""
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
                (dump(body),),
                purpose=f"{key_words(at, key)} Here the key is missing.",
                why="The key is required; whatever a reader puts in its place is made up.",
                expect=REFUSED,
                clauses=clauses,
            )
            continue
        meaning = key["absent"]["value"]
        if (values := changed(at, key["field"], meaning)) is None:
            continue
        yield at.accept(
            f"key-{key['key']}-missing",
            (dump(body),),
            values,
            purpose=f"{key_words(at, key)} Here the key is missing.",
            expectation=f"Accepted: {key['field']} is {shown(meaning)}.",
            clauses=(*clauses, at.clause(f"field-{key['field']}/absent")),
        )


def changed(at: Subject, name: str, value: object) -> Json | None:
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
                purpose=f"{key_words(at, key)} Here it is {token if len(token) < 60 else 'huge'}.",
                why="A value of another type, or none of the range, stands for nothing here.",
                expect=REFUSED,
                clauses=(at.clause(f"key-{key['key']}"),),
            )
        for tag, value in json_right(slot, slot["type"][5:]).items():
            values = changed(at, key["field"], value)
            if values is not None:
                yield at.accept(
                    f"key-{_tag(key)}-{tag}",
                    (_with(at, key, json.dumps(value)),),
                    values,
                    purpose=f"{key_words(at, key)} Here it is {shown(value)}.",
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
                purpose=f"{key_words(at, key)} Here it is {token if len(token) < 60 else 'huge'}.",
                why="It is not JSON, or no value of the key's type in every reader.",
                expect=REFUSED,
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
            purpose=f"{where(at)} is one JSON object. Here it is {_BODY_WORDS[tag]}.",
            why="It is no JSON object; the server answers with an error and serves the next.",
            expect=REFUSED,
            clauses=keys_of(at),
        )
    if open_ended:
        return
    yield at.accept(
        "body-unknown-key",
        (dump(_body(at) | {"a_key_of_the_next_release": [1, None, {"x": "y"}]}),),
        at.bench.values,
        purpose=f"{where(at)} with one key more than this release knows.",
        expectation="Accepted, the key ignored: so an older side can talk to a newer one.",
        clauses=keys_of(at),
    )
    yield from _spelled_otherwise(at)


def _spelled_otherwise(at: Subject) -> Iterator[Case]:
    body = _body(at)
    yield at.accept(
        "body-other-spelling",
        (json.dumps(dict(reversed(body.items())), indent=2).encode("utf-8"),),
        at.bench.values,
        purpose=f"{where(at)} with its keys in reverse order, on lines of their own.",
        expectation="Accepted: order and blanks mean nothing in JSON.",
        clauses=keys_of(at),
    )
    if not body:
        return  # every key is optional, and the good message has no need of any
    name, value = next(iter(body.items()))
    yield at.accept(
        "body-key-twice",
        (b"{" + dump(name) + b":null," + at.bench.frames[0][1:],),
        at.bench.values,
        level=Level.MAY,
        purpose=f"{where(at)} with the key {name!r} twice: null first, then {shown(value)}.",
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


def keys_of(at: Subject) -> tuple[str, ...]:
    """The clauses of all keys."""
    return tuple(at.clause(f"key-{key['key']}") for key in at.layout["keys"])


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
                purpose=f"{where(at)} says {name} only by its other keys, all of them negative. "
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


RULES: Final = (missing, types, odd, whole, derived)
