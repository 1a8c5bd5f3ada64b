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
        yield at.accept(
            f"key-{key['key']}-missing",
            (_dump(body),),
            at.bench.values | {key["field"]: meaning},
            purpose=f"{_key_words(at, key)} Here the key is missing.",
            expectation=f"Accepted: {key['field']} is {shown(meaning)}.",
            clauses=(*clauses, at.clause(f"field-{key['field']}/absent")),
        )


def types(at: Subject) -> Iterator[Case]:
    """Each key with a value of another type, or out of range."""
    if not _is_json(at):
        return
    for key in at.layout["keys"]:
        slot = at.bench.slots[key["field"]]
        for tag, token in _wrong(slot).items():
            yield at.refuse(
                f"key-{_tag(key)}-{tag}",
                (_with(at, key, token),),
                level=Level.MUST,
                purpose=f"{_key_words(at, key)} Here it is {token if len(token) < 60 else 'huge'}.",
                why="A value of another type, or none of the range, stands for nothing here.",
                expect=_REFUSED,
                clauses=(at.clause(f"key-{key['key']}"),),
            )
        for tag, value in _right(slot).items():
            made = at.bench.given(**{key["field"]: value})
            if made is not None:
                yield at.accept(
                    f"key-{_tag(key)}-{tag}",
                    (_with(at, key, json.dumps(value)),),
                    made[0],
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


def _wrong(slot: Json) -> dict[str, str]:
    kind = slot["type"].removeprefix("json:")
    bare = kind.removesuffix("?")
    found = _WRONG[bare] | (_beyond(slot, _HOLDERS[bare]) if bare in _HOLDERS else {})
    return found if kind.endswith("?") else found | {"null": "null"}


def _beyond(slot: Json, holder: str) -> dict[str, str]:
    low, high = int(slot["min"]) - 1, int(slot["max"]) + 1
    return {"below": holder.replace("N", str(low)), "above": holder.replace("N", str(high))}


_HOLDERS: Final = {"int": "N", "int[]": "[7,N]", "int{}": '{"a":7,"b":N}'}
_WRONG: Final[dict[str, dict[str, str]]] = {
    "int": {"string": '"7"'},
    "str": {"number": "7"},
    "bool": {"number": "1"},
    "object": {"list": "[]"},
    "int[]": {
        "number": "7", "string": '"7"', "of-strings": '["7"]', "of-null": "[null]",
        "of-true": "[true]", "object": '{"0":7}', "of-lists": "[[7]]",
    },
    "int{}": {
        "list": "[7]", "number": "7", "of-strings": '{"a":"7"}', "of-null": '{"a":null}',
        "of-true": '{"a":true}', "of-fractions": '{"a":7.5}',
    },
}  # fmt: skip


def _right(slot: Json) -> dict[str, object]:
    kind = slot["type"].removeprefix("json:")
    found: dict[str, object] = {"null": None} if kind.endswith("?") else {}
    if kind.removesuffix("?") == "int":
        found |= {"least": int(slot["min"]), "greatest": int(slot["max"])}
    elif kind.removesuffix("?") == "bool":
        found |= {"true": True, "false": False}
    elif kind.startswith("int"):
        found |= {"none": [] if kind == "int[]" else {}}
    return found


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


def _query(pairs: list[tuple[str, str]]) -> bytes:
    return "&".join(f"{quote_plus(key)}={quote_plus(value)}" for key, value in pairs).encode()


def queries(at: Subject) -> Iterator[Case]:
    """A query's keys, one by one: missing, twice, spelled with escapes, no number."""
    if not at.layout["keys"] or at.message["body"] != "query":
        return
    pairs = [(key["key"], str(at.bench.values[key["field"]])) for key in at.layout["keys"]]
    for number, key in enumerate(at.layout["keys"]):
        name = key["key"]
        before, after = pairs[:number], pairs[number + 1 :]
        clauses = (at.clause(f"key-{name}"),)
        gone = (before + after, Level.MUST, "The key is required.", "it is missing")
        bad = {"missing": gone}
        spelled = [*bad_decimals(at.bench.slots[key["field"]]), _NOTHING]
        for tag, raw, level, why in spelled:
            told = [*before, (name, raw.decode("latin-1")), *after]
            bad[tag] = (told, level, why, f"it is {bytes_of(raw)}")
        for tag, (told, level, why, says) in bad.items():
            yield at.refuse(
                f"key-{name}-{tag}",
                (_query(told),),
                level=level,
                purpose=f"{_key_words(at, key)} Here {says}.",
                why=why,
                expect=_REFUSED,
                clauses=clauses,
            )
        yield from _query_edges(at, key, pairs, number)
    yield from _whole_query(at, pairs)


_NOTHING: Final = ("empty", b"", Level.MUST, "Nothing is not 0.")


def _query_edges(
    at: Subject, key: Json, pairs: list[tuple[str, str]], number: int
) -> Iterator[Case]:
    slot, name = at.bench.slots[key["field"]], key["key"]
    for tag, value in (("least", int(slot["min"])), ("greatest", int(slot["max"]))):
        made = at.bench.given(**{key["field"]: value})
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
    sent = b"&".join(f"{k}={escaped if k == name else v}".encode() for k, v in pairs)
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
            made = at.bench.given(**changes)
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
