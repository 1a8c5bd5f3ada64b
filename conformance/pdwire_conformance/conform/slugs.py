"""Which of the suite's slugs a glob matches, quickly: tens of thousands meet hundreds of globs.

Rules: a glob is over the whole slug, case counts, and ``*`` crosses ``/``. Only slugs that
begin and end as the glob's literal ends do are tried.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from fnmatch import fnmatchcase, translate
from typing import Final

from pdwire.cli.console import did_you_mean

__all__ = ["Slugs", "is_plain", "matches"]

_WILD: Final = re.compile(r"[*?\[]")
_LAST: Final = "\U0010ffff"
_COMPARED: Final = 3_000


def matches(glob: str, slug: str) -> bool:
    """Whether a glob, or a plain slug, names a slug."""
    return fnmatchcase(slug, glob)


def is_plain(glob: str) -> bool:
    """Whether it is a slug, with no wildcard in it."""
    return _WILD.search(glob) is None


class Slugs:
    """Some slugs, to be asked about many globs."""

    def __init__(self, slugs: Iterable[str]) -> None:
        self._ahead = sorted(slugs)
        self._back = sorted(slug[::-1] for slug in self._ahead)
        self._known: dict[str, tuple[str, ...]] = {}

    def matching(self, glob: str) -> tuple[str, ...]:
        """The slugs that the glob matches, sorted."""
        if glob not in self._known:
            takes = re.compile(translate(glob)).match
            self._known[glob] = tuple(sorted(filter(takes, self._near(glob))))
        return self._known[glob]

    def hint(self, slug: str) -> str:
        """``; did you mean 'x'?`` where a slug that begins alike comes close.

        Comparing with all of them would take a second for each misspelled one.
        """
        head = slug
        while head:
            head = head.rpartition("/")[0]
            about = _stretch(self._ahead, head)
            if about and len(about) <= _COMPARED:
                if told := did_you_mean(slug, about):
                    return told
            elif about:
                return ""
        return ""

    def _near(self, glob: str) -> list[str]:
        """Those that begin as the glob does, or end as it does: whichever are fewer."""
        head = _WILD.split(glob, maxsplit=1)[0]
        tail = re.split(r"[*?\[\]]", glob)[-1]
        ahead = _stretch(self._ahead, head)
        back = _stretch(self._back, tail[::-1])
        return ahead if len(ahead) <= len(back) else [slug[::-1] for slug in back]


def _stretch(ordered: list[str], start: str) -> list[str]:
    return ordered[bisect_left(ordered, start) : bisect_left(ordered, start + _LAST)]
