"""What was run together and how it ended.

Rules:

* A row is one case of one pair on one topology. ``passed`` means that every compared byte
  was equal; ``failed`` has a reason; ``not run`` says what the release lacks.
* Rows are plain data: JSON, the table and the page are written from them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

Verdict = Literal["passed", "failed", "not run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One case of one pair."""

    backend: str
    prefill: str
    """A release, or ``ours``."""
    decode: str
    """A release, ``ours``, or several releases of one mixed fleet, joined by ``+``."""
    topology: str
    case: str
    verdict: Verdict
    reason: str = ""
    bytes: int = 0
    """KV bytes that arrived and were compared."""
    seconds: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether it counts against the pair."""
        return self.verdict == "failed"


def as_json(results: Iterable[Result]) -> dict[str, Any]:
    """The stable JSON of ``pdwire interop``."""
    rows = [asdict(result) for result in results]
    return {
        "schema": "pdwire.interop/1",
        "passed": bool(rows) and not any(row["verdict"] == "failed" for row in rows),
        "results": rows,
    }
