"""Specs that say one clause otherwise: what a case that exercises the clause must notice.

Rules: a mutant changes one thing of one clause, in the JSON export, and nothing else. It
is made to be small: a range one wider, two frames in each other's place, one more frame
count. What no bytes and no values can tell from the spec is no mutant.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pdwire_conformance.proof.draw import carried
from pdwire_conformance.suite.clauses import clauses_of
from pdwire_conformance.suite.derived.values import edges, slots_of

Json = dict[str, Any]
Change = Callable[[Json, Json], None]
"""Changes a copied message and its layout in place."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A message of which one clause says something else; copied and changed when asked for."""

    clause: str
    how: str
    original: Json
    place: int
    change: Change

    def __str__(self) -> str:
        return f"{self.clause}: {self.how}"

    def message(self) -> Json:
        """The changed message."""
        changed = copy.deepcopy(self.original)
        self.change(changed, changed["layouts"][self.place])
        return changed


def mutants(spec: Json, clause: str) -> Iterator[Mutant]:
    """Every mutant of a clause."""
    group, name, *rest = clause.split("/")
    whole = next(m for m in spec["messages"] if (m["group"], m["name"]) == (group, name))
    if rest == ["recognise"]:
        place, changes = 0, _recognise(whole)
    else:
        place = next(n for n, each in enumerate(whole["layouts"]) if each["id"] == rest[0])
        changes = _changes(whole, whole["layouts"][place], "/".join(rest[1:]))
    for how, change in changes:
        yield Mutant(clause, how, whole, place, change)


def _changes(message: Json, layout: Json, end: str) -> Iterator[tuple[str, Change]]:
    kind, _, rest = end.partition("-")
    if end == "count":
        yield from _count(layout)
    elif end == "text":
        yield from _text(message, layout)
    elif kind == "frame":
        yield from _frame(message, layout, int(rest))
    elif kind == "key":
        yield from _key(message, layout, rest)
    elif end.endswith("/empty"):
        yield from _empty(layout, rest.removesuffix("/empty"))
    elif end.endswith("/absent"):
        yield from _absent(message, layout, rest.removesuffix("/absent"))
    elif kind == "invariant":
        yield from _invariant(layout, rest)
    else:
        yield from _derived(layout, rest)


def _count(layout: Json) -> Iterator[tuple[str, Change]]:
    if not layout["frames"]:
        return  # a text or a body is one frame by its nature
    counts = layout["counts"]
    for count in range(max(counts) + 2):
        if count in counts:
            if len(counts) > 1:
                yield f"no {count} frames", _setting("counts", [n for n in counts if n != count])
        else:
            yield f"{count} frames too", _setting("counts", sorted([*counts, count]))


def _setting(key: str, value: object) -> Change:
    def change(_: Json, layout: Json) -> None:
        layout[key] = value

    return change


def _of_frame(position: int, **facts: object) -> Change:
    def change(_: Json, layout: Json) -> None:
        layout["frames"][position].update(facts)

    return change


_OTHERS = {
    "flag": ("dec", "text"),
    "u32": ("u64", "u32be"),
    "u64": ("u32", "u64[]"),
    "u32be": ("u32", "u64"),
    "dec": ("text",),
    "text": ("utf8", "bytes"),
    "utf8": ("bytes", "text"),
    "host": ("text", "utf8"),
    "hostport": ("text", "utf8"),
    "bytes": ("utf8",),
    "names": ("text",),
    "bin[]": ("bytes", "bin[][]"),
    "bin[][]": ("bytes", "bin?[][]", "bin[]"),
    "bin?[][]": ("bytes", "bin[][]"),
    "i32[]": ("u32[]", "u64[]", "i32[][]"),
    "u32[]": ("i32[]", "u64[]", "u32[][]"),
    "u64[]": ("u32[]", "u64[][]"),
    "i32[][]": ("u32[][]", "i32[]", "u64[][]"),
    "u32[][]": ("i32[][]", "u32[]", "u64[][]"),
    "u64[][]": ("u32[][]", "u64[]"),
}


def _frame(message: Json, layout: Json, position: int) -> Iterator[tuple[str, Change]]:
    frame = layout["frames"][position]
    if frame["kind"] == "const":
        yield "another constant", _of_frame(position, const=f"{frame['const']}~")
        yield (
            "any text",
            _of_frame(position, kind="length", const=None, type="bytes"),
        )
        return
    if frame["kind"] == "length":
        yield "another byte order", _of_frame(position, type="u32")
        yield "another width", _of_frame(position, type="u64")
        yield "counts nothing", _of_frame(position, length_of=None)
        return
    for other in _OTHERS[frame["type"]]:
        low, high = (0, 9) if other == "dec" else (frame["min"], frame["max"])
        yield f"of type {other}", _of_frame(position, type=other, min=low, max=high)
    yield from _bounds(message, layout, frame, position)
    if frame["allowed"]:
        words = frame["allowed"]
        yield "one more word", _of_frame(position, allowed=[*words, "FOO"])
        yield "one word fewer", _of_frame(position, allowed=words[:-1])
    for place in range(len(layout["frames"])):
        if place != position and layout["frames"][place]["kind"] == "field":
            yield f"swapped with frame {place}", _swap(position, place)


def _bounds(
    message: Json, layout: Json, frame: Json, position: int
) -> Iterator[tuple[str, Change]]:
    if frame["min"] is None:
        return
    width = {"u32": 4, "u64": 8, "u32be": 4}.get(frame["type"])
    low, high = frame["min"], frame["max"]
    yield "least one more", _of_frame(position, min=low + 1)
    if edges(frame, layout, slots_of(message, layout))[1] == high:
        yield "greatest one less", _of_frame(position, max=high - 1)
    if width is None:
        yield "least one less", _of_frame(position, min=low - 1)
        yield "greatest one more", _of_frame(position, max=high + 1)


def _swap(one: int, two: int) -> Change:
    def change(_: Json, layout: Json) -> None:
        frames = layout["frames"]
        frames[one], frames[two] = frames[two], frames[one]
        frames[one]["position"], frames[two]["position"] = one, two

    return change


def _key(message: Json, layout: Json, name: str) -> Iterator[tuple[str, Change]]:
    place = next(n for n, key in enumerate(layout["keys"]) if key["key"] == name)
    key = layout["keys"][place]
    if name != "*":
        yield "another name", _of_key(place, key=f"{name}_")
        optional = not key["optional"]
        lack = {} if "absent" in key else {"absent": {"value": 1}}
        yield "optional or not", _of_key(place, optional=optional, **lack)
    bare = key["type"].removeprefix("json:")
    if key["type"].startswith("json:"):
        yield "any type", _of_key(place, type="json:any")
    if key["type"].startswith("json:") and name != "*":  # a body is an object, never null
        nullable = bare.removesuffix("?") if bare.endswith("?") else f"{bare}?"
        yield "null or not", _of_key(place, type=f"json:{nullable}")
    elif name != "*":
        yield "any text", _of_key(place, type="utf8")
    field = next(n for n, each in enumerate(message["fields"]) if each["name"] == key["field"])
    if "int" in bare or bare == "dec":
        low, high = message["fields"][field]["min"], message["fields"][field]["max"]
        for how, facts in {
            "least one more": {"min": low + 1}, "least one less": {"min": low - 1},
            "greatest one more": {"max": high + 1}, "greatest one less": {"max": high - 1},
        }.items():  # fmt: skip
            yield how, _of_field(field, **facts)


def _of_key(place: int, **facts: object) -> Change:
    def change(_: Json, layout: Json) -> None:
        layout["keys"][place].update(facts)

    return change


def _of_field(place: int, **facts: object) -> Change:
    def change(message: Json, _: Json) -> None:
        message["fields"][place].update(facts)

    return change


def _text(message: Json, layout: Json) -> Iterator[tuple[str, Change]]:
    text: str = layout["text"]
    names = [slot["field"] for slot in carried(message, layout)]
    numbers = [n for n in names if not text.endswith(f"{{{n}}}") or n != "agent_name"]
    for one, two in pairwise(numbers):
        marked = text.replace(f"{{{one}}}", "\0").replace(f"{{{two}}}", f"{{{one}}}")
        yield f"{one} and {two} swapped", _setting("text", marked.replace("\0", f"{{{two}}}"))
    yield "another word", _setting("text", text.replace("}_", "}-", 1))
    if "[" in text:
        yield "the tail is no choice", _setting("text", text.replace("[", "").replace("]", ""))
        yield "no tail", _setting("text", text.partition("[")[0])
    else:
        yield "a tail more", _setting("text", f"{text.replace('}', '}[', 1)}]")
    for place, field in enumerate(message["fields"]):
        if field["name"] in names and field["type"] == "dec":
            yield f"{field['name']} one more", _of_field(place, max=field["max"] + 1)
            yield f"{field['name']} one less", _of_field(place, max=field["max"] - 1)
            yield f"{field['name']} from below", _of_field(place, min=field["min"] - 1)
            yield f"{field['name']} from above", _of_field(place, min=field["min"] + 1)


def _another(value: object) -> object:
    """A value of the same type that is not this one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return f"{value}~"
    return 5 if value is None else [5]


def _empty(layout: Json, name: str) -> Iterator[tuple[str, Change]]:
    position = next(n for n, each in enumerate(layout["frames"]) if each["field"] == name)
    frame = layout["frames"][position]

    def none(_: Json, changed: Json) -> None:
        del changed["frames"][position]["empty"]

    by_type = frame["type"] in {"bytes", "names"} or frame["type"].endswith("[]")
    if not by_type or frame["empty"] != {"value": [] if frame["type"] != "bytes" else {"hex": ""}}:
        yield "no meaning", none
    if "repeat" in frame["empty"]:
        yield "means nothing at all", _of_frame(position, empty={"value": []})
    else:
        value = frame["empty"]["value"]
        yield "another meaning", _of_frame(position, empty={"value": _another(value)})
        if value is None:
            yield "means 0", _of_frame(position, empty={"value": 0})
        elif not isinstance(value, bool) and value == 0:
            yield "means none", _of_frame(position, empty={"value": None})


def _absent(message: Json, layout: Json, name: str) -> Iterator[tuple[str, Change]]:
    for position, frame in enumerate(layout["frames"]):
        if frame["field"] == name:
            other = {"value": _another(frame["absent"]["value"])}
            yield "another meaning", _of_frame(position, absent=other)
            return
    for place, key in enumerate(layout["keys"]):
        if key["field"] == name:
            other = {"value": _another(key["absent"]["value"])}
            yield "another meaning", _of_key(place, absent=other)
            return
    place = next(n for n, field in enumerate(message["fields"]) if field["name"] == name)
    field = message["fields"][place]
    if "repeat" in field["absent"]:
        yield "no repetition", _of_field(place, absent={"value": []})
    else:
        yield (
            "another meaning",
            _of_field(place, absent={"value": _another(field["absent"]["value"])}),
        )
    if name in {slot["field"] for slot in carried(message, layout)}:
        return  # whether it may be lost counts only where there is no place for it
    if field["ignorable"]:
        yield "not to be lost", _of_field(place, ignorable=False)
    else:
        yield "may be lost", _of_field(place, ignorable=True)


def _invariant(layout: Json, rest: str) -> Iterator[tuple[str, Change]]:
    place = next(
        n
        for n, each in enumerate(layout["invariants"])
        if rest == f"{each['kind']}-{'+'.join(each['fields'])}"
    )
    found = layout["invariants"][place]

    def with_facts(**facts: object) -> Change:
        def change(_: Json, changed: Json) -> None:
            changed["invariants"][place].update(facts)

        return change

    if found["kind"] == "needs" and not _can_lack(layout, *found["fields"]):
        return
    yield (
        "dropped",
        _setting("invariants", [each for each in layout["invariants"] if each is not found]),
    )
    if found["kind"] == "less":
        yield "the other way", with_facts(fields=found["fields"][::-1])
    if found["kind"] == "needs":
        yield "the other way", with_facts(fields=found["fields"][::-1])
    if found["kind"] == "same_length":
        second = found["fields"][1]
        frame = next(each for each in layout["frames"] if each["field"] == second)
        if "value" in frame["empty"]:  # else an empty frame is as long as it has to be
            optional = [] if found["optional"] else [second]
            yield "optional or not", with_facts(optional=optional)


def _can_lack(layout: Json, first: str, second: str) -> bool:
    """Whether frames can say the first and nothing for the second; else no rule need forbid it."""
    frames = {frame["field"]: frame for frame in layout["frames"]}
    a, b = frames[first]["position"], frames[second]["position"]
    return "empty" in frames[second] or any(a < count <= b for count in layout["counts"])


def _derived(layout: Json, name: str) -> Iterator[tuple[str, Change]]:
    place = next(n for n, each in enumerate(layout["derivations"]) if each["field"] == name)
    when = layout["derivations"][place]["when"]

    def told(conditions: Json) -> Change:
        def change(_: Json, changed: Json) -> None:
            changed["derivations"][place]["when"] = conditions

        return change

    tied = {tuple(each["fields"]) for each in layout["invariants"] if each["kind"] == "needs"}
    for field in when:
        # Where the other field is nothing, an invariant says that this one is, too.
        if len(when) > 1 and not any((field, other) in tied for other in when):
            yield f"{field} does not count", told({k: v for k, v in when.items() if k != field})
    others = {"none": "falsy", "falsy": "none", "negative": "none", "empty": "none"}
    for field, test in when.items():
        yield f"{field} is {others[test]}", told(when | {field: others[test]})


def _recognise(message: Json) -> Iterator[tuple[str, Change]]:
    told = message["recognise"]
    if message["guard"] is not None:
        yield "another guard", _guarded(message["guard"].lower())
        yield "no guard", _guarded(None)
    if "equals" in told:
        yield "another tag", _in_every_layout(told["frame"], const=f"{told['equals']}~")
        anything = {"type": "bytes", "const": None, "kind": "length"}
        yield "any tag", _in_every_layout(told["frame"], **anything)
    elif told["is"] == "decimal":
        yield "any text", _in_every_layout(told["frame"], type="utf8")


def _guarded(guard: str | None) -> Change:
    def change(message: Json, _: Json) -> None:
        message["guard"] = guard

    return change


def _in_every_layout(position: int, **facts: object) -> Change:
    def change(message: Json, _: Json) -> None:
        for layout in message["layouts"]:
            layout["frames"][position].update(facts)

    return change


def all_mutants(spec: Json) -> Iterator[Mutant]:
    """Every mutant of every clause."""
    for clause in clauses_of(spec):
        yield from mutants(spec, clause)
