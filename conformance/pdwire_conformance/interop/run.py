"""Run pairs of sides through the cases and say how each ended.

Rules:

* One pair of processes per topology; its cases run one after the other in it. A case that
  fails ends the pair: what a broken pair does afterwards says nothing.
* What a release lacks is not run, with the reason; what it has and fails is a failure.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pdwire.wire.table import ORDER
from pdwire_conformance.peers.errors import PeerError, PeerUnavailable, RunnerError

from .cases import QUICK, CaseError, Run
from .handover import Handover
from .lacking import lacks_case, lacks_topology
from .options import OURS, Options
from .results import Result, Verdict
from .topologies import EQUAL, Topology

FAULTS = (CaseError, TimeoutError, RunnerError, PeerError, PeerUnavailable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Who sends and who receives; several decode sides make a mixed fleet."""

    backend: str
    prefill: str
    decodes: tuple[str, ...]
    topology: Topology = EQUAL

    @property
    def release(self) -> str:
        """The release that both sides speak: the oldest of theirs, or the newest known."""
        theirs = [each for each in (self.prefill, *self.decodes) if each != OURS]
        return min(theirs, key=ORDER.index, default=ORDER[-1])

    def sides(self) -> tuple[list[Options], list[list[Options]]]:
        """One options per rank, of the prefill side and of each decode side."""
        more: dict[str, Any] = {
            "layer_ids": self.topology.layer_ids and self.release in ORDER[LAYER_IDS:]
        }
        if self.release not in ORDER[MEMORY_KINDS:]:
            more["memory"] = "VRAM"
        ours = more | ({"wire": self.release} if len(self.decodes) == 1 else {})
        prefill = self.topology.prefill(
            self.prefill, self.backend, **(ours if self.prefill == OURS else more)
        )
        decodes = [
            self.topology.decode(each, self.backend, **(ours if each == OURS else more))
            for each in self.decodes
        ]
        return prefill, decodes


MEMORY_KINDS = ORDER.index("0.5.15")
"""From this release on NIXL is told what KV memory is; before, it is a GPU's."""
LAYER_IDS = ORDER.index("0.5.17")
"""From this release on a decode side can say which layer a KV region is."""


def run_pair(pair: Pair, cases: Sequence[str] = QUICK) -> Iterator[Result]:
    """Every case of one pair, as it ends."""
    if lack := lacks_topology(pair.release, pair.backend, pair.topology):
        yield told(pair, "all", "not run", reason=lack)
        return
    try:
        with Handover(*pair.sides()) as handover:
            yield from _cases(pair, handover, cases)
    except FAULTS as fault:
        yield told(pair, "start", "failed", reason=str(fault))


def _cases(pair: Pair, handover: Handover, cases: Sequence[str]) -> Iterator[Result]:
    common = pair.topology.common
    run = Run(
        handover=handover,
        state=bool(common.get("state")),
        dcp_size=int(common.get("dcp_size", 1)),
    )
    for name in cases:
        if lack := lacks_case(pair.release, pair.backend, pair.topology, name):
            yield told(pair, name, "not run", reason=lack)
            continue
        began = time.perf_counter()
        try:
            moved = run.case(name)
        except FAULTS as fault:
            yield told(pair, name, "failed", reason=str(fault))
            return
        seconds = round(time.perf_counter() - began, 3)
        yield told(pair, name, "passed", bytes=moved, seconds=seconds)


def told(pair: Pair, case: str, verdict: Verdict, **more: Any) -> Result:
    """A row about the pair."""
    return Result(
        backend=pair.backend,
        prefill=pair.prefill,
        decode="+".join(pair.decodes),
        topology=pair.topology.name,
        case=case,
        verdict=verdict,
        **more,
    )
