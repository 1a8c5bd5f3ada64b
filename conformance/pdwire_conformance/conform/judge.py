"""Whether an answer is what a codec case expects: pure, one function per kind of check.

Rules:

* Values are compared field by field, those that the case names. A field that the testee
  left out fails the case, unless it said that it reads only some (``partial``); a case
  about none of the fields that such a testee reads is skipped.
* A peer's ``null`` for no array is no array.
* A JSON body may be spelled in many ways, and may have keys more than it has to: its reader
  ignores what it does not know, and a key's lack can be said by what the lack means.
* The kind, the frame and the field of an error count only for a testee that says it types
  its errors.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pdwire_conformance.reports.text import cut_hex, frame_text
from pdwire_conformance.suite.case import (
    Accept,
    Ambiguous,
    Case,
    Decode,
    Encode,
    Live,
    Recognise,
    Recognised,
    Refuse,
)
from pdwire_conformance.testees.protocol import Answer, Hello, Request

__all__ = ["Judgement", "judge", "request_of", "show", "unasked"]

Json = Mapping[str, Any]
_MOST: Final = 64
"""Bytes in hex of a frame that has its text beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """``ok``; else what was expected and what came, each one line. ``skip``: not judged."""

    ok: bool
    expected: str = ""
    came: str = ""
    skip: str = ""


def request_of(case: Case, release: str) -> Request:
    """The request that asks a codec case of a testee, for one of the case's releases."""
    base: Request = {"backend": case.backend, "release": release}
    match case.check:
        case Decode(frames=frames):
            return {"op": "decode", **base, "message": case.message, "frames": _hex(frames)}
        case Encode(values=values):
            return {"op": "encode", **base, "message": case.message, "values": dict(values)}
        case Recognise(frames=frames, direction=direction):
            return {
                "op": "recognise",
                "backend": case.backend,
                "frames": _hex(frames),
                "direction": direction,
            }
        case Live():
            raise ValueError(f"{case.slug} is a live case: it is a script, not one request")


def unasked(case: Case, hello: Hello) -> str:
    """Why the testee does not claim what this case is about; empty when it does."""
    if case.role not in hello.roles:
        return f"it does not play the role {case.role}"
    if case.backend not in hello.releases:
        return f"it has no backend {case.backend}"
    match case.check:
        case Recognise():
            return "" if "recognise" in hello.features else "it does not recognise messages"
        case Live():
            return ""
        case Decode() | Encode():
            op = "decode" if isinstance(case.check, Decode) else "encode"
            known = hello.can(case.backend, case.message, op)
            return "" if known else f"it has no {op} of {case.message}"


def judge(case: Case, answer: Answer, hello: Hello) -> Judgement:
    """Whether the answer is what the case expects."""
    if "skip" in answer:
        return Judgement(ok=False, skip=str(answer["skip"]))
    match case.check:
        case Decode(expect=Accept(values=values)):
            return _accepted(values, answer, partial="partial" in hello.features)
        case Encode(expect=tuple() as frames):
            return _encoded(frames, answer)
        case Recognise(expect=Recognised() | Ambiguous() as wanted):
            return _recognised(wanted, answer)
        case Decode(expect=Refuse() as wanted) | Encode(expect=Refuse() as wanted):
            return _refused(wanted, answer, typed="typed-errors" in hello.features)
        case Recognise(expect=Refuse() as wanted):
            return _refused(wanted, answer, typed="typed-errors" in hello.features)
    raise ValueError(f"{case.slug}: a {type(case.check).__name__} check has no answer to judge")


def _accepted(wanted: Json, answer: Answer, *, partial: bool) -> Judgement:
    if "values" not in answer:
        return Judgement(ok=False, expected=show(wanted), came=_came(answer))
    values: Json = answer["values"]
    missing = [name for name in wanted if name not in values]
    shared = [name for name in wanted if name in values]
    told = ", ".join(missing)
    if partial and wanted and not shared:
        return Judgement(ok=False, skip=f"it does not read {told}")
    if missing and not partial:
        return Judgement(ok=False, expected=f"a value of {told}", came=f"no {told}")
    wrong = [name for name in shared if not _same(wanted[name], values[name])]
    if not wrong:
        return Judgement(ok=True)
    return Judgement(
        ok=False,
        expected=show({name: wanted[name] for name in wrong}),
        came=show({name: values[name] for name in wrong}),
    )


def _same(wanted: object, came: object) -> bool:
    if isinstance(wanted, bool) != isinstance(came, bool):
        return False  # JSON tells 1 from true; Python's == does not
    if isinstance(wanted, list) and isinstance(came, list):
        return len(wanted) == len(came) and all(map(_same, wanted, came))
    return wanted == came or (came is None and wanted == [])


def _encoded(wanted: tuple[bytes, ...], answer: Answer) -> Judgement:
    expected = _hex(wanted)
    came = answer.get("frames")
    if came is None:
        return Judgement(ok=False, expected=f"{len(expected)} frames", came=_came(answer))
    if list(came) == expected or _same_body(expected, list(came)):
        return Judgement(ok=True)
    if len(came) != len(expected):
        return Judgement(ok=False, expected=f"{len(expected)} frames", came=f"{len(came)} frames")
    at = next(n for n, (a, b) in enumerate(zip(expected, came, strict=True)) if a != b)
    told = _frame(str(came[at]))
    return Judgement(
        ok=False,
        expected=f"frame {at} of the multipart: {_frame(expected[at])}",
        # Reports tell failures apart by what stands before the colon, not by a frame's text.
        came=f"frame {at}: {told}" if came[at] else told,
    )


def _frame(frame: str) -> str:
    """A frame's hex, and its text beside it where it has one; an empty frame says so."""
    if text := frame_text(frame):
        return _short(f"{cut_hex(frame, _MOST)} {text}")
    return _short(frame) or "(empty)"


def _same_body(wanted: list[str], came: list[str]) -> bool:
    """Whether both are one JSON object, and all that the first says the second says too."""
    if len(wanted) != 1 or len(came) != 1 or not wanted[0].startswith("7b"):
        return False
    try:
        one, other = (json.loads(bytes.fromhex(body)) for body in (wanted[0], came[0]))
    except ValueError:
        return False
    if not isinstance(one, dict) or not isinstance(other, dict):
        return False
    return all(name in other and _same(value, other[name]) for name, value in one.items())


def _recognised(wanted: Recognised | Ambiguous, answer: Answer) -> Judgement:
    if isinstance(wanted, Ambiguous):
        expected = "ambiguous, or refused"
        if "error" in answer or answer.get("recognised", {}).get("ambiguous"):
            return Judgement(ok=True)
        return Judgement(ok=False, expected=expected, came=_came(answer))
    expected = wanted.message + (f" {', '.join(wanted.layouts)}" if wanted.layouts else "")
    told = answer.get("recognised")
    if told is None:
        return Judgement(ok=False, expected=expected, came=_came(answer))
    names = {each["message"] for each in told["candidates"]}
    layouts = {layout for each in told["candidates"] for layout in each["layouts"]}
    right = names == {wanted.message} and (not wanted.layouts or layouts == set(wanted.layouts))
    return Judgement(ok=right and not told["ambiguous"], expected=expected, came=_came(answer))


def _refused(wanted: Refuse, answer: Answer, *, typed: bool) -> Judgement:
    expected = _refusal(wanted) if typed else "a refusal"
    error = answer.get("error")
    if error is None:
        return Judgement(ok=False, expected=expected, came=_came(answer))
    right = not typed or (
        (not wanted.kinds or error.get("kind") in wanted.kinds)
        and (wanted.frame is None or error.get("frame") == wanted.frame)
        and (not wanted.field or error.get("field") == wanted.field)
    )
    return Judgement(ok=right, expected=expected, came=_came(answer))


def _refusal(wanted: Refuse) -> str:
    place = "" if wanted.frame is None else f" at frame {wanted.frame}"
    name = f" ({wanted.field})" if wanted.field else ""
    return f"an error {' or '.join(wanted.kinds) or 'of any kind'}{place}{name}"


def _came(answer: Answer) -> str:
    if (error := answer.get("error")) is not None:
        place = "" if error.get("frame") is None else f" at frame {error['frame']}"
        return f"an error {error['kind']}{place}: {_short(error.get('text', ''))}"
    if (told := answer.get("recognised")) is not None:
        read = "; ".join(
            f"{each['message']} {', '.join(each['layouts'])}" for each in told["candidates"]
        )
        return ("ambiguous: " if told["ambiguous"] else "") + read
    return show(answer.get("values", answer))


def show(values: object) -> str:
    """Values on one line, shortened."""
    return _short(json.dumps(values, ensure_ascii=False, default=dict))


def _short(text: str) -> str:
    """One line that any report can write: half of a surrogate pair becomes its escape."""
    line = " ".join(text.encode("utf-8", "backslashreplace").decode("utf-8").split())
    return line if len(line) <= 300 else f"{line[:300]}…"


def _hex(frames: tuple[bytes, ...]) -> list[str]:
    return [frame.hex() for frame in frames]
