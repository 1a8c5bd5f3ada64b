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

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from importlib.resources import files
from pathlib import Path

from pdwire_conformance.suite.case import Case

from .known_file import Entry, KnownError, Name, read
from .select import Item, Releases, applicable
from .slugs import Slugs, is_plain

__all__ = ["Entry", "Known", "KnownError", "Name", "elsewhere", "load", "packaged"]


class Known:
    """The entries that are about one target, and what they name in the suite."""

    def __init__(
        self, entries: Iterable[Entry] = (), target: str = "", cases: Sequence[Case] = ()
    ) -> None:
        self.entries = tuple(entry for entry in entries if entry.is_about(target))
        self._suite = {case.slug: case for case in cases} if self.entries else {}
        self._slugs = Slugs(self._suite)
        self._by_slug: dict[str, list[Entry]] = {}
        # A plain slug goes before a glob.
        for wanted in (True, False):
            for entry in self.entries:
                for name in entry.names:
                    if is_plain(name.glob) is wanted:
                        for slug in self._named(name):
                            self._by_slug.setdefault(slug, []).append(entry)

    def find(self, item: Item) -> Entry | None:
        """The entry that names an item; a plain slug goes before a glob."""
        entries = self._by_slug.get(item.case.slug, ())
        return next((entry for entry in entries if entry.names_release(item.release)), None)

    def problems(self, releases: Releases, today: date) -> list[str]:
        """What is wrong with the list itself, whatever was selected.

        ``releases`` is what the target has.
        """
        return [
            problem
            for entry in self.entries
            for problem in (*_expired(entry, today), *self._unmatched(entry, releases))
        ]

    def _named(self, name: Name) -> tuple[str, ...]:
        if is_plain(name.glob):
            return (name.glob,) if name.glob in self._suite else ()
        return self._slugs.matching(name.glob)

    def _unmatched(self, entry: Entry, releases: Releases) -> Iterator[str]:
        for name in entry.names:
            about = [self._suite[slug] for slug in self._named(name)]
            if not about:
                hint = self._slugs.hint(name.glob) if is_plain(name.glob) else ""
                yield f"{entry.file}:{name.line}: no case is called {name.glob!r}{hint}"
            elif not any(map(entry.names_release, _releases(about, entry, releases))):
                yield (
                    f"{entry.file}:{name.line}: {name.glob!r} names cases, but none at a release "
                    "that the entry is about"
                )


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


def elsewhere(entries: Iterable[Entry], targets: Sequence[str]) -> list[str]:
    """A sentence for each file none of whose entries is about one of the targets."""
    files: dict[str, list[Entry]] = {}
    for entry in entries:
        files.setdefault(entry.file, []).append(entry)
    return [
        f"{file}: no entry is about {' or '.join(targets)} (they are about {_whom(found)})"
        for file, found in files.items()
        if not any(entry.is_about(target) for entry in found for target in targets)
    ]


def _whom(entries: Iterable[Entry]) -> str:
    named = list(dict.fromkeys(target for entry in entries for target in entry.targets))
    return ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")


def _expired(entry: Entry, today: date) -> Iterator[str]:
    if entry.expires is not None and entry.expires < today:
        yield f"{entry.place}: expired on {entry.expires}: look again, or move the date"


def _releases(about: list[Case], entry: Entry, releases: Releases) -> Iterator[str]:
    """The releases that an entry could excuse: its targets' own where it has a range."""
    for case in about:
        yield from entry.span & {*case.releases} if entry.span else applicable(case, releases)
