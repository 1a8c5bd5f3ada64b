"""Rules across frames: invariants at their edge and beyond it, derived values case by case.

Rules: in a message that breaks an invariant each frame is valid by itself. A derived
value's truth table has every combination of its conditions that the invariants leave.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, Final

from pdwire_conformance.proof.draw import holds, is_empty
from pdwire_conformance.suite.case import Case, Refuse

from .prose import shown
from .subject import Subject

__all__ = ["RULES", "clause_of", "truth_table"]

Json = dict[str, Any]
Changes = dict[str, object]
_BROKEN: Final = ("invariant",)


def clause_of(invariant: Json) -> str:
    """The end of an invariant's clause id."""
    return f"invariant-{invariant['kind']}-{'+'.join(invariant['fields'])}"


def invariants(at: Subject) -> Iterator[Case]:
    """Each invariant kept at its edges, and broken."""
    if at.layout["text"]:
        return
    for invariant in at.layout["invariants"]:
        for number, changes in enumerate(_kept(invariant, at)):
            made = at.bench.given(changes)
            if made is not None:
                yield at.accept(
                    f"{clause_of(invariant)}-kept-{_tags(changes, number)}",
                    made[1],
                    made[0],
                    purpose=f"{_doc(invariant)} Here {_words(changes)}.",
                    expectation="Accepted: the frames agree.",
                    clauses=(at.clause(clause_of(invariant)),),
                )
        yield from _broken_ones(at, invariant)


def _broken_ones(at: Subject, invariant: Json) -> Iterator[Case]:
    for number, changes in enumerate(_against(invariant, at)):
        lengths = {len(value) for value in changes.values() if isinstance(value, list)}
        if invariant["kind"].startswith("same_") and len(lengths) == 1:
            continue  # the good message's lists are as short as they can be
        clauses = (at.clause(clause_of(invariant)),)
        what = f"{clause_of(invariant)}-broken-{_tags(changes, number)}"
        purpose = f"{_doc(invariant)} Here {_words(changes)}, and each frame is valid by itself."
        frames = _spliced(at, changes)
        if frames is not None:
            yield at.refuse(
                what,
                frames,
                purpose=purpose,
                why="The frames contradict each other: whoever believes one of them goes wrong by "
                "the other.",
                expect=Refuse(kinds=_BROKEN),
                clauses=clauses,
            )
        yield at.encode(
            f"{what}-encode",
            at.bench.values | changes,
            Refuse(kinds=("invariant", "lossy-encode")),
            purpose=purpose.replace(", and each frame is valid by itself", ", in values to send"),
            expectation="Refused before anything is sent.",
            clauses=clauses,
        )


def _spliced(at: Subject, changes: Changes) -> tuple[bytes, ...] | None:
    """The good message with these values in their frames; ``None`` where a frame cannot say it."""
    frames = list(at.bench.frames)
    for name, value in changes.items():
        slot = at.bench.slots[name]
        if "position" not in slot:
            return None
        if is_empty(value) and not isinstance(value, int):
            if slot.get("empty", {}).get("value", at) != value:
                return None  # an empty frame has another meaning, or none
            raw = b""
        else:
            raw = at.bench.raw(name, value)
        frames[slot["position"] + at.bench.shift] = raw
    return tuple(frames)


def _kept(invariant: Json, at: Subject) -> Iterator[Changes]:
    first, second = invariant["fields"][:2]
    slots, values = at.bench.slots, at.bench.values
    match invariant["kind"]:
        case "less":
            yield {first: 0, second: 1}
            yield {first: 7, second: 8}
            yield {first: slots[second]["max"] - 1, second: slots[second]["max"]}
        case "same_length":
            yield {first: [], second: []}
            yield {first: values[first][:1], second: values[second][:1]}
            for name in invariant["optional"]:
                yield {first: values[first], second: values[second], name: []}
        case "needs":
            yield {first: _none(slots[first]), second: values[second]}
            yield {first: _none(slots[first]), second: _none(slots[second])}
        case "same_count":
            yield {first: [], second: []}
            yield {first: values[first][:1], second: values[second][:1]}
        case kind:
            raise ValueError(f"no cases are known for an invariant of kind {kind}")


def _against(invariant: Json, at: Subject) -> Iterator[Changes]:
    first, second = invariant["fields"][:2]
    slots, values = at.bench.slots, at.bench.values
    match invariant["kind"]:
        case "less":
            yield {first: 7, second: 7}
            yield {first: 8, second: 7}
            yield {first: 1, second: 1}
        case "same_length":
            yield {first: values[first], second: values[second][:1]}
            yield {first: values[first][:1], second: values[second]}
            for name in [each for each in (first, second) if each not in invariant["optional"]]:
                yield {first: values[first], second: values[second], name: []}
        case "same_count":
            yield {first: values[first], second: values[second][:1]}
            yield {first: values[first][:1], second: values[second]}
        case "needs":
            if invariant["optional"] or is_empty(values[first]):
                return
            others = [
                each["fields"][0]
                for each in at.layout["invariants"]
                if each["kind"] == "needs" and each["fields"][1] == second
            ]
            nothing = {name: _none(slots[name]) for name in (*others, second)}
            yield nothing | {first: values[first]}


def _none(slot: Json) -> object:
    """What the field is when it is nothing."""
    for kind in ("empty", "absent"):
        if "value" in slot.get(kind, {}) and is_empty(slot[kind]["value"]):
            return slot[kind]["value"]
    return [] if slot["value_type"].endswith("[]") else None


def _tags(changes: Changes, number: int) -> str:
    """What the values are, if that is short: ``7-8``, ``2-0`` (lists), ``given-none``."""
    told = [_tag(value) for value in changes.values()]
    return "-".join(told) if all(len(tag) < 11 for tag in told) else f"{number}"


def _tag(value: object) -> str:
    if isinstance(value, list):
        return f"{len(value)}"
    if value is None:
        return "none"
    return "given" if isinstance(value, str) else f"{value}".replace("-", "m")


def _words(changes: Changes) -> str:
    return " and ".join(
        f"{name} has {len(value)}" if isinstance(value, list) else f"{name} is {shown(value)}"
        for name, value in changes.items()
    )


def _doc(invariant: Json) -> str:
    return " ".join(str(invariant["doc"]).split())


def truth_table(rule: Json, at: Subject) -> Iterator[tuple[str, Changes]]:
    """Each combination of the rule's conditions, met or not, with a name."""
    rows = [
        [(f"{name}-{tag}", name, value) for tag, value in _sides(test, at.bench.values[name])]
        for name, test in rule["when"].items()
    ]
    for row in product(*rows):
        tags = "+".join(tag.replace("dst_", "") for tag, _, _ in row)
        yield tags, {name: value for _, name, value in row}


def _sides(test: str, good: object) -> list[tuple[str, object]]:
    """Each way to meet a condition, and not to: 0 is a number, and not the same as none."""
    sides: dict[str, list[tuple[str, object]]] = {
        "empty": [("empty", _emptiness(good))],
        "none": [("none", None), ("zero", 0)],
        "negative": [("negative", -1), ("zero", 0)],
        "falsy": [("none", None), ("zero", 0)],
    }
    if isinstance(good, list) and test != "empty":
        return [("given", good)]  # a list is never none, and no number
    return [*sides[test], ("given", good)]


def _emptiness(good: object) -> object:
    """What is empty and of the value's kind."""
    if isinstance(good, list):
        return []
    return {"hex": ""} if isinstance(good, dict) else None


def derived(at: Subject) -> Iterator[Case]:
    """Each derived value, for every combination of what it follows from."""
    if at.layout["keys"]:
        return  # those of a body are in :mod:`.bodies`
    for rule in at.layout["derivations"]:
        name = rule["field"]
        own = at.bench.slots.get(name)
        for tags, changes in truth_table(rule, at):
            made = at.bench.given(changes)
            if made is None:
                continue
            values, frames = made
            verdict = holds(rule, values)
            if own is not None:
                place = own["position"] + at.bench.shift
                frames = (*frames[:place], b"", *frames[place + 1 :])
            yield at.accept(
                f"derived-{name}-{tags}",
                frames,
                {**values, name: verdict},
                purpose=f"{_derived_words(rule)} Here {_words(changes)}.",
                expectation=f"Accepted: {name} is {str(verdict).lower()}. An empty list, none "
                "and 0 are three different things.",
                clauses=(at.clause(f"derived-{name}"),),
            )
            yield from _disagreeing(at, name, values, verdict=verdict, own=own, tags=tags)


def _disagreeing(
    at: Subject, name: str, values: Json, *, verdict: bool, own: Json | None, tags: str
) -> Iterator[Case]:
    """The other verdict: told in a frame of its own it counts, without one it cannot be sent."""
    other = {**values, name: not verdict}
    clauses = (at.clause(f"derived-{name}"),)
    if own is None:
        yield at.encode(
            f"derived-{name}-{tags}-against",
            other,
            Refuse(kinds=("lossy-encode",), field=name),
            purpose=f"Values that say {name} is {str(not verdict).lower()} where the rule of this "
            "layout makes the reader conclude the opposite.",
            expectation="Refused: no frame says it, so it would arrive as the opposite.",
            clauses=clauses,
        )
        return
    made = at.bench.written(other)
    if made is not None:
        yield at.accept(
            f"derived-{name}-{tags}-frame",
            made[1],
            other,
            purpose=f"The field {name} has a frame of its own here, and it says "
            f"{str(not verdict).lower()} where an empty frame would leave the reader to "
            "conclude the opposite.",
            expectation="The frame counts, not the rule.",
            clauses=(*clauses, at.clause(f"frame-{own['position']}")),
        )


def _derived_words(rule: Json) -> str:
    told = [f"{name} is {'none or 0' if test == 'falsy' else test}" for name, test in
            rule["when"].items()]  # fmt: skip
    return (
        f"The field {rule['field']} follows from other fields: it is true when "
        f"{' and '.join(told)}."
    )


RULES: Final = (invariants, derived)
