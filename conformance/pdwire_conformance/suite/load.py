"""All cases of the suite: those that follow from the spec, and those that people wrote."""

from __future__ import annotations

import gc
from functools import cache
from itertools import pairwise

from pdwire_conformance.live.load import live_cases

from .case import Case
from .derived.derive import derive
from .written import written_cases

__all__ = ["cases"]


@cache
def cases() -> tuple[Case, ...]:
    """Every case, sorted by slug.

    Raises:
        ValueError: two cases have one slug, or a file of cases cannot be read.
    """
    collects = gc.isenabled()
    gc.disable()  # tens of thousands of small objects that all stay: there is nothing to find
    try:
        found = sorted((*derive(), *written_cases(), *live_cases()), key=lambda case: case.slug)
    finally:
        if collects:
            gc.enable()
    for one, other in pairwise(found):
        if one.slug == other.slug:
            raise ValueError(f"two cases are called {one.slug}: {one.origin}, {other.origin}")
    return tuple(found)
