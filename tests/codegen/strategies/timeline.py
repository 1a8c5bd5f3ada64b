"""Releases, backends, and who speaks which layout when.

Rules: every release of every backend is in exactly one layout or absent; each layout is
spoken by somebody; whoever still has the message in the newest release speaks one layout.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from tests.codegen.strategies import words

Table = dict[str, Any]

ROOTS = ("alpha", "beta", "gamma")
HEIR = "omega"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Releases in order, and for each backend in files the index of its first one."""

    releases: tuple[str, ...]
    since: dict[str, int]
    heir: tuple[str, int] | None
    docs: st.SearchStrategy[str]

    def protocol(self, draw: st.DrawFn) -> Table:
        """``protocol.toml``."""
        backends = {
            name: {"doc": draw(self.docs), "since": self.releases[first]}
            for name, first in self.since.items()
        }
        if self.heir is not None:
            parent, first = self.heir
            backends[HEIR] = {
                "doc": draw(self.docs),
                "since": self.releases[first],
                "inherits": parent,
            }
        return {"releases": list(self.releases), "backend": backends}


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """Which releases (and, where not all, which backends) speak each layout."""

    layouts: list[Table] = field(default_factory=list)
    absent: dict[str, Table] = field(default_factory=dict)


@st.composite
def worlds(draw: st.DrawFn, docs: st.SearchStrategy[str]) -> World:
    """Some releases and backends."""
    count = draw(st.integers(1, 6))
    names = ["0.5.6", "0.5.6.post1", "0.5.7", "0.5.10", "1.0", "1.0.post2"][:count]
    roots = ROOTS[: draw(st.integers(1, 3))]
    since = {name: draw(st.integers(0, count - 1)) for name in roots}
    heir = None
    if draw(st.booleans()):
        parent = draw(st.sampled_from(roots))
        heir = (parent, draw(st.integers(since[parent], count - 1)))
    return World(releases=tuple(names), since=since, heir=heir, docs=docs)


@st.composite
def speeches(draw: st.DrawFn, world: World, backends: tuple[str, ...]) -> Speech:
    """Who speaks what: older layouts by group of backends, a shared one behind them."""
    count = len(world.releases)
    shared = draw(st.integers(0, count - 1))
    gone = draw(st.sampled_from([count, count, draw(st.integers(shared + 1, count))]))
    if not any(world.since[name] < gone for name in backends):
        gone = count
    speech = Speech()
    silent: dict[str, set[int]] = {name: set(range(gone, count)) for name in backends}
    for group in draw(_groups(backends)):
        own = draw(st.lists(st.integers(0, 2), min_size=shared, max_size=shared))
        for which in sorted(set(own)):
            spoken = [place for place in range(shared) if own[place] == which]
            if which == 2:
                for name in group:
                    silent[name] |= set(spoken)
            elif any(place >= world.since[name] for place in spoken for name in group):
                speech.layouts.append(_layout(draw, world, spoken, group, backends))
    last = list(range(shared, gone))
    speech.layouts.append(_layout(draw, world, last, backends, backends))
    for name, places in silent.items():
        having = sorted(place for place in places if place >= world.since[name])
        if having:
            why = {"why": draw(world.docs)}
            speech.absent[name] = {"releases": draw(_written(world, having)), **why}
    return speech


@st.composite
def _groups(draw: st.DrawFn, backends: tuple[str, ...]) -> list[tuple[str, ...]]:
    if len(backends) == 1 or draw(st.booleans()):
        return [backends]
    cut = draw(st.integers(1, len(backends) - 1))
    return [backends[:cut], backends[cut:]]


def _layout(
    draw: st.DrawFn,
    world: World,
    places: list[int],
    group: tuple[str, ...],
    backends: tuple[str, ...],
) -> Table:
    layout: Table = {"releases": draw(_written(world, places)), "doc": draw(world.docs)}
    if group != backends:
        layout["backends"] = list(group)
    if draw(st.integers(0, 4)) == 0:
        layout["notes"] = [draw(world.docs)]
    if draw(st.integers(0, 4)) == 0:
        layout["unverified"] = draw(world.docs)
    return layout


@st.composite
def _written(draw: st.DrawFn, world: World, places: list[int]) -> list[str]:
    """A list of releases, runs written as ranges now and then."""
    runs: list[list[int]] = []
    for place in places:
        if runs and runs[-1][-1] == place - 1 and draw(st.booleans()):
            runs[-1].append(place)
        else:
            runs.append([place])
    ends = [(world.releases[run[0]], world.releases[run[-1]]) for run in runs]
    return [first if first == last else f"{first}..{last}" for first, last in ends]


def names_of(count: int) -> st.SearchStrategy[list[str]]:
    """Field names, none twice."""
    return st.lists(words.field_names, unique=True, min_size=count, max_size=count)
