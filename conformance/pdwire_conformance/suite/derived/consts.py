"""Frames that are always the same: the guard, the tag, and lengths of other frames."""

from __future__ import annotations

from collections.abc import Iterator
from struct import pack
from typing import Any, Final

from pdwire_conformance.suite.case import Case, Refuse

from .prose import bytes_of, kind_of
from .subject import Subject

__all__ = ["RULES"]

Json = dict[str, Any]
_STRANGER: Final = ("unknown-message", "frame-value")
_UNKNOWN: Final = ("unknown-message",)


def tags(at: Subject) -> Iterator[Case]:
    """A constant frame that is nearly the constant."""
    for frame in at.layout["frames"]:
        if frame["kind"] != "const":
            continue
        tells = _tells(at.message, frame)
        for name, raw in _nearly(frame["const"].encode("utf-8")).items():
            yield at.refuse(
                f"frame-{frame['position']}-{name}",
                at.bench.put(frame["position"], raw),
                purpose=f"Frame {frame['position']} ({frame['name']}) of {at.spoken} is always "
                f"{bytes_of(frame['const'].encode())}; here it is {bytes_of(raw)}.",
                why=_WHY_TAG if tells else _WHY_CONST,
                expect=Refuse(kinds=_STRANGER),
                clauses=(
                    at.clause(f"frame-{frame['position']}"),
                    *((at.recognise,) if tells else ()),
                ),
            )


_WHY_TAG: Final = (
    "The text tells this message from all others: with another one these frames are something "
    "else, or nothing."
)
_WHY_CONST: Final = (
    "No release sends anything else here: with other bytes it is another release's message, or "
    "none."
)


def _tells(message: Json, frame: Json) -> bool:
    """Whether the message is recognised by this frame."""
    told = message["recognise"] or {}
    return told.get("frame") == frame["position"] and "equals" in told


def _nearly(word: bytes) -> dict[str, bytes]:
    if not word:
        return {"filled": b"0", "text": b"None", "zeros": bytes(4), "pickle": b"\x80\x05"}
    bad = {
        "wrong": word[:-1] + b"~",
        "other-case": word.swapcase(),
        "short": word[:-1],
        "long": word + b"\x00",
        "empty": b"",
        "quoted": b'"' + word + b'"',
        "pickle": b"\x80\x05" + word,
    }
    return {name: raw for name, raw in bad.items() if raw != word}


def guards(at: Subject) -> Iterator[Case]:
    """The frame before all others: missing, another, doubled."""
    guard = at.message["guard"]
    if guard is None:
        return
    first, rest = guard.encode("ascii"), at.bench.body
    other = b"MoriMsgGuard" if guard == "NixlMsgGuard" else b"NixlMsgGuard"
    bad = {
        "missing": rest,
        "another": (other, *rest),
        "doubled": (first, first, *rest),
        "other-case": (first.lower(), *rest),
        "empty": (b"", *rest),
        "long": (first + b"\x00", *rest),
    }
    for name, frames in bad.items():
        yield at.refuse(
            f"guard-{name}",
            frames,
            purpose=f"Every {at.message['name']} stands behind the guard frame {guard!r}, which "
            f"positions do not count. Here it is {_GUARD_WORDS[name]}.",
            why="The guard says whose message it is: without it, frames of one backend are read "
            "by the rules of another.",
            expect=Refuse(kinds=("unknown-message", "frame-count")),
            clauses=(at.recognise,),
        )


_GUARD_WORDS: Final = {
    "missing": "missing",
    "another": "another backend's",
    "doubled": "there twice",
    "other-case": "in small letters",
    "empty": "empty",
    "long": "one byte too long",
}


def strangers(at: Subject) -> Iterator[Case]:
    """A message that is known by its number, with another message's tag in its place."""
    if (at.message["recognise"] or {}).get("is") != "decimal":
        return
    for word in ("None", "ABORT", "KV_STATUS", "AUX_DATA"):
        yield at.refuse(
            f"tagged-{word.lower().replace('_', '-')}",
            at.bench.put(0, word.encode("ascii")),
            purpose=f"{at.spoken} has no tag: it is known by the decimal number in frame 0. Here "
            f"that frame is {word!r}, with which other messages begin.",
            why="It is another message, whatever the other frames look like.",
            expect=Refuse(kinds=_STRANGER),
            clauses=(at.recognise, at.clause("frame-0")),
        )


def lengths(at: Subject) -> Iterator[Case]:
    """A frame that counts the bytes of another, and counts wrong."""
    for frame in at.layout["frames"]:
        if frame["kind"] != "length":
            continue
        size = len(at.bench.body[at.bench.slots[frame["length_of"]]["position"]])
        for name, (raw, words) in _miscounts(frame["type"], size).items():
            yield at.refuse(
                f"frame-{frame['position']}-{name}",
                at.bench.put(frame["position"], raw),
                purpose=f"Frame {frame['position']} ({frame['name']}) of {at.spoken} is the number "
                f"of bytes in {frame['length_of']}: {kind_of(frame)}. Here it is {words}.",
                why="Two frames that disagree about a length are no message: who trusts either "
                "copies too much or too little.",
                expect=Refuse(kinds=("frame-value", "invariant")),
                clauses=(at.clause(f"frame-{frame['position']}"),),
            )


_FIXED: Final = {"u32": ("<I", ">I"), "u32be": (">I", "<I"), "u64": ("<Q", ">Q")}


def _miscounts(kind: str, size: int) -> dict[str, tuple[bytes, str]]:
    """Frames that do not say ``size`` in the frame's own type."""
    if kind not in _FIXED:
        return {
            "less": (str(size - 1).encode(), "one byte fewer than come"),
            "more": (str(size + 1).encode(), "one byte more than come"),
            "empty": (b"", "empty"),
        }
    own, other = _FIXED[kind]
    raw, turned = pack(own, size), pack(other, size)
    return {
        "less": (pack(own, size - 1), "one byte fewer than come"),
        "more": (pack(own, size + 1), "one byte more than come"),
        "most": (b"\xff" * len(raw), "the greatest number, and nearly nothing comes"),
        "other-order": (turned, "the number in the other byte order"),
        "short": (raw[:-1], "a byte too short"),
        "long": (raw + bytes(4), "4 bytes too long"),
        "text": (str(size).encode(), "the number as text"),
        "empty": (b"", "empty"),
    }


RULES: Final = (tags, guards, strangers, lengths)
