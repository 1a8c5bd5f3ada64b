"""What a release does not have, so that it is not asked for it.

Rules:

* An entry is a fact about the release's own code, seen in a run of both sides of that
  release and found in its sources, or read off the spec; it says what is missing.
* Nothing is listed because ours fails at it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pdwire.wire import layout
from pdwire.wire.table import ORDER

from .topologies import BY_NAME, EQUAL, Topology

_SLICED = ("tp2-tp1", "tp2-tp1-staged")
_STAGED = ("tp2-tp1-staged", "tp1-tp2-staged")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lack:
    """What releases ``first`` to ``last`` cannot do over a backend."""

    backend: str
    last: str
    why: str
    first: str = ORDER[0]
    topologies: Sequence[str] = ()
    """Only these; empty: all."""
    cases: Sequence[str] = ()
    """Only these; empty: the topology as a whole."""

    def holds(self, release: str, backend: str, topology: str) -> bool:
        """Whether the release lacks it on this topology."""
        span = ORDER[ORDER.index(self.first) : ORDER.index(self.last) + 1]
        fits = not self.topologies or topology in self.topologies
        return backend == self.backend and release in span and fits


LACKS = (
    Lack(
        backend="mooncake",
        last="0.5.9",
        topologies=_STAGED,
        why="the release has no staging",
    ),
    Lack(
        backend="mooncake",
        last="0.5.16",
        topologies=("mla-tp1-dcp2",),
        why="the release has no decode context parallelism",
    ),
    Lack(
        backend="nixl",
        last="0.5.17",
        topologies=("mla-tp1-dcp2",),
        why="the release has no decode context parallelism over NIXL",
    ),
    Lack(
        backend="mooncake",
        last="0.5.7",
        topologies=("aux-messages",),
        why="the release sends AUX_DATA only with a custom pool of GPU memory",
    ),
    Lack(
        backend="nixl",
        last=ORDER[-1],
        topologies=("aux-messages",),
        why="NIXL has no AUX_DATA",
    ),
    Lack(
        backend="nixl",
        last="0.5.11",
        topologies=_STAGED,
        why="the release has no staging over NIXL",
    ),
    Lack(
        backend="nixl",
        first="0.5.12",
        last="0.5.12",
        topologies=tuple(name for name in BY_NAME if name not in {"state", "aux-messages"}),
        why="the release sends the aux row of models with state only; others never complete",
    ),
    Lack(
        backend="nixl",
        last="0.5.11",
        topologies=_SLICED,
        why="writers are told apart by pipeline stage alone: two TP writers pass for one",
    ),
    Lack(
        backend="nixl",
        first="0.5.12",
        last="0.5.16",
        topologies=("pp2-tp1",),
        why="writers are told apart by TP rank alone: two pipeline stages pass for one",
    ),
    Lack(
        backend="nixl",
        last="0.5.8.post1",
        topologies=("state",),
        why="the release moves no state of sliding windows over NIXL",
    ),
    Lack(
        backend="nixl",
        last="0.5.9",
        cases=("abort by decode",),
        why="the release's NIXL receiver cannot abort",
    ),
    Lack(
        backend="nixl",
        last="0.5.11",
        cases=("abort by prefill",),
        why="the release's NIXL sender cannot abort, or does not look at its own abort",
    ),
    Lack(
        backend="nixl",
        first="0.5.13",
        last="0.5.15.post1",
        cases=("abort by decode", "abort by prefill"),
        why="an ABORT, which decode sides send, ends the control thread of the prefill side",
    ),
    Lack(
        backend="mooncake",
        last="0.5.17",
        topologies=_STAGED,
        cases=("prefix",),
        why="the release scatters staged chunks from the request's first page, prefix or not",
    ),
    Lack(
        backend="nixl",
        last="0.5.17",
        topologies=_STAGED,
        cases=("prefix",),
        why="the release scatters staged chunks from the request's first page, prefix or not",
    ),
    Lack(
        backend="mooncake",
        last="0.5.16",
        topologies=_STAGED,
        cases=("again",),
        why="the release asks for the staging places of a room number once, and never again",
    ),
)


def lacks_topology(release: str, backend: str, topology: Topology) -> str:
    """Why the release cannot do the topology; empty when it can."""
    held = (each for each in LACKS if not each.cases)
    return next((each.why for each in held if each.holds(release, backend, topology.name)), "")


def lacks_case(release: str, backend: str, topology: Topology, case: str) -> str:
    """Why the release cannot do the case; empty when it can."""
    if case.endswith(" killed") and topology is not EQUAL:
        return "killed with one rank each only"
    known = layout(backend, "TransferInfo", release=release).fields
    if case == "prefix" and "decode_prefix_len" not in known:
        return "the release's metadata has no decode prefix length"
    held = (each for each in LACKS if case in each.cases)
    return next((each.why for each in held if each.holds(release, backend, topology.name)), "")
