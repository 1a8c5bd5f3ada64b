"""Checked access to one TOML table.

Rules: asking for a key also says which type it has; a key that nobody asked for is
unknown; a value of the wrong type is reported once and then treated as missing, so
that one mistake does not set off others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from pdwire_codegen.diagnostics import Fault, did_you_mean
from pdwire_codegen.toml_lines import Document, Path

T = TypeVar("T", str, int, bool)

SHAPE_RULES = {
    "toml-syntax": "A file is valid TOML in UTF-8.",
    "unknown-key": "A table has only the keys of the language.",
    "missing-key": "A key that the language demands is there.",
    "value-type": "A key's value has the TOML type that the language gives it.",
    "stray-file": "protocol/ holds the two root files and <group>/<message>.toml, nothing else.",
}
"""Rules that reading itself enforces, before there is anything to run a rule on."""

_TYPE_NAMES = {str: "a string", int: "an integer", bool: "true or false", dict: "a table"}


class Sink:
    """Collects faults."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def report(self, document: Document, path: Path, rule: str, message: str, hint: str) -> None:
        """Note a fault at ``path``."""
        self.faults.append(
            Fault(
                file=document.file,
                line=document.line(*path),
                rule=rule,
                message=message,
                hint=hint,
            )
        )


class Table:
    """One table of a document, at ``path``."""

    def __init__(self, document: Document, path: Path, data: dict[str, object], sink: Sink) -> None:
        self.document = document
        self.path = path
        self.data = data
        self.sink = sink
        self.asked: set[str] = set()

    @property
    def place(self) -> str:
        """How the table is called in messages."""
        return ".".join(str(part) for part in self.path) or "the file"

    def fault(self, rule: str, message: str, hint: str = "", key: str | None = None) -> None:
        """Report a fault of this table, or of one of its keys."""
        path = self.path if key is None else (*self.path, key)
        self.sink.report(self.document, path, rule, message, hint)

    def get(self, key: str, kind: type[T], *, required: bool = False) -> T | None:
        """The value of ``key``, or ``None`` when it is missing or not a ``kind``."""
        value = self.raw(key, required=required)
        if value is None:
            return None
        if not _is_a(value, kind):
            self.wrong(key, _TYPE_NAMES[kind])
            return None
        assert isinstance(value, kind)
        return value

    def raw(self, key: str, *, required: bool = False) -> object:
        """The value of ``key``, whatever it is; ``None`` when it is missing."""
        self.asked.add(key)
        if key not in self.data and required:
            self.fault("missing-key", f"{self.place} has no {key!r}", f"add {key} = …")
        return self.data.get(key)

    def wrong(self, key: str, wanted: str) -> None:
        """Report that ``key`` has not the type it must have."""
        self.fault("value-type", f"{self.place}.{key} must be {wanted}", key=key)

    def texts(self, key: str, *, required: bool = False) -> tuple[str, ...] | None:
        """A list of strings."""
        return self._list(key, str, "a list of strings", required=required)

    def integers(self, key: str) -> tuple[int, ...] | None:
        """A list of integers."""
        return self._list(key, int, "a list of integers", required=False)

    def _list(
        self, key: str, kind: type[T], wanted: str, *, required: bool
    ) -> tuple[T, ...] | None:
        value = self.raw(key, required=required)
        if value is None:
            return None
        if not isinstance(value, list) or not all(_is_a(item, kind) for item in value):
            self.wrong(key, wanted)
            return None
        return tuple(value)

    def table(self, key: str, *, required: bool = False) -> Table | None:
        """The table at ``key``."""
        value = self.raw(key, required=required)
        if value is None:
            return None
        if not isinstance(value, dict):
            self.wrong(key, "a table")
            return None
        return Table(self.document, (*self.path, key), value, self.sink)

    def tables(self, key: str) -> Iterator[tuple[str, Table]]:
        """Each named table under ``key``, in file order."""
        outer = self.table(key)
        if outer is not None:
            yield from outer.each()

    def each(self) -> Iterator[tuple[str, Table]]:
        """Each entry of a table of tables, in file order."""
        for name in self.data:
            inner = self.table(name)
            if inner is not None:
                yield name, inner

    def array(self, key: str) -> Iterator[Table]:
        """Each element of an array of tables."""
        value = self.raw(key)
        if value is None:
            return
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self.wrong(key, "an array of tables")
            return
        for index, item in enumerate(value):
            yield Table(self.document, (*self.path, key, index), item, self.sink)

    def done(self) -> None:
        """Report every key that nobody asked for."""
        for key in self.data.keys() - self.asked:
            hint = did_you_mean(key, self.asked)
            self.fault("unknown-key", f"{self.place} has no key {key!r}", hint, key=key)


def _is_a(value: object, kind: type) -> bool:
    """``isinstance``, but a boolean is not an integer."""
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
