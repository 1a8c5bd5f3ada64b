"""Brings the generated files of a project up to date, or says how they differ.

Rules: a file is written only when its bytes change, by a rename, so that a reader never
sees half of it; a file that the manifest lists and no emitter produces any more is
deleted, and nothing else ever is; nothing is written while the spec has faults.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from pdwire_codegen.compare import Difference, differences
from pdwire_codegen.emitters import MANIFEST_PATH, emit_all
from pdwire_codegen.load import LOCK_NAME
from pdwire_codegen.lock import locked
from pdwire_codegen.lock_file import LockedLayout, render_lock
from pdwire_codegen.model import Spec

State = Literal["written", "deleted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One file that was brought up to date; ``path`` is relative to the root."""

    path: str
    state: State


def generate(spec: Spec, root: Path) -> list[Change]:
    """Write what changed under ``root`` and delete what is no longer produced."""
    wanted = emit_all(spec)
    stale = _stale(root, wanted)  # before the manifest is written anew
    changes = [
        Change(path=path, state="written")
        for path, text in sorted(wanted.items())
        if _write(root / path, text)
    ]
    for path in stale:
        (root / path).unlink()
        _drop_empty(root, PurePosixPath(path))
        changes.append(Change(path=path, state="deleted"))
    return changes


def check(spec: Spec, root: Path) -> list[Difference]:
    """How the files under ``root`` differ from what would be generated."""
    wanted: dict[str, str | None] = {**emit_all(spec)}
    wanted.update(dict.fromkeys(_stale(root, wanted)))
    found = {path: _read(root / path) for path in wanted}
    return differences(found, wanted)


def lock(spec: Spec, protocol: Path) -> bool:
    """Write ``released.lock`` for every layout of a checked spec; whether it changed.

    The spec was held to the old lock when it was loaded, so this only ever adds layouts
    and releases.
    """
    entries: list[LockedLayout] = [
        locked(message, layout) for message in spec.messages for layout in message.layouts
    ]
    return _write(protocol / LOCK_NAME, render_lock(entries))


def _read(path: Path) -> str | None:
    """The file's text, undecodable bytes kept apart; ``None`` when there is none."""
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None


def _write(path: Path, text: str) -> bool:
    if _read(path) == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    beside.write_bytes(text.encode())
    beside.replace(path)
    return True


def _stale(root: Path, wanted: dict[str, str] | dict[str, str | None]) -> list[str]:
    """Files of the manifest that are still there and no longer wanted."""
    listed = (_read(root / MANIFEST_PATH) or "").splitlines()
    return sorted(
        path
        for path in listed
        if path not in wanted and _is_inside(path) and (root / path).is_file()
    )


def _is_inside(path: str) -> bool:
    """Whether a manifest's line can only name a file below the root."""
    pure = PurePosixPath(path)
    return bool(path) and not pure.is_absolute() and ".." not in pure.parts


def _drop_empty(root: Path, path: PurePosixPath) -> None:
    """Remove folders that the deleted file leaves empty, caches of Python aside."""
    for parent in path.parents:
        folder = root / parent
        if folder == root:
            return
        cache = folder / "__pycache__"
        if any(item != cache for item in folder.iterdir()):
            return
        for item in cache.iterdir() if cache.is_dir() else ():
            item.unlink()
        if cache.is_dir():
            cache.rmdir()
        folder.rmdir()
