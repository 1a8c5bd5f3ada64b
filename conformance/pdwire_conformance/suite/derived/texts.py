"""Texts with a grammar: flags, words, hosts, hosts with a port, names without blanks.

Rules: a host or an endpoint to which no socket can be opened is refused where it is read;
found later, it ends the loop that sends. Of a number within a text the spelling counts as
it does in :mod:`.numbers`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pdwire_conformance.suite.case import Case, Level

from .prose import about, bytes_of
from .subject import Subject, refused

__all__ = ["RULES"]

Json = dict[str, Any]
Bad = dict[str, tuple[bytes, Level, str]]
_MUST, _SHOULD = Level.MUST, Level.SHOULD
_NOWHERE: Final = "Nothing can be reached there, and who tries later fails in the send path."

_FLAGS: Final[Bad] = {
    "two": (b"2", _MUST, "Only 0 and 1 are answers to yes or no."),
    "true": (b"true", _MUST, "To one reader it is true, to another an error, to a third false."),
    "byte": (b"\x01", _MUST, "It is the character 1, not the byte 1."),
    "not-ascii": (b"\xff", _MUST, "It is no character at all."),
    "spaces": (b" 1", _SHOULD, "A flag has one spelling."),
    "zeros": (b"01", _SHOULD, "A flag has one spelling."),
    "pickle": (b"\x80\x05K\x07.", _MUST, "It is no flag, and nothing is unpickled."),
}
_WORDS: Final[Bad] = {
    "not-ascii": (b"\xff\xfe", _MUST, "It is no ASCII, and decoding it as such raises."),
    "accent": ("délai".encode(), _MUST, "It is no ASCII, and decoding it as such raises."),
    "nul": (b"a\x00b", _MUST, "Whoever hands it to C code hands over another, shorter name."),
    "pickle": (b"\x80\x05K\x07.", _MUST, "It is no text, and nothing is unpickled."),
    "blank": (b"a b", _SHOULD, "Names go into texts that are split at blanks elsewhere."),
    "newline": (b"name\n", _SHOULD, "The name and the name with a line end are two keys."),
}
_UTF8: Final[Bad] = {
    "not-utf8": (b"\xff\xfe", _SHOULD, "It is no UTF-8, and replacing bytes hides who sent it."),
    "cut": ("délai".encode()[:2], _SHOULD, "The last character is cut in two."),
    "pickle": (b"\x80\x05K\x07.", _SHOULD, "It is no text, and nothing is unpickled."),
    "surrogate": (b"\xed\xa0\x80", _SHOULD, "Half of a pair is no character in UTF-8."),
}
_HOSTS: Final[Bad] = {
    "with-port": (b"h:5000", _MUST, _NOWHERE),
    "ipv6-with-port": (b"[::1]:5000", _MUST, _NOWHERE),
    "half-bracket": (b"[::1", _MUST, _NOWHERE),
    "octet": (b"10.0.0.256", _MUST, _NOWHERE),
    "three-octets": (b"10.0.0", _MUST, _NOWHERE),
    "octet-zeros": (b"10.0.0.010", _MUST, "To some it is decimal 10, to others octal 8."),
    "no-scope": (b"fe80::1%", _MUST, _NOWHERE),
    "scope-blank": (b"fe80::1%e 0", _MUST, _NOWHERE),
    "two-dots": (b"a..b", _MUST, _NOWHERE),
    "hyphen-first": (b"-a.b", _MUST, _NOWHERE),
    "url": (b"tcp://h", _MUST, _NOWHERE),
    "blank": (b"h h", _MUST, _NOWHERE),
    "newline": (b"10.0.0.2\n", _MUST, _NOWHERE),
    "not-ascii": (b"\xff\xfe", _MUST, _NOWHERE),
    "pickle": (b"\x80\x05K\x07.", _MUST, "It is no text, and nothing is unpickled."),
}
_HOSTPORTS: Final[Bad] = {
    "no-port": (b"10.0.0.2", _MUST, _NOWHERE),
    "empty-port": (b"h:", _MUST, _NOWHERE),
    "no-host": (b":5000", _MUST, _NOWHERE),
    "port-text": (b"h:x", _MUST, _NOWHERE),
    "port-zero": (b"h:0", _MUST, _NOWHERE),
    "port-above": (b"h:65536", _MUST, _NOWHERE),
    "port-far-above": (b"h:70000", _MUST, _NOWHERE),
    "port-negative": (b"h:-1", _MUST, _NOWHERE),
    "port-zeros": (b"h:080", _SHOULD, "A port has one spelling."),
    "port-plus": (b"h:+80", _SHOULD, "A port has one spelling."),
    "port-blank": (b"h: 80", _SHOULD, "A port has one spelling."),
    "two-ports": (b"h:1:2", _MUST, _NOWHERE),
    "ipv6-bare": (b"::1", _MUST, "Without brackets nobody can tell the port from the address."),
    "ipv6-bare-port": (b"fe80::1%eth0:80", _MUST, "Without brackets the port is a part of it."),
    "ipv6-no-port": (b"[::1]", _MUST, _NOWHERE),
    "name-in-brackets": (b"[h]:80", _MUST, _NOWHERE),
    "not-ascii": (b"\xff\xfe:1", _MUST, _NOWHERE),
    "newline": (b"h:80\n", _MUST, _NOWHERE),
}


def _names(slot: Json) -> Bad:
    word = slot["allowed"][0].encode()
    why = "Whoever takes an unknown kind of memory for a known one writes to the wrong place."
    bad: Bad = {
        "unknown-word": (word + b",FOO", _MUST, why),
        "other-case": (word.swapcase() + b"," + word.swapcase(), _MUST, why),
        "no-comma": (word + b" " + word, _MUST, why),
        "no-words": (b",", _MUST, why),
        "trailing-comma": (word + b"," + word + b",", _MUST, why),
        "blank": (word + b", " + word, _SHOULD, "A list of words has one spelling."),
        "not-ascii": (word + b",\xff", _MUST, why),
        "pickle": (b"\x80\x05K\x07.", _MUST, why),
    }
    known = {each.encode() for each in slot["allowed"]}
    return {tag: told for tag, told in bad.items() if not known.issuperset(told[0].split(b","))}


_BAD: Final = {
    "flag": _FLAGS, "text": _WORDS, "utf8": _UTF8, "host": _HOSTS, "hostport": _HOSTPORTS,
}  # fmt: skip


def grammar(at: Subject) -> Iterator[Case]:
    """Every text that its grammar does not have."""
    ruled = {rule["field"] for rule in at.layout["derivations"]}
    for slot in at.bench.slots.values():
        bad = _names(slot) if slot["type"] == "names" else _BAD.get(slot["type"])
        if bad is None or "position" not in slot:
            continue
        if "empty" not in slot and slot["field"] not in ruled and slot["type"] != "names":
            bad = bad | {"empty": (b"", _MUST, "An empty frame has no meaning here.")}
        for tag, (raw, level, why) in bad.items():
            yield at.refuse(
                f"frame-{slot['position']}-{tag}",
                at.bench.put(slot["position"], raw),
                level=level,
                purpose=f"{about(slot)} Here it is {bytes_of(raw)}.",
                why=why,
                expect=refused(slot),
                clauses=(at.clause(f"frame-{slot['position']}"),),
            )


RULES: Final = (grammar,)
