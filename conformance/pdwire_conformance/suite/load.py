"""All cases of the suite: those that follow from the spec, and those that people wrote."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

from .case import Case
from .derived.derive import derive

__all__ = ["cases"]


@cache
def cases() -> tuple[Case, ...]:
    """Every case, sorted by slug; ``ValueError`` names a slug that two cases have."""
    found = sorted(derive(), key=lambda case: case.slug)
    for one, other in pairwise(found):
        if one.slug == other.slug:
            raise ValueError(f"two cases are called {one.slug}: {one.origin}, {other.origin}")
    return tuple(found)
