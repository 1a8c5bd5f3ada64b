"""Values of JSON keys, right and wrong, of any type that the spec language has.

Rules: a type is a base (``int``, ``str``, ``bool``, ``object``) and what is around it, from
the inside out: ``[]`` a list, ``{}`` an object of such values, ``?`` null as well. Wrong
values are tokens, for some of them JSON does not have as values.
"""

from __future__ import annotations

import json
from typing import Any, Final

__all__ = ["json_large", "json_plain", "json_right", "json_small", "json_words", "json_wrong"]

Json = dict[str, Any]

_WORDS: Final = {"str": "a text", "bool": "true or false", "object": "an object"}
_WRONG: Final = {"int": {"string": '"7"'}, "str": {"number": "7"}, "bool": {"number": "1"},
                 "object": {"list": "[]"}}  # fmt: skip


def json_words(slot: Json, kind: str) -> str:
    """What a value of the type is, in words."""
    if kind.endswith("?"):
        return f"{json_words(slot, kind[:-1])} or null"
    if kind.endswith("[]"):
        return f"a list, each of it {json_words(slot, kind[:-2])}"
    if kind.endswith("{}"):
        return f"an object, each of its values {json_words(slot, kind[:-2])}"
    whole = f"a whole number from {slot['min']} to {slot['max']}" if kind == "int" else ""
    return whole or _WORDS[kind]


def json_plain(slot: Json, kind: str, place: int) -> object:
    """A value that depends on ``place``."""
    if kind.endswith("?"):
        return json_plain(slot, kind[:-1], place)
    if kind.endswith("[]"):
        return [json_plain(slot, kind[:-2], place + n) for n in (0, 1)]
    if kind.endswith("{}"):
        return {f"{place + 7 + n}": json_plain(slot, kind[:-2], place + n) for n in (0, 1)}
    if kind == "int":
        return min(max(int(slot["min"]), 0) + place, int(slot["max"]))
    if slot.get("allowed"):
        return slot["allowed"][place % len(slot["allowed"])]
    return {"str": f"word-{place}", "bool": place % 2 == 0, "object": {"n": place}}[kind]


def json_small(slot: Json, kind: str) -> object:
    """Nothing, or the least of it."""
    if kind.endswith("?"):
        return json_small(slot, kind[:-1])
    if kind.endswith("[]"):
        return []
    if kind == "str" and slot.get("allowed"):
        return slot["allowed"][0]
    return {"int": slot["min"], "str": "", "bool": False}.get(kind, {})


def json_large(slot: Json, kind: str) -> object:
    """The greatest of it; lists and objects hold the least and the greatest."""
    if kind.endswith("?"):
        return json_large(slot, kind[:-1])
    if kind.endswith(("[]", "{}")):
        ends = [json_small(slot, kind[:-2]), json_large(slot, kind[:-2])]
        return ends if kind.endswith("[]") else dict(zip(("0", str(2**63 - 1)), ends, strict=True))
    if kind == "str" and slot.get("allowed"):
        return slot["allowed"][-1]
    deep = {"deep": {"er": [1, None, "x"]}}
    return {"int": slot["max"], "str": "délai " * 40, "bool": True, "object": deep}[kind]


def json_wrong(slot: Json, kind: str) -> dict[str, str]:
    """Name -> token of values that are not of the type."""
    if kind.endswith("?"):
        return {tag: token for tag, token in json_wrong(slot, kind[:-1]).items() if tag != "null"}
    inner: dict[str, str] = {}
    if kind.endswith(("[]", "{}")):
        inner = _within(slot, kind[:-2])
    if kind.endswith("[]"):
        found = {"number": "7", "string": '"7"', "object": '{"0":7}'}
        found |= {f"of-{tag}": f"[{token}]" for tag, token in inner.items()}
    elif kind.endswith("{}"):
        found = {"number": "7", "list": "[7]"}
        found |= {f"of-{tag}": f'{{"a":{token}}}' for tag, token in inner.items()}
    else:
        found = dict(_WRONG[kind])
    if kind == "int":
        found |= {"below": str(int(slot["min"]) - 1), "above": str(int(slot["max"]) + 1)}
    if kind == "str" and slot.get("allowed"):
        found["another-word"] = json.dumps("~".join([*slot["allowed"], ""]))
    return found | {"null": "null"}


def _within(slot: Json, kind: str) -> dict[str, str]:
    """Wrong values of what a list or an object holds; true and false are numbers to some."""
    told = {f"{tag}s" if tag == "string" else tag: it for tag, it in json_wrong(slot, kind).items()}
    return told | ({"true": "true"} if kind.rstrip("?") == "int" else {})


def json_right(slot: Json, kind: str) -> dict[str, object]:
    """Name -> values at the edge of the type."""
    if kind.endswith("?"):
        return {"null": None, **json_right(slot, kind[:-1])}
    if kind.endswith(("[]", "{}")):
        return {"none": json.loads(kind[-2:])}
    if kind == "int":
        return {"least": int(slot["min"]), "greatest": int(slot["max"])}
    return {"true": True, "false": False} if kind == "bool" else {}
