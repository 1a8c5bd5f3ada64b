"""A small project to compile: one message in two layouts, and what tests do with it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pdwire_codegen.load import load
from pdwire_codegen.model import Spec

SMALL = Path(__file__).parent / "fixtures" / "unlocked-layout" / "good" / "protocol"

Edit = Callable[[str, str, str], None]


@pytest.fixture
def protocol(tmp_path: Path) -> Path:
    """A copy of the small protocol, locked; it may be edited."""
    copy = tmp_path / "protocol"
    shutil.copytree(SMALL, copy)
    return copy


@pytest.fixture
def edit(protocol: Path) -> Edit:
    """Replace a text that stands once in a file of the small protocol."""

    def replace(file: str, old: str, new: str) -> None:
        path = protocol / file
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file}"
        path.write_text(text.replace(old, new), encoding="utf-8")

    return replace


@pytest.fixture
def small() -> Spec:
    return load(SMALL)


@pytest.fixture(scope="session")
def whole() -> Spec:
    """The project's own spec."""
    return load(Path(__file__).parents[2] / "protocol", allow_unlocked=True)
