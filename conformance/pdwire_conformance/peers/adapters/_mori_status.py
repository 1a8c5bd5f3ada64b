"""Mori's status messages until 0.5.19: built inline by one method, read inline by one loop.

Rules:

* The real loop runs on one message. When it asks for the next, the values are read from
  its own local variables: the names below are those of every release that has the loop.
* The loop swallows what its body raises; the stand-in for the module's logger keeps the
  error, and it is raised again behind the loop, so that a refusal is the release's own.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from pdwire_conformance.peers.backends import receive_loop
from pdwire_conformance.peers.errors import DroppedError
from pdwire_conformance.peers.loader import LoadedRelease
from pdwire_conformance.peers.registry import Decoder, Encoder, Frames, Values
from pdwire_conformance.peers.standins import (
    CaptureSocket,
    Everything,
    StandIn,
    bare,
    replaced,
    sending,
)

from ._status_side import RANKS

_LOCALS = {
    "room": "bootstrap_room",
    "status": "status_code",
    "prefill_rank": "prefill_rank",
    "failure_reason": "failure_reason",
}


def notify_encoder(manager: type) -> Encoder:
    """``notify_decode_status`` of the manager, with one endpoint to notify."""

    def prepare(values: Values) -> Callable[[], Sequence[bytes]]:
        socket = CaptureSocket()
        rank = values["prefill_rank"]
        sender = bare(manager, attn_tp_rank=rank, **RANKS, **sending(socket))
        target = StandIn(endpoint="127.0.0.1", dst_port=1)

        def call() -> Sequence[bytes]:
            sender.notify_decode_status(
                [target], values["room"], values["status"], values["failure_reason"]
            )
            return socket.take()

        return call

    return Encoder(prepare=prepare)


class _Journal:
    """A module's logger that keeps the exception it is told of."""

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def exception(self, *_: Any, **__: Any) -> None:
        self.error = sys.exception()

    def debug(self, *_: Any, **__: Any) -> None:
        """Not an error."""

    info = warning = debug


def loop_decoder(peer: LoadedRelease) -> Decoder:
    """The loop that ``_start_decode_thread`` starts."""
    loop, manager = receive_loop(
        peer,
        "mori",
        "decode",
        # Every room is known and stays, so that the loop reads the whole message.
        request_status=Everything(),
        prefill_response_tracker=defaultdict(set),
        required_prefill_response_num_table={},
        update_status=lambda *_: None,
        record_failure=lambda *_: None,
        _cleanup_room_tracking=lambda *_: None,
    )

    def run(messages: Sequence[Frames]) -> dict[str, Any]:
        journal = _Journal()
        with replaced(manager._start_decode_thread, logger=journal):
            seen = loop.run(messages)
        if journal.error is not None:
            raise journal.error
        return seen

    return Decoder(
        prepare=lambda frames: lambda: run([frames]),
        read=_read,
        timed=lambda frames, number: lambda: run([frames] * number),
    )


def _read(seen: dict[str, Any]) -> Values:
    if _LOCALS["failure_reason"] not in seen:
        raise DroppedError("the loop does not take this for a status message")
    return {field: seen[local] for field, local in _LOCALS.items()}
