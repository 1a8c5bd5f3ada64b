"""How large metadata is that is kept, and whether two pieces of it are the same."""

from __future__ import annotations

import hashlib
from dataclasses import fields
from typing import Any, Final

import numpy as np

__all__ = ["fingerprint", "weight"]

_SMALL_PARTS: Final = 1024
"""Bytes of everything about metadata that is no array, and of what is kept around it."""


def weight(info: Any) -> int:  # noqa: ANN401  # any backend's metadata
    """About how many bytes metadata takes as long as it is kept."""
    return _SMALL_PARTS + sum(_size(value) for value in _values(info))


def fingerprint(info: Any) -> bytes:  # noqa: ANN401  # any backend's metadata
    """8 bytes that two pieces of metadata have in common only if every field is the same."""
    digest = hashlib.blake2b(digest_size=8)
    for value in _values(info):
        _feed(digest, value)
    return digest.digest()


def _values(info: Any) -> list[Any]:  # noqa: ANN401
    return [getattr(info, field.name) for field in fields(info)]


def _size(value: object) -> int:
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, tuple | list):
        return sum(map(_size, value))
    return 0


def _feed(digest: hashlib.blake2b, value: object) -> None:
    """Add a value and its kind and length, so that neighbours cannot run into each other."""
    if isinstance(value, np.ndarray):
        digest.update(b"array %d;" % value.size)
        digest.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, tuple | list):
        digest.update(b"list %d;" % len(value))
        for part in value:
            _feed(digest, part)
    else:
        text = repr(value).encode()
        digest.update(b"value %d;" % len(text) + text)
