"""What the last generation wrote about each layout: enough to say what has changed since.

Rules: the lock alone decides whether a layout changed; it holds a hash, and a hash cannot
say how. The exported spec of the last generation can, where its fingerprint is the locked
one. An export that is missing, or cannot be read, says nothing, and is no fault.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pdwire_codegen.emit_json import SPEC_PATH, layout_json, message_json
from pdwire_codegen.lock_file import Lock, LockedLayout
from pdwire_codegen.model import Layout, Message

Key = tuple[str, str, str]

_MOST = 4
_SENT = ("transport", "guard", "method", "path", "body", "part")
_FRAME = (
    *("field", "name", "const", "length_of", "type", "min", "max"),
    *("allowed", "empty", "writes_empty", "absent"),
)
_KEY = ("field", "type", "optional", "absent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """Layouts as they were generated last: the exported message and layout, as JSON."""

    lock: Lock
    layouts: Mapping[Key, tuple[dict[str, Any], dict[str, Any]]] = field(default_factory=dict)

    def changes(self, message: Message, layout: Layout, fingerprint: str) -> tuple[str, ...]:
        """How a layout differs from the one of ``fingerprint``; nothing where that is unknown."""
        before = self.layouts.get((message.group, message.name, layout.id))
        if before is None or before[1].get("fingerprint") != fingerprint:
            return ()
        now = message_json(message), layout_json(layout)
        found = [
            *_values(before[0], now[0], _SENT),
            *_values(before[1], now[1], ("counts", "text")),
        ]
        found += _parts("frame", _frames(before[1]), _frames(now[1]), _FRAME)
        found += _parts("key", _keys(before[1]), _keys(now[1]), _KEY)
        rest = len(found) - _MOST
        return (*found[:_MOST], *((f"and {rest} more",) if rest > 0 else ()))


def read_released(root: Path) -> Released:
    """What was generated last under ``root``."""
    path = root / SPEC_PATH
    try:
        return _released(json.loads(path.read_bytes()))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return Released(lock=Lock(file=SPEC_PATH, missing=f"there is no {SPEC_PATH}"))


def _released(spec: dict[str, Any]) -> Released:
    layouts = {
        (message["group"], message["name"], layout["id"]): (message, layout)
        for message in spec["messages"]
        for layout in message["layouts"]
    }
    entries = {
        key: LockedLayout(
            group=key[0],
            message=key[1],
            layout=key[2],
            fingerprint=layout["fingerprint"],
            speakers={name: tuple(told) for name, told in layout["speakers"].items()},
            line=1,
        )
        for key, (_, layout) in layouts.items()
    }
    return Released(lock=Lock(file=SPEC_PATH, entries=entries), layouts=layouts)


def _frames(layout: dict[str, Any]) -> dict[Any, dict[str, Any]]:
    return {frame["position"]: frame for frame in layout["frames"]}


def _keys(layout: dict[str, Any]) -> dict[Any, dict[str, Any]]:
    return {key["key"]: key for key in layout["keys"]}


def _parts(
    what: str,
    before: dict[Any, dict[str, Any]],
    now: dict[Any, dict[str, Any]],
    names: tuple[str, ...],
) -> Iterator[str]:
    """Each frame or key that is new, gone, or another one, or has other properties."""
    for place in sorted(before.keys() | now.keys()):
        if place not in now:
            yield f"{what} {place} ({_called(before[place])}) is gone"
        elif place not in before:
            yield f"{what} {place} ({_called(now[place])}) is new"
        elif _called(before[place]) != _called(now[place]):
            yield f"{what} {place} was {_called(before[place])}, is {_called(now[place])}"
        elif told := ", ".join(_values(before[place], now[place], names)):
            yield f"{what} {place} ({_called(now[place])}): {told}"


def _called(part: dict[str, Any]) -> str:
    return str(part.get("field") or part.get("name"))


def _values(before: dict[str, Any], now: dict[str, Any], names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        old, new = (_shown(part.get(name)) for part in (before, now))
        if old != new:
            yield f"{name} was {old}, is {new}"


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
