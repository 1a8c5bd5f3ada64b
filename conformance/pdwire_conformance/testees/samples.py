"""Requests to ask a testee with: valid ones of everything that it claims, and odd ones.

Rules:

* Drawn from the spec with a fixed seed: the same testee is asked the same every time.
* Frames are what the generated codecs write; nothing here is expected of the answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from pdwire.wire import layout
from pdwire.wire.table import ORDER
from pdwire_conformance.proof.convert import to_message
from pdwire_conformance.proof.draw import draw_message
from pdwire_conformance.proof.spec import layout_of

from .protocol import Hello, Request

__all__ = ["BIG", "EXACT", "Sample", "samples"]

EXACT = 2**53 + 1
"""The smallest positive integer that a double cannot hold."""
BIG = 131_072
"""Indices of the largest array that is sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One message that a testee claims, in the newest release that it claims it of."""

    backend: str
    release: str
    message: str
    fields: tuple[str, ...]
    """Every field of the message."""
    values: dict[str, Any]
    frames: tuple[bytes, ...]

    def decode(self, frames: tuple[bytes, ...] | None = None) -> Request:
        """The request to read it, or other frames in its place."""
        chosen = self.frames if frames is None else frames
        return self._request("decode") | {"frames": [frame.hex() for frame in chosen]}

    def encode(self) -> Request:
        """The request to write it."""
        return self._request("encode") | {"values": self.values}

    def _request(self, op: str) -> Request:
        return {
            "op": op,
            "backend": self.backend,
            "release": self.release,
            "message": self.message,
        }


def samples(hello: Hello, op: str, *, big: bool = False, exact: bool = False) -> Iterator[Sample]:
    """A sample of each message whose ``op`` the testee claims, as far as the spec has it.

    ``big``: only messages with an index array, and that array at its largest; ``exact``:
    only messages with a field for :data:`EXACT`, and that number in it.
    """
    for backend, messages in hello.messages.items():
        for name, operations in messages.items():
            if op in operations and (made := _sample(hello, backend, name, big, exact)):
                yield made


def _sample(hello: Hello, backend: str, name: str, big: bool, exact: bool) -> Sample | None:
    for release in sorted(hello.releases[backend], key=_age, reverse=True):
        try:
            message, found = layout_of(backend, name, release)
        except KeyError:
            continue
        # Seeded, so that a check can be repeated; nothing here is a secret.
        values = draw_message(message, found, Random(name), big=big)  # noqa: S311
        if (big and _longest(values) < BIG) or (exact and not _exactly(found, values)):
            return None
        codec = layout(backend, name, release=release)
        whole = {
            field["name"]: field["absent"].get("value", [])
            for field in message["fields"]
            if "value" in field.get("absent", {})
        }
        return Sample(
            backend=backend,
            release=release,
            message=name,
            fields=tuple(field["name"] for field in message["fields"]),
            values=whole | values,
            frames=tuple(codec.encode(to_message(codec, values))),
        )
    return None


def _age(release: str) -> int:
    return ORDER.index(release) if release in ORDER else -1


def _longest(values: dict[str, Any]) -> int:
    return max((_length(value) for value in values.values()), default=0)


def _length(value: object) -> int:
    """Items of a list, or of the longest of its lists."""
    if not isinstance(value, list):
        return 0
    return max([len(value), *(len(part) for part in value if isinstance(part, list))])


def _exactly(found: dict[str, Any], values: dict[str, Any]) -> bool:
    """Put the number where a decimal frame of the layout takes it."""
    for frame in found["frames"]:
        if frame["type"] == "dec" and frame["max"] >= EXACT and values.get(frame["field"]):
            values[frame["field"]] = EXACT
            return True
    return False
