"""Mooncake's and Ascend's registration and metadata: what a decode rank sends to prefill.

Rules:

* Encoding runs the receiver's own ``_register_kv_args`` and ``send_metadata`` (``init``
  before 0.5.10), on whichever manager the release builds frames with.
* Decoding runs the class that the backend's own receive loop decodes with.
* Releases without ``pack_int_lists`` keep state lists flat: one component, or none.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Collection, Sequence
from typing import Any

from pdwire_conformance.peers.backends import MOONCAKES, home, manager_class, receiver_class
from pdwire_conformance.peers.errors import InexpressibleError, Unavailable
from pdwire_conformance.peers.loader import LoadedRelease
from pdwire_conformance.peers.registry import Decoder, Encoder, Frames, Values, decodes, encodes
from pdwire_conformance.peers.standins import CaptureSocket, StandIn, bare, sending
from pdwire_conformance.peers.values import i32

_REGISTER, _METADATA = "KVArgsRegisterInfo", "TransferInfo"
_STATE_LISTS = (
    "dst_state_data_ptrs",
    "dst_state_item_lens",
    "dst_state_dim_per_tensor",
    "dst_state_layer_ids",
    "dst_state_indices",
)
# Attributes of the decoded objects that no frame carries: they are filled in afterwards.
_NO_FRAME = frozenset({"staging", "requires_dcp_relayout", "dcp_token_item_lens"})


def _register_encoder(backend: str) -> Callable[[LoadedRelease], Encoder]:
    def factory(peer: LoadedRelease) -> Encoder:
        flat = _is_flat(peer, backend)
        known = {field.name for field in dataclasses.fields(_class(peer, backend, _REGISTER))}

        def prepare(values: Values) -> Callable[[], Sequence[bytes]]:
            socket = CaptureSocket()
            kv_args = _kv_args(values, known, flat=flat)
            manager = _manager(peer, backend, values, kv_args)
            receiver = _receiver(peer, backend, manager, socket, values, is_dummy=False)

            def call() -> Sequence[bytes]:
                receiver._register_kv_args()
                return socket.take()

            return call

        return Encoder(prepare=prepare)

    return factory


def _metadata_encoder(backend: str) -> Callable[[LoadedRelease], Encoder]:
    def factory(peer: LoadedRelease) -> Encoder:
        flat = _is_flat(peer, backend)
        send_name = _send_name(peer, backend)

        def prepare(values: Values) -> Callable[[], Sequence[bytes]]:
            socket = CaptureSocket()
            manager = _manager(peer, backend, values, StandIn())
            is_dummy = bool(values.get("is_dummy", False))
            receiver = _receiver(peer, backend, manager, socket, values, is_dummy=is_dummy)
            arguments = _metadata_arguments(values, flat=flat, is_dummy=is_dummy)
            send = getattr(receiver, send_name)
            known = inspect.signature(send).parameters
            given = {name: value for name, value in arguments.items() if name in known}

            def call() -> Sequence[bytes]:
                send(**given)
                return socket.take()

            return call

        return Encoder(prepare=prepare)

    return factory


def _class_decoder(backend: str, name: str) -> Callable[[LoadedRelease], Decoder]:
    def factory(peer: LoadedRelease) -> Decoder:
        cls = _class(peer, backend, name)

        def prepare(frames: Frames) -> Callable[[], Any]:
            return lambda: cls.from_zmq(frames)

        return Decoder(prepare=prepare, read=_read)

    return factory


def _metadata_arguments(values: Values, *, flat: bool, is_dummy: bool) -> dict[str, Any]:
    if is_dummy and (values["dst_kv_indices"] or values.get("dst_aux_index") is not None):
        raise InexpressibleError("a dummy rank sends no indices")
    prefix = values.get("decode_prefix_len", 0)
    if prefix is None and not flat:
        raise InexpressibleError("the release writes no prefix as 0, never as nothing")
    states = values["dst_state_indices"]
    if is_dummy and states:
        raise InexpressibleError("a dummy rank sends no state")
    device = values.get("dst_device_kv_indices") or None
    return {
        "kv_indices": i32(values["dst_kv_indices"]),
        "aux_index": values["dst_aux_index"],
        "state_indices": (_component(states, "dst_state_indices") or None) if flat else states,
        "decode_prefix_len": prefix,
        "device_kv_indices": None if device is None else i32(device),
    }


def _receiver(
    peer: LoadedRelease,
    backend: str,
    manager: Any,
    socket: CaptureSocket,
    values: Values,
    *,
    is_dummy: bool,
) -> Any:
    return bare(
        receiver_class(peer, backend),
        kv_mgr=manager,
        session_id=values["mooncake_session_id"],
        bootstrap_infos=[{"rank_ip": "127.0.0.1", "rank_port": 1, "is_dummy": is_dummy}],
        bootstrap_room=values.get("room"),
        required_dst_info_num=values.get("required_dst_info_num"),
        **sending(socket),
    )


def _manager(peer: LoadedRelease, backend: str, values: Values, kv_args: Any) -> Any:
    staging = _staging_allocator(values)
    return bare(
        manager_class(peer, backend),
        kv_args=kv_args,
        local_ip=values["endpoint"],
        rank_port=values["dst_port"],
        engine=StandIn(get_session_id=lambda: values["mooncake_session_id"]),
        attn_tp_size=values.get("dst_attn_tp_size"),
        dcp_size=values.get("dst_dcp_size"),
        dcp_rank=values.get("dst_dcp_rank"),
        server_args=StandIn(enable_hisparse=values.get("enable_hisparse", False)),
        enable_staging=staging is not None,
        _staging_ctx=StandIn(allocator=staging),
        kv_buffer_tensors={"slot_layer_ids": values.get("staging_slot_layer_ids", [])},
    )


def _kv_args(values: Values, known: Collection[str], *, flat: bool) -> Any:
    """The pool's description; only what the release registers is looked at."""

    def states(name: str) -> Any:
        nested = values.get(name, []) if name in known else []
        return _component(nested, name) if flat else nested

    return StandIn(
        kv_data_ptrs=values["dst_kv_ptrs"],
        aux_data_ptrs=values["dst_aux_ptrs"],
        state_data_ptrs=states("dst_state_data_ptrs"),
        state_item_lens=states("dst_state_item_lens"),
        state_dim_per_tensor=states("dst_state_dim_per_tensor"),
        state_layer_ids=states("dst_state_layer_ids"),
        kv_layer_ids=values.get("dst_kv_layer_ids", []),
        kv_item_lens=_item_lens(values, every="dst_kv_item_lens" in known),
        engine_rank=values["dst_tp_rank"],
    )


def _item_lens(values: Values, *, every: bool) -> list[int]:
    """The pool's item lengths: the first is sent apart, later releases send all as well."""
    first: int = values["dst_kv_item_len"]
    if not every:
        return [first]
    lens = list(values["dst_kv_item_lens"])
    if first != (lens[0] if lens else 0):
        raise InexpressibleError("dst_kv_item_len is the first of dst_kv_item_lens, 0 for none")
    return lens


def _staging_allocator(values: Values) -> Any:
    base, size = values.get("staging_base_ptr", 0), values.get("staging_total_size", 0)
    if not base and not size:
        return None
    return StandIn(get_base_ptr=lambda: base, get_total_size=lambda: size)


def _component(nested: Sequence[Sequence[int]], name: str) -> list[int]:
    if len(nested) > 1 or (nested and not nested[0]):
        raise InexpressibleError(f"{name}: the release sends one flat list")
    return list(nested[0]) if nested else []


def _class(peer: LoadedRelease, backend: str, name: str) -> Any:
    """The class that the backend's own loop decodes with."""
    return getattr(home(peer, backend), name)


def _is_flat(peer: LoadedRelease, backend: str) -> bool:
    return not hasattr(home(peer, backend), "pack_int_lists")


def _send_name(peer: LoadedRelease, backend: str) -> str:
    cls = receiver_class(peer, backend)
    for name in ("send_metadata", "init"):
        if "kv_indices" in inspect.signature(getattr(cls, name, _read)).parameters:
            return name
    raise Unavailable(f"{peer.release}: {backend}'s receiver sends no metadata")


def _read(decoded: Any) -> Values:
    """The decoded object's attributes under the spec's names."""
    values = {
        field.name: getattr(decoded, field.name)
        for field in dataclasses.fields(decoded)
        if field.name not in _NO_FRAME
    }
    if values["room"] == "None":
        del values["room"]
    for name in _STATE_LISTS:
        if name in values:
            values[name] = _nested(values[name])
    return values | _staging_values(decoded)


def _nested(value: Sequence[Any]) -> Sequence[Any]:
    """A flat list of numbers as the one component that it is."""
    return [value] if len(value) and not isinstance(value[0], Sequence) else value


def _staging_values(decoded: Any) -> Values:
    if not hasattr(type(decoded), "staging") or hasattr(decoded, "dst_kv_indices"):
        return {}
    staging = decoded.staging
    if staging is None:
        # Its decoder skips the slot ids as well: nothing is known about them here.
        return {"staging_base_ptr": 0, "staging_total_size": 0}
    values = {"staging_base_ptr": staging.base_ptr, "staging_total_size": staging.total_size}
    if hasattr(staging, "slot_layer_ids"):
        values["staging_slot_layer_ids"] = staging.slot_layer_ids
    return values


for _backend in MOONCAKES:
    encodes(_backend, _REGISTER)(_register_encoder(_backend))
    decodes(_backend, _REGISTER)(_class_decoder(_backend, _REGISTER))
    encodes(_backend, _METADATA)(_metadata_encoder(_backend))
    decodes(_backend, _METADATA)(_class_decoder(_backend, _METADATA))
