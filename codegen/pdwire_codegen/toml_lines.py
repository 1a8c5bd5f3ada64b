"""TOML with line numbers.

Rules: ``tomllib`` alone decides what the text means; the scanner here only finds out
where each table and key stands, and it may assume valid TOML because it runs after
``tomllib`` has accepted the text. A place is a path of keys and array indices:
``("layout", "r8", "frames", "14", "type")`` or ``("invariant", 0, "kind")``.
"""

from __future__ import annotations

import bisect
import re
import tomllib
from dataclasses import dataclass, field

Path = tuple[str | int, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\])*"'
    r"|'[^']*'",
    re.DOTALL,
)
_TRIVIA = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_SCALAR = re.compile(r"[^,\]}\n#]+")
_CONFLICT = re.compile(r"(<<<<<<<|>>>>>>>|\|\|\|\|\|\|\|)( |\r?$)|=======\r?$")
_SIDE = re.compile(r"<<<<<<<|>>>>>>>")
_PLACE = re.compile(r"\(at (?:line (\d+), column \d+|end of document)\)")


class TomlError(ValueError):
    """Text that is not TOML; ``line`` counts from 1."""

    def __init__(self, line: int, message: str) -> None:
        self.line = line
        super().__init__(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One parsed file: its data, and the line of every table and key."""

    file: str
    data: dict[str, object]
    lines: dict[Path, int] = field(default_factory=dict)

    def line(self, *path: str | int) -> int:
        """Line of ``path``, or of the deepest enclosing table that is written down."""
        for depth in range(len(path), 0, -1):
            if (found := self.lines.get(path[:depth])) is not None:
                return found
        return 1


def parse(file: str, text: str) -> Document:
    """Parse ``text``; raises :class:`TomlError` with the line of the first mistake."""
    _foreign(text)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _located(str(error), text) from None
    # tomllib reads "\r\n" as "\n"; offsets only need the line feeds, so nothing to undo.
    return Document(file=file, data=data, lines=_Scanner(text).scan())


def _foreign(text: str) -> None:
    """Raise what a parser would only call an invalid statement: what no writer of TOML wrote.

    A line of a merge conflict within a string of several lines is one as well.
    """
    if text.startswith("\ufeff"):
        raise TomlError(1, "the file begins with a byte-order mark; save it as UTF-8 without one")
    lines = text.split("\n")
    marks = [line for line, content in enumerate(lines, start=1) if _CONFLICT.match(content)]
    if marks and any(_SIDE.match(lines[line - 1]) for line in marks):
        shown = ", ".join(map(str, marks))
        lines_ = f"line{'s' * (len(marks) > 1)} {shown}"
        raise TomlError(marks[0], f"an unresolved merge conflict ({lines_}); keep one side")


def _located(message: str, text: str) -> TomlError:
    place = _PLACE.search(message)
    bare = _PLACE.sub("", message).strip()
    if place is not None and place[1]:
        return TomlError(int(place[1]), bare)
    return TomlError(len(text.splitlines()) or 1, f"{bare} (end of file)")


class _Scanner:
    """Walks valid TOML once and notes the line of each path."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.breaks = [index for index, char in enumerate(text) if char == "\n"]
        self.lines: dict[Path, int] = {}
        self.arrays: dict[Path, int] = {}

    def scan(self) -> dict[Path, int]:
        table: Path = ()
        self.skip()
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)
            self.skip()
        return self.lines

    def line(self) -> int:
        return bisect.bisect_left(self.breaks, self.at) + 1

    def skip(self) -> None:
        match = _TRIVIA.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def record(self, path: Path, line: int) -> None:
        """A written-down path wins over one that was only implied by a longer one."""
        self.lines[path] = line
        for depth in range(1, len(path)):
            self.lines.setdefault(path[:depth], line)

    def header(self) -> Path:
        line, repeated = self.line(), self.text.startswith("[[", self.at)
        self.at += 2 if repeated else 1
        parts = self.key()
        self.at += 2 if repeated else 1
        path = (*self.resolve(parts[:-1]), parts[-1])
        if repeated:
            self.arrays[path] = self.arrays.get(path, -1) + 1
            self.lines.setdefault(path, line)
        path = self.through(path)
        self.record(path, line)
        return path

    def resolve(self, parts: list[str]) -> Path:
        """A header's path through arrays of tables: their newest element."""
        path: Path = ()
        for part in parts:
            path = self.through((*path, part))
        return path

    def through(self, path: Path) -> Path:
        return (*path, self.arrays[path]) if path in self.arrays else path

    def pair(self, table: Path) -> None:
        line = self.line()
        path = (*table, *self.key())
        self.record(path, line)
        self.at += 1  # the equals sign
        self.value(path)

    def key(self) -> list[str]:
        """A dotted key; stops behind it and any blanks."""
        parts: list[str] = []
        while True:
            self.skip()
            match = _STRING.match(self.text, self.at) or _BARE.match(self.text, self.at)
            assert match is not None
            parts.append(_unquoted(match[0]))
            self.at = match.end()
            self.skip()
            if self.at >= len(self.text) or self.text[self.at] != ".":
                return parts
            self.at += 1

    def value(self, path: Path) -> None:
        self.skip()
        if match := _STRING.match(self.text, self.at):
            self.at = match.end()
        elif self.text[self.at] == "[":
            self.array(path)
        elif self.text[self.at] == "{":
            self.inline_table(path)
        elif match := _SCALAR.match(self.text, self.at):
            self.at = match.end()

    def array(self, path: Path) -> None:
        self.at += 1
        index = 0
        while not self.closed("]"):
            self.lines[(*path, index)] = self.line()
            self.value((*path, index))
            index += 1

    def inline_table(self, path: Path) -> None:
        self.at += 1
        while not self.closed("}"):
            self.pair(path)

    def closed(self, bracket: str) -> bool:
        """Step over blanks and a comma; true (and stepped over) at ``bracket``."""
        self.skip()
        if self.text[self.at] == ",":
            self.at += 1
            self.skip()
        if self.text[self.at] != bracket:
            return False
        self.at += 1
        return True


def _unquoted(token: str) -> str:
    if token[0] not in "\"'":
        return token
    return str(tomllib.loads(f"key = {token}")["key"])
