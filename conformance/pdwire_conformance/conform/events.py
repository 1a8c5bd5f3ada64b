"""The stream behind every report, version ``pdwire.conform/1``: one JSON object a line.

::

    {"event":"start", …}     once per testee: what it is, what was chosen
    {"event":"case", …}      once per case and release, as it ends
    {"event":"end", …}       once per testee: counts, and problems that are no case's

Rules:

* A report needs nothing but the stream: a case event carries the case's own words.
* Verdicts: ``passed``, ``failed``, ``skipped`` (it does not apply; ``reason`` says why),
  ``error`` (the testee broke the protocol or a deadline), ``known`` (fails, and is listed
  as known to), ``unexpected`` (passes, and is listed as known to fail), ``flaky`` (listed
  as flaky; passed within the repetitions that it is given, but not at once).
* A run is clean when there is no ``failed``, ``error``, ``unexpected`` and no problem.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final, TextIO

import msgspec

__all__ = [
    "SCHEMA",
    "CaseEvent",
    "EndEvent",
    "Event",
    "StartEvent",
    "TraceLine",
    "Verdict",
    "counts",
    "read_events",
    "write_event",
]

SCHEMA: Final = "pdwire.conform/1"


class Verdict(StrEnum):
    """How a case ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    ERROR = "error"
    KNOWN = "known"
    UNEXPECTED = "unexpected"
    FLAKY = "flaky"

    @property
    def is_bad(self) -> bool:
        """Whether a run with such a verdict is not clean."""
        return self in {Verdict.FAILED, Verdict.ERROR, Verdict.UNEXPECTED}


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceLine:
    """One thing that happened on the wire.

    ``way`` is ``sent`` (suite to testee), ``came`` or ``note``; ``frames`` are hex;
    ``names`` name the frames where a layout is known, guard included; ``at_s`` is seconds
    from the case's begin.
    """

    way: str
    text: str = ""
    frames: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    at_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StartEvent:
    """A testee's run begins."""

    target: str
    name: str
    version: str
    pdwire: str
    roles: tuple[str, ...]
    backends: tuple[str, ...]
    releases: tuple[str, ...]
    selected: int
    started: str
    """UTC, ISO 8601."""
    filters: dict[str, Any] = field(default_factory=dict)
    unclaimed: int = 0
    """Cases that meet the filters and are about what the testee does not claim: not run."""
    schema: str = SCHEMA
    event: str = "start"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseEvent:
    """A case ended; see the module's text for the verdicts."""

    target: str
    slug: str
    release: str
    backend: str
    role: str
    level: str
    family: str
    message: str
    layout: str
    purpose: str
    expectation: str
    verdict: Verdict
    seconds: float
    clauses: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    origin: str = ""
    expected: str = ""
    came: str = ""
    reason: str = ""
    """Why it was skipped, is known to fail, or is an error; empty otherwise."""
    link: str = ""
    rerun: str = ""
    """A command line that runs only this case against this target and release."""
    trace: tuple[TraceLine, ...] = ()
    event: str = "case"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndEvent:
    """A testee's run is over."""

    target: str
    counts: dict[str, int]
    seconds: float
    problems: tuple[str, ...] = ()
    """Faults of the lists, not of a case: expired entries, names that match nothing."""
    event: str = "end"


Event = StartEvent | CaseEvent | EndEvent
_KINDS: Final[dict[str, type[StartEvent | CaseEvent | EndEvent]]] = {
    "start": StartEvent,
    "case": CaseEvent,
    "end": EndEvent,
}


def write_event(stream: TextIO, event: Event) -> None:
    """Write one line and flush it: a run that is cut short leaves what it had."""
    stream.write(json.dumps(asdict(event), ensure_ascii=False, separators=(",", ":")) + "\n")
    stream.flush()


def read_events(lines: Iterable[str]) -> Iterator[Event]:
    """The events of a stream; ``ValueError`` names the line that is none, and why."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield _event(json.loads(line))
        except (ValueError, KeyError, msgspec.ValidationError) as fault:
            raise ValueError(f"line {number} is no {SCHEMA} event: {fault!r}") from fault


def _event(told: dict[str, Any]) -> Event:
    if told["event"] == "start" and told["schema"] != SCHEMA:
        raise ValueError(f"schema {told['schema']!r}, expected {SCHEMA!r}")
    return msgspec.convert(told, _KINDS[told["event"]])


def counts(events: Iterable[Event]) -> dict[str, int]:
    """Verdict -> cases, every verdict that there is, in the order of :class:`Verdict`."""
    found = Counter(event.verdict for event in events if isinstance(event, CaseEvent))
    return {verdict: found[verdict] for verdict in Verdict if found[verdict]}
