"""How the reference says things: releases, meanings, ranges, recognition."""

from __future__ import annotations

from collections.abc import Sequence

from pdwire_codegen.model import REQUIRED, Frame, Meaning, Message, Recognise, Repeat

MARK = "<!-- GENERATED from {source} by pdwire generate. Do not edit. -->"

_POWERS = {2**power - 1: f"2^{power}-1" for power in (20, 31, 32, 53, 63, 64)}
_TRANSPORTS = {
    "zmq": "ZMQ multipart message",
    "notification": "notification text of a transfer",
    "http": "HTTP",
}


def page_path(message: Message) -> str:
    """The message's page, relative to the index."""
    return f"{message.group}/{message.module}.md"


def code(text: str) -> str:
    """Inline code."""
    return f"`{text}`"


def title(message: Message) -> str:
    """Heading of a page: two groups may have messages of one name."""
    return f"{message.name} ({message.group})"


def releases(names: Sequence[str], known: Sequence[str]) -> str:
    """Releases as ranges: ``0.5.6 – 0.5.9, 0.5.11``."""
    runs: list[list[str]] = []
    for name in known:
        if name not in names:
            continue
        before = known[known.index(name) - 1] if known.index(name) else None
        if runs and runs[-1][-1] == before:
            runs[-1].append(name)
        else:
            runs.append([name])
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]} – {run[-1]}" for run in runs)


def directions(message: Message) -> str:
    """``prefill → decode``, all of them."""
    return ", ".join(item.replace("->", "→") for item in message.directions)


def transport(message: Message) -> str:
    """How it travels."""
    words = _TRANSPORTS[message.transport]
    if message.transport != "http":
        return words
    body = "JSON body" if message.body == "json" else "query string"
    return f"{words} {code(f'{message.method} {message.path}')}, {message.part}, {body}"


def recognition(rule: Recognise | None) -> str:
    """What proves that it is this message."""
    if rule is None:
        return ""
    if rule.equals is not None:
        return f"frame {rule.frame} is {code(rule.equals)}"
    return "its guard" if rule.is_ == "guard" else f"frame {rule.frame} is a decimal number"


def meaning(value: Meaning) -> str:
    """What an empty or missing frame means; nothing where it is refused."""
    if value is REQUIRED:
        return ""
    if isinstance(value, Repeat):
        what = code(value.from_field or str(value.word))
        return f"{what} per element of {code(value.like)}"
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if value in ((), "", b""):
        return "empty"
    return code(str(value))


def number(value: int) -> str:
    """A bound; powers of two by their name."""
    return _POWERS.get(value, str(value))


def limits(low: int | None, high: int | None, allowed: Sequence[str]) -> str:
    """The range or the words of a field."""
    if allowed:
        return " ".join(code(word) for word in allowed)
    if low is None and high is None:
        return ""
    left = "" if low is None else number(low)
    return f"{left}..{'' if high is None else number(high)}"


def counts(numbers: Sequence[int], guard: str | None) -> str:
    """The frame counts of a layout."""
    words = " or ".join(map(str, numbers)) + (" frame" if numbers == (1,) else " frames")
    return f"{words} behind the guard" if guard else words


def frame_word(frame: Frame) -> str:
    """What sits in a position."""
    if frame.const is not None:
        return code(f'"{frame.const}"')
    if frame.length_of is not None:
        return f"length of {frame.length_of}"
    return frame.name
