"""Which cases are kin, by their slugs alone, and the globs that take in kin.

A derived slug is ``backend/message/layout/what``. What was done is ``place-fault``:
``frame-14-width`` and ``key-dp_rank-above`` are done to frame 14 and to key ``dp_rank``. A
written slug is ``family/subject``, with the backend behind it where there are several.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

__all__ = ["globs", "is_derived", "place_of", "what_of"]

_HEADS: Final = ((), (1,), (0,), (0, 1), (1, 2), (0, 1, 2))
"""Of backend, message and layout those that a glob keeps, coarsest first."""
_PLACE: Final = re.compile(r"(frame|key|field|derived|invariant-[a-z]+|peer-[a-z]+)-[^-]+")


def is_derived(slug: str) -> bool:
    """Whether a case follows from the spec."""
    return slug.count("/") == 3


def what_of(slug: str) -> str:
    """What was done: ``frame-*-width``, ``key-*-above``; of a written case, its subject."""
    if is_derived(slug):
        return _anywhere(slug.rpartition("/")[2])
    return "/".join(slug.split("/")[:2])


def place_of(slug: str) -> str:
    """Where it was done: the layout and the frame, key or field."""
    head, _, last = slug.rpartition("/")
    found = _PLACE.match(last)
    return f"{head}/{found[0]}" if found else head


def globs(slug: str) -> Iterator[str]:
    """Globs that match a case and its kin, the coarsest first."""
    parts = slug.split("/")
    if is_derived(slug):
        for last in (_anywhere, _starred, _numbered, str):
            for kept in _HEADS:
                head = [part if at in kept else "*" for at, part in enumerate(parts[:3])]
                yield "/".join([*head, last(parts[3])])
    elif len(parts) == 3:
        yield f"{parts[0]}/{parts[1]}/*"


def _starred(part: str) -> str:
    """``frame-14-width`` -> ``frame-*-width``."""
    return re.sub(r"\d+", "*", part)


def _numbered(part: str) -> str:
    """``frame-14-width`` -> ``frame-[0-9][0-9]-width``: that, and no word more."""
    return re.sub(r"\d", "[0-9]", part)


def _anywhere(part: str) -> str:
    """``key-dp_rank-above`` -> ``key-*-above``."""
    return _starred(_PLACE.sub(r"\1-*", part))
