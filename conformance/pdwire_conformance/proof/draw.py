"""Values of whole messages, valid by construction, from the JSON export of the spec.

A message's values hold every field that the layout carries. Ranges, invariants and
derived rules are satisfied while drawing, not by throwing candidates away.
"""

from __future__ import annotations

from random import Random
from typing import Any

from .scalars import BIG, draw_items, draw_value
from .senders import as_sent

__all__ = ["Values", "carried", "draw_message", "holds", "is_empty"]

Json = dict[str, Any]
Values = dict[str, Any]


def carried(message: Json, layout: Json) -> list[Json]:
    """What the layout carries, as field facts with the layout's own type and meanings."""
    fields = {field["name"]: field for field in message["fields"]}
    if layout["frames"]:
        return [frame for frame in layout["frames"] if frame["kind"] == "field"]
    if layout["text"]:
        named = [f for name, f in fields.items() if f"{{{name}}}" in layout["text"]]
        return [{**field, "field": field["name"]} for field in named]
    return [{**fields[key["field"]], **_key(key)} for key in layout["keys"]]


def _key(key: Json) -> Json:
    meaning = {"absent": key["absent"]} if "absent" in key else {}
    return {"field": key["field"], "optional": key["optional"], **meaning}


def draw_message(
    message: Json, layout: Json, rng: Random, *, big: bool = False, sent: bool = False
) -> Values:
    """Values of every field that the layout carries, and of those that follow from them.

    With ``big`` the first index array gets 131,072 items; with ``sent`` most values are
    ones that the releases' encoders can send.
    """
    values: Values = {}
    fields = {field["name"]: field for field in message["fields"]}
    for frame in carried(message, layout):
        values[frame["field"]] = _one(frame, fields[frame["field"]], rng)
    if big:
        _enlarge(layout, values, rng)
    _shorten_tail(message, layout, values, rng)
    frames = {frame["field"]: frame for frame in carried(message, layout)}
    for invariant in layout["invariants"]:
        _satisfy(invariant, frames, values, rng)
    if sent:
        as_sent(values, set(frames), rng)
    for name, field in fields.items():
        if name not in frames and "repeat" in field.get("absent", {}):
            values[name] = _repeated(field["absent"]["repeat"], values)
    for rule in layout["derivations"]:
        if rule["field"] not in values:
            values[rule["field"]] = holds(rule, values)
    return values


def _repeated(repeat: Json, values: Values) -> list[Any]:
    """One value per element of another field: what a list is that the layout lacks."""
    word = values[repeat["from_field"]] if "from_field" in repeat else repeat["word"]
    return [word] * len(values[repeat["like"]])


def _one(frame: Json, field: Json, rng: Random) -> Any:
    """One field: sometimes what an empty frame means, else a value."""
    meaning = frame.get("empty")
    if meaning is not None and "value" in meaning and rng.random() < 0.2:
        return meaning["value"]
    value = draw_value(frame, rng)
    if field["type"].endswith("[][]") and not frame["type"].endswith("[][]"):
        return [value] if value else []
    return value


def _enlarge(layout: Json, values: Values, rng: Random) -> None:
    for frame in layout["frames"]:
        if frame["type"] == "i32[]" and frame["field"] in values:
            few = draw_items("i32", 64, rng)
            whole = (few * (BIG // len(few)))[:BIG]
            values[frame["field"]] = [whole] if values[frame["field"]][:1] == [[]] else whole
            return


def _shorten_tail(message: Json, layout: Json, values: Values, rng: Random) -> None:
    """Where frames may be missing, leave out a tail now and then."""
    if layout["frames"] and len(layout["counts"]) > 1:
        count = rng.choice(layout["counts"])
        for frame in layout["frames"][count:]:
            values[frame["field"]] = frame["absent"].get("value")
        return
    for key in layout["keys"]:
        if key["optional"] and "absent" in key and rng.random() < 0.3:
            values[key["field"]] = key["absent"].get("value")
    if layout["text"] and "[" in layout["text"] and rng.random() < 0.5:
        for field in message["fields"]:
            if f"{{{field['name']}}}" in layout["text"].partition("[")[2]:
                values[field["name"]] = field["absent"]["value"]


def is_empty(value: Any) -> bool:
    """No bytes, no elements, ``None`` or negative."""
    if isinstance(value, dict) and set(value) == {"hex"}:
        return not value["hex"]
    if isinstance(value, int) and not isinstance(value, bool):
        return value < 0
    return value is None or (isinstance(value, str | list | dict) and not value)


def holds(rule: Json, values: Values) -> bool:
    """Whether all conditions of a derived field's rule hold."""
    return all(_condition(values[name], test) for name, test in rule["when"].items())


def _condition(value: Any, test: str) -> bool:
    match test:
        case "empty":
            return is_empty(value)
        case "none":
            return value is None
        case "negative":
            return isinstance(value, int) and value < 0
        case "falsy":
            return not value
    raise ValueError(test)


def _satisfy(invariant: Json, frames: dict[str, Json], values: Values, rng: Random) -> None:
    first, second = invariant["fields"][:2]
    match invariant["kind"]:
        case "less" if values[first] is not None and values[second] is not None:
            low = frames[first]["min"] if first in frames else 0
            high = max(int(values[second]), low + 1)
            values[second], values[first] = high, rng.randint(low, high - 1)
        case "needs":
            while not is_empty(values[first]) and is_empty(values[second]):
                values[second] = draw_value(frames[second], rng)
        case "same_length":
            if second in invariant["optional"] and rng.random() < 0.3:
                values[second] = []
            else:
                values[second] = _as_long(frames[second], values[first], rng)
        case "same_count":
            parts = [
                draw_items(frames[second]["type"].split("[")[0], 2, rng) for _ in values[first]
            ]
            values[second] = parts


def _as_long(frame: Json, like: list[Any], rng: Random) -> list[Any]:
    kind = frame["type"].split("[")[0]
    if frame["type"] == "names":
        return [rng.choice(frame["allowed"]) for _ in like]
    if frame["type"].endswith("[][]"):
        return [draw_items(kind, len(part), rng) for part in like]
    return draw_items(kind, len(like), rng)
