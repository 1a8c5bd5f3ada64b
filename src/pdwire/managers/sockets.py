"""The thin shells around ZMQ: a loop that survives anything, and an outbox that cannot block."""

from __future__ import annotations

from pdwire.managers.endpoints import Endpoint, SendError, tcp
from pdwire.managers.loop import Loop
from pdwire.managers.outbox import Outbox

__all__ = ["Endpoint", "Loop", "Outbox", "SendError", "tcp"]
