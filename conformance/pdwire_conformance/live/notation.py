"""Placeholders in the steps of a live case.

Rules: ``${name}`` stands for a value that only the running case knows: the number of a room,
the address of the peer that the suite plays. A text that is nothing but a placeholder keeps
the value's type. Frames are in the notation of :mod:`pdwire_conformance.suite.notation`, read
when their placeholders are filled.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from pdwire_conformance.suite.notation import NotationError, frame_of

__all__ = ["Value", "filled", "framed"]

Value: TypeAlias = Any
"""A value of a script: text, a number, a truth value, a list, or a table of them."""

_PLACE: Final = re.compile(r"\$\{([A-Za-z_.0-9]+)\}")


def filled(value: Value, known: Callable[[str], Value]) -> Value:
    """The value with every placeholder replaced, in lists and tables as well.

    ``known`` gives a placeholder's value; ``KeyError`` from it becomes
    :class:`NotationError`.
    """
    if isinstance(value, str):
        return _text(value, known)
    if isinstance(value, list | tuple):
        return [filled(item, known) for item in value]
    if isinstance(value, dict):
        return {name: filled(item, known) for name, item in value.items()}
    return value


def _text(text: str, known: Callable[[str], Value]) -> Value:
    def of(name: str) -> Value:
        try:
            return known(name)
        except KeyError:
            raise NotationError(f"no placeholder ${{{name}}} here, in {text!r}") from None

    whole = _PLACE.fullmatch(text)
    if whole is not None:
        return of(whole[1])
    return _PLACE.sub(lambda found: str(of(found[1])), text)


def framed(value: Value) -> bytes:
    """The bytes of one frame whose placeholders are filled: a number is its digits.

    Raises:
        NotationError: a form that is begun and cannot be read.
    """
    return frame_of(str(value))
