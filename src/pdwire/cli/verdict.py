"""What ``explain`` finds out about one captured message.

Rules: a message is *exact* when the layouts that accept it are one family: one message,
the same values. Several families are *ambiguous*, no layout that accepts it is *faulty*,
and frames that look like nothing known are *unknown*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pdwire.cli.captures import Capture
from pdwire.cli.listing import json_value
from pdwire.reading.causes import causes
from pdwire.reading.interpret import Reading
from pdwire.reading.match import Candidate, Fit, differing, families, rank
from pdwire.reading.result import Fault, Row

Kind = Literal["exact", "ambiguous", "faulty", "unknown"]
_OTHERS, _NEAR = 4, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One message explained; ``best`` is ``None`` only where nothing could be tried."""

    number: int
    capture: Capture
    kind: Kind
    best: Fit | None
    families: list[list[Fit]]
    others: list[Fit]
    """The next best layouts, where nothing fits exactly."""
    causes: list[str]


def judge(
    reading: Reading, number: int, capture: Capture, among: Sequence[Candidate], *, named: bool
) -> Verdict:
    """Explain one message by the layouts in ``among``.

    ``named``: somebody said which message it is, so it is never unknown.
    """
    fits = rank(reading, capture.frames, among)
    found = families(fits)
    best = fits[0] if fits else None
    return Verdict(
        number=number,
        capture=capture,
        kind=_kind(best, found, named=named),
        best=best,
        families=found,
        others=[] if found else _near(fits),
        causes=[] if best is None else causes(reading, capture.frames, best, among),
    )


def _near(fits: Sequence[Fit]) -> list[Fit]:
    """What is not much further away than the best; there is no exact fit."""
    near = [fit for fit in fits[1:] if fit.plausible and fit.penalty <= fits[0].penalty + _NEAR]
    return near[:_OTHERS]


def _kind(best: Fit | None, found: list[list[Fit]], *, named: bool) -> Kind:
    if found:
        return "exact" if len(found) == 1 else "ambiguous"
    return "faulty" if best is not None and (named or best.plausible) else "unknown"


def differences(verdict: Verdict) -> dict[str, list[Fit]]:
    """Fields that families of one message read differently, and one fit of each family."""
    found: dict[str, list[Fit]] = {}
    for family in verdict.families[1:]:
        first, other = verdict.families[0][0], family[0]
        if first.message.key != other.message.key:
            continue
        for field in differing(first, other):
            found.setdefault(field, [first]).append(other)
    return found


def _differences_json(verdict: Verdict) -> list[dict[str, Any]]:
    return [
        {
            "field": field,
            "readings": [
                {**_name(fit), "value": json_value(fit.annotation.values.get(field))}
                for fit in fits
            ],
        }
        for field, fits in differences(verdict).items()
    ]


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """The verdict as JSON."""
    best = verdict.best
    return {
        "number": verdict.number,
        "line": verdict.capture.line,
        "frames": [frame.hex() for frame in verdict.capture.frames],
        "verdict": verdict.kind,
        "fits": [_fit_json(fit) for family in verdict.families for fit in family],
        "families": [[_name(fit) for fit in family] for family in verdict.families],
        "differences": _differences_json(verdict),
        "nearest": [_fit_json(fit) for fit in ([best] if best else []) + verdict.others]
        if not verdict.families
        else [],
        "causes": verdict.causes,
        "message": best.message.name if best else None,
        "layout": best.layout.id if best else None,
        "rows": [_row_json(row) for row in best.annotation.rows] if best else [],
        "faults": [_fault_json(fault) for fault in best.annotation.faults] if best else [],
        "values": {name: json_value(value) for name, value in best.annotation.values.items()}
        if best
        else {},
    }


def _name(fit: Fit) -> dict[str, str]:
    return {"group": fit.message.group, "message": fit.message.name, "layout": fit.layout.id}


def _fit_json(fit: Fit) -> dict[str, Any]:
    return {
        **_name(fit),
        "speakers": {name: list(told) for name, told in fit.layout.speakers.items()},
        "faults": len(fit.annotation.faults),
    }


def _fault_json(fault: Fault) -> dict[str, Any]:
    return {
        "kind": fault.kind,
        "position": fault.position,
        "field": fault.field,
        "expected": fault.expected,
        "came": fault.came,
        "rule": fault.rule,
    }


def _row_json(row: Row) -> dict[str, Any]:
    return {
        "position": row.position,
        "sent": row.sent,
        "name": row.name,
        "type": row.type,
        "field": row.field,
        "status": row.status,
        "raw": None if row.raw is None else row.raw.hex(),
        "known": row.known,
        "value": json_value(row.value) if row.known else None,
        "fault": None if row.fault is None else _fault_json(row.fault),
    }
