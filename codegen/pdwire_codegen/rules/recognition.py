"""Rules of recognition: bytes that prove which message has come."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pdwire_codegen.draft import Draft, DraftLayout, DraftMessage, DraftRecognise
from pdwire_codegen.kinds import kind_of
from pdwire_codegen.rules.rule import Finding, Rule, at, each_message

_DECIMAL = re.compile(r"0|[1-9][0-9]*")
_PLACE = ("message", "recognise")


def recognise_missing(message: DraftMessage) -> Iterator[Finding]:
    """A zmq message says how it is recognised."""
    given = ("message", "recognise") in message.document.lines
    if message.transport == "zmq" and message.recognise is None and not given:
        text = f"message {message.shown} does not say how it is recognised"
        hint = 'add recognise = { frame = 0, equals = "…" }'
        yield at(message.document, ("message",), text, hint)


def recognise_form(message: DraftMessage) -> Iterator[Finding]:
    """By one thing: constant bytes, a decimal, or the guard that it has."""
    rule = message.recognise
    if rule is None:
        return
    for wrong, hint in _wrong_form(message, rule):
        yield at(message.document, _PLACE, wrong, hint)


def _wrong_form(message: DraftMessage, rule: DraftRecognise) -> Iterator[tuple[str, str]]:
    if message.transport in ("notification", "http"):
        yield f"{message.transport} has no frames to recognise", "drop recognise"
    if (rule.equals is None) == (rule.is_ is None):
        yield "recognise has one of equals and is", 'equals = "TAG", is = "decimal" or is = "guard"'
    if rule.is_ is not None and rule.is_ not in ("decimal", "guard"):
        yield f"cannot recognise by {rule.is_!r}", "decimal or guard"
    if rule.is_ == "guard" and message.guard is None:
        yield "recognised by its guard, and has none", "add guard, or recognise a frame"
    if rule.frame is not None and rule.frame < 0:
        yield f"frame {rule.frame} does not exist", "frames count from 0"
    if rule.equals is not None and not rule.equals.isascii():
        yield "equals is ASCII", ""


def recognise_mismatch(message: DraftMessage) -> Iterator[Finding]:
    """Every layout has, always, the frame by which its message is recognised."""
    rule = message.recognise
    if rule is None or rule.frame is None or rule.is_ == "guard":
        return
    for layout in message.layouts:
        if not layout.frames:
            continue
        if (wrong := _mismatch(message, layout, rule, rule.frame)) is not None:
            frames = [frame for frame in layout.frames if frame.position == rule.frame]
            path = frames[0].path if frames else layout.path
            hint = "recognition looks at the same frame in every layout"
            yield at(message.document, path, f"layout {layout.id}: {wrong}", hint)


def _mismatch(
    message: DraftMessage, layout: DraftLayout, rule: DraftRecognise, position: int
) -> str | None:
    frame = next((item for item in layout.frames if item.position == position), None)
    if frame is None:
        return f"there is no frame {position} to recognise"
    if position >= layout.least:
        return f"frame {position} is recognised and may be missing"
    if rule.equals is not None and frame.const != rule.equals:
        return f"frame {position} is not the constant {rule.equals!r}"
    if rule.is_ == "decimal":
        field = message.everything().get(frame.field or "")
        kind = kind_of(frame.type or (field.type if field else None))
        if frame.const is not None or (kind is not None and kind.name != "dec"):
            return f"frame {position} is recognised as a decimal and is none"
    return None


def ambiguous_recognition(draft: Draft) -> Iterator[Finding]:
    """Two messages that one socket may get are told apart by their frames."""
    seen: list[DraftMessage] = []
    for message in draft.messages:
        if message.recognise is None or message.transport != "zmq":
            continue
        for other in seen:
            if _meet(message, other) and _alike(message, other):
                text = f"{message.shown} looks like {other.shown} of {other.document.file}"
                hint = "same backend, direction, guard and recognise; recognise another frame"
                yield at(message.document, _PLACE, text, hint)
        seen.append(message)


def _meet(one: DraftMessage, other: DraftMessage) -> bool:
    return bool(
        set(one.backends) & set(other.backends)
        and set(one.directions) & set(other.directions)
        and one.guard == other.guard
    )


def _alike(one: DraftMessage, other: DraftMessage) -> bool:
    """Whether some frames satisfy both recognition rules, as far as they can tell."""
    left, right = one.recognise, other.recognise
    if left is None or right is None:
        return False
    if "guard" in (left.is_, right.is_):
        return True
    if left.frame != right.frame:
        return False
    if left.equals is not None and right.equals is not None:
        return left.equals == right.equals
    constant = left.equals or right.equals
    return constant is None or _DECIMAL.fullmatch(constant) is not None


RULES = (
    Rule(
        id="recognise-missing",
        holds="A zmq message says how it is recognised.",
        check=each_message(recognise_missing),
    ),
    Rule(
        id="recognise-form",
        holds="A message is recognised by a constant, a decimal or its guard.",
        check=each_message(recognise_form),
    ),
    Rule(
        id="recognise-mismatch",
        holds="The frame that is recognised is always there, and is that constant or decimal.",
        check=each_message(recognise_mismatch),
    ),
    Rule(
        id="ambiguous-recognition",
        holds="Messages of one backend and direction are told apart by guard and recognition.",
        check=ambiguous_recognition,
    ),
)
