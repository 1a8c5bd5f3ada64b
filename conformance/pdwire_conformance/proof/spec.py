"""The JSON export, as the proof reads it."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["layout_of", "load_spec", "messages_of"]

Json = dict[str, Any]


@cache
def load_spec() -> Json:
    """The export that is shipped beside the codecs."""
    text = files("pdwire.wire").joinpath("spec.json").read_text(encoding="utf-8")
    spec: Json = json.loads(text)
    return spec


def messages_of(backend: str, release: str) -> list[tuple[Json, Json]]:
    """Every message of a backend in a release, with the layout that it has there."""
    return [
        (message, layout)
        for message in load_spec()["messages"]
        for layout in message["layouts"]
        if release in layout["speakers"].get(backend, ())
    ]


def layout_of(backend: str, name: str, release: str) -> tuple[Json, Json]:
    """One message and its layout; ``KeyError`` when the release does not have it."""
    for message, layout in messages_of(backend, release):
        if message["name"] == name:
            return message, layout
    raise KeyError(f"{backend} {name} in {release}")
