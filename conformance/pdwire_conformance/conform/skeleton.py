"""``--write-known``: what failed, as a list to be read, explained and kept.

Rules:

* An entry is one kind of failure (what the testee did, and what the case did to the frames)
  in one set of targets and releases. Its reason is ``TODO``, which no run accepts.
* A glob stands for its cases only where it matches nothing else that ran, the coarsest that
  does: of everything, of a message, of a backend and so on. What remains is listed by slug.
* A range of releases goes on over one in which a case does not apply, never over one in
  which it passes or that was not run.
* What is listed already is not written again.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pdwire.wire.table import ORDER

from .events import CaseEvent, Event, Verdict
from .known_file import SCHEMA
from .select import matches

__all__ = ["skeleton"]

_RELEASE: Final = "sglang=="
_NEW: Final = (Verdict.FAILED, Verdict.ERROR)
_HEAD: Final = f"""\
# Known failures: look at each, say why, and keep what is a fact about the testee.
schema = "{SCHEMA}"
"""

_KEPT: Final = ((), (1,), (0,), (0, 1), (1, 2), (0, 1, 2), (1, 2, 3))
"""Parts of a derived slug (backend, message, layout, what) that a glob keeps, coarsest first."""

Point = tuple[str, str]
"""A target and a release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """Where an entry holds, as it is written, and the points that this means."""

    targets: tuple[str, ...]
    releases: tuple[str, ...]
    points: frozenset[Point]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """What is told together."""

    what: str
    """The slug's last part with ``*`` for numbers."""
    did: str


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
        self.all = frozenset(point for points in self.points.values() for point in points)
        bare = {target.removeprefix(_RELEASE) for target, _ in self.all}
        self.released = [release for release in ORDER if release in bare]


def skeleton(events: Sequence[Event]) -> str:
    """The list, as TOML; without an entry when nothing new failed."""
    ran = _Ran(events)
    groups: dict[tuple[_Kind, _Scope], dict[str, CaseEvent]] = defaultdict(dict)
    for slug, bad in ran.bad.items():
        for scope in _scopes(ran, slug, frozenset(bad)):
            event = next(bad[point] for point in bad if point in scope.points)
            groups[_kind(event), scope][slug] = event
    ordered = sorted(groups.items(), key=lambda group: (group[0][0].did, group[0][0].what))
    return "\n".join([_HEAD, *(_entry(ran, *key, found) for key, found in ordered)])


def _kind(event: CaseEvent) -> _Kind:
    return _Kind(what=_starred(event.slug.rpartition("/")[2]), did=_did(event))


def _starred(part: str) -> str:
    return re.sub(r"\d+", "*", part)


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


def _entry(ran: _Ran, kind: _Kind, scope: _Scope, found: dict[str, CaseEvent]) -> str:
    example = next(iter(found.values()))
    lines = [
        f"# {len(found)} {'case' if len(found) == 1 else 'cases'}: {kind.did}.",
        f"# {example.slug}",
        f"#   expected {_short(example.expected or 'an answer')}",
        f"#   came     {_short(example.came or example.reason)}",
        "[[known]]",
        f"targets = {_texts(scope.targets)}",
        *([f"releases = {_texts(scope.releases)}"] if scope.releases else []),
        f"cases = {_texts(list(_names(ran, scope, found)))}",
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
    """Globs that match these slugs and no other that ran, then the slugs that remain."""
    left = dict.fromkeys(sorted(found))
    for kept in _KEPT:
        for glob in dict.fromkeys(filter(None, (_glob(slug, kept) for slug in left))):
            about = [slug for slug in ran.points if matches(glob, slug)]
            here = [slug for slug in about if ran.points[slug] & scope.points]
            if len(here) > 1 and all(slug in found for slug in here):
                yield glob
                left = {slug: None for slug in left if not matches(glob, slug)}
    yield from left


def _glob(slug: str, kept: tuple[int, ...]) -> str:
    """The glob of a derived case's kin; empty for a case that a person wrote."""
    parts = slug.split("/")
    if len(parts) != 4:
        return ""
    head = [part if at in kept else "*" for at, part in enumerate(parts[:3])]
    return "/".join([*head, parts[3] if 3 in kept else _starred(parts[3])])
