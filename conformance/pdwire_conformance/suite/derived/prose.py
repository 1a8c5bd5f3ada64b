"""The words in which derived cases speak of frames, fields and values.

Rules: a reader has never seen the wire. So a frame is named by its position and its
field, a field by what it means, and a value by what it is, not by its type's name.
"""

from __future__ import annotations

import json
from typing import Any

from .jsons import json_words

__all__ = ["about", "bytes_of", "doc_of", "frame_of", "kind_of", "shown"]

Json = dict[str, Any]

_KINDS = {
    "flag": "the character 0 or 1",
    "u32": "4 bytes, a little-endian number",
    "u64": "8 bytes, a little-endian number",
    "u32be": "4 bytes, a big-endian number",
    "text": "printable ASCII without blanks",
    "utf8": "UTF-8 text",
    "host": "an IPv4 or IPv6 address or a host name",
    "hostport": "host:port, an IPv6 address in brackets",
    "bytes": "bytes that nobody interprets",
    "names": "words with commas between",
    "bin[]": "a msgpack array of byte strings",
    "bin[][]": "a msgpack array of arrays of byte strings",
    "bin?[][]": "a msgpack array of arrays of byte strings, nil allowed",
}


def kind_of(slot: Json) -> str:
    """What a field's bytes are."""
    kind: str = slot["type"]
    if kind == "dec":
        return f"a decimal number in ASCII from {slot['min']} to {slot['max']}"
    if kind in _KINDS:
        allowed = f", one of {', '.join(slot['allowed'])}" if slot.get("allowed") else ""
        return _KINDS[kind] + allowed
    if kind.startswith("json:"):
        return json_words(slot, kind[5:])
    bits = "signed 32" if kind[0] == "i" else f"unsigned {kind[1:3]}"
    numbers = f"{bits}-bit little-endian numbers"
    if kind.endswith("[][]"):
        return f"a counted list of lists of {numbers}"
    return f"{numbers}, one behind the other"


def doc_of(slot: Json) -> str:
    """The first sentence of what the spec says of a field."""
    text = " ".join(str(slot["doc"]).split())
    end = text.find(". ")
    return text if end < 0 else text[: end + 1]


def frame_of(slot: Json) -> str:
    """``Frame 14 (staging_base_ptr) of KVArgsRegisterInfo``."""
    return f"Frame {slot['position']} ({slot['name']}) of {slot['message']}"


def about(slot: Json) -> str:
    """What a frame or key holds, in two sentences."""
    where = frame_of(slot) if "position" in slot else f"The field {slot['field']}"
    return f"{where} is {kind_of(slot)}. {doc_of(slot)}"


def shown(value: object) -> str:
    """A value for a sentence, short."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"


def bytes_of(raw: bytes) -> str:
    """Bytes for a sentence: text in quotes, all else in hex, and only the size of many."""
    if not raw:
        return "empty"
    if len(raw) > 60:
        return f"{len(raw):,} bytes long"
    if all(0x20 <= byte < 0x7F for byte in raw):
        return f'"{raw.decode("ascii")}"'
    return f"the bytes {raw.hex(' ')}"
