"""Plain data as the TOML of a protocol directory.

Rules: tables of the language become sections, everything below them is written inline;
only what the language has is known: texts, integers, booleans, lists and tables.
"""

# ruff: noqa: ANN401 - plain data of every type

from __future__ import annotations

import json
import re
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SECTIONS = ("backend", "absent", "field", "derived", "layout")


def document(data: dict[str, Any]) -> str:
    """The text of one file; ``invariant`` is an array of tables."""
    lines: list[str] = [
        f"{key} = {_value(value)}" for key, value in data.items() if not _is_section(key, value)
    ]
    for key, value in data.items():
        if key in _SECTIONS:
            for name, table in value.items():
                lines += _section(f"[{key}.{name}]", table)
        elif key == "invariant":
            for table in value:
                lines += _section("[[invariant]]", table)
        elif isinstance(value, dict):
            lines += _section(f"[{key}]", value)
    return "\n".join(lines) + "\n"


def _is_section(key: str, value: object) -> bool:
    return isinstance(value, dict) or key == "invariant"


def _section(head: str, table: dict[str, Any]) -> list[str]:
    return ["", head, *(f"{_key(key)} = {_value(value)}" for key, value in table.items())]


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    pairs = (f"{_key(key)} = {_value(item)}" for key, item in value.items())
    return f"{{ {', '.join(pairs)} }}"
