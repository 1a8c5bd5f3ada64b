"""What was proved: one line per release, backend, message and direction.

The lines are kept in ``src/pdwire/wire_proof.json``, which ``pdwire show --verified``
reads. A line without values says why nothing could be run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["SCHEMA", "Proof", "Result", "read_proof", "write_proof"]

SCHEMA = "pdwire.proof/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One direction of one message in one release.

    ``values`` were compared, ``failed`` of them differed; ``reason`` says why none were.
    """

    release: str
    backend: str
    message: str
    layout: str
    direction: str
    values: int = 0
    failed: int = 0
    reason: str | None = None
    faults: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Proof:
    """All results, and the SHA-256 of each wheel that was run."""

    results: list[Result] = field(default_factory=list)
    wheels: dict[str, str] = field(default_factory=dict)

    def replace(self, release: str, results: Iterable[Result], sha256: str) -> None:
        """Put a release's new results in the place of its old ones."""
        self.results = [r for r in self.results if r.release != release] + list(results)
        self.wheels[release] = sha256

    @property
    def failed(self) -> int:
        """Values that differed, and messages of which too few could be compared."""
        return sum(result.failed for result in self.results)


def write_proof(path: Path, proof: Proof, order: list[str]) -> None:
    """Write a proof, releases in their order, one result a line."""
    ranked = sorted(proof.results, key=lambda r: order.index(r.release))
    rows = [_row(result) for result in ranked]
    wheels = {r: proof.wheels[r] for r in order if r in proof.wheels}
    head = json.dumps({"schema": SCHEMA, "wheels": wheels})[:-1]
    path.write_text(f'{head}, "results": [\n' + ",\n".join(rows) + "\n]}\n", encoding="utf-8")


def _row(result: Result) -> str:
    kept = {k: v for k, v in asdict(result).items() if k != "faults" and v is not None}
    return json.dumps(kept, ensure_ascii=False)


def read_proof(path: Path) -> Proof:
    """The proof in a file, empty if there is none; ``ValueError`` when it is not one."""
    if not path.exists():
        return Proof()
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if data.get("schema") != SCHEMA:
        raise ValueError(f"{path}: not {SCHEMA}")
    return Proof(results=[Result(**row) for row in data["results"]], wheels=data["wheels"])
