"""Hypothesis strategies for every message of the spec, valid and invalid by construction.

::

    from hypothesis import given, strategies as st
    from pdwire.strategies import faulty_frames, frames, messages
    from pdwire.wire import mooncake

    messages("mooncake", "TransferInfo", release="0.5.19")  # instances of the class
    frames("nixl", "KVArgsRegisterInfo")  # multiparts a decoder accepts
    faulty_frames("mori", "TransferInfo")  # multiparts with one known fault
    mutations(frames("nixl", "KVArgsRegisterInfo"))  # whatever may arrive instead
    st.from_type(mooncake.KVArgsRegisterInfo)  # without importing this module

Rules:

* Hypothesis loads this module wherever it is installed (its entry point), so importing it
  imports nothing else of pdwire. Names are fetched when they are asked for; a generated
  class is registered when it comes into being, or here if it is there already.
* Needs the extra ``strategies``; nothing of the package's runtime imports it.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pdwire.strategies.drawn import Example, examples, frames, messages
    from pdwire.strategies.faults import Faulty, faulty_frames
    from pdwire.strategies.mutated import mutations

__all__ = ["Example", "Faulty", "examples", "faulty_frames", "frames", "messages", "mutations"]

_HOMES: Final = {
    "Example": "drawn",
    "examples": "drawn",
    "frames": "drawn",
    "messages": "drawn",
    "Faulty": "faults",
    "faulty_frames": "faults",
    "mutations": "mutated",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever is asked for
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def register(cls: type) -> None:
    """Let ``from_type`` know a generated class; nothing is drawn or loaded yet."""
    if not cls.__module__.startswith("pdwire.wire."):
        return
    from hypothesis import strategies as st  # noqa: PLC0415 - loaded only where it is in use

    def resolve(thing: Any) -> Any:  # noqa: ANN401 - Hypothesis' own shape
        drawn = importlib.import_module(f"{__name__}.drawn")
        return drawn.newest(thing)

    st.register_type_strategy(cls, resolve)


def _register_known() -> None:
    """The classes that were there before."""
    codec = sys.modules.get("pdwire.codec")
    message = getattr(codec, "Message", None)
    for cls in [] if message is None else message.__subclasses__():
        if "__dataclass_fields__" in vars(cls):
            register(cls)


_register_known()
