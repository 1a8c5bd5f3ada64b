"""Ctrl-C: the first ends a run in order, the second ends the process.

Rules:

* The first SIGINT raises nothing: an exception from a signal handler may land in a callback
  of the garbage collector (Hypothesis has one) or in a testee that catches everything, and
  is lost there. It sets a flag, which is looked at before every sample.
* A sample that takes its time is cut off: from :data:`PATIENCE_S` on KeyboardInterrupt is
  raised wherever the program happens to be, again and again until the run has ended.
* The second SIGINT ends the process by the signal itself, which nothing can catch.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Final, NoReturn

__all__ = ["PATIENCE_S", "Interrupted", "end", "interrupts"]

PATIENCE_S: Final = 0.5
"""Seconds that the sample in hand has to end by itself, and between two pushes after them."""

Interrupted = Callable[[], bool]
"""Whether the run is to end."""


def end() -> None:
    """End the process as SIGINT does where nobody handles it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.raise_signal(signal.SIGINT)


@contextmanager
def interrupts(
    first: Callable[[], None] | None = None, second: Callable[[], None] = end
) -> Iterator[Interrupted]:
    """Handle SIGINT; outside of the main thread nothing is handled.

    Args:
        first: done at the first one; by default a run in this process is pushed to its end.
        second: done at every later one.
    """
    came = False

    def handle(_number: int, _frame: object) -> None:
        nonlocal came
        if came:
            second()
            return
        came = True
        (first or _push)()

    if current_thread() is not main_thread():
        yield lambda: False
        return
    before = [signal.signal(signal.SIGINT, handle), signal.signal(signal.SIGALRM, _raise)]
    try:
        yield lambda: came
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGALRM, before[1])


def _push() -> None:
    signal.setitimer(signal.ITIMER_REAL, PATIENCE_S, PATIENCE_S)


def _raise(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt
