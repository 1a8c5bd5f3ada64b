"""Each property as a function of bytes, for coverage-guided engines (atheris, libFuzzer, AFL).

::

    check = fuzz_one_input("round-trip", "mooncake", "KVArgsRegisterInfo")
    check(data)  # None, or the canonical form of the data; raises what does not hold

Rules: the bytes are Hypothesis' choices, so that what an engine mutates is always a valid
drawing, and its corpus can be shared between properties. Bytes that are too few for an
example are none, and nothing is raised.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

from hypothesis import HealthCheck, given, settings

from pdwire.strategies.subjects import subject

from .plan import Cell
from .properties import PROPERTIES
from .run import context_of, open_sides
from .samples import Problem, Sample

__all__ = ["OneInput", "fuzz_one_input"]

OneInput = Callable[[bytes], bytes | None]


def fuzz_one_input(
    prop: str,
    backend: str,
    message: str,
    *,
    release: str | None = None,
    target: str = "pdwire",
    caught: Callable[[Sample, Problem], None] = lambda _sample, _problem: None,
) -> OneInput:
    """The property of one layout as a function of bytes.

    Args:
        prop: a property's name, ``"round-trip"``.
        backend: as for :func:`pdwire.wire.layout`.
        message: as there.
        release: as there; the newest by default.
        target: who is asked; it stays started until the process ends.
        caught: told of a sample that breaks the property, before that is raised.

    Raises:
        KeyError: there is no such property.
        UnknownLayoutError: there is no such message or layout.
        TesteeError: the target cannot be started.
    """
    chosen = subject(backend, message, release=release)
    cell = Cell(
        prop=prop,
        backend=backend,
        release=release or chosen.codec.releases[-1],
        subject=chosen,
    )
    stack = ExitStack()
    context = context_of(cell, open_sides(stack, target))
    check = partial(PROPERTIES[prop].check, context)

    @settings(database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(PROPERTIES[prop].samples(context))
    def over(sample: Any) -> None:  # noqa: ANN401 - Hypothesis reads the signature
        try:
            check(sample)
        except Problem as problem:
            caught(sample, problem)
            raise

    run: OneInput = over.hypothesis.fuzz_one_input  # type: ignore[attr-defined] # Hypothesis adds it
    return run
