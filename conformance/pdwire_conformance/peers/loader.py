"""Load the disaggregation code of one SGLang release, unmodified, into this process.

Rules:

* ``sglang.srt.disaggregation.*``, ``sglang.srt.environ`` and ``sglang.srt.utils.network``
  come from the release's own files. A module that the release does not have is an
  ``ImportError`` there, never a stub.
* Every other ``sglang.*`` module is a stub, and so are the transfer engines, torch and
  triton, installed or not, so that a proof does not depend on the machine. Name one in
  ``real`` to use it for real.
* A few third-party modules are real where they are installed and stubs where not.
* One release per process: the hook is installed once and refuses a second release.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import logging
import sys
import types
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .answers import ANSWERS
from .errors import Unavailable
from .stubs import StubModule

_PD = "sglang.srt.disaggregation"
_REAL_FILES = frozenset({"sglang.srt.environ", "sglang.srt.utils.network"})

STUBBED = frozenset(
    {"torch", "triton", "mooncake", "nixl", "mori", "memfabric_hybrid", "mf_adapter"}
)
"""Third-party packages that are stubs unless asked for by name."""

STUBBED_IF_MISSING = frozenset(
    {
        *("aiohttp", "fastapi", "grpc", "netifaces", "orjson", "prometheus_client"),
        *("psutil", "pybase64", "requests", "transformers", "uvicorn", "uvloop"),
    }
)
"""Third-party packages that the wire does not need: real where installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedRelease:
    """The one release that this process speaks for."""

    release: str
    root: Path

    def module(self, name: str) -> Any:
        """Import ``sglang.srt.disaggregation.<name>`` of the release.

        Raises :class:`Unavailable` when the release has no such file.
        """
        full = f"{_PD}.{name}"
        if _source(self.root, full) is None:
            raise Unavailable(f"{self.release} has no {name.replace('.', '/')}.py")
        return importlib.import_module(full)

    def has(self, name: str) -> bool:
        """Whether the release has the file of ``sglang.srt.disaggregation.<name>``."""
        return _source(self.root, f"{_PD}.{name}") is not None

    def has_class(self, module: str, name: str) -> bool:
        """Whether ``module`` of the release defines ``name``."""
        return self.has(module) and hasattr(self.module(module), name)

    def attribute(self, module: str, path: str) -> Any:
        """``module`` and a dotted path in it; :class:`Unavailable` where a part is missing."""
        found = self.module(module)
        for part in path.split("."):
            if not hasattr(found, part):
                raise Unavailable(f"{self.release} has no {path} in {module.replace('.', '/')}.py")
            found = getattr(found, part)
        return found

    @property
    def environ(self) -> Any:
        """The release's own ``sglang.srt.environ``."""
        return importlib.import_module("sglang.srt.environ")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Serves the release's files for real and stubs for the rest."""

    def __init__(self, root: Path, stubbed: Collection[str], answers: _Answers) -> None:
        self.root = root
        self._stubbed = stubbed
        self._answers = answers

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        top = fullname.partition(".")[0]
        if top == "sglang":
            return self._sglang_spec(fullname)
        if top in self._stubbed:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def _sglang_spec(self, fullname: str) -> importlib.machinery.ModuleSpec | None:
        if (source := _source(self.root, fullname)) is not None:
            folder = [str(source.parent)] if source.name == "__init__.py" else None
            return importlib.util.spec_from_file_location(
                fullname, source, submodule_search_locations=folder
            )
        is_folder = (self.root / Path(*fullname.split("."))).is_dir()
        if fullname.startswith(f"{_PD}.") and not is_folder:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = StubModule(spec.name)
        for name, value in self._answers.get(spec.name, {}).items():
            setattr(module, name, value)
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing: a stub has no code."""


_Answers = Mapping[str, Mapping[str, Any]]


def load(
    release: str, root: Path, *, real: Collection[str] = (), answers: _Answers | None = None
) -> LoadedRelease:
    """Install the import hook for the release whose ``sglang/`` lies in ``root``.

    ``real`` names packages of :data:`STUBBED` to import for real; ``answers`` are added
    to :data:`~.answers.ANSWERS`, theirs first. Raises ``RuntimeError`` when another
    release, or SGLang itself, is loaded already.
    """
    for finder in sys.meta_path:
        if isinstance(finder, _Finder) and finder.root != root:
            raise RuntimeError("this process speaks for another release already")
        if isinstance(finder, _Finder):
            return LoadedRelease(release=release, root=root)
    if "sglang" in sys.modules:
        raise RuntimeError("sglang is imported already: a release needs a process of its own")
    # A library that SGLang always has loaded gives every logger this method.
    logging.Logger.warning_once = logging.Logger.warning  # type: ignore[attr-defined]
    missing = {name for name in STUBBED_IF_MISSING if importlib.util.find_spec(name) is None}
    given = _merged(ANSWERS, answers or {})
    sys.meta_path.insert(0, _Finder(root, (STUBBED - set(real)) | missing, given))
    return LoadedRelease(release=release, root=root)


def _merged(ours: _Answers, more: _Answers) -> _Answers:
    return {name: {**ours.get(name, {}), **more.get(name, {})} for name in {*ours, *more}}


def unload() -> None:
    """Take the hook and everything that it served out again; for tests of this module."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "sglang" or isinstance(module, StubModule):
            del sys.modules[name]


def _source(root: Path, fullname: str) -> Path | None:
    if fullname not in _REAL_FILES and not fullname.startswith(f"{_PD}."):
        return None
    base = root / Path(*fullname.split("."))
    for candidate in (base / "__init__.py", base.with_suffix(".py")):
        if candidate.is_file():
            return candidate
    return None
