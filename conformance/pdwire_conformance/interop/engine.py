"""The engine objects that a release expects, around the real engines, without a GPU or RDMA.

Rules:

* The engine is the real one; only what a release asks the hardware for is translated:
  RDMA becomes TCP (releases up to 0.5.8 ask Mooncake for nothing else), GPU memory becomes
  host memory (up to 0.5.14 they ask NIXL for nothing else). Nothing else changes.
* A failed call returns what the release's own wrapper returns for it: a negative number
  for a transfer, an exception for a registration.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

_LOG = logging.getLogger(__name__)


def without_rdma() -> None:
    """Make Mooncake's engine use TCP where a release asks it for RDMA.

    Raises ``ImportError`` when the engine is not installed here.
    """
    from mooncake import engine

    real = engine.TransferEngine

    class TransferEngine(real):  # type: ignore[misc,valid-type]
        """The real engine; TCP stands in for RDMA."""

        def initialize(self, hostname: str, metadata: str, protocol: str, device: str) -> int:
            """As the real one, over TCP."""
            return int(super().initialize(hostname, metadata, "tcp", ""))

    engine.TransferEngine = TransferEngine


def without_gpu() -> None:
    """Make NIXL's agent register host memory where a release asks it for GPU memory.

    Raises ``ImportError`` when the engine is not installed here.
    """
    from nixl import _api

    real = _api.nixl_agent

    class nixl_agent(real):  # type: ignore[misc,valid-type]  # noqa: N801 - the name they import
        """The real agent; ``DRAM`` stands in for ``VRAM``."""

        def get_reg_descs(self, descs: Any, mem_type: str | None = None) -> Any:
            """As the real one, in host memory."""
            return super().get_reg_descs(descs, _host(mem_type))

        def get_xfer_descs(self, descs: Any, mem_type: str | None = None) -> Any:
            """As the real one, in host memory."""
            return super().get_xfer_descs(descs, _host(mem_type))

        def prep_xfer_dlist(
            self, agent_name: str, xfer_list: Any, mem_type: str | None = None, *more: Any
        ) -> Any:
            """As the real one, in host memory."""
            return super().prep_xfer_dlist(agent_name, xfer_list, _host(mem_type), *more)

    _api.nixl_agent = nixl_agent


def _host(kind: str | None) -> str | None:
    return "DRAM" if kind in {"VRAM", "cuda"} else kind


class TcpMooncake:
    """Mooncake's transfer engine over TCP, in the shape of SGLang's shared engine."""

    def __init__(self, hostname: str) -> None:
        from mooncake.engine import TransferEngine

        self.engine: Any = TransferEngine()
        if (code := self.engine.initialize(hostname, "P2PHANDSHAKE", "tcp", "")) != 0:
            raise RuntimeError(f"the Mooncake engine did not start: {code}")
        self.session_id = f"{hostname}:{self.engine.get_rpc_port()}"

    def get_session_id(self) -> str:
        """``host:port`` that peers call this engine."""
        return self.session_id

    def batch_register(self, ptrs: Sequence[int], lengths: Sequence[int]) -> int:
        """Register regions; 0, or the engine's code."""
        code = int(self.engine.batch_register_memory(list(ptrs), list(lengths)))
        if code != 0:
            _LOG.error("the engine refused %d regions: %d", len(ptrs), code)
        return code

    def batch_deregister(self, ptrs: Sequence[int]) -> int:
        """Forget regions; 0, or the engine's code."""
        return int(self.engine.batch_unregister_memory(list(ptrs)))

    def register(self, ptr: int, length: int) -> None:
        """Register one region or raise ``RuntimeError``."""
        if (code := self.batch_register([ptr], [length])) != 0:
            raise RuntimeError(f"the engine refused a region: {code}")

    def deregister(self, ptr: int) -> None:
        """Forget one region."""
        self.batch_deregister([ptr])

    def batch_transfer_sync(
        self,
        session_id: str,
        buffers: Sequence[int],
        peer_buffer_addresses: Sequence[int],
        lengths: Sequence[int],
    ) -> int:
        """Write blocks into a peer's memory; 0, or a negative number."""
        return int(
            self.engine.batch_transfer_sync_write(
                session_id, list(buffers), list(peer_buffer_addresses), list(lengths)
            )
        )

    def transfer_sync(
        self, session_id: str, buffer: int, peer_buffer_address: int, length: int
    ) -> int:
        """Write one block; 0, or a negative number."""
        return self.batch_transfer_sync(session_id, [buffer], [peer_buffer_address], [length])

    def send_probe(self, session_id: str) -> int:
        """Whether the peer answers: 0 when it does."""
        return int(self.engine.send_probe(session_id))
