"""Imports generated codecs from somewhere else than where this package keeps its own.

Rules: the emitted text is imported as it stands, under the names that stand in it: for as
long as the import takes, ``pdwire.wire`` is the generated tree and nothing else. Afterwards
the shipped modules are back, and what was imported lives on as long as it is held.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pdwire

WIRE = "pdwire.wire"


def write_tree(files: Mapping[str, str], root: Path) -> Path:
    """Write generated files below ``root``; the folder that stands for ``src/pdwire``."""
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return root / "src" / "pdwire"


def import_wire(folder: Path) -> ModuleType:
    """``pdwire.wire`` as it stands in ``folder``, with all that it imports."""
    with _apart(), _first(folder):
        return importlib.import_module(WIRE)


@contextmanager
def _first(folder: Path) -> Iterator[None]:
    """Look for modules of ``pdwire`` in ``folder`` before anywhere else; write no caches."""
    caches = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    pdwire.__path__.insert(0, str(folder))
    try:
        yield
    finally:
        pdwire.__path__.remove(str(folder))
        sys.dont_write_bytecode = caches


@contextmanager
def _apart() -> Iterator[None]:
    """Put the shipped ``pdwire.wire`` aside, and back."""
    kept = {name: module for name, module in sys.modules.items() if _is_wire(name)}
    for name in kept:
        del sys.modules[name]
    try:
        yield
    finally:
        for name in [name for name in sys.modules if _is_wire(name)]:
            del sys.modules[name]
        sys.modules.update(kept)
        if WIRE in kept:
            vars(pdwire)["wire"] = kept[WIRE]
        else:
            vars(pdwire).pop("wire", None)


def _is_wire(name: str) -> bool:
    return name == WIRE or name.startswith(f"{WIRE}.")
