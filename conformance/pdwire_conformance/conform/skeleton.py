"""``--write-known``: what failed, as a list to be read, explained and kept.

Rules:

* An entry is one kind of failure (what the testee did, and what the case did to the frames)
  in one set of targets and releases; kinds that are found at the very same places are one
  entry. Its reason is ``TODO``, which no run accepts.
* A glob stands for its cases only where it matches nothing else that ran, and those that
  take in most come first. What remains is listed by slug.
* A range of releases goes on over one in which a case does not apply, never over one in
  which it passes or that was not run.
* What is listed already is not written again.
"""

from __future__ import annotations

import json
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pdwire.wire.table import ORDER

from .events import CaseEvent, Event, Verdict
from .kin import globs, is_derived, place_of, what_of
from .known_file import SCHEMA
from .slugs import Slugs

__all__ = ["skeleton"]

_RELEASE: Final = "sglang=="
_NEW: Final = (Verdict.FAILED, Verdict.ERROR)
_HEAD: Final = f"""\
# Known failures: look at each, say why, and keep what is a fact about the testee.
schema = "{SCHEMA}"
"""

Point = tuple[str, str]
"""A target and a release."""
Key = tuple[str, "_Scope", str]
"""What is told together: what the testee did, where that holds, and what was done to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """Where an entry holds, as it is written, and the points that this means."""

    targets: tuple[str, ...]
    releases: tuple[str, ...]
    points: frozenset[Point]


class _Ran:
    """What ran where and how it ended, by slug."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.points: dict[str, set[Point]] = defaultdict(set)
        self.bad: dict[str, dict[Point, CaseEvent]] = defaultdict(dict)
        for event in events:
            if isinstance(event, CaseEvent) and event.verdict is not Verdict.SKIPPED:
                point = (event.target, event.release)
                self.points[event.slug].add(point)
                if event.verdict in _NEW:
                    self.bad[event.slug][point] = event
        self.slugs = Slugs(self.points)
        self.all = frozenset(point for points in self.points.values() for point in points)
        bare = {target.removeprefix(_RELEASE) for target, _ in self.all}
        self.released = [release for release in ORDER if release in bare]


def skeleton(events: Sequence[Event]) -> str:
    """The list, as TOML; without an entry when nothing new failed."""
    ran = _Ran(events)
    groups: dict[Key, dict[str, CaseEvent]] = defaultdict(dict)
    for slug, bad in ran.bad.items():
        for scope in _scopes(ran, slug, frozenset(bad)):
            event = next(bad[point] for point in bad if point in scope.points)
            groups[_did(event), scope, what_of(slug)][slug] = event
    merged: dict[Key, dict[str, CaseEvent]] = defaultdict(dict)
    for (did, scope, what), found in groups.items():
        merged[did, scope, _where(what, found)] |= found
    entries = [
        _entry(ran, did, scope, found) for (did, scope, _), found in _in_order(merged.items())
    ]
    return "\n".join([_HEAD, *entries])


def _where(what: str, found: Iterable[str]) -> str:
    """Kinds of fault that the testee takes at the very same places are told together."""
    if not all(map(is_derived, found)):
        return what
    return f"{what.partition('-')[0]} {sorted(map(place_of, found))}"


def _in_order(
    groups: Iterable[tuple[Key, dict[str, CaseEvent]]],
) -> list[tuple[Key, dict[str, CaseEvent]]]:
    """By what the testee did, then by the first slug."""
    return sorted(groups, key=lambda group: (group[0][0], min(group[1])))


def _did(event: CaseEvent) -> str:
    """What the testee did, in a few words."""
    if event.verdict is Verdict.ERROR:
        return "it breaks the protocol"
    refused = event.came.startswith("an error")
    if event.expected.startswith(("a refusal", "an error")):
        return "it refuses, and says something else" if refused else "it takes what is refused"
    return "it refuses what is right" if refused else "it gives something else"


def _scopes(ran: _Ran, slug: str, bad: frozenset[Point]) -> Iterator[_Scope]:
    """All ``sglang==`` targets together, every other target for itself."""
    good = ran.points[slug] - bad
    ours = {point for point in bad if point[0].startswith(_RELEASE)}
    if ours:
        yield _released(ran, good, {release for _, release in ours})
    for target in dict.fromkeys(target for target, _ in bad - ours):
        failing = [each for each in ORDER if (target, each) in bad]
        passing = any(point[0] == target for point in good)
        told = tuple(_ranges(failing, ORDER)) if passing else ()
        points = {
            point for point in ran.all if point[0] == target and (not told or point[1] in failing)
        }
        yield _Scope(targets=(target,), releases=told, points=frozenset(points))


def _released(ran: _Ran, good: set[Point], failing: set[str]) -> _Scope:
    passing = {release for target, release in good if target.startswith(_RELEASE)}
    taken = [
        release
        for stretch in _stretches(ran.released, passing)
        if failing & {*stretch}
        for release in stretch
    ]
    points = frozenset((f"{_RELEASE}{release}", release) for release in taken)
    targets = tuple(f"{_RELEASE}{told}" for told in _ranges(taken, ORDER))
    return _Scope(targets=targets, releases=(), points=points)


def _stretches(released: Sequence[str], passing: set[str]) -> Iterator[list[str]]:
    """Runs of releases between passing ones."""
    found = list[str]()
    for release in released:
        if release in passing:
            yield found
            found = []
        else:
            found.append(release)
    yield found


def _ranges(releases: Sequence[str], order: Sequence[str]) -> Iterator[str]:
    """``A..B`` for neighbours in ``order``, ``A`` for one alone."""
    at = 0
    while at < len(releases):
        first = order.index(releases[at])
        last = at
        while last + 1 < len(releases) and releases[last + 1] == order[first + last + 1 - at]:
            last += 1
        yield releases[at] if last == at else f"{releases[at]}..{releases[last]}"
        at = last + 1


def _entry(ran: _Ran, did: str, scope: _Scope, found: dict[str, CaseEvent]) -> str:
    slug = min(found)
    whats = ", ".join(sorted({what_of(slug) for slug in found}))
    example = found[slug]
    lines = [
        f"# {len(found)} {'case' if len(found) == 1 else 'cases'}: {did}.",
        *textwrap.wrap(whats, 96, initial_indent="# ", subsequent_indent="#   "),
        f"# {slug}",
        f"#   expected {_short(example.expected or 'an answer')}",
        f"#   came     {_short(example.came or example.reason)}",
        "[[known]]",
        f"targets = {_texts(scope.targets)}",
        *([f"releases = {_texts(scope.releases)}"] if scope.releases else []),
        f"cases = {_texts(sorted(_names(ran, scope, found)))}",
        'reason = "TODO"',
    ]
    return "\n".join(lines) + "\n"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return "".join(char if char.isprintable() else "?" for char in line)[:100]


def _texts(texts: Sequence[str]) -> str:
    told = [json.dumps(text, ensure_ascii=False) for text in texts]
    if len(told) == 1:
        return f"[{told[0]}]"
    return "[\n" + "".join(f"    {each},\n" for each in told) + "]"


def _names(ran: _Ran, scope: _Scope, found: dict[str, CaseEvent]) -> Iterator[str]:
    """Few globs that match these slugs and no other that ran, then the slugs that remain."""
    taken: dict[str, set[str]] = {}
    for glob in dict.fromkeys(glob for slug in found for glob in globs(slug)):
        here = {slug for slug in ran.slugs.matching(glob) if ran.points[slug] & scope.points}
        if len(here) > 1 and here <= found.keys():
            taken[glob] = here
    left = {*found}
    while glob := max(taken, key=lambda glob: len(taken[glob] & left), default=""):
        gained = taken.pop(glob) & left
        if len(gained) < 2:
            break
        yield glob
        left -= gained
    yield from left
