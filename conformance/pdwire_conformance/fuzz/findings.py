"""Findings as files: each is all that it takes to try it again.

Rules:

* One file per cause, named for it; a file that is there is never written again.
* A file holds the sample, what was expected and what came. No seed or database is needed
  to replay it; the seed is told for whoever wants the run that found it.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final

import jsonschema

from .samples import Sample, read_sample

__all__ = [
    "SCHEMA",
    "Finding",
    "FindingError",
    "check_folder",
    "read_finding",
    "replay_command",
    "save",
]

SCHEMA: Final = "pdwire.finding/1"
_NAMES: Final = (
    "target", "backend", "message", "layout", "release", "cause", "expected", "came", "seed",
    "version",
)  # fmt: skip


class FindingError(Exception):
    """A file that is no finding; the text says where and what was expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One fault of a target. ``layout`` and ``message`` are empty for a machine's."""

    prop: str
    target: str
    backend: str
    message: str
    layout: str
    release: str
    cause: str
    expected: str
    came: str
    seed: int
    version: str
    sample: Sample
    against: str = ""
    shown_s: float = 0.0
    """Seconds of the run until the first sample showed it."""
    minimal_s: float = 0.0
    """Seconds until it was as simple as it got."""

    def as_json(self) -> dict[str, Any]:
        """The file's object."""
        told = {name: getattr(self, name) for name in _NAMES}
        more = {"against": self.against} if self.against else {}
        return {
            "schema": SCHEMA,
            "property": self.prop,
            **told,
            **more,
            "sample": self.sample.as_json(),
        }

    @property
    def file_name(self) -> str:
        """``round-trip-nixl-TransferInfo-1a2b3c4d.json``."""
        digest = hashlib.sha256(f"{self.prop} {self.target} {self.cause}".encode()).hexdigest()
        words = [self.prop, self.backend, self.message or "rooms", digest[:8]]
        return re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(words)) + ".json"


def save(finding: Finding, folder: Path) -> Path:
    """Write a finding unless its cause has a file; either way the file's path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / finding.file_name
    try:
        with path.open("x", encoding="utf-8") as file:
            json.dump(finding.as_json(), file, indent=1, ensure_ascii=False)
            file.write("\n")
    except FileExistsError:
        pass  # this cause is told of already
    return path


def check_folder(folder: Path) -> None:
    """Whether findings can be kept there, found out by writing a file; nothing is left of it.

    Raises:
        FindingError: they cannot.
    """
    lacking = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as fault:
        raise FindingError(
            f"findings cannot be kept in {folder}: {fault.strerror or fault}; name a folder"
        ) from fault
    finally:
        for each in lacking:
            with suppress(OSError):  # another run may keep something there by now
                each.rmdir()


def replay_command(path: Path) -> str:
    """The command line that tries a finding again."""
    return f"pdwire replay {shlex.quote(str(path))}"


def read_finding(path: Path) -> Finding:
    """The finding in a file.

    Raises:
        FindingError: it cannot be read, or is none.
    """
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        raise FindingError(f"{path}: {fault}") from fault
    try:
        jsonschema.validate(told, _SHAPE)
        return _finding(told)
    except jsonschema.ValidationError as fault:
        raise FindingError(f"{path}: {fault.json_path}: {fault.message[:200]}") from fault
    except ValueError as fault:
        raise FindingError(f"{path}: a frame is no hex: {fault}") from fault


def _finding(told: Mapping[str, Any]) -> Finding:
    names = set(told) - {"schema", "sample", "property"}
    return Finding(
        prop=told["property"],
        **{name: told[name] for name in names},
        sample=read_sample(told["sample"]),
    )


_TEXT: Final = {"type": "string"}
_HEX: Final = {"type": "array", "items": {"type": "string", "pattern": "^([0-9a-f]{2})*$"}}
_SHAPE: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A finding of pdwire fuzz, all that it takes to try it again",
    "type": "object",
    "additionalProperties": False,
    "required": [
        "schema", "property", "target", "backend", "message", "layout", "release", "cause",
        "expected", "came", "seed", "version", "sample",
    ],
    "properties": {
        "schema": {"const": SCHEMA},
        "property": {"type": "string", "description": "Which property does not hold."},
        "target": {"type": "string", "description": "The target, as on the command line."},
        "against": {"type": "string", "description": "What it was compared with, if anything."},
        "backend": _TEXT,
        "message": {"type": "string", "description": "Empty where whole managers are tried."},
        "layout": _TEXT,
        "release": {"type": "string", "description": "A release that speaks the layout."},
        "cause": {"type": "string", "description": "Message, operation and place, no value."},
        "expected": _TEXT,
        "came": _TEXT,
        "seed": {"type": "integer", "description": "Of the run that found it."},
        "version": {"type": "string", "description": "Of pdwire."},
        "sample": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "values": {"type": "object", "description": "In the form of the JSON export."},
                "frames": {**_HEX, "description": "Shown to decoders, guard included."},
                "canonical": {**_HEX, "description": "What an encoder of the values writes."},
                "label": {"type": "string", "description": "Which fault the frames have."},
                "kind": {"type": "string", "description": "The kind of error that names it."},
                "frame": {"type": "integer", "description": "Guard not counted."},
                "field": _TEXT,
                "steps": {
                    "type": "array",
                    "items": {"type": "object", "required": ["do"]},
                    "description": "What was done to live managers, in order.",
                },
            },
        },
    },
}  # fmt: skip


def schema() -> dict[str, Any]:
    """The schema of a finding's file, as published under ``docs/schema``."""
    return _SHAPE
