"""Several streams at once, read as if they had run one after another.

Rules:

* What comes out is in the order of the lanes, whatever the number of threads; a lane that
  is ahead waits in its own queue.
* With one job nothing runs in a thread of its own.
* When the reader stops early, lanes stop at their next item; all threads are joined.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from queue import SimpleQueue
from typing import TypeVar

__all__ = ["Lane", "in_order"]

T = TypeVar("T")
Lane = Callable[[], Generator[T, None, None]]


class _End:
    """A lane is over; ``fault`` is what it raised, if anything."""

    def __init__(self, fault: BaseException | None = None) -> None:
        self.fault = fault


def in_order(lanes: Sequence[Lane[T]], jobs: int) -> Generator[T, None, None]:
    """Run up to ``jobs`` lanes at a time and give what they give, in the lanes' order."""
    if jobs == 1 or len(lanes) < 2:
        for lane in lanes:
            yield from lane()
        return
    stop = threading.Event()
    with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="conform") as pool:
        queues = [SimpleQueue[T | _End]() for _ in lanes]
        for lane, queue in zip(lanes, queues, strict=True):
            pool.submit(_drive, lane, queue, stop)
        try:
            for queue in queues:
                yield from _drain(queue)
        finally:
            stop.set()


def _drive(lane: Lane[T], queue: SimpleQueue[T | _End], stop: threading.Event) -> None:
    try:
        if not stop.is_set():
            with closing(lane()) as items:
                for each in items:
                    queue.put(each)
                    if stop.is_set():
                        break
    except BaseException as fault:  # noqa: BLE001  # it is the reader's to handle, not the pool's
        queue.put(_End(fault))
    else:
        queue.put(_End())


def _drain(queue: SimpleQueue[T | _End]) -> Iterator[T]:
    while not isinstance(each := queue.get(), _End):
        yield each
    if each.fault is not None:
        raise each.fault
