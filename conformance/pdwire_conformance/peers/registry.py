"""How an adapter says what it can make a release encode or decode.

An adapter is a factory, called once per process with the loaded release::

    @encodes("mooncake", "TransferInfo")
    def transfer_info(peer: LoadedRelease) -> Encoder: ...


    @decodes("mooncake", "TransferInfo")
    def transfer_info(peer: LoadedRelease) -> Decoder: ...

It raises :class:`~.errors.Unavailable` with the reason when the release has no such
code. Work is split so that the release's own time can be measured: ``prepare`` builds
what the real code needs and returns a call without arguments that runs *only* the real
code; ``read`` names the fields of what the real decoder made.

Every module of the ``adapters`` package is imported by :func:`registered`; a new one
needs no entry anywhere.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .loader import LoadedRelease

Values = dict[str, Any]
Frames = list[bytes]
Direction = Literal["encode", "decode"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """``prepare(values)`` gives a call that makes the real code send; it returns frames.

    ``timed(values, number)`` gives a call that encodes ``number`` times with as little
    besides the real code as can be. Without it ``prepare`` is timed.
    """

    prepare: Callable[[Values], Callable[[], Sequence[bytes]]]
    timed: Callable[[Values, int], Callable[[], Any]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoder:
    """``prepare(frames)`` gives a call that runs the real decoder; ``read`` its values.

    ``timed(frames, number)`` is for decoders that cannot be called alone (a receive
    loop, a handler that goes on to act): it gives a call that decodes ``number`` times
    with as little besides the real code as can be. Without it ``prepare`` is timed.
    """

    prepare: Callable[[Frames], Callable[[], Any]]
    read: Callable[[Any], Values]
    timed: Callable[[Frames, int], Callable[[], Any]] | None = None


EncoderFactory = Callable[[LoadedRelease], Encoder]
DecoderFactory = Callable[[LoadedRelease], Decoder]
Key = tuple[str, str, Direction]

_TABLE: dict[Key, EncoderFactory | DecoderFactory] = {}


def encodes(backend: str, message: str) -> Callable[[EncoderFactory], EncoderFactory]:
    """Register the factory of the real encoder of ``message`` in ``backend``."""

    def register(factory: EncoderFactory) -> EncoderFactory:
        _add((backend, message, "encode"), factory)
        return factory

    return register


def decodes(backend: str, message: str) -> Callable[[DecoderFactory], DecoderFactory]:
    """Register the factory of the real decoder of ``message`` in ``backend``."""

    def register(factory: DecoderFactory) -> DecoderFactory:
        _add((backend, message, "decode"), factory)
        return factory

    return register


def registered() -> Mapping[Key, EncoderFactory | DecoderFactory]:
    """Every factory of every adapter, by backend, message and direction."""
    from . import adapters

    for module in pkgutil.iter_modules(adapters.__path__):
        importlib.import_module(f"{adapters.__name__}.{module.name}")
    return dict(sorted(_TABLE.items()))


def _add(key: Key, factory: EncoderFactory | DecoderFactory) -> None:
    if key in _TABLE:
        raise ValueError(f"two adapters for {' '.join(key)}")
    _TABLE[key] = factory
