"""Fingerprints of layouts, and the entries of ``protocol/released.lock``.

Rules: a fingerprint is the SHA-256 of sorted, compact JSON of what travels: positions,
names, types, constants, ranges, words, empty and absent meanings, counts, guard, text,
keys, and how an HTTP body is sent. Docs, notes, units, concepts, derived rules,
invariants and releases are not part of it: they may become better known.
"""

from __future__ import annotations

import hashlib
import json

from pdwire_codegen.json_values import Json, meanings_json
from pdwire_codegen.lock_file import LockedLayout
from pdwire_codegen.model import Frame, Key, Layout, Message


def fingerprint(message: Message, layout: Layout) -> str:
    """SHA-256 (hex) over the canonical layout; ``message`` gives guard and transport."""
    text = json.dumps(canonical(message, layout), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def canonical(message: Message, layout: Layout) -> Json:
    """The layout as plain JSON, without anything that does not travel."""
    return {
        "transport": message.transport,
        "guard": message.guard,
        "http": [message.method, message.path, message.body, message.part],
        "counts": list(layout.counts),
        "frames": [_frame(frame) for frame in layout.frames],
        "text": layout.text,
        "keys": [_key(key) for key in sorted(layout.keys, key=lambda key: key.key)],
    }


def _frame(frame: Frame) -> Json:
    return {
        "position": frame.position,
        "name": frame.name,
        "type": frame.type,
        "field": frame.field,
        "const": frame.const,
        "length_of": frame.length_of,
        "range": [frame.min, frame.max],
        "allowed": list(frame.allowed),
        "writes_empty": frame.writes_empty,
        **meanings_json(empty=frame.empty, absent=frame.absent),
    }


def _key(key: Key) -> Json:
    return {
        "key": key.key,
        "field": key.field,
        "type": key.type,
        "optional": key.optional,
        **meanings_json(absent=key.absent),
    }


def locked(message: Message, layout: Layout) -> LockedLayout:
    """The lock's entry for a layout."""
    return LockedLayout(
        group=message.group,
        message=message.name,
        layout=layout.id,
        fingerprint=layout.fingerprint,
        speakers=layout.speakers,
    )
