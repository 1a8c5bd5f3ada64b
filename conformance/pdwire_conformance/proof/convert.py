"""Between values in JSON and the generated messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pdwire.codec import Codec, Message, field_names

__all__ = ["from_message", "to_message"]


def to_message(codec: Codec[Any], values: dict[str, Any]) -> Message:
    """The message of these values; fields not given keep their defaults."""
    known = set(field_names(codec.cls))
    given = {name: _from_json(value) for name, value in values.items() if name in known}
    message: Message = codec.cls(**given)
    return message


def _from_json(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"hex"}:
        return bytes.fromhex(value["hex"])
    if isinstance(value, list):
        return tuple(_from_json(item) for item in value)
    return value


def from_message(message: Message, names: Iterable[str] | None = None) -> dict[str, Any]:
    """The message's values in JSON form."""
    chosen = field_names(type(message)) if names is None else names
    return {name: _to_json(getattr(message, name)) for name in chosen}


def _to_json(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, tuple | list):
        return [_to_json(item) for item in value]
    return value
