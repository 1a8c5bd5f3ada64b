"""Between values in the form of the JSON export, plain Python and the generated messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pdwire.codec import Codec, Message, field_names

__all__ = ["from_json", "from_message", "to_json", "to_message"]


def to_message(codec: Codec[Any], values: dict[str, Any]) -> Message:
    """The message of these values; fields not given keep their defaults."""
    known = set(field_names(codec.cls))
    given = {n: _frozen(from_json(value)) for n, value in values.items() if n in known}
    message: Message = codec.cls(**given)
    return message


def _frozen(value: Any) -> Any:
    """Lists as the tuples that a message holds."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def from_json(value: Any) -> Any:
    """A value of the JSON export in plain Python: lists, and bytes for ``{"hex": …}``."""
    if isinstance(value, dict) and set(value) == {"hex"}:
        return bytes.fromhex(value["hex"])
    return [from_json(item) for item in value] if isinstance(value, list) else value


def from_message(message: Message, names: Iterable[str] | None = None) -> dict[str, Any]:
    """The message's values in JSON form."""
    chosen = field_names(type(message)) if names is None else names
    return {name: to_json(getattr(message, name)) for name in chosen}


def to_json(value: Any) -> Any:
    """A value in the form of the JSON export; arrays and tuples as lists."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, tuple | list):
        return [to_json(item) for item in value]
    return value
