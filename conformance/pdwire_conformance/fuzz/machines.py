"""Properties of whole managers: scripts of steps and messages, drawn, then played on a pair.

========= ===================================================================
rooms     requests open, are sent and closed in any order, while valid, faulty
          and mutated messages of every kind arrive at both sides
abort     the same with aborts of either side, and with ABORT and ABORT_ACK
staging   the same with a staging ring, and with staging messages
========= ===================================================================

Rules: a script is data, so that a finding replays from its file; what must hold afterwards
is :mod:`.pair`'s. Messages speak of rooms that the script has, so that they meet live ones.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from pdwire.strategies.drawn import Example, examples_of
from pdwire.strategies.faults import faulty_of
from pdwire.strategies.mutated import mutations
from pdwire.strategies.spellings import canonical
from pdwire.strategies.subjects import Subject, subjects

from .pair import MANAGERS, ROOMS, Pair
from .plan import Cell
from .run import Machines
from .samples import Sample

__all__ = ["machines"]

Step = dict[str, Any]
_STAGING_BYTES: Final = 1 << 16
_MESSAGES: Final[Mapping[str, frozenset[str]]] = {
    "rooms": frozenset(),  # every one
    "abort": frozenset({"ABORT", "ABORT_ACK", "KV_STATUS"}),
    "staging": frozenset({"STAGING_REQ", "STAGING_RSP", "WATERMARK", "CHUNK_READY"}),
}
_ROOM: Final = st.integers(0, ROOMS - 1)
_SIDES: Final = st.sampled_from(("prefill", "decode"))


@cache
def machines() -> Machines:
    """All of them, for every backend whose managers are ours to play."""
    return Machines(names=tuple(_MESSAGES), backends=tuple(MANAGERS), samples=_scripts, check=_play)


def _scripts(cell: Cell) -> SearchStrategy[Sample]:
    moves = st.one_of(
        _step("open"), _step("send"), _step("close"), _aborts(), _says(cell), _says(cell)
    )
    first = st.lists(_step("open"), max_size=2)
    rest = st.lists(moves, min_size=1, max_size=10)
    return st.tuples(first, rest).map(lambda two: Sample(steps=(*two[0], *two[1])))


def _step(do: str) -> SearchStrategy[Step]:
    return _ROOM.map(lambda room: {"do": do, "room": room})


def _aborts() -> SearchStrategy[Step]:
    return st.tuples(_ROOM, _SIDES).map(lambda two: {"do": "abort", "room": two[0], "side": two[1]})


def _says(cell: Cell) -> SearchStrategy[Step]:
    frames = st.one_of([_frames(each) for each in _spoken(cell)])
    return st.tuples(_SIDES, frames).map(
        lambda two: {"do": "say", "to": two[0], "frames": [frame.hex() for frame in two[1]]}
    )


def _spoken(cell: Cell) -> list[Subject]:
    """The newest layout of each message that the machine is about."""
    wanted = _MESSAGES[cell.prop]
    newest: dict[str, Subject] = {}
    for subject in subjects(cell.backend):
        if subject.codec.transport == "zmq" and (not wanted or subject.codec.message in wanted):
            newest[subject.codec.message] = subject
    if not newest:  # a backend without staging hears what it has
        return [each for each in subjects(cell.backend) if each.codec.message == "ABORT"]
    return list(newest.values())


def _frames(subject: Subject) -> SearchStrategy[tuple[bytes, ...]]:
    good = st.tuples(examples_of(subject), _ROOM).map(_about)
    faulty = faulty_of(subject).map(lambda fault: fault.frames)
    return st.one_of(good, good, faulty, mutations(good).map(tuple))


def _about(two: tuple[Example, int]) -> tuple[bytes, ...]:
    """The message, about one of the script's rooms."""
    example, room = two
    if "room" not in example.subject.slots:
        return example.canonical
    return canonical(example.subject, {**example.values, "room": room})


@contextmanager
def _quiet() -> Iterator[None]:
    """Managers say what they drop; here that is a few messages in every script."""
    log = logging.getLogger("pdwire")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)


def _play(cell: Cell, sample: Sample) -> None:
    """Play a script on a fresh pair.

    Raises:
        Problem: what must hold of the pair does not.
    """
    staging = _STAGING_BYTES if cell.prop == "staging" and cell.backend != "mori" else 0
    name = f"{cell.prop} {cell.backend}"
    with _quiet(), Pair(name=name, backend=cell.backend, staging_bytes=staging) as pair:
        for step in sample.steps:
            pair.do(step)
        pair.finish()
