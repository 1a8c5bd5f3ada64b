"""What one side of a hand-over is: release, backend, role, place in the topology, model.

Rules:

* Both sides of a hand-over get the same model; topology and release are each side's own.
* The command line says everything: :meth:`Options.arguments` and :func:`parse` are
  inverse to each other.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, fields

OURS = "ours"
"""In place of a release: the managers of this project."""

BACKENDS = ("mooncake", "nixl")
ROLES = ("prefill", "decode")
ELEMENT = 2
"""Bytes of one element: bfloat16."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """One side. Sizes are counts unless the name says otherwise."""

    release: str
    backend: str
    role: str
    tp_size: int = 1
    tp_rank: int = 0
    pp_size: int = 1
    pp_rank: int = 0
    mla: bool = False
    dcp_size: int = 1
    """Decode context parallelism of the decode side (MLA): its ranks share out the tokens."""
    memory: str = "DRAM"
    """What NIXL is told that KV memory is; ``VRAM`` takes a release's path for GPU memory."""
    layer_ids: bool = False
    """Say which layer each KV region is, as pools of hybrid models do."""
    state: bool = False
    """One state component of one row per page beside KV."""
    aux_messages: bool = False
    """Send the auxiliary row as AUX_DATA messages, not through the engine (Mooncake)."""
    staging: int = 0
    """Size in MiB of the decode side's staging ring; 0: no staging."""
    chunk_pages: int = 8
    """Pages of a full prefill chunk: the unit that staging is asked for in."""
    layers: int = 4
    heads: int = 4
    """KV heads of the whole model, before tensor parallelism splits them."""
    head_dim: int = 16
    page_size: int = 16
    """Tokens per page."""
    pages: int = 64
    aux_rows: int = 16
    deadline_s: int = 0
    """Seconds that a room waits for its other side; 0: as long as each does by default."""
    host: str = "127.0.0.1"
    """Ours only: the address that this side binds and announces."""
    wire: str = ""
    """Ours only: the release whose layouts to speak; empty: the newest, or a mixed fleet."""

    def arguments(self) -> list[str]:
        """The command line that :func:`parse` reads back to these options."""
        told: list[str] = []
        for field in fields(self):
            value = getattr(self, field.name)
            flag = "--" + field.name.replace("_", "-")
            if isinstance(value, bool):
                told += [flag] if value else []
            elif value != field.default:
                told += [flag, str(value)]
        return told

    @property
    def page_bytes(self) -> int:
        """KV bytes of one page on this rank: all its layers, K and V."""
        layers = self.layers // self.pp_size
        if self.mla:
            return layers * self.page_size * self.head_dim * ELEMENT
        return 2 * layers * self.page_size * self.local_heads * self.head_dim * ELEMENT

    @property
    def local_heads(self) -> int:
        """KV heads of this rank; with fewer heads than ranks, ranks share them."""
        return 1 if self.mla else max(1, self.heads // self.tp_size)

    @property
    def dcp_rank(self) -> int:
        """Which tokens of a request this decode rank holds: those at this residue."""
        return 0 if self.is_prefill else self.tp_rank % self.dcp_size

    @property
    def on_gpu(self) -> bool:
        """Whether a release needs a device for what it does: staging, DCP relayout."""
        return self.staging > 0 or self.dcp_size > 1

    @property
    def is_prefill(self) -> bool:
        """Whether this side sends."""
        return self.role == "prefill"


def parse(argv: Sequence[str]) -> Options:
    """Read a side's command line; exits with a message when it is wrong."""
    parser = argparse.ArgumentParser(prog="pdwire_conformance.interop.side")
    for field in fields(Options):
        flag = "--" + field.name.replace("_", "-")
        if field.type == "bool":
            parser.add_argument(flag, action="store_true")
        elif field.type == "int":
            parser.add_argument(flag, type=int, default=field.default)
        else:
            required = field.name in {"release", "backend", "role"}
            known = {"backend": BACKENDS, "role": ROLES}.get(field.name)
            default = None if required else field.default
            parser.add_argument(flag, required=required, choices=known, default=default)
    return Options(**vars(parser.parse_args(argv)))
