"""Values between JSON and what a release's code works with (``docs/spec-language.md``)."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def to_json(value: Any) -> Any:
    """A decoded value as JSON: arrays as lists, bytes as ``{"hex": …}``.

    Raises ``TypeError`` for anything that the values of a message cannot be.
    """
    match value:
        case None | bool() | str():
            return value
        case enum.Enum():
            return to_json(value.value)
        case int():
            return int(value)
        case float():  # no value of a message, but one that a release may have taken for it
            return value
        case np.generic() | np.ndarray():
            return value.tolist()
        case bytes() | bytearray() | memoryview():
            return {"hex": bytes(value).hex()}
        case Mapping():
            return {str(key): to_json(item) for key, item in value.items()}
        case Sequence() | set() | frozenset():
            return [to_json(item) for item in value]
    raise TypeError(f"{type(value).__name__} is not a value of a message")


def octets(value: Mapping[str, str]) -> bytes:
    """The bytes that ``{"hex": …}`` stands for."""
    return bytes.fromhex(value["hex"])


def i32(values: Sequence[int]) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Page indices as the pools of every release produce them."""
    return np.array(values, dtype=np.int32)
