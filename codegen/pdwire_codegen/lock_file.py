"""The file ``protocol/released.lock``: one line per released layout.

Rules: a line is ``group message layout sha256 speakers``, separated by single blanks and
sorted; ``speakers`` is ``backend=release,release;backend=…``. The fingerprint covers what
travels (see ``lock``), not the releases; they are listed so that a release cannot leave
the layout it was locked with. The first line announces the last one, so that a file that
was cut off is not taken for one that locks less.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pdwire_codegen.diagnostics import Fault

FOOTER = "# End of the lock: a released layout does not change."
HEADER = """\
# Fingerprints of released layouts (pdwire generate --lock): group message layout sha256 speakers
"""
_FIRST_LINES = (HEADER.rstrip("\n"), "# Fingerprints of released layouts. Written by ")
"""How a lock begins: as it is written now, and as version 0.1 did, which had no last line."""

_NAME = r"[A-Za-z][A-Za-z0-9_]*"
_RELEASE = r"\d+(?:\.\d+)*(?:\.post\d+)?"
_SPEAKER = rf"{_NAME}={_RELEASE}(?:,{_RELEASE})*"
_LINE = re.compile(rf"({_NAME}) ({_NAME}) ({_NAME}) ([0-9a-f]{{64}}) ({_SPEAKER}(?:;{_SPEAKER})*)")
_MARKER = re.compile(r"(<<<<<<<|=======|>>>>>>>|\|\|\|\|\|\|\|)( |$)")
_RESTORE = "restore the file from version control; `pdwire generate --lock` writes it"


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
    """The lock's entries by (group, message, layout).

    ``missing`` says why there is nothing to hold a spec to: no file, or one without lines.
    ``broken``: not all that was locked could be read, so what it lacks proves nothing.
    """

    file: str
    entries: dict[tuple[str, str, str], LockedLayout] = field(default_factory=dict)
    missing: str = ""
    broken: bool = False


def parse_lock(file: str, text: str) -> tuple[Lock, list[Fault]]:
    """Every entry that can be read, and a fault for every line that cannot."""
    entries: dict[tuple[str, str, str], LockedLayout] = {}
    faults: list[Fault] = []
    lines = text.splitlines()
    for line, content in enumerate(lines, start=1):
        if not content.strip() or content.startswith("#"):
            continue
        entry = _entry(content, line)
        if entry is None:
            faults.append(_fault(file, line, _reason(content, line), _RESTORE))
        elif entry.key in entries:
            first = entries[entry.key].line
            text_ = f"a second line for {' '.join(entry.key)}, after line {first}"
            faults.append(_fault(file, line, text_, _RESTORE))
        else:
            entries[entry.key] = entry
    if entries and not lines[0].startswith(_FIRST_LINES):
        text_ = "the first line is not that of a lock: what was locked before it may be lost"
        faults.append(_fault(file, 1, text_, _RESTORE))
    if _is_cut(text, lines):
        text_ = "the file ends before its last line: what was locked behind it is lost"
        faults.append(_fault(file, max(len(lines), 1), text_, _RESTORE))
    missing = "" if entries or faults else f"{file} has no line"
    return Lock(file=file, entries=entries, missing=missing, broken=bool(faults)), faults


def _is_cut(text: str, lines: list[str]) -> bool:
    """Whether the end that the first line announces is not there."""
    announced = bool(lines) and lines[0] == _FIRST_LINES[0]
    return announced and (FOOTER not in lines or not text.endswith("\n"))


def _reason(content: str, line: int) -> str:
    """Why a line is none, the commonest causes first."""
    if line == 1 and content.startswith("\ufeff"):
        return "the file begins with a byte-order mark"
    if _MARKER.match(content):
        return "an unresolved merge conflict"
    return "not a lock line: group message layout sha256 backend=release,…;backend=…"


def _fault(file: str, line: int, message: str, hint: str) -> Fault:
    return Fault(file=file, line=line, rule="lock-form", message=message, hint=hint)


def _entry(content: str, line: int) -> LockedLayout | None:
    match = _LINE.fullmatch(content)
    if match is None:
        return None
    speakers: dict[str, tuple[str, ...]] = {}
    for item in match[5].split(";"):
        backend, _, releases = item.partition("=")
        if backend in speakers:
            return None
        speakers[backend] = tuple(releases.split(","))
    return LockedLayout(
        group=match[1],
        message=match[2],
        layout=match[3],
        fingerprint=match[4],
        speakers=speakers,
        line=line,
    )


def render_lock(entries: list[LockedLayout]) -> str:
    """The file's text."""
    lines = [
        f"{entry.group} {entry.message} {entry.layout} {entry.fingerprint} {_speakers(entry)}\n"
        for entry in sorted(entries, key=lambda entry: entry.key)
    ]
    return HEADER + "".join(lines) + f"{FOOTER}\n"


def _speakers(entry: LockedLayout) -> str:
    return ";".join(f"{name}={','.join(entry.speakers[name])}" for name in sorted(entry.speakers))
