"""How generated files differ: only in text, or in what they do, and where.

Rules: Python is compared by syntax tree, without docstrings, function by function, so a
comment or a line break is text and a swapped frame is behaviour of ``decode`` and
``encode``. Everything else is shown as a short unified diff.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

State = Literal["missing", "stale", "text", "behaviour", "content"]

_MOST_LINES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One file that is not as it would be generated.

    ``missing``: it is not there. ``stale``: it is no longer produced. ``text``: Python
    with the same syntax tree. ``behaviour``: Python that does something else, in
    ``where``. ``content``: any other file. ``diff`` is a shortened unified diff.
    """

    path: str
    state: State
    where: tuple[str, ...] = ()
    diff: tuple[str, ...] = ()


def differences(
    found: Mapping[str, str | None], wanted: Mapping[str, str | None]
) -> list[Difference]:
    """Compare two sets of files; ``None`` stands for a file that is not there.

    What changes behaviour comes first, then by path.
    """
    all_of_them = (
        _difference(path, found.get(path), wanted.get(path))
        for path in sorted(found.keys() | wanted.keys())
    )
    real = [item for item in all_of_them if item is not None]
    return sorted(real, key=lambda item: item.state != "behaviour")


def _difference(path: str, found: str | None, wanted: str | None) -> Difference | None:
    if found == wanted:
        return None
    if wanted is None:
        return Difference(path=path, state="stale")
    if found is None:
        return Difference(path=path, state="missing")
    diff = _diff(path, found, wanted)
    if not path.endswith(".py"):
        return Difference(path=path, state="content", diff=diff)
    where = changed_in(found, wanted)
    return Difference(path=path, state="behaviour" if where else "text", where=where, diff=diff)


def _diff(path: str, found: str, wanted: str) -> tuple[str, ...]:
    lines = list(
        difflib.unified_diff(
            found.splitlines(),
            wanted.splitlines(),
            f"{path} (on disk)",
            f"{path} (generated)",
            lineterm="",
            n=1,
        )
    )
    if len(lines) <= _MOST_LINES:
        return tuple(lines)
    return (*lines[:_MOST_LINES], f"… {len(lines) - _MOST_LINES} more lines")


def changed_in(found: str, wanted: str) -> tuple[str, ...]:
    """Qualified names of what differs between two Python sources; empty: text only.

    Functions come first and are named by themselves, anything else by the class or
    ``module`` it stands in and the name it sets: ``module: COUNTS``.
    """
    try:
        before = _parts(ast.parse(found))
    except (SyntaxError, ValueError) as error:
        return (f"module: not Python on disk ({error})",)
    after = _parts(ast.parse(wanted))
    order = [*after, *(name for name in before if name not in after)]
    changed = [name for name in order if before.get(name) != after.get(name)]
    if not changed and list(before) != list(after):
        return ("module: order of definitions",)
    changed.sort(key=lambda name: ": " in name)
    return tuple(_described(name, before, after) for name in changed)


def _described(name: str, before: Mapping[str, str], after: Mapping[str, str]) -> str:
    if name not in before:
        return f"{name} (added)"
    return name if name in after else f"{name} (removed)"


def _parts(tree: ast.Module) -> dict[str, str]:
    """Normalised dump of every function and every other statement, by name."""
    parts: dict[str, str] = {}
    for name, node in _named(tree.body, "", "module"):
        dump = ast.dump(node)
        parts[name] = parts.get(name, "") + dump
    return parts


def _named(body: list[ast.stmt], prefix: str, owner: str) -> Iterator[tuple[str, ast.stmt]]:
    """Statements without docstrings: functions by qualified name, classes taken apart."""
    for node in body:
        if _is_text(node):
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name, _bare(node)
        elif isinstance(node, ast.ClassDef):
            inner = prefix + node.name
            yield f"class {inner}", _shell(node)
            yield from _named(node.body, f"{inner}.", f"class {inner}")
        else:
            yield f"{owner}: {_target(node)}", node


def _is_text(node: ast.stmt) -> bool:
    """A docstring, or the text under a field."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _bare(node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt:
    """The function without docstrings, its own and those of functions inside."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner.body = [item for item in inner.body if not _is_text(item)] or [ast.Pass()]
    return node


def _shell(node: ast.ClassDef) -> ast.stmt:
    """The class without its body: bases and decorators."""
    return ast.ClassDef(
        name=node.name,
        bases=node.bases,
        keywords=node.keywords,
        body=[],
        decorator_list=node.decorator_list,
    )


def _target(node: ast.stmt) -> str:
    """What a statement sets, or what kind of statement it is."""
    if isinstance(node, ast.Assign):
        return ", ".join(ast.unparse(target) for target in node.targets)
    if isinstance(node, ast.AnnAssign):
        return ast.unparse(node.target)
    if isinstance(node, ast.Import | ast.ImportFrom):
        return "imports"
    return type(node).__name__.lower()
