"""``python:module:factory``: a testee in this process, made by code of one's own.

Rules:

* The module is found as Python finds it from the current directory.
* ``factory`` (a dotted name in the module) is called without arguments and gives a
  :class:`~.codec.CodecTestee`; the class itself is such a factory.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import reduce
from pathlib import Path

from .codec import CodecTestee
from .protocol import TesteeError

__all__ = ["factory_of", "make"]


def make(target: str) -> CodecTestee:
    """The testee of ``module:factory``.

    Raises:
        TesteeError: the module cannot be imported, or what it has there makes no testee.
    """
    made = factory_of(target)()
    if not isinstance(made, CodecTestee):
        raise TesteeError(
            f"python:{target}: expected a CodecTestee of it, came {type(made).__name__}"
        )
    return made


def factory_of(target: str) -> Callable[[], object]:
    """What ``module:factory`` names; imports the module and calls nothing.

    Raises:
        TesteeError: the module cannot be imported, or has nothing there that can be called.
    """
    name, _, path = target.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(name)
    except Exception as fault:
        raise TesteeError(
            f"python:{target}: {name} cannot be imported: {type(fault).__name__}: {fault}"
        ) from fault
    try:
        factory: object = reduce(getattr, path.split("."), module)
    except AttributeError as fault:
        raise TesteeError(f"python:{target}: {fault}") from fault
    if not callable(factory):
        raise TesteeError(f"python:{target}: expected a callable, came {type(factory).__name__}")
    return factory
