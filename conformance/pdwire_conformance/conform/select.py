"""Which cases run, and at which release: pure.

Rules:

* Filters narrow and never widen; a case must meet every filter that is given, and one of
  the words of each.
* A case runs at the newest release that both it and the testee have; at each of the
  releases that are named, where releases are named; at all of them with ``every_release``.
  What needs no release to be read (``recognise``) runs once all the same, at the newest.
* A case that shares no backend and no release with the testee does not apply to it and is
  not part of the run; nor is one about what the testee does not claim (a backend, message,
  operation or role). Those are counted. What it claims and cannot be asked after all is run
  and skipped, with the reason.
* Codec cases come first, in the suite's order; then live ones, those of one role, backend
  and release together, because they share a running rank, and of these those that need the
  same of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

from pdwire.wire.table import ORDER
from pdwire_conformance.suite.case import Case, Live, Recognise, Role
from pdwire_conformance.testees.protocol import Hello

from .judge import unasked
from .slugs import matches

__all__ = ["Filters", "Item", "Selection", "applicable", "scheduled", "selection"]

Releases = Mapping[str, Sequence[str]]
"""Backend -> releases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What was asked for; an empty tuple asks for everything."""

    cases: tuple[str, ...] = ()
    """Globs over whole slugs."""
    levels: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    every_release: bool = False

    def take(self, case: Case) -> bool:
        """Whether a case meets every filter."""
        return (
            (not self.cases or any(matches(glob, case.slug) for glob in self.cases))
            and (not self.levels or case.level in self.levels)
            and (not self.roles or case.role in self.roles)
            and (not self.backends or case.backend in self.backends)
            and (not self.releases or bool({*case.releases} & {*self.releases}))
            and (not self.messages or case.message in self.messages)
        )

    def as_json(self) -> dict[str, object]:
        """Those that were given."""
        given = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in given
            if value
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One case at one release: what is asked, judged and reported."""

    case: Case
    release: str

    @property
    def id(self) -> str:
        """``slug@release``."""
        return f"{self.case.slug}@{self.release}"


def applicable(case: Case, releases: Releases) -> tuple[str, ...]:
    """The releases of a case that a testee has, oldest first."""
    has = frozenset(releases.get(case.backend, ()))
    return tuple(release for release in case.releases if release in has)


def scheduled(cases: Iterable[Case], releases: Releases, filters: Filters) -> tuple[Item, ...]:
    """What runs against a testee that has these releases, in the order of the report."""
    chosen = (
        Item(case=case, release=release)
        for case in cases
        if filters.take(case)
        for release in _chosen(case, applicable(case, releases), filters)
    )
    return tuple(sorted(chosen, key=_place))  # stable: the suite's order within a place


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What runs, and how many cases that meet the filters are about what is not claimed."""

    items: tuple[Item, ...]
    unclaimed: int


def selection(cases: Sequence[Case], hello: Hello, filters: Filters) -> Selection:
    """What of the suite is put to a testee that says this of itself."""
    foreign = {case.slug for case in cases if filters.take(case) and unasked(case, hello)}
    items = scheduled(cases, hello.releases, filters)
    return Selection(
        items=tuple(item for item in items if item.case.slug not in foreign),
        unclaimed=len(foreign),
    )


def _chosen(case: Case, has: tuple[str, ...], filters: Filters) -> Iterator[str]:
    if filters.releases:
        yield from (release for release in has if release in filters.releases)
    elif filters.every_release and not isinstance(case.check, Recognise):
        yield from has
    elif has:
        yield has[-1]


def _place(item: Item) -> tuple[int, str, int, list[str]]:
    case = item.case
    if not isinstance(case.check, Live):
        return (0, "", 0, [])
    rank = (list(Role).index(case.role), case.backend, ORDER.index(item.release))
    return (*rank, sorted(case.check.needs))
