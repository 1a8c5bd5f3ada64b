"""The values of the fixed good message of a layout, and how they are kept consistent.

Rules:

* Nothing is drawn: the same spec gives the same values for good. No two fields of a
  message have the same value where their ranges allow it, so that a decoder that takes
  one frame for another is found by the values alone.
* Values are in the form of the JSON export. Fields that the layout does not carry get
  what the spec says that their lack means.
* Where senders always send two values together (the first of the item lengths is the one
  item length), good messages do, too: else no release could be asked to encode them.
* A value that is changed takes along those that a rule across frames ties to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from pdwire_conformance.proof.draw import carried, holds, is_empty

from .jsons import json_large, json_plain, json_small

__all__ = [
    "INTEGERS",
    "complete",
    "edges",
    "fitted",
    "largest",
    "plain",
    "plain_value",
    "slots_of",
    "smallest",
]

Json = dict[str, Any]
Values = dict[str, Any]
Extreme = Callable[[Json, Json, dict[str, Json]], object]
"""Of a slot, its layout and all slots: the slot's value."""

INTEGERS: Final = frozenset({"dec", "u32", "u64", "u32be"})
_SPAN: Final = {"i32": (-(2**31), 2**31 - 1), "u32": (0, 2**32 - 1), "u64": (0, 2**64 - 1)}


def slots_of(message: Json, layout: Json) -> dict[str, Json]:
    """What the layout carries, by field, in order, with the field's own words.

    ``value_type`` is the type of the field's value, where ``type`` is what travels.
    """
    fields = {field["name"]: field for field in message["fields"]}
    return {
        slot["field"]: {**_slot(fields[slot["field"]], slot), "message": message["name"]}
        for slot in carried(message, layout)
    }


def _slot(field: Json, slot: Json) -> Json:
    if "position" not in slot:
        return {**field, **slot, "value_type": field["type"]}
    # A frame says all that counts itself: what it lacks, it does not have.
    return {**slot, "value_type": field["type"], "doc": field["doc"], "unit": field["unit"]}


def plain(message: Json, layout: Json) -> Values:
    """A value of every field that the layout carries, all different, all rules kept."""
    values: Values = {}
    used: set[int] = set()
    slots = slots_of(message, layout)
    for place, slot in enumerate(slots.values()):
        values[slot["field"]] = plain_value(slot, place, used)
    for invariant in layout["invariants"]:
        _fit(invariant, slots, values, frozenset())
    _as_sent(values, frozenset(values), frozenset())
    return complete(message, layout, values)


def plain_value(slot: Json, place: int, used: set[int] | None = None) -> object:
    """The value of the carried field at ``place``, in the type that the layout gives it."""
    kind: str = slot["type"]
    if kind in INTEGERS or kind.removesuffix("?") == "json:int":
        return _number(slot, place, set() if used is None else used)
    if kind in {"flag", "json:bool"}:
        return not slot["absent"]["value"] if slot.get("optional") else place % 2 == 0
    if kind.startswith("json:"):
        return json_plain(slot, kind[5:], place)
    if kind == "names":
        return list(slot["allowed"][:2])
    if kind.endswith("[][]"):
        return _nested(kind, place)
    if kind.endswith("[]"):
        return _nest_if_needed(slot, _items(kind, place))
    return _text(slot, kind, place)


def _number(slot: Json, place: int, used: set[int]) -> int:
    low, high = int(slot["min"]), int(slot["max"])
    span = high - low + 1
    start = 17000 + place if slot["unit"] == "port" else max(low, 0) + 3 + 7 * place
    for step in range(min(span, 64)):
        number = low + (start - low + step) % span
        if number not in used:
            used.add(number)
            return number
    return low + (start - low) % span


def _items(kind: str, place: int) -> list[Any]:
    if kind == "bin[]":
        return [{"hex": f"d0{place:02x}ff0{n}"} for n in (1, 2)]
    base = 0x7F_0000_0000_0000 if kind == "u64[]" else 1000
    return [base + 4096 * place + n for n in (4, 5)]


def _nested(kind: str, place: int) -> list[list[Any]]:
    if kind.startswith("bin"):
        last = None if "?" in kind else {"hex": ""}
        return [[{"hex": f"d1{place:02x}"}, last], [{"hex": f"d2{place:02x}"}]]
    one, two = _items(kind[:-2], place)
    return [[one, two], [one + 64]]


def _nest_if_needed(slot: Json, items: list[Any]) -> list[Any]:
    """A nested field that travels flat in this layout is one component."""
    return [items] if slot["value_type"].endswith("[][]") else items


def _text(slot: Json, kind: str, place: int) -> object:
    if slot.get("allowed"):
        return slot["allowed"][0]
    made: dict[str, object] = {
        "host": f"10.0.0.{place + 2}",
        "hostport": f"10.0.0.{place + 2}:{17000 + place}",
        "utf8": f"no memory: délai {place}",
        "bytes": {"hex": f"00ff80{place:02x}0a"},
        "text": f"name-{place}",
    }
    return made[kind]


def complete(message: Json, layout: Json, values: Values) -> Values:
    """The values of all the message's fields, in the spec's order."""
    told = dict(values)
    ruled = {rule["field"]: rule for rule in layout["derivations"]}
    fields = message["fields"]
    for field in fields:
        given = field["name"] in told or field["name"] in ruled
        if not given and "value" in field.get("absent", {}):
            told[field["name"]] = field["absent"]["value"]
    for field in fields:
        repeat = field.get("absent", {}).get("repeat")
        if field["name"] not in told and repeat is not None:
            word = told[repeat["from_field"]] if "from_field" in repeat else repeat["word"]
            told[field["name"]] = [word] * len(told[repeat["like"]])
    for name, rule in ruled.items():
        if name not in told:
            told[name] = holds(rule, told)
    return {field["name"]: told[field["name"]] for field in fields}


def fitted(message: Json, layout: Json, values: Values, fixed: Iterable[str]) -> Values | None:
    """The values, those changed that must be, but not ``fixed`` ones; ``None``: it cannot be."""
    told = dict(values)
    kept = frozenset(fixed)
    slots = slots_of(message, layout)
    for rule in layout["derivations"]:
        if rule["field"] not in slots:
            told.pop(rule["field"], None)
    for field in message["fields"]:
        if field["name"] not in slots and "repeat" in field.get("absent", {}):
            told.pop(field["name"], None)
    # Twice: what one rule changes may be what another, seen before, is about.
    for invariant in (*layout["invariants"], *layout["invariants"]):
        if not _fit(invariant, slots, told, kept):
            return None
    _as_sent(told, frozenset(slots), kept)
    return complete(message, layout, told)


def _as_sent(values: Values, carried_here: frozenset[str], kept: frozenset[str]) -> None:
    """What every sender does, as far as the values are not fixed."""
    if "role" in carried_here and "role" not in kept:
        values["role"] = "Prefill"
    if not {"dst_kv_item_len", "dst_kv_item_lens"} <= carried_here:
        return
    lengths = list(values["dst_kv_item_lens"])
    if "dst_kv_item_len" not in kept:
        first = min(lengths[0], 2**63 - 1) if lengths else 0
        values["dst_kv_item_len"] = first
        if lengths and "dst_kv_item_lens" not in kept:
            values["dst_kv_item_lens"] = [first, *(each or 1 for each in lengths[1:])]
    elif lengths and "dst_kv_item_lens" not in kept:
        values["dst_kv_item_lens"] = [values["dst_kv_item_len"], *lengths[1:]]


def _fit(invariant: Json, slots: dict[str, Json], values: Values, kept: frozenset[str]) -> bool:
    """Change what is not ``kept`` so that a rule holds; whether that could be done."""
    first, second = invariant["fields"][:2]
    a, b = values[first], values[second]
    if invariant["kind"] == "less":
        return a is None or b is None or a < b or _ordered(first, second, slots, values, kept)
    if invariant["kind"] == "needs":
        return is_empty(a) or not is_empty(b) or _given(first, second, slots, values, kept)
    if any(not values[name] and name in kept for name in invariant["optional"]):
        return True
    return all(_paired(first, each, slots, values, kept) for each in invariant["fields"][1:])


def _ordered(
    first: str, second: str, slots: dict[str, Json], values: Values, kept: frozenset[str]
) -> bool:
    if second not in kept and values[first] + 1 <= slots[second]["max"]:
        values[second] = values[first] + 1
    elif first not in kept and values[second] - 1 >= slots[first]["min"]:
        values[first] = values[second] - 1
    else:
        return False
    return True


def _given(
    first: str, second: str, slots: dict[str, Json], values: Values, kept: frozenset[str]
) -> bool:
    if second not in kept:
        values[second] = plain_value(slots[second], 9)
    elif first not in kept:
        values[first] = _nothing(slots[first])
    else:
        return False
    return True


def _paired(
    first: str, second: str, slots: dict[str, Json], values: Values, kept: frozenset[str]
) -> bool:
    a, b = values[first], values[second]
    if not isinstance(a, list) or not isinstance(b, list) or len(a) == len(b):
        return True
    free = first if second in kept else second
    if free in kept:
        return False
    values[free] = _as_long(slots[free], a if free == second else b)
    return True


def _as_long(slot: Json, like: list[Any]) -> list[Any]:
    if slot["type"] == "names":
        return [slot["allowed"][n % len(slot["allowed"])] for n in range(len(like))]
    if slot["type"].startswith("bin") and "[][]" not in slot["type"]:
        return [{"hex": f"{n % 256:02x}"} for n in range(len(like))]
    if slot["type"].endswith("[][]"):
        return [[{"hex": "07"} if slot["type"].startswith("bin") else 7] for _ in like]
    return [4096 + n for n in range(len(like))]


def _nothing(slot: Json) -> object:
    if "value" in slot.get("empty", {}):
        return slot["empty"]["value"]
    return slot["absent"]["value"] if "absent" in slot else []


def edges(slot: Json, layout: Json, slots: dict[str, Json]) -> tuple[int, int]:
    """Least and greatest number of a field, as far as the rules across frames let it go."""
    low, high = int(slot["min"]), int(slot["max"])
    for invariant in layout["invariants"]:
        if invariant["kind"] != "less":
            continue
        first, second = invariant["fields"]
        if slot["field"] == first:
            high = min(high, int(slots[second]["max"]) - 1)
        elif slot["field"] == second:
            low = max(low, int(slots[first]["min"]) + 1)
    return low, high


def smallest(message: Json, layout: Json) -> Values | None:
    """Every number at its least, every list empty, every text short."""
    return _throughout(message, layout, _small)


def _small(slot: Json, layout: Json, slots: dict[str, Json]) -> object:
    kind: str = slot["type"]
    if kind in INTEGERS or kind.removesuffix("?") == "json:int":
        return edges(slot, layout, slots)[0]
    if kind.startswith("json:"):
        return json_small(slot, kind[5:])
    if kind == "flag":
        return False
    if kind == "names" or kind.endswith("[]"):
        return []
    small: dict[str, object] = {
        "host": "h", "hostport": "h:1", "utf8": "x", "bytes": {"hex": ""}, "text": "x",
    }  # fmt: skip
    return slot["allowed"][0] if slot.get("allowed") else small[kind]


def largest(message: Json, layout: Json) -> Values | None:
    """Every number at its greatest, arrays of the widest items, long texts."""
    return _throughout(message, layout, _large)


def _throughout(message: Json, layout: Json, one: Extreme) -> Values | None:
    """Values of every field that the layout carries, all of them at one extreme."""
    slots = slots_of(message, layout)
    values = {name: one(slot, layout, slots) for name, slot in slots.items()}
    return fitted(message, layout, values, ())


def _large(slot: Json, layout: Json, slots: dict[str, Json]) -> object:
    kind: str = slot["type"]
    if kind in INTEGERS or kind.removesuffix("?") == "json:int":
        return edges(slot, layout, slots)[1]
    if kind.startswith("json:"):
        return json_large(slot, kind[5:])
    if kind == "flag":
        return True
    if kind == "names":
        return [*slot["allowed"], slot["allowed"][-1]]
    if kind.endswith("[]"):
        return _large_array(slot)
    return slot["allowed"][-1] if slot.get("allowed") else _LARGE[kind]


_LARGE: Final[dict[str, object]] = {
    "host": "2001:db8::ff00:42:8329",
    "hostport": "[2001:db8::ff00:42:8329]:65535",
    "utf8": "失敗 " * 200,
    "bytes": {"hex": "80057fff" * 300},
    "text": "~" * 300,
}


def _large_array(slot: Json) -> list[Any]:
    kind: str = slot["type"]
    if kind.endswith("[][]") and kind.startswith("bin"):
        long: list[Any] = [{"hex": "ab" * 300}, {"hex": ""}, {"hex": "01"}]
        return [long, [], [None] if "?" in kind else []]
    if kind.startswith("bin"):
        return _nest_if_needed(slot, [{"hex": f"{n:02x}"} for n in range(17)])
    low, high = _SPAN[kind.split("[", maxsplit=1)[0]]
    items = [high, low, high // 2 + 1]
    if kind.endswith("[][]"):
        return [items, [], [high]]
    return _nest_if_needed(slot, items)
