"""A protocol directory to a checked :class:`~pdwire_codegen.model.Spec`, or all its faults.

Rules: nothing stops at the first fault. A file that cannot be read as TOML is left out
and the others are still checked; a message with faults is not built and the others are
still compared with the lock.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field
from pathlib import Path

from pdwire_codegen.build import build_backends, build_message
from pdwire_codegen.diagnostics import Fault, SpecError
from pdwire_codegen.draft import Draft, DraftMessage
from pdwire_codegen.files import Stray, inventory, printable
from pdwire_codegen.lock_file import Lock, parse_lock
from pdwire_codegen.model import Message, Spec
from pdwire_codegen.reader.message import read_message
from pdwire_codegen.reader.protocol import read_concepts, read_protocol
from pdwire_codegen.released import read_released
from pdwire_codegen.rules import RULES
from pdwire_codegen.rules.lock import Broken, lock_faults
from pdwire_codegen.tables import Sink
from pdwire_codegen.toml_lines import Document, TomlError, parse

LOCK_NAME = "released.lock"


@dataclass(slots=True)
class _Reading:
    """What was read so far; ``lost`` are the files that could not be read at all."""

    protocol: Path
    sink: Sink = field(default_factory=Sink)
    lost: list[Path] = field(default_factory=list)

    def shown(self, path: Path) -> str:
        return printable(f"{self.protocol.name}/{path.relative_to(self.protocol).as_posix()}")

    def fault(self, path: Path, line: int, rule: str, message: str, hint: str = "") -> None:
        shown = self.shown(path)
        found = Fault(file=shown, line=line, rule=rule, message=message, hint=hint)
        self.sink.faults.append(found)

    def stray(self, found: Stray) -> None:
        """Report what has no place; what was meant as a message is as good as lost."""
        self.fault(found.path, 1, "stray-file", found.message, found.hint)
        if found.lost:
            self.lost.append(found.path)

    def group(self, path: Path) -> str:
        """The group's folder that a file lies in, however deep."""
        return path.relative_to(self.protocol).parts[0]

    def document(self, path: Path) -> Document | None:
        """The parsed file, or ``None`` with a fault."""
        try:
            return parse(self.shown(path), path.read_bytes().decode().replace("\r\n", "\n"))
        except TomlError as error:
            self.fault(path, error.line, "toml-syntax", str(error))
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            wide = error.object.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
            what = "the file is UTF-16, by its byte-order mark" if wide else "the file is not UTF-8"
            self.fault(path, line, "toml-syntax", what, "save it as UTF-8")
        except OSError as error:
            self.fault(path, 1, "stray-file", f"cannot be read: {error.strerror}")
        self.lost.append(path)
        return None


def load(
    protocol: Path,
    *,
    allow_unlocked: bool = False,
    demand_lock: bool | None = None,
    root: Path | None = None,
) -> Spec:
    """The checked spec of a protocol directory.

    ``allow_unlocked`` accepts layouts that ``released.lock`` does not have yet, and that there
    is no lock, unless ``demand_lock`` says otherwise. What was generated last under ``root``
    tells how a released layout changed, and stands in for a missing lock. Raises
    :class:`SpecError` with every fault there is.
    """
    reading = _Reading(protocol=protocol)
    draft = _read(reading)
    faults = reading.sink.faults
    if draft is None:
        raise SpecError(faults)
    # With a file missing, rules that count uses over all files would accuse the others.
    for rule in RULES:
        if not reading.lost or rule.id != "unused-concept":
            faults += rule.faults(draft)
    messages, broken = _built(draft, faults)
    broken |= {(reading.group(path), None) for path in reading.lost}
    left = list(
        lock_faults(
            draft.lock,
            messages,
            broken=broken,
            new_allowed=allow_unlocked,
            demanded=not allow_unlocked if demand_lock is None else demand_lock,
            released=None if root is None else read_released(root),
        )
    )
    if faults:
        raise SpecError([*faults, *left])
    spec = Spec(
        releases=draft.protocol.releases,
        backends=build_backends(draft.protocol),
        concepts=draft.concepts.docs,
        messages=messages,
    )
    if left:
        raise SpecError(left, spec)
    return spec


def _read(reading: _Reading) -> Draft | None:
    """All files as a draft; ``None`` without a readable ``protocol.toml``."""
    protocol = reading.protocol
    top = _root_file(reading, "protocol.toml")
    words = _root_file(reading, "concepts.toml")
    messages = tuple(_messages(reading))
    lock = _lock(reading)
    if top is None or words is None:
        return None
    return Draft(
        root=protocol,
        protocol=read_protocol(top, reading.sink),
        concepts=read_concepts(words, reading.sink),
        messages=messages,
        lock=lock,
    )


def _root_file(reading: _Reading, name: str) -> Document | None:
    path = reading.protocol / name
    if not path.is_file():
        reading.fault(path, 1, "stray-file", f"there is no {name}", "every protocol has one")
        return None
    return reading.document(path)


def _messages(reading: _Reading) -> list[DraftMessage]:
    """Every message file, in the order of groups and names; a fault for what is none."""
    found = inventory(reading.protocol)
    for stray in found.strays:
        reading.stray(stray)
    messages: list[DraftMessage] = []
    for path in found.messages:
        document = reading.document(path)
        if document is not None:
            messages.append(read_message(document, path.parent.name, path.stem, reading.sink))
    return messages


def _lock(reading: _Reading) -> Lock:
    """The lock; where it cannot be read it is broken, and where there is none it is missing."""
    path = reading.protocol / LOCK_NAME
    shown = reading.shown(path)
    if not path.exists() and not path.is_symlink():
        return Lock(file=shown, missing=f"there is no {shown}")
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        reading.fault(path, 1, "lock-form", f"cannot be read: {error.strerror}", "restore it")
        return Lock(file=shown, broken=True)
    lock, faults = parse_lock(shown, text)
    reading.sink.faults += faults
    return lock


def _built(draft: Draft, faults: list[Fault]) -> tuple[tuple[Message, ...], Broken]:
    """Messages of files without faults, and which the others are.

    A fault in a root file may touch every message, so then none is built.
    """
    bad = {fault.file for fault in faults}
    rotten = bool(bad & {draft.protocol.document.file, draft.concepts.document.file})
    clean = [item for item in draft.messages if not rotten and item.document.file not in bad]
    broken: Broken = {(item.group, item.name) for item in draft.messages if item not in clean}
    return tuple(build_message(draft, item) for item in clean), broken
