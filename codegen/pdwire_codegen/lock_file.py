"""``protocol/released.lock``: one line per released layout.

Rules: a line is ``group message layout sha256 speakers``, separated by single blanks and
sorted; ``speakers`` is ``backend=release,release;backend=…``. The fingerprint covers what
travels (see ``lock``), not the releases; they are listed so that a release cannot leave
the layout it was locked with.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pdwire_codegen.diagnostics import Fault

HEADER = """\
# Fingerprints of released layouts. Written by `pdwire generate --lock`, never by hand: a released
# layout does not change. group message layout sha256 speakers
"""

_SHA = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedLayout:
    """One line of the lock; ``speakers`` is backend to releases, oldest first."""

    group: str
    message: str
    layout: str
    fingerprint: str
    speakers: dict[str, tuple[str, ...]]
    line: int = 0

    @property
    def key(self) -> tuple[str, str, str]:
        """What the line is found by."""
        return (self.group, self.message, self.layout)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """The lock's entries by (group, message, layout)."""

    file: str
    entries: dict[tuple[str, str, str], LockedLayout] = field(default_factory=dict)


def parse_lock(file: str, text: str) -> tuple[Lock, list[Fault]]:
    """Every entry that can be read, and a fault for every line that cannot."""
    entries: dict[tuple[str, str, str], LockedLayout] = {}
    faults: list[Fault] = []
    for line, content in enumerate(text.splitlines(), start=1):
        if not content.strip() or content.startswith("#"):
            continue
        entry = _entry(content, line)
        if entry is None or entry.key in entries:
            faults.append(_broken(file, line))
        else:
            entries[entry.key] = entry
    return Lock(file=file, entries=entries), faults


def _broken(file: str, line: int) -> Fault:
    return Fault(
        file=file,
        line=line,
        rule="lock-form",
        message="not a lock line, or a second one for the same layout",
        hint="restore the line from version control; `pdwire generate --lock` writes this file",
    )


def _entry(content: str, line: int) -> LockedLayout | None:
    parts = content.split(" ")
    if len(parts) != 5 or not _SHA.fullmatch(parts[3]):
        return None
    speakers: dict[str, tuple[str, ...]] = {}
    for item in parts[4].split(";"):
        backend, equals, releases = item.partition("=")
        if not equals:
            return None
        speakers[backend] = tuple(releases.split(","))
    return LockedLayout(
        group=parts[0],
        message=parts[1],
        layout=parts[2],
        fingerprint=parts[3],
        speakers=speakers,
        line=line,
    )


def render_lock(entries: list[LockedLayout]) -> str:
    """The file's text."""
    lines = [
        f"{entry.group} {entry.message} {entry.layout} {entry.fingerprint} {_speakers(entry)}\n"
        for entry in sorted(entries, key=lambda entry: entry.key)
    ]
    return HEADER + "".join(lines)


def _speakers(entry: LockedLayout) -> str:
    return ";".join(f"{name}={','.join(entry.speakers[name])}" for name in sorted(entry.speakers))
