"""Valid messages of every codec, drawn from the shipped spec with fixed seeds.

Codecs of several backends share the functions of one layout; ``CODECS`` in a test module names
each layout once. Drawn lists are copies: a test may spoil its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import pytest

from pdwire.codec import Codec, Message
from pdwire_conformance.proof.convert import to_message
from pdwire_conformance.proof.draw import draw_message
from pdwire_conformance.proof.spec import load_spec

Json = dict[str, Any]
Facts = Callable[[Codec[Any]], tuple[Json, Json]]
Sample = tuple[Message, list[bytes]]

DRAWN = 12


@cache
def _spec() -> dict[tuple[str, str, str], tuple[Json, Json]]:
    return {
        (backend, message["name"], layout["id"]): (message, layout)
        for message in load_spec()["messages"]
        for layout in message["layouts"]
        for backend in layout["speakers"]
    }


def _facts(codec: Codec[Any]) -> tuple[Json, Json]:
    return _spec()[codec.backend, codec.message, codec.layout]


@cache
def _draw(backend: str, name: str, layout_id: str) -> tuple[Json, ...]:
    message, layout = _spec()[backend, name, layout_id]
    rng = Random(f"{backend} {name} {layout_id}")  # noqa: S311  # repeatable, nothing secret
    return tuple(draw_message(message, layout, rng) for _ in range(DRAWN))


@pytest.fixture(scope="session")
def facts() -> Facts:
    """What the spec says of a codec: its message and its layout, as the JSON export has them."""
    return _facts


@pytest.fixture(scope="session")
def samples() -> Callable[[Codec[Any]], list[Sample]]:
    """Messages of a codec's layout, as decoded, with their frames."""

    def drawn(codec: Codec[Any]) -> list[Sample]:
        found = []
        for values in _draw(codec.backend, codec.message, codec.layout):
            frames = codec.encode(to_message(codec, values))
            found.append((codec.decode(frames), frames))
        return found

    return drawn


@pytest.fixture(scope="session")
def place() -> Callable[[Codec[Any], str], int]:
    """Index in the multipart, guard counted, of the frame that carries a field."""

    def find(codec: Codec[Any], field: str) -> int:
        guard = 0 if codec.guard is None else 1
        frames = _facts(codec)[1]["frames"]
        return guard + next(int(f["position"]) for f in frames if f["name"] == field)

    return find
