"""Ascend's manager: Mooncake's wire and staging, another engine underneath."""

from __future__ import annotations

from typing import ClassVar

from pdwire.engines import Engine, EngineMissing
from pdwire.managers.mooncake import MooncakeKVManager, MooncakeKVReceiver, MooncakeKVSender

__all__ = ["AscendKVManager", "AscendKVReceiver", "AscendKVSender"]


class AscendKVManager(MooncakeKVManager):
    """One rank's end of the hand-over on Ascend devices; the engine must be given."""

    backend: ClassVar[str] = "ascend"
    wire_backend: ClassVar[str] = "ascend"

    def make_engine(self) -> Engine:
        """There is none to make."""
        raise EngineMissing("Ascend's engine comes with its devices: pass one")

    def sender(self, bootstrap_room: int, bootstrap_addr: str = "") -> AscendKVSender:
        """A sender of one room."""
        return AscendKVSender(self, bootstrap_addr, bootstrap_room)

    def receiver(self, bootstrap_addr: str, bootstrap_room: int) -> AscendKVReceiver:
        """A receiver of one room."""
        return AscendKVReceiver(self, bootstrap_addr, bootstrap_room)


class AscendKVSender(MooncakeKVSender):
    """The prefill side of one room on Ascend."""


class AscendKVReceiver(MooncakeKVReceiver):
    """The decode side of one room on Ascend."""
