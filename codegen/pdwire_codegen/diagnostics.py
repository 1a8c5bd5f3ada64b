"""Faults of a spec and how they are shown.

Rules: a fault names the file, the line, the rule and what to do about it; faults are
collected, never raised one by one; :class:`SpecError` carries all of them at once.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from pdwire_codegen.model import Spec


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Fault:
    """One broken rule. ``line`` counts from 1; ``file`` is relative to the root."""

    file: str
    line: int
    rule: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        shown = f"{self.file}:{self.line}: [{self.rule}] {self.message}"
        return f"{shown}\n    hint: {self.hint}" if self.hint else shown


_ROOTS = ("protocol.toml", "concepts.toml", "released.lock")
_UNREAD = {"toml-syntax", "stray-file"}


def _by_cause(fault: Fault) -> tuple[int, Fault]:
    """What others may follow from comes first: root files, then files that were not read."""
    name = fault.file.rpartition("/")[2]
    if fault.rule in _UNREAD:
        return (0, fault)
    return (_ROOTS.index(name) if name in _ROOTS and fault.file.count("/") < 2 else 9, fault)


class SpecError(Exception):
    """A spec that breaks rules; ``faults`` are sorted: causes first, then by file and line.

    ``spec`` is there when all that is wrong is that the spec left what was locked.
    """

    def __init__(self, faults: Iterable[Fault], spec: Spec | None = None) -> None:
        self.faults = tuple(sorted(set(faults), key=_by_cause))
        self.spec = spec
        super().__init__("\n".join(str(fault) for fault in self.faults))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``did you mean 'x'?`` for a near miss, else the list of what is known."""
    choices = sorted(known)
    near = difflib.get_close_matches(word, choices, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"known: {', '.join(choices)}" if choices else ""
