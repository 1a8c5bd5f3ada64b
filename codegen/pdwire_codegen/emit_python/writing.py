"""Lines of Python in the formatter's own style, 100 columns wide.

The formatter is not run on generated code: what is written here is already in its
style, which the lint step of the project holds it to.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

__all__ = [
    "WIDTH",
    "Module",
    "call",
    "choice",
    "comment",
    "condition",
    "docstring",
    "fit",
    "import_order",
    "literal",
    "prose",
    "spans",
    "string",
]

WIDTH = 100


def string(value: str) -> str:
    """A double-quoted literal."""
    body = repr(value)[1:-1]
    if repr(value).startswith("'"):
        body = body.replace("\\'", "'").replace('"', '\\"')
    return f'"{body}"'


def literal(value: object) -> str:
    """A literal in the formatter's style."""
    if isinstance(value, str):
        return string(value)
    if isinstance(value, bytes):
        return "b" + string(value.decode("latin-1"))
    if isinstance(value, tuple):
        inner = ", ".join(map(literal, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return repr(value)


def docstring(
    text: str, indent: str = "", *, rest: Iterable[str] = (), brief: str = ""
) -> list[str]:
    """A docstring: a summary line, then the other paragraphs, wrapped.

    Where the first paragraph is longer than a line, its first sentence is the summary;
    where that is too long as well, ``brief`` is.
    """
    paragraphs = [*_summarised(" ".join(text.split()), WIDTH - len(indent) - 6, brief), *rest]
    if len(paragraphs) == 1:
        return [f'{indent}"""{_escape(paragraphs[0])}"""']
    lines = ['"""' + _escape(paragraphs[0])]
    for paragraph in paragraphs[1:]:
        lines += ["", *_wrap(_escape(paragraph), WIDTH - len(indent))]
    return [(indent + line) if line else "" for line in [*lines, '"""']]


def _summarised(text: str, room: int, brief: str) -> list[str]:
    if len(text) <= room:
        return [text]
    head, dot, tail = text.partition(". ")
    if dot and len(head) < room:
        return [f"{head}.", tail]
    return [brief or textwrap.shorten(text, room - 2, placeholder=" …."), text]


def prose(text: str, indent: str = "") -> list[str]:
    """The text under a field: a bare string, wrapped."""
    lines = _wrap('"""' + _escape(" ".join(text.split())) + '"""', WIDTH - len(indent))
    return [indent + line for line in lines]


def _wrap(text: str, room: int) -> list[str]:
    out: list[str] = []
    for line in text.split("\n"):
        out += textwrap.wrap(line, room, break_long_words=False, break_on_hyphens=False) or [""]
    return out


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', "'''")


def comment(text: str, indent: str = "") -> list[str]:
    """A comment, wrapped."""
    return [f"{indent}# {line}" for line in _wrap(text, WIDTH - len(indent) - 2)]


def call(head: str, args: list[str], indent: str = "", tail: str = "") -> list[str]:
    """``head(args)tail`` on one line if it fits, else one argument a line."""
    return spans(f"{head}(", args, f"){tail}", indent)


def spans(opening: str, items: list[str], closing: str, indent: str = "") -> list[str]:
    """A bracketed list on one line if it fits, else indented, else one item a line."""
    one = f"{indent}{opening}{', '.join(items)}{closing}"
    if len(one) <= WIDTH:
        return [one]
    inner = [line for item in items for line in _item(item, f"{indent}    ")]
    return [f"{indent}{opening}", *inner, f"{indent}{closing}"]


def _item(item: str, indent: str) -> list[str]:
    """An item on a line of its own; a choice that is too long has one part a line."""
    one = f"{indent}{item},"
    if len(one) <= WIDTH or " if " not in item:
        return [one]
    value, _, rest = item.partition(" if ")
    test, _, other = rest.partition(" else ")
    return [f"{indent}{value}", f"{indent}if {test}", f"{indent}else {other},"]


def fit(line: str) -> list[str]:
    """A line, or its last call split over several where it is too long."""
    if len(line) <= WIDTH or line.rstrip(",")[-1:] not in {")", "]"}:
        return [line]
    close = len(line.rstrip(",")) - 1
    opened = _opening(line, close)
    indent = " " * (len(line) - len(line.lstrip()))
    body = line[opened + 1 : close]
    inner = f"{indent}    {body}"
    parts = [inner] if len(inner) <= WIDTH else [f"{indent}    {part}," for part in _split(body)]
    return [line[: opened + 1], *parts, indent + line[close:]]


def _opening(line: str, close: int) -> int:
    """Where the bracket that ends at ``close`` was opened (no brackets in strings here)."""
    depth = 0
    for place in range(close, -1, -1):
        depth += (line[place] in ")]}") - (line[place] in "([{")
        if depth == 0:
            return place
    raise ValueError(line)


def _split(body: str) -> list[str]:
    """Arguments at the outermost level."""
    parts, depth, start = [], 0, 0
    for place, char in enumerate(body):
        depth += (char in "([{") - (char in ")]}")
        if depth == 0 and body.startswith(", ", place):
            parts.append(body[start:place])
            start = place + 2
    return [*parts, body[start:]]


def condition(tests: list[str], word: str, indent: str) -> list[str]:
    """``if a or b:`` on one line, or one test a line in brackets."""
    one = f"{indent}if {f' {word} '.join(tests)}:"
    if len(one) <= WIDTH:
        return [one]
    rest = [f"{indent}    {word} {test}" for test in tests[1:]]
    return [f"{indent}if (", f"{indent}    {tests[0]}", *rest, f"{indent}):"]


def choice(head: str, parts: list[str]) -> list[str]:
    """``head = a if b else c`` on one line, or in brackets, or one part a line."""
    one = head + " ".join(parts)
    if len(one) <= WIDTH:
        return [one]
    if len(parts) == 1:
        return fit(one)
    indent = " " * (len(head) - len(head.lstrip()))
    inner = f"{indent}    {' '.join(parts)}"
    split = [inner] if len(inner) <= WIDTH else [f"{indent}    {part}" for part in parts]
    return [f"{head}(", *split, f"{indent})"]


class Module:
    """A generated module: imports gathered on the way, body in order."""

    def __init__(self, doc: str, source: str) -> None:
        self._doc = doc
        self._source = source
        self._imports: dict[str, set[str]] = {}
        self._plain: set[str] = set()
        self.lines: list[str] = []

    def need(self, module: str, *names: str) -> None:
        """Import names from a module."""
        self._imports.setdefault(module, set()).update(names)

    def has(self, module: str) -> bool:
        """Whether any name of the module is imported."""
        return bool(self._imports.get(module))

    def drop(self, module: str) -> None:
        """Forget a module of which nothing is needed."""
        self._imports.pop(module, None)

    def need_module(self, module: str) -> None:
        """Import a module of the standard library by name."""
        self._plain.add(module)

    def add(self, *lines: str) -> None:
        """Append lines."""
        self.lines += lines

    def render(self) -> str:
        """The module's text."""
        mark = f"GENERATED from {self._source} by `pdwire generate`. Do not edit."
        head = [*docstring(self._doc, rest=[mark]), "", "from __future__ import annotations", ""]
        for group in self._grouped():
            head += [*group, ""]
        fitted = [part for line in self.lines for part in _code(line)]
        body = "\n".join(fitted).strip("\n")
        blank = "\n" if body.startswith(("class ", "@", "def ")) else ""
        return "\n".join(head) + "\n" + blank + (body + "\n" if body else "")

    def _grouped(self) -> list[list[str]]:
        ours = sorted(m for m in self._imports if m.split(".")[0] == "pdwire")
        third = sorted(m for m in self._imports if m.split(".")[0] in {"numpy", "msgspec"})
        std = sorted(m for m in self._imports if m not in ours and m not in third)
        groups = [[f"import {m}" for m in sorted(self._plain)] + self._from(std)]
        groups += [self._from(third), self._from(ours)]
        return [group for group in groups if group]

    def _from(self, modules: list[str]) -> list[str]:
        lines: list[str] = []
        for module in modules:
            names = sorted(self._imports[module], key=import_order)
            one = f"from {module} import {', '.join(names)}"
            if len(one) <= WIDTH:
                lines.append(one)
            else:
                lines += [f"from {module} import (", *(f"    {n}," for n in names), ")"]
        return lines


def _code(line: str) -> list[str]:
    """Fit code; leave prose as it was wrapped."""
    return fit(line) if ("(" in line and "=" in line) or ("(" in line and '": ' in line) else [line]


def import_order(name: str) -> tuple[int, str]:
    """Constants, classes, functions: the import sorter's order."""
    bare = name.split(" as ", maxsplit=1)[0]
    kind = 0 if bare.isupper() and len(bare) > 1 else 1 if bare[:1].isupper() else 2
    return kind, name.lower()
