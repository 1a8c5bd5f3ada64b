"""Optional packages, loaded when an engine is made and never before.

Importing `pdwire.engines` loads no native library; a missing one is a sentence that names the
extra to install, whatever went wrong while it was loaded.
"""

from __future__ import annotations

from contextlib import suppress
from ctypes import CDLL
from importlib import import_module
from types import ModuleType

from pdwire.engines.base import EngineMissing

__all__ = ["load", "load_verbs_first"]


def load(module: str, *, engine: str, extras: str) -> ModuleType:
    """The module of an optional package.

    Args:
        module: Dotted name to import.
        engine: What to call it in the error.
        extras: The extra (or extras) of this package that installs it.

    Raises:
        EngineMissing: it is not installed, or a library that it links is not.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise EngineMissing(
            f"the {engine} engine cannot be loaded ({error}): pip install 'pdwire[{extras}]'"
        ) from error


def load_verbs_first() -> None:
    """Loads the system's libibverbs, where there is one, before NIXL loads its own libraries.

    NIXL 1.5.1 brings a libnl-route of its own, and its UCX loads the system's libibverbs, which
    brings the system's. In that order the two mix up at exit and the process ends with a
    segmentation fault, whatever it did (seen with Debian's libibverbs1 44).
    """
    with suppress(OSError):
        CDLL("libibverbs.so.1")
