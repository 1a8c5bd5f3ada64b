"""Names that generated code has for itself, found in generated code.

Rules: nothing is listed by hand. Messages that have every type, and every way of writing one
(see ``probe``), are made into code as any others are; what stands in that code and is not of
the messages is taken. So a name that the emitter begins to use is taken from then on.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath

from pdwire.codec import Message as Base
from pdwire_codegen.emit_json import SPEC_PATH
from pdwire_codegen.emit_python import emit
from pdwire_codegen.emit_python.names import ROOT
from pdwire_codegen.emit_python.places import KNOWN
from pdwire_codegen.emit_python.probe import PREFIX, probe

__all__ = ["Taken", "identifiers", "taken"]

_NUMBERED = re.compile(r"([a-z_]+)\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Names that a class, a field, a group or backend, and a layout cannot have."""

    classes: frozenset[str]
    numbered: frozenset[str]
    """What a class cannot be called with a number behind it: ``f`` for ``f0``, ``f1`` …"""
    fields: frozenset[str]
    groups: frozenset[str]
    layouts: frozenset[str]

    def of_class(self, name: str) -> str | None:
        """Who has the name that a class would have, or ``None``."""
        if keyword.iskeyword(name) or keyword.issoftkeyword(name) or hasattr(builtins, name):
            return "Python"
        match = _NUMBERED.fullmatch(name)
        numbered = match is not None and match[1] in self.numbered
        return "generated code" if name in self.classes or numbered else None


@cache
def taken() -> Taken:
    """The names, worked out once."""
    spec = probe()
    files = emit(spec)
    folders = {f"{ROOT}/{message.group}/{message.module}" for message in spec.messages}
    trees = {path: ast.parse(text) for path, text in files.items()}
    inner = [tree for path, tree in trees.items() if path.rpartition("/")[0] in folders]
    used = _foreign(name for tree in inner for name in identifiers(tree))
    numbered = {match[1] for name in used - KNOWN if (match := _NUMBERED.fullmatch(name))}
    packages = [tree for path, tree in trees.items() if _parent(path) in folders and _is_init(path)]
    root = trees[f"{ROOT}/__init__.py"]
    return Taken(
        classes=frozenset({*used, *KNOWN}),
        numbered=frozenset(numbered),
        fields=frozenset({*_attributes(), *_foreign(_in_classes(inner))}),
        groups=frozenset({*_foreign(identifiers(root)), *_stems([*files, SPEC_PATH], {ROOT})}),
        layouts=frozenset(
            {
                *_foreign(name for tree in packages for name in identifiers(tree)),
                *_stems(files, folders),
            }
        ),
    )


def identifiers(tree: ast.AST) -> Iterator[str]:
    """Every name that a module uses or binds; attributes and keywords are none."""
    for node in ast.walk(tree):
        match node:
            case ast.Name():
                yield node.id
            case ast.arg():
                yield node.arg
            case ast.FunctionDef() | ast.ClassDef():
                yield node.name
            case ast.alias():
                yield node.asname or node.name.partition(".")[0]
            case ast.ExceptHandler() if node.name is not None:
                yield node.name
            case _:
                pass


def _foreign(names: Iterable[str]) -> set[str]:
    return {name for name in names if not name.lower().lstrip("_").startswith(PREFIX)}


def _attributes() -> set[str]:
    """What every message has besides its fields."""
    return {name for name in (*vars(Base), *Base.__annotations__) if not name.startswith("_")}


def _in_classes(trees: Iterable[ast.AST]) -> Iterator[str]:
    """Names that annotations and defaults of fields look up, where a field would hide them."""
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                for statement in node.body:
                    if isinstance(statement, ast.AnnAssign):
                        yield from identifiers(statement.annotation)
                        yield from identifiers(statement.value) if statement.value else ()


def _parent(path: str) -> str:
    return str(PurePosixPath(path).parent)


def _is_init(path: str) -> bool:
    return PurePosixPath(path).stem == "__init__"


def _stems(paths: Iterable[str], folders: set[str]) -> set[str]:
    """Modules that are generated right in the folders."""
    return _foreign(PurePosixPath(path).stem for path in paths if _parent(path) in folders)
