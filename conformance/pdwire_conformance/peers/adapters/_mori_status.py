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

from pdwire_conformance.peers.registry import Decoder, Encoder, Frames, Values
from pdwire_conformance.peers.standins import (
    CaptureSocket,
    EndOfFeedError,
    LoopThread,
    StandIn,
    bare,
    run_loop,
)

from ._status_side import RANKS, DroppedError

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
        sender = bare(
            manager,
            attn_tp_rank=values["prefill_rank"],
            _connect=lambda *_, **__: socket,
            _connect_threadsafe=lambda *_, **__: socket,
            **RANKS,
        )
        target = StandIn(endpoint="127.0.0.1", dst_port=1)

        def call() -> Sequence[bytes]:
            sender.notify_decode_status(
                [target], values["room"], values["status"], values["failure_reason"]
            )
            return socket.take()

        return call

    return Encoder(prepare=prepare)


def loop_decoder(module: Any, manager: type) -> Decoder:
    """The loop that ``_start_decode_thread`` starts, run on one message."""

    def prepare(frames: Frames) -> Callable[[], Values]:
        return lambda: _run(module, manager, frames)

    return Decoder(prepare=prepare, read=lambda values: values)


class _LocalsSocket:
    """Yields one message; asked again, keeps the asking loop's locals and ends it."""

    def __init__(self, frames: Frames) -> None:
        self._frames: Frames | None = frames
        self.locals: dict[str, Any] = {}

    def recv_multipart(self) -> Frames:
        if self._frames is None:
            self.locals = dict(sys._getframe(1).f_locals)
            raise EndOfFeedError
        frames, self._frames = self._frames, None
        return frames


class _Journal:
    """A module's logger that keeps the exception it is told of."""

    error: BaseException | None = None

    def exception(self, *_: Any, **__: Any) -> None:
        self.error = sys.exception()

    def debug(self, *_: Any, **__: Any) -> None:
        """Not an error."""

    info = warning = debug


class _AnyRoom:
    """Every room is known, so that the loop reads the whole message."""

    def __contains__(self, room: object) -> bool:
        return True


def _run(module: Any, manager: type, frames: Frames) -> Values:
    socket, journal = _LocalsSocket(frames), _Journal()
    kept, module.logger = module.logger, journal
    try:
        run_loop(_loop(module, _receiver(manager, socket)))
    finally:
        module.logger = kept
    if journal.error is not None:
        raise journal.error
    if _LOCALS["failure_reason"] not in socket.locals:
        raise DroppedError("the release does not take this for a status message")
    return {field: socket.locals[local] for field, local in _LOCALS.items()}


def _receiver(manager: type, socket: _LocalsSocket) -> Any:
    return bare(
        manager,
        server_socket=socket,
        request_status=_AnyRoom(),
        prefill_response_tracker=defaultdict(set),
        required_prefill_response_num_table={},
        update_status=lambda *_: None,
        record_failure=lambda *_: None,
        _cleanup_room_tracking=lambda *_: None,
    )


def _loop(module: Any, receiver: Any) -> Callable[[], Any]:
    """The target of the thread that the manager would start."""
    started: list[LoopThread] = []
    thread = type("Thread", (LoopThread,), {"started": started})
    kept, module.threading = module.threading, StandIn(Thread=thread)
    try:
        receiver._start_decode_thread()
    finally:
        module.threading = kept
    (only,) = started
    return only.target
