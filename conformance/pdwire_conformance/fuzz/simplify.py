"""A finding's message made simpler, field by field, for as long as it shows the same cause.

Rules: it ends when its time is up or KeyboardInterrupt comes, with the simplest so far.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from pdwire.strategies.drawn import Example
from pdwire.strategies.simpler import simpler_example

from .context import Context
from .draws import of_example
from .hunt import Caught
from .samples import Problem, Sample

__all__ = ["simplified"]


class _LateError(Exception):
    """The time is up."""


def simplified(
    context: Context,
    check: Callable[[Sample], None],
    caught: Caught,
    *,
    shrink_s: float,
    clock: Callable[[], float] = time.perf_counter,
) -> Caught:
    """The simplest message with one field of the caught one that breaks the property alike.

    What was caught comes back as it is where no field is enough alone.
    """
    until = clock() + shrink_s
    best = caught

    def shows(example: Example) -> bool:
        nonlocal best
        if clock() > until:
            raise _LateError
        sample = of_example(context, example)
        try:
            check(sample)
        except Problem as problem:
            if problem.cause != caught.problem.cause:
                return False
            best = Caught(sample=sample, problem=problem, first=caught.first)
            return True
        return False

    with suppress(_LateError, KeyboardInterrupt):
        simpler_example(context.subject, caught.sample.values or {}, shows)
    return best
