"""The words that choose cases, checked: the same for the verb, for pytest and for a class.

Rules:

* A word that names nothing is an error that says which word, of which option, and what there
  is. It is never a selection of nothing: that would be a green run which tests nothing.
* Levels may be written in lower case.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from pdwire.cli.console import did_you_mean
from pdwire.wire.table import ORDER
from pdwire_conformance.suite.case import Case, Level, Role

from .select import Filters
from .slugs import Slugs

__all__ = ["ALL", "OPTIONS", "AskedError", "filters_of"]

ALL: Final = "all"
"""The word for every role."""
OPTIONS: Final = ("case", "level", "role", "backend", "release", "message")
"""What can be chosen by."""


class AskedError(Exception):
    """``option`` has a word that names nothing; the text says which and what there is."""

    def __init__(self, option: str, text: str) -> None:
        super().__init__(text)
        self.option = option


def filters_of(
    asked: Mapping[str, Sequence[str]], suite: Sequence[Case], *, every_release: bool = False
) -> Filters:
    """The filters that words stand for, by option; without a role: codec cases.

    Raises:
        AskedError: a word names nothing in the suite.
    """
    told = {option: tuple(dict.fromkeys(asked.get(option, ()))) for option in OPTIONS}
    told["level"] = tuple(level.upper() for level in told["level"])
    _slugs(told["case"], suite)
    _one_of("level", told, tuple(Level))
    _one_of("role", told, (*Role, ALL))
    _one_of("backend", told, _names(each.backend for each in suite))
    _one_of("release", told, ORDER)
    _one_of("message", told, _names(each.message for each in suite))
    return Filters(
        cases=told["case"],
        levels=told["level"],
        roles=() if ALL in told["role"] else told["role"] or (Role.CODEC,),
        backends=told["backend"],
        releases=told["release"],
        messages=told["message"],
        every_release=every_release,
    )


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({*names} - {""}))


def _one_of(option: str, told: Mapping[str, Sequence[str]], known: Sequence[str]) -> None:
    for word in told[option]:
        if word not in known:
            there = ", ".join(str(name) for name in known)
            hint = did_you_mean(word, map(str, known))
            raise AskedError(option, f"no {option} {word!r}{hint} (known: {there})")


def _slugs(globs: Sequence[str], suite: Sequence[Case]) -> None:
    slugs = Slugs(case.slug for case in suite) if globs else Slugs(())
    for glob in globs:
        if not slugs.matching(glob):
            listed = "pdwire conform --list shows them all"
            raise AskedError("case", f"no case {glob!r}{slugs.hint(glob)} ({listed})")
