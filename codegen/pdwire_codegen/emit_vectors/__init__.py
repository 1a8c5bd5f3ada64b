"""Test vectors of every layout: values, and the frames that they travel as.

Rules: values are drawn from nothing but the spec, so they never change without it; frames
come from the second reading (``pdwire.reading``), never from the generated codecs, so
that the vectors can prove the codecs wrong; a value that the reading refuses is no
vector; files stay small.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pdwire.reading import Reading, ReadingError, Value, spec_from_json
from pdwire_codegen.emit_json import render, spec_json
from pdwire_codegen.emit_vectors.cases import PROFILES, case_values
from pdwire_codegen.json_values import Json
from pdwire_codegen.model import Layout, Message, Spec

__all__ = ["emit"]

ROOT = "tests/vectors/spec"
VERSION = "pdwire.vectors/1"


def emit(spec: Spec) -> dict[str, str]:
    """One file per message: ``tests/vectors/spec/<group>/<module>.json``."""
    reading = Reading(spec_from_json(cast(Mapping[str, Any], spec_json(spec))))
    return {
        f"{ROOT}/{message.group}/{message.module}.json": render(_file(message, reading))
        for message in spec.messages
    }


def _file(message: Message, reading: Reading) -> Json:
    return {
        "schema": VERSION,
        "source": message.source,
        "group": message.group,
        "message": message.name,
        "class": message.class_name,
        "layouts": [_layout(message, layout, reading) for layout in message.layouts],
    }


def _layout(message: Message, layout: Layout, reading: Reading) -> Json:
    """The layout's cases; ``speakers`` names the newest release per backend."""
    cases: dict[tuple[str, ...], Json] = {}
    for profile in PROFILES:
        case = _case(message, layout, profile, reading)
        if case is not None:
            frames = tuple(frame.hex() for frame in case[0])
            cases.setdefault(frames, _case_json(profile, case[1], frames))
    return {
        "layout": layout.id,
        "speakers": {backend: releases[-1] for backend, releases in layout.speakers.items()},
        "cases": list(cases.values()),
    }


def _case_json(profile: str, values: dict[str, Value], frames: tuple[str, ...]) -> Json:
    return {
        "name": profile,
        "values": {name: _json(value) for name, value in values.items()},
        "frames": list(frames),
    }


def _case(
    message: Message, layout: Layout, profile: str, reading: Reading
) -> tuple[list[bytes], dict[str, Value]] | None:
    """Frames and all values of a profile; ``None`` when the layout cannot carry it."""
    name = f"{message.group}.{message.name}"
    try:
        values = case_values(message, layout, profile)
        frames = reading.encode(name, layout.id, values)
        return frames, reading.decode(name, layout.id, frames)
    except ReadingError:
        return None


def _json(value: Value) -> Json:
    """A value as docs/spec-language.md writes it in JSON."""
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, list):
        return [_json(item) for item in value]
    if isinstance(value, dict):
        return {key: _json(item) for key, item in value.items()}
    return value
