"""All rows of ``pdwire bench codec``: who takes part in each, and what was left out and why.

Rules: before anything is timed both sides encode the row's values, and the peer's frames
must be what we read the same message from; a row that the release does not have, or cannot
send, is left out with the reason; without the release the rows are measured all the same,
with nobody in its place.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from pdwire.codec import Codec
from pdwire.errors import UnknownLayoutError, WireError
from pdwire.wire import layout
from pdwire_conformance.bench.cases import CASES, Case, Values
from pdwire_conformance.bench.contenders import NAMES, contenders, held
from pdwire_conformance.bench.measure import Plan, Side, Timing, in_turns, quiet, repeat
from pdwire_conformance.bench.memory import Memory, memory
from pdwire_conformance.bench.peer_side import work
from pdwire_conformance.peers.client import Peer
from pdwire_conformance.peers.errors import (
    InexpressibleError,
    PeerError,
    PeerUnavailable,
    RunnerError,
)
from pdwire_conformance.peers.wheels import fetch

__all__ = ["BACKENDS", "PEER", "Bench", "Row", "Skipped", "measure"]

BACKENDS = ("mooncake", "nixl")
PEER = "sglang"
"""The name of the real release among the sides."""

_MODULE = "pdwire_conformance.bench.peer_process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One message of one backend in one direction.

    Attributes:
        frame_bytes: size of the whole message.
        peer_runs: what of the release is timed; empty where it takes no part.
        same_frames: our frames are the peer's, byte for byte; ``None`` without a peer.
        timings: by side, ``pdwire`` first.
    """

    case: Case
    backend: str
    layout: str
    direction: str
    frame_bytes: int
    peer_runs: str
    same_frames: bool | None
    timings: dict[str, Timing]


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A row, or the peer's side of one, that could not be measured."""

    case: str
    backend: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """One run; ``peer_reason`` says why there was no peer, empty where there was."""

    release: str
    peer_reason: str
    wheel_sha256: str
    plan: Plan
    rows: tuple[Row, ...]
    skipped: tuple[Skipped, ...]
    memory: tuple[Memory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A case that can be measured for one backend."""

    case: Case
    codec: Codec[Any]
    values: Values
    frames: list[bytes]
    theirs: list[bytes] | None


def measure(
    release: str, plan: Plan, *, cases: tuple[Case, ...] = CASES, tell: Callable[[str], None]
) -> Bench:
    """Measure everything; ``tell`` is told what is being measured."""
    with ExitStack() as stack:
        peer, sha256, reason = _peer(release, stack)
        rows: list[Row] = []
        skipped: list[Skipped] = []
        seen: list[Memory] = []
        for backend in BACKENDS:
            for case in cases:
                tell(f"{backend}: {case.title}")
                entry = _entry(release, backend, case, peer)
                if isinstance(entry, Skipped):
                    skipped.append(entry)
                    continue
                rows += _rows(entry, release, peer, plan)
                if case.name == "metadata-131072":
                    seen.append(memory(entry.codec, entry.frames))
    return Bench(
        release=release,
        peer_reason=reason,
        wheel_sha256=sha256,
        plan=plan,
        rows=tuple(rows),
        skipped=tuple(skipped),
        memory=tuple(seen),
    )


def _peer(release: str, stack: ExitStack) -> tuple[Peer | None, str, str]:
    """The release in its process, its wheel's hash, or the reason why there is none."""
    command = [sys.executable, "-m", _MODULE, "--release", release]
    try:
        sha256 = fetch(release).sha256
        return stack.enter_context(Peer(release, command=command)), sha256, ""
    except PeerUnavailable as error:
        return None, "", str(error)


def _entry(release: str, backend: str, case: Case, peer: Peer | None) -> _Entry | Skipped:
    """The case with values that both sides can send."""
    why = "no values to send"
    try:
        codec = layout(backend, case.message, release=release)
    except UnknownLayoutError as error:
        return Skipped(case=case.name, backend=backend, reason=str(error))
    for values in case.choices:
        try:
            frames = codec.encode(held(codec, values))
            theirs = _their_frames(peer, codec, values)
        except (WireError, InexpressibleError, PeerError, RunnerError) as error:
            why = str(error)
            continue
        if theirs is not None and codec.decode(theirs) != codec.decode(frames):
            return Skipped(case=case.name, backend=backend, reason="the peer sends other values")
        return _Entry(case=case, codec=codec, values=values, frames=frames, theirs=theirs)
    return Skipped(case=case.name, backend=backend, reason=why)


def _their_frames(peer: Peer | None, codec: Codec[Any], values: Values) -> list[bytes] | None:
    """What the release sends for the values; ``None`` where it has no encoder or no peer."""
    if peer is None or not _has(peer, codec, "encode"):
        return None
    return peer.encode(codec.backend, codec.message, values)


def _has(peer: Peer, codec: Codec[Any], direction: str) -> bool:
    return codec.message in peer.hello()["backends"].get(codec.backend, {}).get(direction, ())


def _rows(entry: _Entry, release: str, peer: Peer | None, plan: Plan) -> Iterator[Row]:
    codec = entry.codec
    calls = contenders(codec, held(codec, entry.values), entry.frames)
    for direction in ("decode", "encode"):
        sides = {
            name: Side(name=name, run=repeat(getattr(calls[name], direction)), empty=_nothing)
            for name in NAMES
        }
        what = ""
        if peer is not None and _has(peer, codec, direction):
            done = work(codec.backend, codec.message, direction, release)
            what = done.what
            run = _peer_run(peer, entry, direction)
            sides[PEER] = Side(name=PEER, run=run, empty=done.empty(entry.frames))
        with quiet():
            timings = in_turns(sides, plan)
        yield Row(
            case=entry.case,
            backend=codec.backend,
            layout=codec.layout,
            direction=direction,
            frame_bytes=sum(map(len, entry.frames)),
            peer_runs=what,
            same_frames=None if entry.theirs is None else entry.theirs == entry.frames,
            timings=timings,
        )


_nothing = repeat(lambda: None)


def _peer_run(peer: Peer, entry: _Entry, direction: str) -> Callable[[int], float]:
    codec = entry.codec

    def run(number: int) -> float:
        if direction == "decode":
            return peer.bench(codec.backend, codec.message, number=number, frames=entry.frames)
        return peer.bench(codec.backend, codec.message, number=number, values=entry.values)

    return run
