"""All cases that follow from the spec.

Rules: the rules are applied once per layout; a backend that speaks the same layout gets
the same cases under its own name. So a new layout, message or backend brings its cases
along without a line here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from pdwire_conformance.suite.case import Case

from . import (
    arrays,
    blobs,
    bodies,
    consts,
    counts,
    good,
    lossy,
    notifications,
    numbers,
    peers,
    queries,
    recognising,
    rules,
    swaps,
    texts,
)
from .bench import Bench
from .shelf import Shelf, shipped
from .subject import Rule, Subject

__all__ = ["BACKEND_RULES", "RULES", "derive"]

Json = dict[str, Any]

RULES: Final[tuple[Rule, ...]] = (
    *good.RULES,
    *counts.RULES,
    *consts.RULES,
    *numbers.RULES,
    *arrays.RULES,
    *blobs.RULES,
    *texts.RULES,
    *rules.RULES,
    *swaps.RULES,
    *lossy.RULES,
    *notifications.RULES,
    *bodies.RULES,
    *queries.RULES,
    *peers.RULES,
)
"""Rules that say the same of every backend."""

BACKEND_RULES: Final[tuple[Rule, ...]] = recognising.RULES
"""Rules whose cases depend on what else the backend speaks."""


def derive(shelf: Shelf | None = None) -> Iterator[Case]:
    """Every derived case of every layout and backend of a spec; default: the shipped one."""
    layouts = shipped() if shelf is None else shelf
    for at in layouts.benches:
        yield from _of_layout(at, layouts)


def _of_layout(at: Bench, shelf: Shelf) -> Iterator[Case]:
    first, *others = at.layout["speakers"]
    cases = [case for rule in RULES for case in _ruled(rule, at, shelf, first)]
    yield from cases
    for backend in others:
        for case in cases:
            yield _moved(case, backend, at)
    for backend in at.layout["speakers"]:
        for rule in BACKEND_RULES:
            yield from _ruled(rule, at, shelf, backend)


def _ruled(rule: Rule, at: Bench, shelf: Shelf, backend: str) -> Iterator[Case]:
    origin = f"derived:{rule.__module__.rpartition('.')[2]}.{rule.__name__}"
    return rule(Subject(bench=at, shelf=shelf, backend=backend, origin=origin))


def _moved(case: Case, backend: str, at: Bench) -> Case:
    """The same case of another backend that speaks the layout."""
    return replace(
        case,
        slug=f"{backend}{case.slug.removeprefix(case.backend)}",
        backend=backend,
        releases=tuple(at.layout["speakers"][backend]),
    )
