"""HTTP bodies: JSON objects and query strings, both ways.

Rules: unknown keys are ignored, a required key must be there, an optional one that is
not takes the value that its lack means and is left out when it has it. Of a JSON key
that comes twice the last counts, as the peers' parsers have it; of a query's the first.
Escapes in a query that are no UTF-8 spoil the value that they stand in, not its neighbours.
The key ``*`` is the whole body.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, quote_plus

from pdwire.reading.errors import Refused, shorten, shorten_value
from pdwire.reading.result import Draft, Fault
from pdwire.reading.rules import meant
from pdwire.reading.scalars import integer
from pdwire.reading.spec import Field, Given, Key, Layout, Message, Slot, Value
from pdwire.reading.types import build, parse, same, slot_construct

WHOLE = "*"
_MOST_KEYS = 256
_WORDS = {"bool": bool, "str": str, "object": dict}

Parsed = Mapping[str, Any]


def parse_body(message: Message, raw: bytes) -> Parsed:
    """The body's keys; :class:`Refused` when it is no body of that kind at all."""
    return _query(raw) if message.body == "query" else _json(raw)


def _constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _finite(word: str) -> float:
    number = float(word)
    if math.isinf(number):
        raise ValueError(f"{word} is no number")
    return number


def _object(pairs: list[tuple[str, Any]]) -> Parsed:
    """The pairs as a mapping; of a key that comes twice each value is looked at."""
    for pair in pairs:
        _whole_text(pair)
    return dict(pairs)


def _whole_text(value: Any) -> None:  # noqa: ANN401 - JSON
    """``UnicodeEncodeError`` for half a surrogate pair; objects were looked at before."""
    if isinstance(value, str):
        value.encode("utf-8")
    elif isinstance(value, list | tuple):
        for item in value:
            _whole_text(item)


def _json(raw: bytes) -> Parsed:
    try:
        body = json.loads(
            raw.decode("utf-8"),
            parse_constant=_constant,
            parse_float=_finite,
            object_pairs_hook=_object,
        )
    except (ValueError, RecursionError) as error:
        raise Refused("a JSON object", shorten(raw)) from error
    if not isinstance(body, dict):
        raise Refused("a JSON object", shorten(raw))
    return body


def _query(raw: bytes) -> Parsed:
    try:
        pairs = parse_qsl(
            raw.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=True,
            max_num_fields=_MOST_KEYS,
        )
    except ValueError as error:
        raise Refused("a query string", shorten(raw)) from error
    return dict(reversed(pairs))


def _field(message: Message, key: Key) -> Field:
    field = message.field(key.field)
    if field is None:
        raise ValueError(f"{message.key} has no field {key.field!r}")
    return field


def slot_of(message: Message, key: Key) -> Slot:
    """The key as a slot: its field's range and words, its own type."""
    field = _field(message, key)
    return Slot(
        position=0,
        name=key.key,
        kind="field",
        type=key.type,
        field=key.field,
        min=field.min,
        max=field.max,
        allowed=field.allowed,
        absent=key.absent,
    )


def read_body(draft: Draft, raw: bytes) -> None:
    """Fill ``draft`` from the one body; unknown keys get no row."""
    try:
        body = parse_body(draft.message, raw)
    except Refused as refusal:
        draft.bad(Slot(position=0, name="body", kind="const", type="body"), raw, 0, refusal)
        return
    for key in draft.layout.keys:
        slot = slot_of(draft.message, key)
        if key.key in body or key.key == WHOLE:
            _read(draft, slot, body if key.key == WHOLE else body[key.key])
        elif key.optional:
            draft.lacking(slot)
        else:
            fault = _no_key(key, body)
            draft.faults.append(fault)
            draft.missing(slot, fault)


def _no_key(key: Key, body: Parsed) -> Fault:
    there = ", ".join(shorten_value(each) for each in list(body)[:4]) or "no keys"
    return Fault(
        kind="value",
        position=0,
        field=key.field,
        expected=f"the key {key.key!r}, required in this release",
        came=there if len(body) <= 4 else f"{there}, …",
    )


def _read(draft: Draft, slot: Slot, came: Any) -> None:  # noqa: ANN401 - JSON
    raw = came.encode("utf-8", "replace") if isinstance(came, str) else None
    try:
        value = _value(slot, came)
    except Refused as refusal:
        draft.bad(slot, raw, 0, Refused(refusal.expected, refusal.came or shorten_value(came)))
    else:
        draft.good(slot, raw, 0, Given(value=value))


def _value(slot: Slot, came: Any) -> Value:  # noqa: ANN401 - JSON
    if slot.type.startswith("json:"):
        _check(slot, slot.type.removeprefix("json:"), came)
        return came  # type: ignore[no-any-return] # just checked
    value: Value = parse(slot_construct(slot), came.encode("utf-8"))
    return value


def _check(slot: Slot, kind: str, came: object) -> None:
    """:class:`Refused` unless ``came`` is a JSON value of type ``kind``."""
    if kind.endswith("?"):
        if came is not None:
            _check(slot, kind[:-1], came)
    elif kind.endswith(("[]", "{}")):
        for item in _items(kind, came):
            _check(slot, kind[:-2], item)
    elif kind == "int":
        integer(came, slot.min, slot.max)
    elif kind == "float":
        if isinstance(came, bool) or not isinstance(came, int | float):
            raise Refused("a JSON number", shorten_value(came))
    elif kind != "any":
        _word(slot, kind, came)


def _items(kind: str, came: object) -> list[object]:
    if kind.endswith("[]") and isinstance(came, list | tuple):
        return list(came)
    if kind.endswith("{}") and isinstance(came, dict):
        return list(came.values())
    raise Refused("a JSON " + ("list" if kind.endswith("[]") else "object"), shorten_value(came))


def _word(slot: Slot, kind: str, came: object) -> None:
    if not isinstance(came, _WORDS[kind]):
        raise Refused(f"JSON {kind}", shorten_value(came))
    if kind == "str" and slot.allowed and came not in slot.allowed:
        raise Refused("one of " + ", ".join(slot.allowed), shorten_value(came))


def write(message: Message, layout: Layout, values: Mapping[str, Value]) -> bytes:
    """The body of ``values``, keys in the layout's order."""
    told = {key.key: _told(message, key, values) for key in layout.keys if _said(key, values)}
    if message.body == "query":
        return "&".join(
            f"{quote_plus(key)}={quote_plus(word)}" for key, word in told.items()
        ).encode()
    try:
        text = json.dumps(told.get(WHOLE, told), ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise Refused("values that JSON has", shorten_value(told)) from error


def _said(key: Key, values: Mapping[str, Value]) -> bool:
    lack = meant(key.absent, values)
    lacking = lack is not None and same(lack.value, values[key.field])
    return not (key.optional and lacking)


def _told(message: Message, key: Key, values: Mapping[str, Value]) -> Any:  # noqa: ANN401
    slot, value = slot_of(message, key), values[key.field]
    try:
        if slot.type.startswith("json:"):
            _check(slot, slot.type.removeprefix("json:"), value)
            return value
        return build(slot_construct(slot), value).decode("utf-8")
    except Refused as refusal:
        came = refusal.came or shorten_value(value)
        raise Refused(f"{key.field} to be {refusal.expected}", came) from refusal
