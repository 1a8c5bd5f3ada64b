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

from . import consts, counts, good, numbers
from .bench import Bench, made
from .subject import Rule, Subject

__all__ = ["RULES", "derive"]

Json = dict[str, Any]

RULES: Final[tuple[Rule, ...]] = (
    *good.RULES,
    *counts.RULES,
    *consts.RULES,
    *numbers.RULES,
)


def derive() -> Iterator[Case]:
    """Every derived case of every layout and backend of the shipped spec."""
    for message in load_spec()["messages"]:
        for layout in message["layouts"]:
            yield from _of_layout(made(message, layout))


def _of_layout(bench: Bench) -> Iterator[Case]:
    first, *others = bench.layout["speakers"]
    cases = [case for rule in RULES for case in _ruled(rule, bench, first)]
    yield from cases
    for backend in others:
        for case in cases:
            yield _moved(case, backend, bench)


def _ruled(rule: Rule, bench: Bench, backend: str) -> Iterator[Case]:
    module = rule.__module__.rpartition(".")[2]
    return rule(Subject(bench=bench, backend=backend, origin=f"derived:{module}.{rule.__name__}"))


def _moved(case: Case, backend: str, bench: Bench) -> Case:
    """The same case of another backend that speaks the layout."""
    return replace(
        case,
        slug=f"{backend}{case.slug.removeprefix(case.backend)}",
        backend=backend,
        releases=tuple(bench.layout["speakers"][backend]),
    )
