"""``pdwire testee check -- ./mine``: where does a testee break the protocol?

Rules:

* Every check is run, also behind one that found something: the testee is started anew.
* A testee that cannot say hello ends it all: nothing can be asked of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from .checks import CHECKS, Check
from .conversation import Breach, Conversation

__all__ = ["SCHEMA", "Finding", "Unstartable", "as_json", "check"]

SCHEMA: Final = "pdwire.testee-check/1"
_MOST: Final = 10
"""Breaches told per check: one fault makes many."""


class Unstartable(Exception):
    """The command cannot be run at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """How one check ended; no breaches: all is well."""

    check: str
    purpose: str
    saw: str
    seconds: float
    breaches: tuple[Breach, ...]
    more: int = 0
    """Breaches beyond those that are told."""


def check(command: Sequence[str], *, start_s: float, deadline_s: float) -> Iterator[Finding]:
    """Every check, as it ends; deadlines in seconds.

    Raises:
        Unstartable: there is no such program.
    """
    talk = Conversation(command, start_s=start_s, deadline_s=deadline_s)
    try:
        yield _finding("hello", "It says what it is, in shape, in time.", talk, _hello)
        if talk.hello is None:
            return
        for each in CHECKS:
            yield _finding(each.name, each.purpose, talk, each)
    finally:
        talk.close()


def _hello(talk: Conversation) -> str:
    if not talk.begin() and talk.fault_of_start:
        raise Unstartable(talk.fault_of_start)
    told = talk.hello
    return "" if told is None else f"{told.name} {told.version}".strip()


def _finding(name: str, purpose: str, talk: Conversation, how: Any) -> Finding:  # noqa: ANN401
    talk.breaches = []
    started = time.monotonic()
    if isinstance(how, Check):
        assert talk.hello is not None
        saw = how.run(talk, talk.hello)
    else:
        saw = how(talk)
    return Finding(
        check=name,
        purpose=purpose,
        saw=saw,
        seconds=round(time.monotonic() - started, 3),
        breaches=tuple(talk.breaches[:_MOST]),
        more=max(0, len(talk.breaches) - _MOST),
    )


def as_json(command: Sequence[str], findings: Sequence[Finding]) -> dict[str, Any]:
    """The object of ``--format json``; schema ``docs/schema/testee-check.schema.json``."""
    return {
        "schema": SCHEMA,
        "command": list(command),
        "ok": not any(finding.breaches for finding in findings),
        "checks": [_flat(finding) for finding in findings],
    }


def _flat(finding: Finding) -> dict[str, Any]:
    told = asdict(finding)
    told["breaches"] = [
        {"line": each.line, "asked": each.asked, **asdict(each.fault)} for each in finding.breaches
    ]
    return told
