"""The earliest deadline of many, so that a tick with nothing due costs one comparison."""

from __future__ import annotations

import math

__all__ = ["NEVER", "Alarm"]

NEVER = math.inf


class Alarm:
    """Remembers a moment at or before the earliest deadline; never one behind it.

    A deadline that moved away leaves an early alarm, and the look-around it causes finds
    nothing: cheaper than a heap that must be told of every move.
    """

    __slots__ = ("_at",)

    def __init__(self) -> None:
        self._at = NEVER

    def set(self, due: float) -> float:
        """Ring no later than ``due``; gives it back."""
        self._at = min(self._at, due)
        return due

    def rings(self, now: float) -> bool:
        """Whether something may be due. The caller then sets every deadline again."""
        if now < self._at:
            return False
        self._at = NEVER
        return True
