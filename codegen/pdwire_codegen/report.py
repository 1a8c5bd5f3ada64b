"""What the compiler's verbs print: text for people, JSON for programs.

Rules: the JSON is one object of version ``pdwire.generate/1``, described by
``docs/schema/generate.schema.json``; results go to stdout, remarks to stderr.
"""

from __future__ import annotations

import json

from pdwire_codegen.compare import Difference
from pdwire_codegen.diagnostics import Fault
from pdwire_codegen.generate import Change
from pdwire_codegen.json_values import Json

_WORDS = {
    "missing": "missing: it would be added",
    "stale": "no longer produced: it would be removed",
    "text": "text only: the syntax trees are equal",
    "behaviour": "behaviour",
    "content": "changed",
}


def report_json(
    *,
    ok: bool,
    faults: tuple[Fault, ...] = (),
    files: list[Change] | list[Difference] | None = None,
) -> str:
    """One JSON object on several lines."""
    value: Json = {
        "schema": "pdwire.generate/1",
        "ok": ok,
        "faults": [_fault(fault) for fault in faults],
        "files": [_file(item) for item in files or []],
    }
    return json.dumps(value, indent=2, ensure_ascii=False)


def _fault(fault: Fault) -> Json:
    return {
        "file": fault.file,
        "line": fault.line,
        "rule": fault.rule,
        "message": fault.message,
        "hint": fault.hint,
    }


def _file(item: Change | Difference) -> Json:
    if isinstance(item, Change):
        return {"path": item.path, "state": item.state, "where": [], "diff": []}
    return {
        "path": item.path,
        "state": item.state,
        "where": list(item.where),
        "diff": list(item.diff),
    }


def difference_lines(item: Difference) -> list[str]:
    """A difference for people."""
    head = f"{item.path}: {_WORDS[item.state]}"
    if item.where:
        head += f" of {', '.join(item.where)}"
    shown = item.diff if item.state == "content" else ()
    return [head, *(f"    {line}" for line in shown)]
