"""Values that a layout carries, valid by construction.

Rules: everything is drawn from the JSON export and a seeded generator. Ranges, empty and
missing frames, invariants and derived rules are satisfied while drawing, so that a
refusal is a fault of whoever refuses.
"""

# ruff: noqa: ANN401 - values of every type are drawn here

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from pdwire_conformance.proof.draw import carried
from pdwire_conformance.proof.scalars import draw_items, draw_value

Json = dict[str, Any]
Values = dict[str, Any]


def valid(message: Json, layout: Json, rng: Random) -> Values:
    """A value of every field of the message, such that ``layout`` carries them all."""
    omitted = list(_omitted(layout, rng))
    drawing = Drawing(message, layout, rng, omitted)
    if drawing.touched & set(omitted):
        # An invariant asks for a value where it was to be left out: then nothing is.
        drawing = Drawing(message, layout, rng, [])
    return {field["name"]: drawing.values[field["name"]] for field in message["fields"]}


def native(value: Any) -> Any:
    """A value of the export as Python has it."""
    if isinstance(value, dict) and set(value) == {"hex"}:
        return bytes.fromhex(value["hex"])
    return [native(item) for item in value] if isinstance(value, list) else value


def is_empty(value: Any) -> bool:
    """No bytes, no elements, ``None``, or negative."""
    if value is None or isinstance(value, bool):
        return value is None
    return value < 0 if isinstance(value, int) else not value


def _omitted(layout: Json, rng: Random) -> Iterator[str]:
    """Fields to leave out of a message, where the layout lets them be missing."""
    for frame in layout["frames"][rng.choice(layout["counts"]) :]:
        if frame["field"] is not None:
            yield frame["field"]
    for key in layout["keys"]:
        if key["optional"] and rng.random() < 0.4:
            yield key["field"]
    tail = (layout["text"] or "").partition("[")[2]
    if tail and rng.random() < 0.5:
        yield from (part.partition("}")[0] for part in tail.split("{")[1:])


class Drawing:
    """The values of one message: drawn field by field, then fitted to each other.

    ``touched`` are the fields that an invariant gave another value than was drawn.
    """

    def __init__(self, message: Json, layout: Json, rng: Random, omitted: list[str]) -> None:
        self.rng = rng
        self.fields = {field["name"]: field for field in message["fields"]}
        self.frames = {
            frame["field"]: {**self.fields[frame["field"]], **frame}
            for frame in carried(message, layout)
        }
        self.values: Values = {}
        self.touched: set[str] = set()
        self._repeats: dict[str, Json] = {}
        ruled = {rule["field"] for rule in layout["derivations"]}
        for name in ruled & self.frames.keys():
            self.frames[name].pop("empty", None)  # an empty frame leaves it to the rule
        for name, field in self.fields.items():
            frame = self.frames.get(name)
            if frame is not None and name not in omitted:
                self.values[name] = self._one(frame)
            elif name not in ruled:
                self._mean(name, field if frame is None else frame)
        for invariant in layout["invariants"]:
            self._satisfy(invariant)
        self._repeat()
        for rule in layout["derivations"]:
            if rule["field"] not in self.values:
                self.values[rule["field"]] = self._holds(rule)

    def _one(self, frame: Json) -> Any:
        """A field that has a frame: sometimes what an empty one means, else a value."""
        meaning = frame.get("empty")
        if meaning is not None and "value" in meaning and self.rng.random() < 0.2:
            return native(meaning["value"])
        if frame["type"].startswith("json:"):
            return native(draw_value(frame, self.rng))
        return self.filled(frame)

    def filled(self, frame: Json) -> Any:
        """A value that a frame with bytes in it carries."""
        value: Any = b""
        while value in ([], b""):
            value = native(draw_value(frame, self.rng))
        if frame["allowed"] and frame["type"] in {"utf8", "host", "hostport"}:
            value = self.rng.choice(frame["allowed"])
        field = self.fields[frame["field"]]
        return [value] if field["type"].endswith("[][]") and "[][]" not in frame["type"] else value

    def _mean(self, name: str, lacking: Json) -> None:
        """A field without a frame: what that means, or later once others are known."""
        meaning = lacking["absent"]
        if "repeat" in meaning:
            self._repeats[name] = meaning["repeat"]
            self.values[name] = []
        else:
            self.values[name] = native(meaning["value"])

    def _repeat(self) -> None:
        for name, repeat in self._repeats.items():
            word = repeat.get("word")
            if "from_field" in repeat:
                word = self.values[repeat["from_field"]]
            self.values[name] = [word] * len(self.values[repeat["like"]])

    def _holds(self, rule: Json) -> bool:
        return all(_condition(self.values[name], test) for name, test in rule["when"].items())

    def _satisfy(self, invariant: Json) -> None:
        """Change fields of an invariant so that they fit the first."""
        first, *others = invariant["fields"]
        before = {name: self.values.get(name) for name in invariant["fields"]}
        if invariant["kind"] == "less":
            self._order(first, others[0])
        for name in others:
            if invariant["kind"] == "needs":
                while not is_empty(self.values.get(first)) and is_empty(self.values[name]):
                    self.values[name] = self._one(self.frames[name])
            elif invariant["kind"] != "less":
                self.values[name] = self._as_many(invariant["kind"], name, self.values[first])
        self.touched |= {name for name, was in before.items() if self.values.get(name) != was}

    def _order(self, first: str, second: str) -> None:
        if self.values[first] is None or self.values[second] is None:
            return
        low, high = self.frames[first]["min"], self.frames[second]["max"]
        least = max(low + 1, self.frames[second]["min"])
        edges = [least, min(least + 1, high), high]
        self.values[second] = self.rng.choice([*edges, self.rng.randint(least, high)])
        most = min(self.frames[first]["max"], self.values[second] - 1)
        self.values[first] = self.rng.randint(low, most)

    def _as_many(self, kind: str, name: str, like: Any) -> Any:
        """A list as long as ``like``; of the same shape where both are nested."""
        frame, like = self.frames[name], like or []
        if not like:
            return native(frame.get("empty", {}).get("value", []))
        if not self.fields[name]["type"].endswith("[][]"):
            return self._items(frame, len(like))
        if kind == "same_length":
            return [self._items(frame, len(part)) for part in like]
        return [self._items(frame, self.rng.randint(1, 2)) for _ in like]

    def _items(self, frame: Json, count: int) -> list[Any]:
        kind = frame["type"].removeprefix("json:").split("[")[0]
        if frame["type"].startswith("json:"):
            one = {**frame, "type": f"json:{kind}"}
            return [draw_value(one, self.rng) for _ in range(count)]
        if kind.startswith("bin"):
            return [self.rng.randbytes(self.rng.randrange(4)) for _ in range(count)]
        if kind == "names":
            return [self.rng.choice(frame["allowed"]) for _ in range(count)]
        return draw_items(kind, count, self.rng)


def _condition(value: Any, test: str) -> bool:
    """Whether a condition of a derived rule holds."""
    if value is None:
        return test in {"empty", "none", "falsy"}
    if test == "negative":
        return bool(value < 0)
    return test in {"empty", "falsy"} and not value
