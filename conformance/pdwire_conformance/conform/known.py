"""Lists of what is known to fail, and of what is known to be flaky.

A list is TOML (``docs/schema/known.schema.json``)::

    schema = "pdwire.known/1"

    [[known]]
    targets = ["sglang==0.5.6..0.5.23"]
    cases   = ["mooncake/TransferInfo/*/frame-*-plus-sign", "values/room-minus-zero"]
    reason  = "int() takes a sign"
    link    = "https://…"
    expires = 2027-06-01

    [[flaky]]
    cases       = ["sockets/slow-reader"]
    repetitions = 3
    reason      = "…"

Rules:

* ``cases`` are slugs or globs. Each must match a case that applies to the target, and every
  case that it matches must fail: a pass is an error, so that a list shrinks with the faults.
  Filters make no entry wrong, because they are not asked.
* ``targets`` (default: every target) and ``releases`` (default: every release) narrow an
  entry; ``A..B`` names the releases from A to B, both included.
* A reason says something: ``TODO`` is what a skeleton says, and is refused.
* An entry that has expired still excuses, and is an error itself.
* ``flaky``: a case may fail, and is asked up to ``repetitions`` times for a pass.
* The lists in the folder ``known/`` beside this module are always read; every entry there
  says which targets it is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from importlib.resources import files
from pathlib import Path

from pdwire.cli.console import did_you_mean
from pdwire_conformance.suite.case import Case

from .known_file import Entry, KnownError, Name, read
from .select import Item, Releases, applicable, matches

__all__ = ["Entry", "Known", "KnownError", "Name", "load", "packaged"]


class Known:
    """The entries that are about one target."""

    def __init__(self, entries: Iterable[Entry] = (), target: str = "") -> None:
        self.entries = tuple(entry for entry in entries if entry.is_about(target))
        self._plain: dict[str, list[Entry]] = {}
        self._globs: list[tuple[str, Entry]] = []
        for entry in self.entries:
            for name in entry.names:
                if name.is_plain:
                    self._plain.setdefault(name.glob, []).append(entry)
                else:
                    self._globs.append((name.glob, entry))

    def find(self, item: Item) -> Entry | None:
        """The entry that names an item; a plain slug goes before a glob."""
        slug = item.case.slug
        named = (
            *self._plain.get(slug, ()),
            *(entry for glob, entry in self._globs if matches(glob, slug)),
        )
        return next((entry for entry in named if entry.names_release(item.release)), None)

    def problems(self, cases: Sequence[Case], releases: Releases, today: date) -> list[str]:
        """What is wrong with the list itself, whatever was selected.

        ``cases`` is the whole suite, ``releases`` what the target has.
        """
        by_slug = {case.slug: case for case in cases}
        return [
            problem
            for entry in self.entries
            for problem in (*_expired(entry, today), *_unmatched(entry, by_slug, releases))
        ]


def load(paths: Iterable[Path]) -> tuple[Entry, ...]:
    """The entries of some files; :class:`KnownError` tells every fault, with its line."""
    return tuple(entry for path in paths for entry in _read(path))


def _read(path: Path) -> tuple[Entry, ...]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise KnownError([f"{path}: cannot be read: {fault}"]) from fault
    return read(str(path), text)


def packaged() -> tuple[Entry, ...]:
    """The entries that come with the suite."""
    folder = files(__package__).joinpath("known")
    return tuple(
        entry
        for each in sorted(folder.iterdir(), key=lambda each: each.name)
        if each.name.endswith(".toml")
        for entry in read(f"known/{each.name}", each.read_text("utf-8"), need_targets=True)
    )


def _expired(entry: Entry, today: date) -> Iterator[str]:
    if entry.expires is not None and entry.expires < today:
        yield f"{entry.place}: expired on {entry.expires}: look again, or move the date"


def _unmatched(entry: Entry, suite: Mapping[str, Case], releases: Releases) -> Iterator[str]:
    for name in entry.names:
        about = _named(name, suite)
        if not about:
            hint = did_you_mean(name.glob, suite) if name.is_plain else ""
            yield f"{entry.file}:{name.line}: no case is called {name.glob!r}{hint}"
        elif not any(map(entry.names_release, _releases(about, entry, releases))):
            yield (
                f"{entry.file}:{name.line}: {name.glob!r} names cases, but none at a release "
                "that the entry is about"
            )


def _named(name: Name, suite: Mapping[str, Case]) -> list[Case]:
    if name.is_plain:
        return [suite[name.glob]] if name.glob in suite else []
    return [case for slug, case in suite.items() if matches(name.glob, slug)]


def _releases(about: list[Case], entry: Entry, releases: Releases) -> Iterator[str]:
    """The releases that an entry could excuse: its targets' own where it has a range."""
    for case in about:
        yield from entry.span & {*case.releases} if entry.span else applicable(case, releases)
