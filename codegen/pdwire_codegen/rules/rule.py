"""What a rule is.

Rules: one small generator per rule; it yields findings and never raises; the id is
given in its module's table, so that a function cannot report under another's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pdwire_codegen.diagnostics import Fault
from pdwire_codegen.draft import Draft, DraftMessage
from pdwire_codegen.toml_lines import Document

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A fault that does not know its rule yet."""

    file: str
    line: int
    message: str
    hint: str


Check = Callable[[Draft], Iterator[Finding]]
MessageCheck = Callable[[DraftMessage], Iterator[Finding]]
DraftMessageCheck = Callable[[Draft, DraftMessage], Iterator[Finding]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule: its stable id, what must hold in one sentence, and the check."""

    id: str
    holds: str
    check: Check

    def faults(self, draft: Draft) -> Iterator[Fault]:
        """Every finding of the check, under the rule's id."""
        for finding in self.check(draft):
            yield Fault(
                file=finding.file,
                line=finding.line,
                rule=self.id,
                message=finding.message,
                hint=finding.hint,
            )


def at(document: Document, path: Path, message: str, hint: str = "") -> Finding:
    """A finding at a key or table of a document."""
    return Finding(file=document.file, line=document.line(*path), message=message, hint=hint)


def each_message(check: MessageCheck) -> Check:
    """A rule that looks at one message at a time."""

    def checked(draft: Draft) -> Iterator[Finding]:
        for message in draft.messages:
            yield from check(message)

    return checked


def each_message_of(check: DraftMessageCheck) -> Check:
    """A rule that looks at one message at a time, against the rest of the spec."""

    def checked(draft: Draft) -> Iterator[Finding]:
        for message in draft.messages:
            yield from check(draft, message)

    return checked
