"""Valid messages: whole ones, the edges of every number, every allowed word, empty frames.

Rules: the values are those of :mod:`.values`, the frames those of the interpreted
reading. What is expected is every field of the message, those included that the layout
lacks and those that follow from others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pdwire_conformance.suite.case import Case, Frames, Level

from .bench import Bench
from .prose import about, bytes_of, shown
from .subject import Subject
from .values import INTEGERS, edges, largest, smallest

__all__ = ["RULES"]

Json = dict[str, Any]
Values = dict[str, Any]


def whole(at: Subject) -> Iterator[Case]:
    """The good message, the smallest and the largest, read and written."""
    yield from _both_ways(at, "plain", at.bench.values, "a different value in every field")
    for name, make, what in (
        ("smallest", smallest, "every number at its least and every list empty"),
        ("largest", largest, "every number at its greatest and arrays of the widest items"),
    ):
        values = make(at.message, at.layout)
        if values is not None:
            yield from _both_ways(at, name, values, what)


def _both_ways(at: Subject, name: str, values: Values, what: str) -> Iterator[Case]:
    made = at.bench.written(values)
    if made is None:
        return
    yield at.accept(
        name,
        made[1],
        values,
        purpose=f"A valid {at.spoken} with {what}.",
        expectation="Every field is read from its own frame; a field that the layout lacks, or "
        "that follows from others, has the value that the spec gives it.",
        clauses=_all_clauses(at),
    )
    yield at.encode(
        f"{name}-encode",
        values,
        made[1],
        purpose=f"A valid {at.spoken} with {what}, made from its values.",
        level=_spelling(at.bench, values, made[1]),
        expectation="A JSON object that says all of this, spelled in any way."
        if at.message["body"] == "json"
        else "Exactly these bytes, the guard included: one canonical spelling per value.",
        clauses=_all_clauses(at),
    )


def _spelling(bench: Bench, values: Values, frames: Frames) -> Level:
    """MAY where a number is written as an empty frame and could be written with digits.

    Both are right on the wire, and releases differ; only ours always writes the same.
    """
    for name, slot in bench.slots.items():
        number = slot["type"] in INTEGERS and slot.get("writes_empty") and "position" in slot
        if not number or values[name] is None or values[name] < slot["min"]:
            continue
        place = slot["position"] + bench.shift
        if place < len(frames) and not frames[place]:
            return Level.MAY
    return Level.MUST


def _all_clauses(at: Subject) -> tuple[str, ...]:
    layout = at.layout
    told = [at.clause("count")]
    told += [at.clause(f"frame-{frame['position']}") for frame in layout["frames"]]
    told += [at.clause(f"key-{key['key']}") for key in layout["keys"]]
    told += [at.clause("text")] if layout["text"] else []
    told += [at.clause(f"field-{name}/absent") for name in lacking(at.bench)]
    return tuple(told)


def lacking(bench: Bench) -> list[str]:
    """Fields that the layout has no place for and that its lack gives a value."""
    ruled = {rule["field"] for rule in bench.layout["derivations"]}
    return [
        field["name"]
        for field in bench.message["fields"]
        if field["name"] not in bench.slots and field["name"] not in ruled
    ]


def numbers(at: Subject) -> Iterator[Case]:
    """The least and the greatest number of each frame."""
    for name, slot in at.bench.slots.items():
        if slot["type"] not in INTEGERS or "position" not in slot:
            continue
        low, high = edges(slot, at.layout, dict(at.bench.slots))
        for word, number in (("least", low), ("greatest", high)):
            made = at.bench.given({name: number})
            if made is not None:
                yield at.accept(
                    f"frame-{slot['position']}-{word}",
                    made[1],
                    made[0],
                    purpose=f"{about(slot)} Here it is {number}, its {word} value.",
                    expectation=f"Accepted, and {name} is {number}.",
                    clauses=(at.clause(f"frame-{slot['position']}"),),
                )


def words(at: Subject) -> Iterator[Case]:
    """Every spelling of a text that has some: allowed words, flags, kinds of host."""
    for name, slot in at.bench.slots.items():
        if "position" not in slot:
            continue
        for number, value in enumerate(_spellings(slot)):
            made = at.bench.given({name: value})
            if made is not None:
                yield at.accept(
                    f"frame-{slot['position']}-word-{_tag(value, number)}",
                    made[1],
                    made[0],
                    purpose=f"{about(slot)} Here it is {shown(value)}.",
                    expectation=f"Accepted, and {name} is {shown(value)} to the letter.",
                    clauses=(at.clause(f"frame-{slot['position']}"),),
                )


_HOSTS: Final = {
    "ipv4": "192.168.255.254",
    "ipv6": "::1",
    "scope": "fe80::1%eth0",
    "name": "decode-7.pd_cluster.local",
}
_TAGS: Final = {value: tag for tag, value in _HOSTS.items()} | {
    "[::1]:5000": "ipv6",
    "[fe80::1%eth0]:1": "scope",
    "decode-7:65535": "name",
}


def _spellings(slot: Json) -> list[object]:
    match slot["type"]:
        case "flag":
            return [False, True]
        case "names":
            return [[word, word] for word in slot["allowed"]] + [slot["allowed"][:2][::-1]]
        case "host":
            return list(_HOSTS.values())
        case "hostport":
            return ["[::1]:5000", "[fe80::1%eth0]:1", "decode-7:65535"]
        case "utf8":
            return ["0", "a\nb", "délai dépassé: 接続"]
    return list(slot.get("allowed") or ())


def _tag(value: object, number: int) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and value in _TAGS:
        return _TAGS[value]
    if isinstance(value, list):
        return "-".join(str(word).lower() for word in value)
    return f"{number}"


def empties(at: Subject) -> Iterator[Case]:
    """What an empty frame means, read and written; a rule that speaks for it has its own cases."""
    ruled = {rule["field"] for rule in at.layout["derivations"]}
    for name, slot in at.bench.slots.items():
        if "position" not in slot or "empty" not in slot or name in ruled:
            continue
        meaning = _meaning(slot["empty"], at.bench.values)
        made = at.bench.given({name: meaning})
        if made is None:
            continue
        values, frames = made
        sent = _emptied(at.bench, slot, frames)
        clauses = (at.clause(f"field-{name}/empty"), at.clause(f"frame-{slot['position']}"))
        if at.bench.read(sent) is None:
            continue  # the rules across frames leave no message with this frame empty
        yield at.accept(
            f"frame-{slot['position']}-empty",
            sent,
            values,
            purpose=f"{about(slot)} Here the frame is there and has no bytes.",
            expectation=f"Accepted: an empty frame means that {name} is {shown(meaning)}.",
            clauses=clauses,
        )
        yield at.encode(
            f"frame-{slot['position']}-empty-encode",
            values,
            frames,
            purpose=f"{about(slot)} Here {name} is {shown(meaning)}, what an empty frame means.",
            level=_spelling(at.bench, values, frames),
            expectation=_written(at.bench, slot, frames),
            clauses=clauses,
        )


def filled(at: Subject) -> Iterator[Case]:
    """What an empty frame means, said with bytes where there is a way."""
    counted = {frame["length_of"] for frame in at.layout["frames"]}
    for name, slot in at.bench.slots.items():
        if slot["type"] not in INTEGERS or "value" not in slot.get("empty", {}) or name in counted:
            continue
        meaning = slot["empty"]["value"]
        made = None if meaning is None else at.bench.given({name: meaning})
        if made is None or not slot["min"] <= meaning <= slot["max"]:
            continue
        raw = at.bench.raw(name, meaning, spelled=True)
        place = slot["position"] + at.bench.shift
        if place >= len(made[1]):
            continue
        sent = (*made[1][:place], raw, *made[1][place + 1 :])
        yield at.accept(
            f"frame-{slot['position']}-filled",
            sent,
            made[0],
            purpose=f"{about(slot)} Here it is {bytes_of(raw)}, the number that an "
            "empty frame means too.",
            expectation=f"Accepted: {name} is {meaning}, as it is for an empty frame.",
            clauses=(at.clause(f"frame-{slot['position']}"),),
        )


def _meaning(empty: Json, values: Values) -> object:
    """What an empty frame means, a repetition filled in."""
    if "value" in empty:
        return empty["value"]
    repeat = empty["repeat"]
    word = values[repeat["from_field"]] if "from_field" in repeat else repeat["word"]
    return [word] * len(values[repeat["like"]])


def _emptied(bench: Bench, slot: Json, frames: Frames) -> Frames:
    """The frames with this one there and empty, whether or not it has to be sent."""
    place = slot["position"] + bench.shift
    if place >= len(frames):
        return bench.put(slot["position"], b"")
    return (*frames[:place], b"", *frames[place + 1 :])


def _written(bench: Bench, slot: Json, frames: Frames) -> str:
    """What becomes of the value that an empty frame means."""
    place = slot["position"] + bench.shift
    if place >= len(frames):
        return f"Frame {slot['position']} is not sent: its lack says the same."
    if not frames[place]:
        return f"Frame {slot['position']} is there and empty."
    told = bytes_of(frames[place])
    return f"Frame {slot['position']} is {told}: the value has a spelling of its own."


RULES: Final = (whole, numbers, words, empties, filled)
