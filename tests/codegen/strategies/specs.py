"""A whole protocol directory, valid by construction."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from tests.codegen.strategies import words
from tests.codegen.strategies.messages import messages
from tests.codegen.strategies.timeline import worlds
from tests.codegen.strategies.toml import document

__all__ = ["Files", "protocols"]


@dataclass(frozen=True, slots=True)
class Files:
    """Text by path; shows the files one below the other where a test fails."""

    texts: dict[str, str]

    def __repr__(self) -> str:
        return "".join(f"\n#### {path}\n{text}" for path, text in self.texts.items())

    def write(self, root: Path) -> Path:
        """Write all files below ``root``."""
        for path, text in self.texts.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return root


@st.composite
def protocols(draw: st.DrawFn, docs: st.SearchStrategy[str] = words.docs) -> Files:
    """The files of a protocol directory."""
    world = draw(worlds(docs))
    files = [draw(messages(world, index)) for index in range(draw(st.integers(1, 3)))]
    used = sorted(
        {
            str(table["concept"])
            for _, data in files
            for table in (*data["field"].values(), *data["derived"].values())
        }
    )
    concepts: dict[str, Any] = {"concept": {name: draw(docs) for name in used}}
    texts = {"protocol.toml": document(world.protocol(draw)), "concepts.toml": document(concepts)}
    return Files({**texts, **{path: document(data) for path, data in files}})
