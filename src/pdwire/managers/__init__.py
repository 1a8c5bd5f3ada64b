"""Backend managers: thin shells of sockets, threads and engines around the sans-IO cores.

::

    BaseKVManager
    └── CommonKVManager
        ├── MooncakeKVManager(StagingManagerMixin, …)
        │   └── AscendKVManager
        ├── NixlKVManager(StagingManagerMixin, …)
        └── MoriKVManager

They need ``pip install 'pdwire[managers]'``, and an engine: ``mooncake``, ``nixl``.
"""

from __future__ import annotations

from pdwire.managers.ascend import AscendKVManager, AscendKVReceiver, AscendKVSender
from pdwire.managers.base import (
    BaseKVManager,
    BaseKVReceiver,
    BaseKVSender,
    KVTransferError,
)
from pdwire.managers.common import CommonKVManager
from pdwire.managers.config import DisaggregationMode, KVArgs, ManagerConfig, ParallelInfo
from pdwire.managers.mooncake import MooncakeKVManager, MooncakeKVReceiver, MooncakeKVSender
from pdwire.managers.mori import MoriKVManager, MoriKVReceiver, MoriKVSender
from pdwire.managers.nixl import NixlKVManager, NixlKVReceiver, NixlKVSender
from pdwire.managers.staging_mixin import StagingManagerMixin
from pdwire.rooms import KVPoll, RoomLimits

__all__ = [
    "AscendKVManager",
    "AscendKVReceiver",
    "AscendKVSender",
    "BaseKVManager",
    "BaseKVReceiver",
    "BaseKVSender",
    "CommonKVManager",
    "DisaggregationMode",
    "KVArgs",
    "KVPoll",
    "KVTransferError",
    "ManagerConfig",
    "MooncakeKVManager",
    "MooncakeKVReceiver",
    "MooncakeKVSender",
    "MoriKVManager",
    "MoriKVReceiver",
    "MoriKVSender",
    "NixlKVManager",
    "NixlKVReceiver",
    "NixlKVSender",
    "ParallelInfo",
    "RoomLimits",
    "StagingManagerMixin",
]
