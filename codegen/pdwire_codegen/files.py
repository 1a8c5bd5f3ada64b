"""What lies in a protocol's directory: its message files, and whatever has no place there.

Rules: nothing is passed over; a file that the compiler does not read is one that somebody
thinks it reads. The root holds the files of :data:`ROOT_FILES` and one folder per group; a
group's folder holds plain files ``<message>.toml`` and nothing else. Links are what they
lead to, except that a link to a folder is not followed.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT_FILES = ("protocol.toml", "concepts.toml", "released.lock", "README.md")
"""All files that the root may have."""

_SUFFIX = ".toml"
_GROUPS = "message files are <group>/<message>.toml; the root has " + ", ".join(ROOT_FILES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stray:
    """Something that has no place; ``lost``: probably meant as a message file."""

    path: Path
    message: str
    hint: str = _GROUPS
    lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """All that lies in the directory, sorted by path."""

    messages: tuple[Path, ...]
    strays: tuple[Stray, ...]


def inventory(protocol: Path) -> Inventory:
    """Sort everything below ``protocol`` into message files and what has no place."""
    messages: list[Path] = []
    strays: list[Stray] = []
    for item in _root(protocol):
        if isinstance(item, Stray):
            strays.append(item)
        elif item.name not in ROOT_FILES:
            messages.append(item)
    return Inventory(messages=tuple(messages), strays=tuple(strays))


def printable(text: str) -> str:
    """A file's name as a terminal and JSON can show it: what cannot be printed is escaped."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode()
        for char in text
    )


def _root(protocol: Path) -> Iterator[Path | Stray]:
    for path in _listed(protocol):
        if isinstance(path, Stray):
            yield path
        elif path.is_dir() and not path.is_symlink() and path.name not in ROOT_FILES:
            yield from _group(path)
        elif path.name not in ROOT_FILES:
            yield _misplaced(path, "here")
        elif path.exists() and not path.is_file():
            yield Stray(path=path, message=f"{path.name} is no plain file")
        else:
            yield path


def _group(folder: Path) -> Iterator[Path | Stray]:
    for path in _listed(folder):
        if isinstance(path, Stray):
            yield path
        elif path.is_dir():
            yield from _deep(path)
        elif path.suffix != _SUFFIX or path.name.startswith("."):
            yield _misplaced(path, "in a group's folder")
        elif path.exists() and not path.is_file():
            yield Stray(path=path, message="this is no plain file")
        else:
            yield path


def _deep(folder: Path) -> Iterator[Stray]:
    """A folder within a group: named itself, or by each file that it holds."""
    found = [] if folder.is_symlink() else sorted(folder.rglob("*"))
    files = [path for path in found if not path.is_dir()]
    if not files:
        yield Stray(path=folder, message="a group's folder has no folders")
    for path in files:
        yield Stray(
            path=path, message="this is no place for a message file", lost=path.suffix == _SUFFIX
        )


def _listed(folder: Path) -> list[Path | Stray]:
    try:
        return [*sorted(folder.iterdir())]
    except OSError as error:
        return [Stray(path=folder, message=f"cannot be listed: {error.strerror}", lost=True)]


def _misplaced(path: Path, where: str) -> Stray:
    """A file that is not expected, with what was probably meant."""
    suffix = "" if path.name.startswith(".") else path.suffix
    if suffix == _SUFFIX:
        return Stray(path=path, message="this is no place for a message file", lost=True)
    if _close(suffix):
        hint = f"rename it to {printable(path.stem.lower())}{_SUFFIX}, or remove it"
        text = f"a message file ends in {_SUFFIX}, and this in {printable(suffix)}"
        return Stray(path=path, message=text, hint=hint, lost=True)
    return Stray(path=path, message=f"{printable(path.name)} is not expected {where}")


def _close(suffix: str) -> bool:
    """Whether a suffix is ``.toml`` with a slip."""
    return bool(difflib.get_close_matches(suffix.lower(), [_SUFFIX], n=1, cutoff=0.85))
