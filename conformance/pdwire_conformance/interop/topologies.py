"""How the ranks of the two sides are laid out, and since which release a layout works.

Rules:

* A topology names what every rank of both sides is; releases and backend come from
  whoever runs it.
* What a release lacks for a topology is in :mod:`.lacking`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .options import Options


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """One layout of ranks."""

    name: str
    doc: str
    prefill_tp: int = 1
    prefill_pp: int = 1
    decode_tp: int = 1
    common: Mapping[str, Any] = field(default_factory=dict)
    """Options of both sides."""
    layer_ids: bool = False
    """Say which layer a KV region is, where both sides' releases can."""

    def prefill(self, release: str, backend: str, **more: Any) -> list[Options]:
        """One options per prefill rank; the first one serves the bootstrap."""
        told = {"release": release, "backend": backend, "role": "prefill", **self.common, **more}
        return [
            Options(
                tp_size=self.prefill_tp,
                tp_rank=rank,
                pp_size=self.prefill_pp,
                pp_rank=stage,
                **told,
            )
            for stage in range(self.prefill_pp)
            for rank in range(self.prefill_tp)
        ]

    def decode(self, release: str, backend: str, **more: Any) -> list[Options]:
        """One options per decode rank."""
        told = {"release": release, "backend": backend, "role": "decode", **self.common, **more}
        return [
            Options(tp_size=self.decode_tp, tp_rank=rank, **told) for rank in range(self.decode_tp)
        ]


EQUAL = Topology(name="tp1-tp1", doc="one rank each")
TOPOLOGIES = (
    EQUAL,
    Topology(
        name="tp2-tp2",
        doc="two ranks each, pairwise",
        prefill_tp=2,
        decode_tp=2,
        common={"memory": "VRAM"},
    ),
    Topology(
        name="tp2-tp1",
        doc="head slices, two writers",
        prefill_tp=2,
        common={"memory": "VRAM"},
    ),
    Topology(
        name="tp1-tp2",
        doc="head slices, two readers",
        decode_tp=2,
        common={"memory": "VRAM"},
    ),
    Topology(
        name="tp2-tp1-staged",
        doc="through a staging ring of 1 MiB, two writers",
        prefill_tp=2,
        common={"staging": 1, "chunk_pages": 3, "memory": "VRAM"},
    ),
    Topology(
        name="tp1-tp2-staged",
        doc="through a staging ring of 1 MiB each, two readers",
        decode_tp=2,
        common={"staging": 1, "chunk_pages": 3, "memory": "VRAM"},
    ),
    Topology(
        name="mla-tp2-tp1",
        doc="MLA: one real rank, one dummy",
        prefill_tp=2,
        common={"mla": True, "memory": "VRAM"},
    ),
    Topology(
        name="mla-tp1-tp2",
        doc="MLA: two readers",
        decode_tp=2,
        common={"mla": True, "memory": "VRAM"},
    ),
    Topology(
        name="mla-tp1-dcp2",
        doc="MLA: two decode ranks share out a request's tokens (DCP)",
        decode_tp=2,
        common={"mla": True, "dcp_size": 2, "memory": "VRAM"},
    ),
    Topology(
        name="pp2-tp1",
        doc="two pipeline stages, each its layers",
        prefill_pp=2,
        layer_ids=True,
        common={"memory": "VRAM"},
    ),
    Topology(
        name="aux-messages",
        doc="one rank each; the auxiliary row in AUX_DATA messages",
        common={"aux_messages": True},
    ),
    Topology(
        name="state", doc="one state component beside KV", common={"state": True, "memory": "VRAM"}
    ),
)
BY_NAME = {topology.name: topology for topology in TOPOLOGIES}
