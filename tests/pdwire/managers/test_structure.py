"""How the managers are put together, and what their source may not contain."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeVar

import pytest

import pdwire
from pdwire import managers
from pdwire.managers import (
    AscendKVManager,
    BaseKVManager,
    CommonKVManager,
    MooncakeKVManager,
    MoriKVManager,
    NixlKVManager,
    StagingManagerMixin,
)

T = TypeVar("T", bound=ast.AST)
ROOT = Path(pdwire.__file__).parent
WIRE = {"wire", "frames", "reading", "strategies"}
"""Where frames are read and written: codecs, what they stand on, the second reading; and where
they are spoiled one by one, which no codec would do."""
FOUNDATION = {"codec.py", "registry.py"}
"""What a codec is, and which one: they hand frames to codecs."""
NAMES = {"frames", "multipart", "parts", "message", "msg"}


def sources() -> list[Path]:
    found = [path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] not in WIRE]
    assert len(found) > 60
    return found


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(path.read_text("utf-8"))))


def inside(path: Path, kind: type[T]) -> Iterator[T]:
    return (node for node in nodes(path) if isinstance(node, kind))


@pytest.mark.parametrize(
    ("manager", "order"),
    [
        (
            MooncakeKVManager,
            (MooncakeKVManager, StagingManagerMixin, CommonKVManager, BaseKVManager),
        ),
        (NixlKVManager, (NixlKVManager, StagingManagerMixin, CommonKVManager, BaseKVManager)),
        (
            AscendKVManager,
            (
                AscendKVManager,
                MooncakeKVManager,
                StagingManagerMixin,
                CommonKVManager,
                BaseKVManager,
            ),
        ),
        (MoriKVManager, (MoriKVManager, CommonKVManager, BaseKVManager)),
    ],
)
def test_the_resolution_order_of_a_manager(
    manager: type[BaseKVManager], order: tuple[type, ...]
) -> None:
    assert manager.__mro__[: len(order)] == order
    assert {c.__name__ for c in manager.__mro__[len(order) :]} == {"ABC", "object"}


def test_staging_stands_first_among_the_bases_of_those_that_speak_it() -> None:
    assert MooncakeKVManager.__bases__[0] is StagingManagerMixin
    assert NixlKVManager.__bases__[0] is StagingManagerMixin
    assert AscendKVManager.__bases__ == (MooncakeKVManager,)
    assert not issubclass(MoriKVManager, StagingManagerMixin)


def test_no_module_but_the_codecs_packs_bytes() -> None:
    for path in sources():
        for node in inside(path, ast.Import):
            assert "struct" not in {alias.name for alias in node.names}, path
        for origin in inside(path, ast.ImportFrom):
            assert origin.module != "struct", path


def test_no_class_but_a_message_reads_itself_from_frames() -> None:
    for path in sources():
        if path.name in FOUNDATION:
            continue
        for node in inside(path, ast.FunctionDef):
            assert node.name not in {"from_zmq", "to_zmq"}, f"{path}:{node.lineno}"


def test_no_module_but_the_codecs_indexes_frames() -> None:
    for path in sources():
        if path.name in FOUNDATION:
            continue
        for node in inside(path, ast.Subscript):
            assert not looks_into_frames(node), f"{path}:{node.lineno}: {ast.unparse(node)}"


def looks_into_frames(node: ast.Subscript) -> bool:
    """Whether it is an item or a slice of what holds frames: by its name, or as it is made."""
    value = node.value
    if isinstance(value, ast.Name):
        return value.id in NAMES
    if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)):
        return False
    return value.func.attr in {"encode", "to_zmq", "recv_multipart", "build"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("frames[0]", True),
        ("frames[1:3]", True),
        ("codec.encode(value)[0]", True),
        ("socket.recv_multipart()[2]", True),
        ("rooms[7]", False),
        ("self.rooms.infos(room)[peer]", False),
    ],
)
def test_the_test_itself_finds_an_index(text: str, expected: bool) -> None:
    node = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.Subscript)
    assert looks_into_frames(node) is expected


def test_public_names_exist_and_are_sorted() -> None:
    assert managers.__all__ == sorted(managers.__all__)
    for name in managers.__all__:
        assert hasattr(managers, name), name


@pytest.mark.parametrize("package", ["managers", "bootstrap"])
def test_every_module_names_what_it_exports(package: str) -> None:
    for path in sorted((ROOT / package).glob("*.py")):
        if path.name == "__init__.py":
            continue
        module = importlib.import_module(f"pdwire.{package}.{path.stem}")
        assert module.__all__, path
        for name in module.__all__:
            assert hasattr(module, name), f"{path}: {name}"


@pytest.mark.parametrize("backend", ["Mooncake", "Nixl", "Ascend", "Mori"])
def test_each_backend_has_a_manager_a_sender_and_a_receiver(backend: str) -> None:
    for part in ("Manager", "Sender", "Receiver"):
        assert isinstance(getattr(managers, f"{backend}KV{part}"), type)
