"""Whether an answer has the shape that the protocol gives it: pure, by hand, exact places.

Rules:

* The first fault is told, with a JSON pointer to it, what was expected there, what came
  and what to do. The schemas in ``schema/`` say the same to other tools; a test holds both
  to the same lines.
* An answer is closed: a key that the protocol does not know is a misspelling, most often.
* Nothing here judges whether an answer is *right*; that is the cases' business.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from .protocol import FEATURES, KINDS, PROTOCOL

__all__ = ["OUTCOMES", "Fault", "answer_fault", "read_line", "shown"]

Json = Any  # whatever a line held

OUTCOMES: Final[dict[str, tuple[str, ...]]] = {
    "hello": ("hello",),
    "decode": ("values", "error", "skip"),
    "encode": ("frames", "error", "skip"),
    "recognise": ("recognised", "error", "skip"),
    "stop": (),
}
"""What an answer to each codec operation may hold beside its id: exactly one of these."""

ROLES: Final = ("codec", "prefill", "decode", "bootstrap")
_HEX: Final = re.compile("(?:[0-9a-f]{2})*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One breach: where in the line (a JSON pointer, empty for all of it) and what of it."""

    pointer: str
    expected: str
    came: str
    advice: str = ""

    def __str__(self) -> str:
        place = f"at {self.pointer}: " if self.pointer else ""
        advice = f" ({self.advice})" if self.advice else ""
        return f"{place}expected {self.expected}, came {self.came}{advice}"


class _Breach(Exception):
    """A fault on its way up."""

    def __init__(self, pointer: str, expected: str, came: Json, advice: str = "") -> None:
        super().__init__(pointer)
        self.fault = Fault(pointer=pointer, expected=expected, came=shown(came), advice=advice)


def shown(value: Json) -> str:
    """A value as JSON on one line, shortened."""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 120 else f"{text[:120]}…"


def read_line(line: bytes) -> tuple[Json, Fault | None]:
    """The object that a line holds, or why it holds none."""
    try:
        told = json.loads(line, parse_constant=_no_number)
    except (ValueError, RecursionError) as fault:
        text = line[:120].decode("utf-8", "replace")
        advice = "print everything else on standard error"
        return None, Fault(
            pointer="", expected=f"one JSON object ({fault})", came=repr(text), advice=advice
        )
    if not isinstance(told, dict):
        return None, Fault(pointer="", expected="a JSON object", came=shown(told))
    return told, None


def _no_number(name: str) -> Json:
    raise ValueError(f"{name} is no JSON")


def answer_fault(op: str, answer: Mapping[str, Json]) -> Fault | None:
    """What is wrong with an answer to ``op``, its id left aside; ``None``: nothing."""
    try:
        _answer(op, answer)
    except _Breach as breach:
        return breach.fault
    return None


def _answer(op: str, answer: Mapping[str, Json]) -> None:
    told = [key for key in answer if key != "id"]
    if op not in OUTCOMES:  # a live operation: its own module knows what it answers
        for key in {"error", "skip"}.intersection(told):
            _CHECKS[key](f"/{key}", answer[key])
        return
    wanted = OUTCOMES[op]
    listed = " or ".join(wanted)
    for key in told:
        if key not in wanted:
            raise _Breach(f"/{key}", f"only {listed or 'the id'}", answer[key], _to(op))
    if len(told) != min(1, len(wanted)):
        came = " and ".join(told) or "none of them"
        raise _Breach("", f"exactly one of {listed}", came, _to(op))
    for key in told:
        _CHECKS[key](f"/{key}", answer[key])


def _to(op: str) -> str:
    return f"this is the answer to {op}"


def _hello(at: str, told: Json) -> None:
    _object(at, told, needed=("protocol", "name", "roles", "backends"))
    _object(at, told, allowed=("protocol", "name", "version", "roles", "features", "backends"))
    if told["protocol"] != PROTOCOL:
        raise _Breach(f"{at}/protocol", f'"{PROTOCOL}"', told["protocol"])
    _text(f"{at}/name", told["name"])
    if not isinstance(told.get("version", ""), str):
        raise _Breach(f"{at}/version", "a string", told["version"])
    _words(f"{at}/roles", told["roles"], ROLES)
    _words(f"{at}/features", told.get("features", []), FEATURES)
    _object(f"{at}/backends", told["backends"])
    for name, backend in told["backends"].items():
        _backend(f"{at}/backends/{_escaped(name)}", backend)


def _backend(at: str, told: Json) -> None:
    _object(at, told, needed=("releases", "messages"), allowed=("releases", "messages"))
    _words(f"{at}/releases", told["releases"])
    if not told["releases"]:
        raise _Breach(f"{at}/releases", "at least one release", told["releases"])
    _object(f"{at}/messages", told["messages"])
    for name, operations in told["messages"].items():
        _words(f"{at}/messages/{_escaped(name)}", operations, ("decode", "encode"))


def _words(at: str, told: Json, known: Iterable[str] = ()) -> None:
    """A list of different strings, each of ``known`` if that is given."""
    _array(at, told)
    listed = ", ".join(known)
    for place, word in enumerate(told):
        _text(f"{at}/{place}", word)
        if listed and word not in known:
            raise _Breach(f"{at}/{place}", f"one of {listed}", word)
        if word in told[:place]:
            raise _Breach(f"{at}/{place}", "no word twice", word)


def _error(at: str, told: Json) -> None:
    _object(at, told, needed=("kind", "text"), allowed=("kind", "text", "frame", "field"))
    if told["kind"] not in KINDS:
        raise _Breach(f"{at}/kind", f"one of {', '.join(KINDS)}", told["kind"])
    if not isinstance(told["text"], str):
        raise _Breach(f"{at}/text", "a string", told["text"])
    frame = told.get("frame", 0)
    if not _is_integer(frame) or frame < 0:
        advice = "positions count from 0, guard not counted; leave it out where there is none"
        raise _Breach(f"{at}/frame", "an integer of 0 or more", frame, advice)
    if not isinstance(told.get("field", ""), str):
        raise _Breach(f"{at}/field", "a string", told["field"])


def _frames(at: str, told: Json) -> None:
    _array(at, told)
    for place, frame in enumerate(told):
        _hex(f"{at}/{place}", frame)


def _hex(at: str, told: Json) -> None:
    if not isinstance(told, str) or _HEX.fullmatch(told) is None:
        raise _Breach(at, "lower-case hex, two digits a byte", told)


def _values(at: str, told: Json) -> None:
    _object(at, told)
    for name, value in told.items():
        _value(f"{at}/{_escaped(name)}", value)


def _value(at: str, told: Json) -> None:
    """Numbers, strings, booleans, null, lists, objects; ``hex`` alone stands for bytes."""
    if isinstance(told, list):
        if all(item.__class__ is int for item in told):
            return  # most often, and perhaps a hundred thousand of them
        for place, item in enumerate(told):
            _value(f"{at}/{place}", item)
    elif isinstance(told, dict):
        if set(told) == {"hex"} and isinstance(told["hex"], str):
            _hex(f"{at}/hex", told["hex"])
            return
        for name, item in told.items():
            _value(f"{at}/{_escaped(name)}", item)


def _recognised(at: str, told: Json) -> None:
    keys = ("ambiguous", "candidates")
    _object(at, told, needed=keys, allowed=keys)
    if not isinstance(told["ambiguous"], bool):
        raise _Breach(f"{at}/ambiguous", "true or false", told["ambiguous"])
    _array(f"{at}/candidates", told["candidates"])
    if not told["candidates"]:
        advice = "frames that nothing recognises are an error, unknown-message"
        raise _Breach(f"{at}/candidates", "at least one candidate", [], advice)
    for place, candidate in enumerate(told["candidates"]):
        here = f"{at}/candidates/{place}"
        _object(here, candidate, needed=("message", "layouts"), allowed=("message", "layouts"))
        _text(f"{here}/message", candidate["message"])
        _words(f"{here}/layouts", candidate["layouts"])


def _object(
    at: str, told: Json, *, needed: Iterable[str] = (), allowed: Iterable[str] | None = None
) -> None:
    if not isinstance(told, dict):
        raise _Breach(at, "an object", told)
    for key in needed:
        if key not in told:
            raise _Breach(at, f"the key {key!r}", sorted(told))
    for key in told:
        if allowed is not None and key not in allowed:
            raise _Breach(f"{at}/{_escaped(key)}", f"only {', '.join(allowed)}", told[key])


def _array(at: str, told: Json) -> None:
    if not isinstance(told, list):
        raise _Breach(at, "an array", told)


def _text(at: str, told: Json) -> None:
    if not isinstance(told, str) or not told:
        raise _Breach(at, "a string that is not empty", told)


def _is_integer(told: Json) -> bool:
    return isinstance(told, int) and not isinstance(told, bool)


def _escaped(key: str) -> str:
    """A key as a part of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


_CHECKS: Final[dict[str, Callable[[str, Json], None]]] = {
    "hello": _hello,
    "values": _values,
    "frames": _frames,
    "recognised": _recognised,
    "error": _error,
    "skip": _text,
}
