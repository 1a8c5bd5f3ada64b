"""Lines of Python in the formatter's own style, 100 columns wide.

The formatter is not run on generated code: what is written here is already in its
style, which the lint step of the project holds it to.
"""

from __future__ import annotations

import re

from pdwire_codegen.emit_python.fitting import WIDTH, fit, operands
from pdwire_codegen.emit_python.prose import Prose, docstring, prose

__all__ = [
    "WIDTH",
    "Module",
    "call",
    "choice",
    "condition",
    "docstring",
    "fit",
    "import_order",
    "literal",
    "natural",
    "prose",
    "spans",
    "string",
]


def string(value: str) -> str:
    """A literal in double quotes, or in single ones where that saves backslashes."""
    # With both quotes in it, repr() takes single ones and escapes those alone.
    body = repr("'\"" + value)[4:-1]
    return _quoted(body, single=value.count('"') > value.count("'"))


def _octets(value: bytes) -> str:
    """The same for bytes."""
    body = repr(b"'\"" + value)[5:-1]
    return "b" + _quoted(body, single=value.count(b'"') > value.count(b"'"))


def _quoted(body: str, *, single: bool) -> str:
    """What :func:`repr` put between single quotes, between the quotes that are wanted."""
    if single:
        return f"'{body}'"
    escaped = body.replace("\\'", "'").replace('"', '\\"')
    return f'"{escaped}"'


def literal(value: object) -> str:
    """A literal in the formatter's style."""
    if isinstance(value, str):
        return string(value)
    if isinstance(value, bytes):
        return _octets(value)
    if isinstance(value, tuple):
        inner = ", ".join(map(literal, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return repr(value)


def call(head: str, args: list[str], indent: str = "", tail: str = "") -> list[str]:
    """``head(args)tail`` on one line if it fits, else one argument a line."""
    return spans(f"{head}(", args, f"){tail}", indent)


def spans(opening: str, items: list[str], closing: str, indent: str = "") -> list[str]:
    """A bracketed list on one line if it fits, else one item a line."""
    one = f"{indent}{opening}{', '.join(items)}{closing}"
    if len(one) <= WIDTH:
        return [one]
    inner = [line for item in items for line in fit(f"{indent}    {item},")]
    return [f"{indent}{opening}", *inner, f"{indent}{closing}"]


def condition(tests: list[str], word: str, indent: str) -> list[str]:
    """``if a or b:`` on one line, or split in the brackets of two, or one test a line."""
    tests = [part for test in tests for part in operands(test, word)]
    one = f"{indent}if {f' {word} '.join(tests)}:"
    if len(one) <= WIDTH:
        return [one]
    if len(tests) == 1:
        either = operands(tests[0], "or")
        return condition(either, "or", indent) if len(either) > 1 else fit(one)
    if len(tests) == 2 and tests[1].endswith(")"):
        return _in_brackets(tests[0], f"{word} {tests[1]}", indent)
    rest = [line for test in tests[1:] for line in fit(f"{indent}    {word} {test}")]
    return [f"{indent}if (", *fit(f"{indent}    {tests[0]}"), *rest, f"{indent}):"]


def _in_brackets(first: str, rest: str, indent: str) -> list[str]:
    """Two tests of which the second ends in brackets: those are split, or the first's."""
    one = f"{indent}if {first} {rest}:"
    last = fit(one)
    if len(last[0]) <= WIDTH or not first.endswith(")"):
        return last
    *lines, end = fit(f"{indent}if {first}:")
    return [*lines, *fit(f"{end.removesuffix(':')} {rest}:")]


def choice(head: str, parts: list[str]) -> list[str]:
    """``head = a if b else c`` on one line, or in brackets, or one part a line."""
    one = head + " ".join(parts)
    if len(one) <= WIDTH:
        return [one]
    if len(parts) == 1:
        return fit(f"{head}({parts[0]})" if " or " in parts[0] or " and " in parts[0] else one)
    indent = " " * (len(head) - len(head.lstrip()))
    inner = f"{indent}    {' '.join(parts)}"
    split = [inner]
    if len(inner) > WIDTH:
        split = [line for part in parts for line in _operands(part, f"{indent}    ")]
    return [f"{head}(", *split, f"{indent})"]


def _operands(part: str, indent: str) -> list[str]:
    """A part of a choice, with one operand a line where it is too long."""
    if len(indent + part) <= WIDTH or part.endswith(")"):
        return fit(indent + part)
    first, *rest = operands(part, "and")
    return [line for one in (first, *(f"and {o}" for o in rest)) for line in fit(indent + one)]


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
        fitted = [
            part
            for line in self.lines
            for part in ([line] if isinstance(line, Prose) else fit(line))
        ]
        body = "\n".join(fitted).strip("\n")
        blank = "\n" if body.startswith(("class ", "@", "def ")) else ""
        return "\n".join(head) + "\n" + blank + (body + "\n" if body else "")

    def _grouped(self) -> list[list[str]]:
        modules = sorted(self._imports, key=natural)
        ours = [m for m in modules if m.split(".")[0] == "pdwire"]
        third = [m for m in modules if m.split(".")[0] in {"numpy", "msgspec"}]
        std = [m for m in modules if m not in ours and m not in third]
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


def import_order(name: str) -> tuple[int, list[str | int]]:
    """Constants, classes, functions, numbers as numbers: the import sorter's order."""
    bare = name.split(" as ", maxsplit=1)[0]
    kind = 0 if bare.isupper() and len(bare) > 1 else 1 if bare[:1].isupper() else 2
    return kind, natural(name)


def natural(name: str) -> list[str | int]:
    """A sorting key with ``r2`` before ``r10``."""
    parts = re.split(r"(\d+)", name.lower())
    return [int(part) if place % 2 else part for place, part in enumerate(parts)]
