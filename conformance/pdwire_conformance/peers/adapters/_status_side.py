"""Driving a release's own status messages (0.5.20 on: one encoder and one parser for all).

Rules:

* The encoder is the one that connects and sends; its locked send is replaced by a
  socket that keeps the frames.
* A prefill rank is computed by the release from tensor, context and pipeline ranks: with
  one context and one pipeline rank it is the tensor rank.
* A message that the release's parser gives back as none of its own is
  :class:`~..errors.DroppedError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pdwire_conformance.peers.errors import DroppedError
from pdwire_conformance.peers.registry import Decoder, Encoder, Frames, Values
from pdwire_conformance.peers.standins import CaptureSocket, bare

RANKS: dict[str, int] = {"pp_size": 1, "pp_rank": 0, "attn_cp_size": 1, "attn_cp_rank": 0}
"""A topology in which the tensor rank is the prefill rank."""


def status_encoder(manager: type) -> Encoder:
    """``send_kv_status_message`` of a manager class that has it."""

    def prepare(values: Values) -> Any:
        socket = CaptureSocket()
        sender = bare(
            manager,
            attn_tp_rank=values["prefill_rank"],
            _send_multipart_locked=lambda address, frames, **_: socket.send_multipart(frames),
            **RANKS,
        )

        def call() -> Sequence[bytes]:
            sender.send_kv_status_message(
                targets=[("127.0.0.1", 1)],
                bootstrap_room=values["room"],
                status=values["status"],
                failure_reason=values["failure_reason"],
            )
            return socket.take()

        return call

    return Encoder(prepare=prepare)


def status_decoder(manager: type) -> Decoder:
    """``parse_kv_status_message`` of a manager class that has it."""
    receiver = bare(manager)

    def prepare(frames: Frames) -> Any:
        return lambda: receiver.parse_kv_status_message(frames)

    return Decoder(prepare=prepare, read=read_status)


def read_status(parsed: Any) -> Values:
    """The four values that the release's parser gives; :class:`DroppedError` for none."""
    if parsed is None:
        raise DroppedError("the release does not take this for a status message")
    room, status, rank, reason = parsed
    return {"room": room, "status": status, "prefill_rank": rank, "failure_reason": reason}
