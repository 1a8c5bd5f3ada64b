"""What has been proved against real releases: the data file that the proof leaves behind.

Rules: no file, or no entry for a layout, means unverified. Nothing here judges; it only
puts results beside the layouts that they are about.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from pdwire.cli.listing import Spoken

SCHEMA = "pdwire.proof/1"
DIRECTIONS = ("peer-to-ours", "ours-to-peer")

Status = Literal["proved", "failed", "not run", "unverified"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One release, one layout, one direction."""

    release: str
    backend: str
    message: str
    layout: str
    direction: str
    values: int
    failed: int
    reason: str | None = None
    wheel_sha256: str | None = None

    @property
    def status(self) -> Status:
        """``proved`` when values went through and none failed."""
        if self.failed:
            return "failed"
        return "proved" if self.values else "not run"


def load() -> list[Result]:
    """The packaged results; none where there is no file.

    Raises:
        ValueError: the file is not a proof.
    """
    file = files("pdwire").joinpath("wire_proof.json")
    if not file.is_file():
        return []
    data = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise ValueError(f"wire_proof.json is not a {SCHEMA} document")
    wheels: dict[str, str] = data.get("wheels") or {}
    return [_result(entry, wheels) for entry in data["results"]]


def _result(entry: dict[str, Any], wheels: dict[str, str]) -> Result:
    return Result(
        release=entry["release"],
        backend=entry["backend"],
        message=entry["message"],
        layout=entry["layout"],
        direction=entry["direction"],
        values=entry["values"],
        failed=entry["failed"],
        reason=entry.get("reason"),
        wheel_sha256=entry.get("wheel_sha256") or wheels.get(entry["release"]),
    )


@dataclass(frozen=True, slots=True)
class Proof:
    """One layout of one backend, and what is known about it in each of its releases."""

    spoken: Spoken
    results: dict[tuple[str, str], Result]
    """By release and direction."""

    def status(self, release: str, direction: str) -> Status:
        """What became of that release in that direction."""
        result = self.results.get((release, direction))
        return "unverified" if result is None else result.status

    def having(self, direction: str, status: Status) -> list[str]:
        """The releases with that status."""
        return [each for each in self.spoken.releases if self.status(each, direction) == status]

    @property
    def failed(self) -> bool:
        """Whether any release disagreed."""
        return any(result.failed for result in self.results.values())


def beside(layouts: Iterable[Spoken], results: Iterable[Result]) -> list[Proof]:
    """The layouts with their results."""
    known: dict[tuple[str, str, str], dict[tuple[str, str], Result]] = {}
    for result in results:
        key = (result.backend, result.message, result.layout)
        known.setdefault(key, {})[result.release, result.direction] = result
    return [
        Proof(one, known.get((one.backend, one.message.name, one.layout.id), {})) for one in layouts
    ]


def proof_json(proof: Proof) -> dict[str, Any]:
    """One layout's proof as JSON."""
    one = proof.spoken
    return {
        "backend": one.backend,
        "message": one.message.name,
        "layout": one.layout.id,
        "unverified": one.layout.unverified,
        "releases": [
            {
                "release": release,
                **{
                    direction: _direction_json(proof, release, direction)
                    for direction in DIRECTIONS
                },
            }
            for release in one.releases
        ],
    }


def _direction_json(proof: Proof, release: str, direction: str) -> dict[str, Any]:
    result = proof.results.get((release, direction))
    return {
        "status": proof.status(release, direction),
        "values": result.values if result else 0,
        "failed": result.failed if result else 0,
        "reason": result.reason if result else None,
        "wheel_sha256": result.wheel_sha256 if result else None,
    }
