"""``python -m pdwire_conformance.interop.ours …``: one side that is a manager of this project.

Rules:

* The same requests as :mod:`.side`, the same memory, the same engine.
* A decode side is told the release that it speaks (``--wire``); a prefill side answers
  each decode side in the layout that its registration proved.
* NIXL is told what a side on GPUs would tell it where the other side insists on that
  (``--memory VRAM``); the memory is the host's all the same.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pdwire.engines import Region
from pdwire.managers import (
    CommonKVManager,
    DisaggregationMode,
    KVArgs,
    ManagerConfig,
    MooncakeKVManager,
    NixlKVManager,
    ParallelInfo,
    RoomLimits,
    StagingManagerMixin,
)
from pdwire.wire import layouts
from pdwire.wire.table import ORDER

from .engine import without_gpu
from .lines import TRACE, Answer, Request, protocol_output, refuse, serve
from .memory import Memory
from .memory import Region as Held
from .operations import Operations
from .options import Options, parse
from .side import UNAVAILABLE

GENERATIONS = "0.5.22"
"""First release whose acknowledgement of an abort says which abort it answers."""
_LIMITS = RoomLimits(bootstrap_s=60, waiting_s=60, write_s=60)


class HostStaging(StagingManagerMixin):
    """Staging whose buffer is host memory, whatever NIXL is told."""

    def _staging_buffer(self) -> Any:
        import torch

        torch.set_num_threads(1)  # as the manager does on host memory
        made = torch.empty(self.config.staging_bytes, dtype=torch.uint8)
        self._staging_memory.append(made)
        kind = self.args.mem_kind
        region = Region(address=made.data_ptr(), length=made.numel(), kind=kind)
        self.engine.register([region])
        return made


class HostMooncake(HostStaging, MooncakeKVManager):
    """Ours over Mooncake, without a GPU."""


class HostNixl(HostStaging, NixlKVManager):
    """Ours over NIXL, without a GPU."""


_CLASSES: Mapping[str, type[CommonKVManager]] = {"mooncake": HostMooncake, "nixl": HostNixl}


class Ours(Operations):
    """The operations of a side whose manager is ours."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._manager: Any = None

    @property
    def manager(self) -> Any:
        """The manager, once it is started."""
        return self._manager

    def hello(self, request: Request) -> Answer:
        """Ours hears aborts; it waits for acknowledgements where they name a generation.

        Before 0.5.22 they do not, and pages come back after the long timeout only.
        """
        release = self.options.wire or ORDER[-1]
        counts = ORDER.index(release) >= ORDER.index(GENERATIONS)
        return {
            "release": release,
            "backend": self.options.backend,
            "hears_abort": True,
            "tells_abort": any(
                each.message == "ABORT" and release in each.releases
                for each in layouts(self.options.backend)
            ),
            "hears_status": True,
            "awaits_release": counts and not self.options.is_prefill,
        }

    def start(self, request: Request) -> Answer:
        """Make the manager."""
        address = str(request.get("bootstrap") or "")
        port = int(address.rpartition(":")[2]) if address else 0
        self._manager = _CLASSES[self.options.backend](
            kv_args(self.options, self.memory),
            DisaggregationMode(self.options.role),
            _config(self.options, port),
        )
        told = self._manager.bootstrap_address if self.options.is_prefill else ""
        return {"bootstrap": told, "rank_port": self._manager.endpoint[1], "shared": None}

    def sender(self, number: int) -> Any:
        """A sender."""
        return self._manager.sender(bootstrap_room=number)

    def receiver(
        self, number: int, bootstrap: str, metadata: dict[str, Any], prefix_len: int | None
    ) -> Any:
        """A receiver that has asked."""
        made = self._manager.receiver(bootstrap, number)
        made.init(prefill_dp_rank=0)
        made.send_metadata(**metadata, decode_prefix_len=prefix_len)
        return made

    def state_indices(self, rows: list[int] | None) -> Any:
        """One array per component."""
        return None if rows is None else [np.array(rows, np.int32)]

    def prefix_len(self, sender: Any) -> int:
        """Tokens that the decode side has."""
        return int(sender.decode_prefix_len)

    def reason(self, number: int, end: Any) -> str:
        """Why the room failed."""
        return str(end.failure_reason or "")

    def abort(self, number: int, end: Any) -> None:
        """Give the room up."""
        end.abort()

    def released(self, number: int, end: Any) -> bool:
        """Whether nobody can write any more."""
        return bool(end.pages_released())

    def health(self, request: Request) -> Answer:
        """Loops and counters."""
        return {"health": self._manager.health()}

    def stop(self, request: Request) -> Answer:
        """Close the manager."""
        self._manager.close()
        return {}


def kv_args(options: Options, memory: Memory) -> KVArgs:
    """The description of a rank's memory, in our words."""
    state = _regions("state", memory.state)
    told: dict[str, Any] = {**_regions("kv", memory.kv), **_regions("aux", memory.aux)}
    if memory.state:
        told |= {name: (held,) for name, held in state.items()}
        told |= {"state_types": ("swa",), "state_dim_per_tensor": ((),), "state_layer_ids": ((),)}
    return KVArgs(
        **told,
        kv_layer_ids=tuple(memory.kv_layer_ids),
        page_size=options.page_size,
        total_kv_head_num=options.heads,
        prefill_start_layer=memory.layer_ids[0],
        mem_kind=options.memory,
    )


def _regions(kind: str, regions: list[Held]) -> dict[str, Any]:
    return {
        f"{kind}_data_ptrs": tuple(region.address for region in regions),
        f"{kind}_data_lens": tuple(region.length for region in regions),
        f"{kind}_item_lens": tuple(region.item for region in regions),
    }


def _limits(options: Options) -> RoomLimits:
    if not options.deadline_s:
        return _LIMITS
    return replace(_LIMITS, bootstrap_s=options.deadline_s, waiting_s=options.deadline_s)


def _config(options: Options, bootstrap_port: int) -> ManagerConfig:
    return ManagerConfig(
        release=options.wire or ORDER[-1],
        host=options.host,
        bootstrap_host=options.host,
        bootstrap_port=bootstrap_port,
        is_mla=options.mla,
        parallel=ParallelInfo(
            attn_tp_size=options.tp_size,
            attn_tp_rank=options.tp_rank,
            pp_size=options.pp_size,
            pp_rank=options.pp_rank,
            dcp_size=1 if options.is_prefill else options.dcp_size,
            dcp_rank=options.dcp_rank,
        ),
        limits=_limits(options),
        aux_over_tcp=options.aux_messages,
        staging_bytes=options.staging << 20,
        chunked_prefill_size=options.chunk_pages * options.page_size,
    )


def main(argv: list[str] | None = None) -> int:
    """Serve one side on standard input and output."""
    options = parse(sys.argv[1:] if argv is None else argv)
    output = protocol_output()
    if not os.environ.get(TRACE):
        logging.disable(logging.WARNING)
    try:
        if options.backend == "nixl":
            without_gpu()
    except ImportError as error:
        refuse(output, error)
        return UNAVAILABLE
    serve(Ours(options).operations(), sys.stdin, output)
    output.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
