"""All cases that follow from the spec.

Rules: the rules are applied once per layout; a backend that speaks the same layout gets
the same cases under its own name. So a new layout, message or backend brings its cases
along without a line here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from pdwire_conformance.proof.spec import load_spec
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
    recognising,
    rules,
    swaps,
    texts,
)
from .bench import Bench, bench
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
    *peers.RULES,
)
"""Rules that say the same of every backend."""

BACKEND_RULES: Final[tuple[Rule, ...]] = recognising.RULES
"""Rules whose cases depend on what else the backend speaks."""


def derive() -> Iterator[Case]:
    """Every derived case of every layout and backend of the shipped spec."""
    for message in load_spec()["messages"]:
        for layout in message["layouts"]:
            yield from _of_layout(bench(message["group"], message["name"], layout["id"]))


def _of_layout(at: Bench) -> Iterator[Case]:
    first, *others = at.layout["speakers"]
    cases = [case for rule in RULES for case in _ruled(rule, at, first)]
    yield from cases
    for backend in others:
        for case in cases:
            yield _moved(case, backend, at)
    for backend in at.layout["speakers"]:
        for rule in BACKEND_RULES:
            yield from _ruled(rule, at, backend)


def _ruled(rule: Rule, at: Bench, backend: str) -> Iterator[Case]:
    module = rule.__module__.rpartition(".")[2]
    return rule(Subject(bench=at, backend=backend, origin=f"derived:{module}.{rule.__name__}"))


def _moved(case: Case, backend: str, at: Bench) -> Case:
    """The same case of another backend that speaks the layout."""
    return replace(
        case,
        slug=f"{backend}{case.slug.removeprefix(case.backend)}",
        backend=backend,
        releases=tuple(at.layout["speakers"][backend]),
    )
