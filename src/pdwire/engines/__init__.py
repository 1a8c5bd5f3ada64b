"""Transfer engines behind one protocol: Mooncake, NIXL, and a loopback within one process.

The real ones are optional extras (``mooncake``, ``mooncake-cuda``, ``nixl``); importing this
package loads none of them, making one does, and says what to install when it is missing.
"""

from __future__ import annotations

from pdwire.engines.base import (
    DONE,
    Engine,
    EngineError,
    EngineMissing,
    EngineTimeout,
    EngineUnsettled,
    Failed,
    Region,
    SeesPeers,
    Transfer,
    progress,
    wait,
)
from pdwire.engines.loopback import Fabric, LoopbackEngine
from pdwire.engines.mooncake import MooncakeEngine
from pdwire.engines.nixl import NixlEngine

__all__ = [
    "DONE",
    "Engine",
    "EngineError",
    "EngineMissing",
    "EngineTimeout",
    "EngineUnsettled",
    "Fabric",
    "Failed",
    "LoopbackEngine",
    "MooncakeEngine",
    "NixlEngine",
    "Region",
    "SeesPeers",
    "Transfer",
    "progress",
    "wait",
]
