"""Mori: registration, metadata and status, driven in the release's own manager and receiver.

Rules:

* Engine and memory descriptions are opaque bytes (:class:`~..stubs.OpaqueDescriptor`
  stands in for Mori's own), so the frames around them are what is proved.
* Every encoder leaves the prefix frame empty where there is none or 0, and sends a dummy
  with nothing at all.
* Until 0.5.19 the status decoder is the body of the decode loop: the real loop runs on
  one message and its own locals are read when it asks for the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pdwire_conformance.peers.errors import InexpressibleError
from pdwire_conformance.peers.loader import LoadedRelease
from pdwire_conformance.peers.registry import Decoder, Encoder, Frames, Values, decodes, encodes
from pdwire_conformance.peers.standins import StandIn
from pdwire_conformance.peers.stubs import OpaqueDescriptor
from pdwire_conformance.peers.values import i32, octets

from ._decode_side import (
    Call,
    DecodeSide,
    Request,
    as_components,
    behind_guard,
    no_value,
    one_component,
)
from ._mori_status import loop_decoder, notify_encoder
from ._status_side import status_decoder, status_encoder

_MODULE = "mori.conn"

_REGISTRATION = (
    *("endpoint", "dst_port", "gpu_id", "decode_tp_size", "decode_tp_rank"),
    *("dst_kv_item_len", "dst_kv_layer_ids", "dst_state_item_lens"),
    *("dst_state_dim_per_tensor", "dst_state_layer_ids", "dst_dcp_size", "dst_dcp_rank"),
)
_FLAT_INTS = ("dst_state_item_lens", "dst_state_dim_per_tensor")
_TRANSFER = (
    *("room", "endpoint", "dst_port", "engine_key", "dst_kv_indices", "dst_aux_index"),
    *("required_dst_info_num", "decode_prefix_len", "is_dummy"),
)


@encodes("mori", "KVArgsRegisterInfo")
def encode_registration(peer: LoadedRelease) -> Encoder:
    """The receiver's registration, or from 0.5.23 the manager's."""
    side = _decode_side(peer)
    flat = _is_flat(peer.module(_MODULE))

    def prepare(values: Values) -> Call:
        attributes = _address(values) | _descriptors(values, flat=flat)
        return side.registration(
            kv_args=_kv_args(values, flat=flat),
            attn_tp_size=values["decode_tp_size"],
            dcp_size=values["dst_dcp_size"],
            dcp_rank=values["dst_dcp_rank"],
            **attributes,
        )

    return Encoder(prepare=prepare)


@decodes("mori", "KVArgsRegisterInfo")
def decode_registration(peer: LoadedRelease) -> Decoder:
    """``KVArgsRegisterInfo.from_zmq``."""
    flat = _is_flat(peer.module(_MODULE))
    return _decoder(peer, "KVArgsRegisterInfo", lambda info: _read_registration(info, flat=flat))


@encodes("mori", "TransferInfo")
def encode_transfer(peer: LoadedRelease) -> Encoder:
    """The receiver's ``init`` or ``send_metadata``, or from 0.5.23 the manager's builder."""
    side = _decode_side(peer)
    module = peer.module(_MODULE)

    def prepare(values: Values) -> Call:
        engine = StandIn(key=values["engine_key"])
        return side.metadata(_request(module, values), engine_desc=engine, **_address(values))

    return Encoder(prepare=prepare)


@decodes("mori", "TransferInfo")
def decode_transfer(peer: LoadedRelease) -> Decoder:
    """``TransferInfo.from_zmq``."""
    flat = _is_flat(peer.module(_MODULE))
    return _decoder(peer, "TransferInfo", lambda info: _read_transfer(info, flat=flat))


@encodes("mori", "KV_STATUS")
def encode_status(peer: LoadedRelease) -> Encoder:
    """``notify_decode_status`` until 0.5.19, then ``send_kv_status_message``."""
    manager = peer.attribute(_MODULE, "MoriKVManager")
    if hasattr(manager, "notify_decode_status"):
        return notify_encoder(manager)
    return status_encoder(manager)


@decodes("mori", "KV_STATUS")
def decode_status(peer: LoadedRelease) -> Decoder:
    """The decode loop until 0.5.19, then ``parse_kv_status_message``."""
    manager = peer.attribute(_MODULE, "MoriKVManager")
    if hasattr(manager, "parse_kv_status_message"):
        return status_decoder(manager)
    return loop_decoder(peer)


def _is_flat(module: Any) -> bool:
    """Whether the release's records keep state as one list instead of one per component."""
    return not hasattr(module, "_pack_mem_desc_lists")


def _decode_side(peer: LoadedRelease) -> DecodeSide:
    return DecodeSide(peer=peer, backend="mori")


def _decoder(peer: LoadedRelease, name: str, read: Any) -> Decoder:
    from_zmq = peer.attribute(_MODULE, f"{name}.from_zmq")
    guard = peer.attribute(_MODULE, "MORI_GUARD")

    def prepare(frames: Frames) -> Any:
        rest = behind_guard(frames, guard)
        return lambda: from_zmq(rest)

    return Decoder(prepare=prepare, read=read)


# --- what the encoders read


def _address(values: Values) -> dict[str, Any]:
    return {"local_ip": values["endpoint"], "rank_port": values["dst_port"]}


def _descriptors(values: Values, *, flat: bool) -> dict[str, Any]:
    state: Any = values["dst_state_mem_descs"]
    if flat:
        state = _described(one_component(state, "dst_state_mem_descs"))
    else:
        state = [_described(component) for component in state]
    return {
        "engine_desc": OpaqueDescriptor(octets(values["engine_desc"])),
        "kv_mem_descs": _described(values["dst_kv_mem_descs"]),
        "aux_mem_descs": _described(values["dst_aux_mem_descs"]),
        "state_mem_descs": state,
    }


def _described(blobs: Sequence[Any]) -> list[OpaqueDescriptor | None]:
    return [None if blob is None else OpaqueDescriptor(octets(blob)) for blob in blobs]


def _kv_args(values: Values, *, flat: bool) -> StandIn:
    ints = {field: values[field] for field in _FLAT_INTS}
    if flat:
        ints = {field: one_component(lists, field) for field, lists in ints.items()}
    return StandIn(
        kv_item_lens=[values["dst_kv_item_len"]],
        kv_layer_ids=values["dst_kv_layer_ids"],
        state_item_lens=ints["dst_state_item_lens"],
        state_dim_per_tensor=ints["dst_state_dim_per_tensor"],
        state_layer_ids=values["dst_state_layer_ids"],
        gpu_id=values["gpu_id"],
        engine_rank=values["decode_tp_rank"],
        decode_tp_size=values["decode_tp_size"],
    )


def _request(module: Any, values: Values) -> Request:
    state = values["dst_state_indices"]
    if _is_flat(module):
        one_component(state, "dst_state_indices")
    if values["decode_prefix_len"] == 0:
        raise InexpressibleError("decode_prefix_len: the encoder sends nothing for 0")
    aux_index = values["dst_aux_index"]
    return Request(
        room=values["room"],
        expected_infos=values["required_dst_info_num"],
        kv_indices=i32(values["dst_kv_indices"]),
        aux_index=None if aux_index < 0 else aux_index,
        state_indices=[i32(component) for component in state],
        prefix_len=values["decode_prefix_len"],
        is_dummy=bool(values["is_dummy"]) and no_value(state),
    )


# --- what the decoders made


def _read_registration(info: Any, *, flat: bool) -> Values:
    values: Values = {n: getattr(info, n) for n in _REGISTRATION if hasattr(info, n)}
    state = info.dst_state_mem_descs
    if flat:
        values |= {f: as_components(values[f]) for f in _FLAT_INTS if f in values}
        state = as_components(state)
    return values | {
        "engine_desc": info.engine_desc.pack(),
        "dst_kv_mem_descs": _packed(info.dst_kv_mem_descs),
        "dst_aux_mem_descs": _packed(info.dst_aux_mem_descs),
        "dst_state_mem_descs": [_packed(component) for component in state],
    }


def _packed(descriptors: Sequence[Any]) -> list[bytes | None]:
    return [None if one is None else one.pack() for one in descriptors]


def _read_transfer(info: Any, *, flat: bool) -> Values:
    values: Values = {n: getattr(info, n) for n in _TRANSFER if hasattr(info, n)}
    values["is_dummy"] = bool(info.is_dummy)
    if hasattr(info, "dst_state_indices"):
        state = info.dst_state_indices
        values["dst_state_indices"] = as_components(state) if flat else state
    return values
