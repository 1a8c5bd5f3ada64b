"""What was proved: one line per release, backend, message and direction.

The lines are kept in ``src/pdwire/wire_proof.json``, which ``pdwire show --verified``
reads. A line without values says why nothing could be run.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = ["SCHEMA", "Result", "read_results", "write_results"]

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
    wheel_sha256: str = ""
    faults: tuple[str, ...] = ()


def write_results(path: Path, results: list[Result]) -> None:
    """Write all results, sorted by who and what."""
    rows = [{k: v for k, v in asdict(r).items() if k != "faults"} for r in results]
    text = json.dumps({"schema": SCHEMA, "results": rows}, indent=None, separators=(",", ":"))
    path.write_text(text.replace('},{"release"', '},\n{"release"') + "\n", encoding="utf-8")


def read_results(path: Path) -> list[Result]:
    """The results of a file; ``ValueError`` when it is not one."""
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if data.get("schema") != SCHEMA:
        raise ValueError(f"{path}: not {SCHEMA}")
    return [Result(**row) for row in data["results"]]
