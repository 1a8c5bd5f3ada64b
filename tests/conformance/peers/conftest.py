"""A release of our own making, and the import hook taken out again after each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pdwire_conformance.peers.loader import unload

Tree = Callable[[dict[str, str]], Path]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Write sources below ``sglang/srt/disaggregation`` (or ``sglang/srt`` with ``../``)."""

    def write(sources: dict[str, str]) -> Path:
        base = tmp_path / "sglang" / "srt" / "disaggregation"
        for name, text in sources.items():
            path = base / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.resolve().write_text(text, encoding="utf-8")
        return tmp_path

    return write


@pytest.fixture
def loaded() -> Iterator[None]:
    """Whatever a test loads is unloaded after it."""
    unload()
    yield
    unload()
