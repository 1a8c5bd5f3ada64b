"""One list of known failures, from its text to entries; every fault has its line.

``A..B`` stands for the releases from A to B in the order of the spec, so a range of
targets (``sglang==0.5.6..0.5.9``) is a set of targets before anything is compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from pdwire.cli.console import did_you_mean
from pdwire.wire.table import ORDER
from pdwire_codegen.toml_lines import Document, TomlError, parse

from .slugs import matches

__all__ = ["SCHEMA", "Entry", "KnownError", "Name", "read"]

Json = dict[str, Any]
SCHEMA: Final = "pdwire.known/1"
_RELEASE: Final = "sglang=="
_KEYS: Final = {
    "known": ("cases", "targets", "releases", "reason", "link", "expires"),
    "flaky": ("cases", "targets", "releases", "reason", "link", "expires", "repetitions"),
}


class KnownError(Exception):
    """A list cannot be used; ``faults`` are all that is wrong, each with file and line."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A slug or a glob, and the line it stands on."""

    glob: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One table of a list. Empty ``targets`` or ``releases``: all."""

    file: str
    line: int
    names: tuple[Name, ...]
    targets: tuple[str, ...] = ()
    """Targets; ranges are spelled out."""
    releases: frozenset[str] = frozenset()
    reason: str
    link: str = ""
    expires: date | None = None
    repetitions: int = 0
    """How often a flaky case may be asked; 0: the entry is about a known failure."""
    span: frozenset[str] = field(default=frozenset())
    """The releases of ``sglang==`` targets, where all targets are such."""

    @property
    def place(self) -> str:
        """``file:line``."""
        return f"{self.file}:{self.line}"

    def is_about(self, target: str) -> bool:
        """Whether a target is one of the entry's."""
        return not self.targets or any(matches(each, target) for each in self.targets)

    def names_release(self, release: str) -> bool:
        """Whether a release is one of the entry's."""
        return not self.releases or release in self.releases


def read(file: str, text: str, *, need_targets: bool = False) -> tuple[Entry, ...]:
    """The entries of one list; raises :class:`KnownError` with all that is wrong."""
    try:
        document = parse(file, text)
    except TomlError as fault:
        raise KnownError([f"{file}:{fault.line}: not TOML: {fault}"]) from fault
    faults = list(_file_faults(document))
    entries = list[Entry]()
    for kind in _KEYS:
        told = document.data.get(kind, [])
        if not isinstance(told, list) or not all(isinstance(each, dict) for each in told):
            faults.append(f"{file}:{document.line(kind)}: write [[{kind}]], a table per entry")
            continue
        for number, table in enumerate(told):
            reading = _Table(document, kind, number, table, need_targets=need_targets)
            entries.append(reading.entry())
            faults += reading.faults
    if faults:
        raise KnownError(faults)
    return tuple(entries)


def _file_faults(document: Document) -> Iterator[str]:
    if document.data.get("schema") != SCHEMA:
        came = document.data.get("schema")
        yield f"{document.file}:{document.line('schema')}: schema is {came!r}, expected {SCHEMA!r}"
    for key in document.data:
        if key != "schema" and key not in _KEYS:
            hint = did_you_mean(key, (*_KEYS, "schema"))
            yield f"{document.file}:{document.line(key)}: unknown key {key!r}{hint}"


class _Table:
    """Reads one entry and collects what is wrong with it."""

    def __init__(
        self,
        document: Document,
        kind: str,
        number: int,
        table: dict[str, Any],
        *,
        need_targets: bool,
    ) -> None:
        self.document, self.kind, self.number, self.table = document, kind, number, table
        self.need_targets = need_targets
        self.faults = list[str]()

    def entry(self) -> Entry:
        for key in self.table:
            if key not in _KEYS[self.kind]:
                self.fault(key, f"unknown key {key!r}{did_you_mean(key, _KEYS[self.kind])}")
        slugs = self.texts("cases", needed=True)
        targets = tuple(self.each_target())
        return Entry(
            file=self.document.file,
            line=self.line(),
            names=tuple(
                Name(glob=slug, line=self.line("cases", at)) for at, slug in enumerate(slugs)
            ),
            targets=targets,
            releases=frozenset(
                release
                for at, told in enumerate(self.texts("releases"))
                for release in self.spelled_out(told, "releases", at)
            ),
            reason=self.reason(),
            link=self.link(),
            expires=self.expires(),
            repetitions=self.repetitions(),
            span=_span(targets),
        )

    def line(self, *path: str | int) -> int:
        return self.document.line(self.kind, self.number, *path)

    def fault(self, key: str, text: str, *path: int) -> None:
        self.faults.append(f"{self.document.file}:{self.line(key, *path)}: {text}")

    def texts(self, key: str, *, needed: bool = False) -> list[str]:
        told = self.table.get(key)
        if told is None and not needed:
            return []
        if isinstance(told, list) and told and all(isinstance(each, str) and each for each in told):
            return told
        self.fault(key, f"{key} is {told!r}, expected a list of at least one text")
        return []

    def each_target(self) -> Iterator[str]:
        told = self.texts("targets", needed=self.need_targets)
        for at, target in enumerate(told):
            if target.startswith(_RELEASE) and "*" not in target:
                bare = target.removeprefix(_RELEASE)
                for release in self.spelled_out(bare, "targets", at):
                    yield f"{_RELEASE}{release}"
            else:
                yield target

    def spelled_out(self, told: str, key: str, at: int) -> tuple[str, ...]:
        first, dots, last = told.partition("..")
        ends = (first, last) if dots else (first, first)
        for end in ends:
            if end not in ORDER:
                self.fault(key, f"no release {end!r}{did_you_mean(end, ORDER)}", at)
                return ()
        begin, stop = map(ORDER.index, ends)
        if begin > stop:
            self.fault(key, f"{told!r}: {first} is newer than {last}", at)
        return tuple(ORDER[begin : stop + 1])

    def reason(self) -> str:
        told = self.table.get("reason")
        if not isinstance(told, str) or not told.strip():
            self.fault("reason", "reason is missing: say in a sentence why it fails")
            return ""
        if told.strip().upper().startswith("TODO"):
            self.fault("reason", "reason is still TODO: look at the failure and say why it fails")
        return told

    def link(self) -> str:
        told = self.table.get("link", "")
        if not isinstance(told, str) or (told and not told.startswith(("https://", "http://"))):
            self.fault("link", f"link is {told!r}, expected an http or https address")
            return ""
        return told

    def expires(self) -> date | None:
        told = self.table.get("expires")
        if told is None or type(told) is date:
            return told
        self.fault("expires", f"expires is {told!r}, expected a date without quotes: 2027-06-01")
        return None

    def repetitions(self) -> int:
        if self.kind == "known":
            return 0
        told = self.table.get("repetitions")
        if type(told) is int and told >= 2:
            return told
        self.fault("repetitions", f"repetitions is {told!r}, expected a number from 2 on")
        return 2


def _span(targets: tuple[str, ...]) -> frozenset[str]:
    bare = {target.removeprefix(_RELEASE) for target in targets if target.startswith(_RELEASE)}
    return (
        frozenset(bare) if len(bare) == len(targets) and "*" not in "".join(bare) else frozenset()
    )
