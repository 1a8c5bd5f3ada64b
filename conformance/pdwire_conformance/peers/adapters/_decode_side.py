"""Driving a release's decode side: the code that announces memory and asks for a transfer.

Rules:

* Where the manager builds its messages (0.5.23 on), that builder is called. Before, the
  receiver builds and sends in one function: it runs on a bare receiver whose connection
  is a socket that keeps what is sent.
* An encoder derives some fields from others, or has no way to say a value at all. Such
  values are :class:`~..errors.InexpressibleError` instead of being bent into others.
* A state list is flat in some releases: one component, or none.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pdwire_conformance.peers.backends import manager_class, receiver_class
from pdwire_conformance.peers.errors import DroppedError, InexpressibleError
from pdwire_conformance.peers.loader import LoadedRelease
from pdwire_conformance.peers.standins import CaptureSocket, bare, sending

Call = Callable[[], Sequence[bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the decode side hands to the receiver for one request."""

    room: int
    expected_infos: int
    kv_indices: Any
    aux_index: int | None
    state_indices: Any
    prefix_len: int | None
    is_dummy: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeSide:
    """The decode side of one backend of one release."""

    peer: LoadedRelease
    backend: str

    def registration(self, **attributes: Any) -> Call:
        """A call that makes the real code build one registration."""
        manager = self._manager(attributes)
        if hasattr(type(manager), "build_receiver_registration_message"):
            build: Call = manager.build_receiver_registration_message
            return build
        receiver, socket = self._receiver(manager, is_dummy=False)
        return _sending(socket, receiver._register_kv_args)

    def metadata(self, request: Request, **attributes: Any) -> Call:
        """A call that makes the real code build one request's metadata."""
        manager = self._manager(attributes)
        if hasattr(type(manager), "build_receiver_metadata_message"):
            return _built_metadata(manager, request)
        return self._sent_metadata(manager, request)

    def _sent_metadata(self, manager: Any, request: Request) -> Call:
        receiver, socket = self._receiver(manager, is_dummy=request.is_dummy)
        receiver.bootstrap_room = request.room
        receiver.required_dst_info_num = request.expected_infos
        send = _metadata_method(receiver)
        given = [request.kv_indices, request.aux_index, request.state_indices]
        if "decode_prefix_len" in inspect.signature(send).parameters:
            given.append(request.prefix_len)
        return _sending(socket, lambda: send(*given))

    def _manager(self, attributes: dict[str, Any]) -> Any:
        return bare(manager_class(self.peer, self.backend), **attributes)

    def _receiver(self, manager: Any, *, is_dummy: bool) -> tuple[Any, CaptureSocket]:
        socket = CaptureSocket()
        receiver = bare(
            receiver_class(self.peer, self.backend),
            kv_mgr=manager,
            bootstrap_infos=[{"is_dummy": is_dummy, "rank_ip": "127.0.0.1", "rank_port": 1}],
            bootstrap_room=None,
            **sending(socket),
        )
        return receiver, socket


def _built_metadata(manager: Any, request: Request) -> Call:
    def call() -> Sequence[bytes]:
        frames: Sequence[bytes] = manager.build_receiver_metadata_message(
            bootstrap_room=request.room,
            required_dst_info_num=request.expected_infos,
            kv_indices=request.kv_indices,
            aux_index=request.aux_index,
            state_indices=request.state_indices,
            decode_prefix_len=request.prefix_len,
            is_dummy=request.is_dummy,
        )
        return frames

    return call


def _metadata_method(receiver: Any) -> Callable[..., Any]:
    """Until 0.5.9 ``init`` takes the indices; later it only starts, and another sends."""
    if "kv_indices" in inspect.signature(receiver.init).parameters:
        init: Callable[..., Any] = receiver.init
        return init
    send: Callable[..., Any] = receiver.send_metadata
    return send


def _sending(socket: CaptureSocket, send: Callable[[], Any]) -> Call:
    def call() -> Sequence[bytes]:
        send()
        return socket.take()

    return call


def behind_guard(frames: Sequence[bytes], guard: bytes) -> list[bytes]:
    """The frames that the release's loop passes on; :class:`DroppedError` without its guard."""
    if not frames or frames[0] != guard:
        raise DroppedError(f"the first frame is not {guard!r}")
    return list(frames[1:])


def one_component(lists: Sequence[Any], field: str) -> Any:
    """The single component of a nested value, for a release that keeps the list flat."""
    if len(lists) > 1 or (lists and not len(lists[0])):
        raise InexpressibleError(f"{field}: this release has one flat list")
    return lists[0] if lists else []


def as_components(flat: Any) -> list[Any]:
    """A release's flat list in the shape of the spec: one component, or none."""
    return [flat] if len(flat) else []


def no_value(value: Any) -> bool:
    """Whether a JSON value is the one that an encoder leaves out: null or no elements."""
    return value is None or value == []
