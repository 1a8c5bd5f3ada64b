"""A small spec, made by hand, whose messages use every feature of the language."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pdwire.reading import Reading, spec_from_json

SMALL = Path(__file__).with_name("small_spec.json")


@pytest.fixture
def small() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(SMALL.read_text(encoding="utf-8"))
    return data


@pytest.fixture(scope="session")
def reading() -> Reading:
    return Reading(spec_from_json(json.loads(SMALL.read_text(encoding="utf-8"))))
