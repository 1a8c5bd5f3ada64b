"""Options of ``pdwire conform`` that cannot be meant together: pure.

Rule: an option that would do nothing, or undo another, is refused and not passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

__all__ = ["contradictions"]

_COVERAGE: Final = "--coverage"
_LIST: Final = "--list"
_WITH_COVERAGE: Final = (_COVERAGE, "--format")
_WRITING: Final = ("--events", "--report", "--write-known")


def contradictions(given: Sequence[str], paths: Sequence[tuple[str, Path]]) -> Iterator[str]:
    """A sentence for each; ``given`` are the options that were given.

    ``paths`` are what is to be written, and by which option.
    """
    if _COVERAGE in given:
        if others := [name for name in given if name not in _WITH_COVERAGE]:
            yield (
                "--coverage is about the whole suite and runs nothing: it goes without "
                f"{', '.join(others)}"
            )
    elif _LIST in given and (others := [name for name in given if name in _WRITING]):
        yield f"--list runs nothing, so there is nothing to write: leave {', '.join(others)}"
    for path, options in _by_path(paths).items():
        if len(options) > 1:
            yield f"{' and '.join(options)} write the same file {path}: give each its own"


def _by_path(paths: Sequence[tuple[str, Path]]) -> Mapping[Path, list[str]]:
    found: dict[Path, list[str]] = {}
    named: dict[Path, Path] = {}
    for option, path in paths:
        found.setdefault(named.setdefault(path.resolve(), path), []).append(option)
    return found
