"""What there is to try: every property on every layout that the target has.

Rules:

* A layout that several backends speak is tried once, under the first of them, unless a
  backend is chosen.
* The order is fixed and the seed of a cell follows from its name, so that the same seed
  gives the same samples whatever else is tried beside it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pdwire.strategies.subjects import Subject, subjects
from pdwire_conformance.testees.protocol import Hello

from .properties import PROPERTIES

__all__ = ["Cell", "Choice", "cells", "cells_of_machines", "seed_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What of everything is wanted; empty is all."""

    backend: str = ""
    message: str = ""
    release: str = ""
    properties: tuple[str, ...] = ()
    machines: bool = False
    against: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One property on one layout, in a release; a machine has a backend and no layout."""

    prop: str
    backend: str
    release: str = ""
    subject: Subject | None = None

    @property
    def name(self) -> str:
        """``round-trip nixl/TransferInfo/r5``."""
        return f"{self.prop} {self.place}"

    @property
    def place(self) -> str:
        """``nixl/TransferInfo/r5``; of a machine the backend."""
        return self.backend if self.subject is None else self.subject.name


def cells(hello: Hello, choice: Choice) -> list[Cell]:
    """Every cell that is wanted and that the target can be asked, layouts taking turns."""
    found = [
        Cell(prop=prop, backend=subject.backend, release=release, subject=subject)
        for subject, release in _chosen(hello, choice)
        for prop in _wanted(choice)
        if _can(hello, subject, prop, choice)
    ]
    return sorted(found, key=lambda cell: zlib.crc32(cell.name.encode()))


def _wanted(choice: Choice) -> Sequence[str]:
    return choice.properties or tuple(PROPERTIES)


def _chosen(hello: Hello, choice: Choice) -> Iterator[tuple[Subject, str]]:
    seen: set[tuple[str, str]] = set()
    for subject in subjects(choice.backend or None, choice.message or None):
        known = hello.releases.get(subject.backend, ())
        spoken = [
            release
            for release in subject.codec.releases
            if release in known and choice.release in {"", release}
        ]
        key = (subject.message.key, subject.layout.id)
        if spoken and key not in seen:
            seen.add(key)
            yield subject, spoken[-1]


def _can(hello: Hello, subject: Subject, prop: str, choice: Choice) -> bool:
    known = PROPERTIES.get(prop)
    if known is None or (prop == "against" and not choice.against):
        return False
    if "recognise" in known.needs:
        return "recognise" in hello.features and subject.codec.transport == "zmq"
    return all(hello.can(subject.backend, subject.codec.message, op) for op in known.needs)


def cells_of_machines(names: Sequence[str], choice: Choice, known: Sequence[str]) -> list[Cell]:
    """The cells of machines against live managers, which have a backend each."""
    backends = [each for each in known if choice.backend in {"", each}]
    wanted = [name for name in names if not choice.properties or name in choice.properties]
    return [Cell(prop=name, backend=backend) for name in wanted for backend in backends]


def seed_of(seed: int, cell: Cell, batch: int) -> int:
    """The seed of a cell's batch."""
    return zlib.crc32(f"{seed} {cell.name} {batch}".encode())
