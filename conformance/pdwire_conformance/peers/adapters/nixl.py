"""NIXL: registration, metadata and status, driven in the release's own manager and receiver.

Rules:

* ``dst_kv_item_len`` is the first of ``dst_kv_item_lens`` on the wire, and
  ``dst_num_slots`` a quotient of pool sizes: values that contradict that are refused.
* Every encoder writes a missing prefix as 0 and a dummy without pages and state.
* Fields that a release's record does not have are not in what :func:`_read` gives.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from pdwire_conformance.peers.errors import InexpressibleError, Unavailable
from pdwire_conformance.peers.loader import LoadedRelease
from pdwire_conformance.peers.registry import Decoder, Encoder, Frames, Values, decodes, encodes
from pdwire_conformance.peers.standins import StandIn
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
from ._status_side import status_decoder, status_encoder

_MODULE = "nixl.conn"

_REGISTRATION = (
    *("endpoint", "dst_port", "agent_name", "agent_metadata", "gpu_id"),
    *("decode_tp_size", "decode_tp_rank", "dst_kv_ptrs", "dst_kv_item_len"),
    *("dst_kv_item_lens", "dst_kv_mem_kinds", "dst_kv_layer_ids", "dst_num_slots"),
    *("dst_aux_ptrs", "dst_state_data_ptrs", "dst_state_item_lens"),
    *("dst_state_dim_per_tensor", "dst_state_layer_ids", "dst_state_data_lens"),
    *("staging_base_ptr", "staging_total_size", "dst_dcp_size", "dst_dcp_rank"),
)
_NESTED = ("dst_state_data_ptrs", "dst_state_item_lens", "dst_state_dim_per_tensor")
_TRANSFER = (
    *("room", "endpoint", "dst_port", "agent_name", "dst_kv_indices", "dst_aux_index"),
    *("required_dst_info_num", "decode_prefix_len"),
)


@encodes("nixl", "KVArgsRegisterInfo")
def encode_registration(peer: LoadedRelease) -> Encoder:
    """The receiver's registration, or from 0.5.23 the manager's."""
    side = _decode_side(peer)
    module = peer.module(_MODULE)

    def prepare(values: Values) -> Call:
        attributes = _identity(values) | _topology(values) | _staging(values)
        return side.registration(kv_args=_kv_args(module, values), **attributes)

    return Encoder(prepare=prepare)


@decodes("nixl", "KVArgsRegisterInfo")
def decode_registration(peer: LoadedRelease) -> Decoder:
    """``KVArgsRegisterInfo.from_zmq``."""
    return _decoder(peer, "KVArgsRegisterInfo", _read_registration(peer))


@encodes("nixl", "TransferInfo")
def encode_transfer(peer: LoadedRelease) -> Encoder:
    """The receiver's ``init`` or ``send_metadata``, or from 0.5.23 the manager's builder."""
    side = _decode_side(peer)
    module = peer.module(_MODULE)

    def prepare(values: Values) -> Call:
        return side.metadata(_request(module, values), **_identity(values), **_QUIET)

    return Encoder(prepare=prepare)


@decodes("nixl", "TransferInfo")
def decode_transfer(peer: LoadedRelease) -> Decoder:
    """``TransferInfo.from_zmq``."""
    return _decoder(peer, "TransferInfo", _read_transfer(peer))


@encodes("nixl", "KV_STATUS")
def encode_status(peer: LoadedRelease) -> Encoder:
    """``send_kv_status_message`` of the manager."""
    return status_encoder(_tagged_manager(peer))


@decodes("nixl", "KV_STATUS")
def decode_status(peer: LoadedRelease) -> Decoder:
    """``parse_kv_status_message`` of the manager."""
    return status_decoder(_tagged_manager(peer))


def _tagged_manager(peer: LoadedRelease) -> Any:
    manager = peer.attribute(_MODULE, "NixlKVManager")
    if not getattr(manager, "kv_status_msg_tag", None):
        raise Unavailable(f"{peer.release} sends no status messages with NIXL")
    return manager


def _decode_side(peer: LoadedRelease) -> DecodeSide:
    return DecodeSide(peer=peer, backend="nixl")


def _decoder(peer: LoadedRelease, name: str, read: Any) -> Decoder:
    from_zmq = peer.attribute(_MODULE, f"{name}.from_zmq")
    guard = peer.attribute(_MODULE, "GUARD")

    def prepare(frames: Frames) -> Any:
        rest = behind_guard(frames, guard)
        return lambda: from_zmq(rest)

    return Decoder(prepare=prepare, read=read)


# --- what the encoders read

_QUIET: dict[str, Any] = {
    "enable_staging": False,
    "kv_args": StandIn(engine_rank=0),
    "transfer_statuses": defaultdict(StandIn),
}


def _identity(values: Values) -> dict[str, Any]:
    metadata = octets(values["agent_metadata"]) if "agent_metadata" in values else b""
    return {
        "local_ip": values["endpoint"],
        "rank_port": values["dst_port"],
        "agent": StandIn(name=values["agent_name"], get_agent_metadata=lambda: metadata),
    }


def _topology(values: Values) -> dict[str, Any]:
    return {
        "attn_tp_size": values["decode_tp_size"],
        "dcp_size": values["dst_dcp_size"],
        "dcp_rank": values["dst_dcp_rank"],
    }


def _staging(values: Values) -> dict[str, Any]:
    base, size = values["staging_base_ptr"], values["staging_total_size"]
    allocator = StandIn(get_base_ptr=lambda: base, get_total_size=lambda: size)
    return {
        "enable_staging": bool(base or size),
        "_staging_ctx": StandIn(allocator=allocator),
    }


def _kv_args(module: Any, values: Values) -> StandIn:
    lens = _item_lens(module, values)
    nested = {field: values[field] for field in _NESTED}
    if not hasattr(module, "pack_int_lists"):
        nested = {field: one_component(lists, field) for field, lists in nested.items()}
    return StandIn(
        kv_data_ptrs=values["dst_kv_ptrs"],
        kv_item_lens=lens,
        kv_data_lens=_data_lens(module, values, lens),
        kv_data_mem_kinds=values["dst_kv_mem_kinds"],
        kv_layer_ids=values["dst_kv_layer_ids"],
        aux_data_ptrs=values["dst_aux_ptrs"],
        state_data_ptrs=nested["dst_state_data_ptrs"],
        state_item_lens=nested["dst_state_item_lens"],
        state_dim_per_tensor=nested["dst_state_dim_per_tensor"],
        state_layer_ids=values["dst_state_layer_ids"],
        state_data_lens=values["dst_state_data_lens"],
        gpu_id=values["gpu_id"],
        engine_rank=values["decode_tp_rank"],
        decode_tp_size=values["decode_tp_size"],
    )


def _item_lens(module: Any, values: Values) -> list[int]:
    first, lens = values["dst_kv_item_len"], list(values["dst_kv_item_lens"])
    if not hasattr(module, "_pack_kv_mem_kinds"):
        return [first] * max(1, len(lens))
    if first != (lens[0] if lens else 0):
        raise InexpressibleError("dst_kv_item_len: the encoder sends the first of the lengths")
    return lens


def _data_lens(module: Any, values: Values, lens: Sequence[int]) -> list[int]:
    """Pool sizes whose quotient by the item lengths is the wanted number of slots."""
    slots = values["dst_num_slots"]
    if "dst_num_slots" not in module.KVArgsRegisterInfo.__dataclass_fields__:
        return [0 for _ in lens]
    if slots is None or (slots and not any(lens)):
        raise InexpressibleError("dst_num_slots: the encoder computes it from the pool sizes")
    return [slots * length for length in lens]


def _request(module: Any, values: Values) -> Request:
    state = values["dst_state_indices"]
    keeps_prefix = "decode_prefix_len" in module.TransferInfo.__dataclass_fields__
    if keeps_prefix and values["decode_prefix_len"] is None:
        raise InexpressibleError("decode_prefix_len: the encoder sends 0 where it has none")
    if not hasattr(module, "pack_int_lists"):
        state_indices: Any = i32(one_component(state, "dst_state_indices")) if state else None
    else:
        state_indices = [i32(component) for component in state]
    return Request(
        room=values["room"],
        expected_infos=values["required_dst_info_num"],
        kv_indices=i32(values["dst_kv_indices"]),
        aux_index=values["dst_aux_index"],
        state_indices=state_indices,
        prefix_len=values["decode_prefix_len"],
        is_dummy=_asks_for_nothing(module, values),
    )


def _asks_for_nothing(module: Any, values: Values) -> bool:
    """What the bootstrap said of this rank; a dummy is sent without pages and state."""
    bare_of_data = no_value(values["dst_kv_indices"]) and no_value(values["dst_state_indices"])
    if _says_dummy(module) and values["is_dummy"] and not bare_of_data:
        raise InexpressibleError("is_dummy: the encoder sends a dummy without pages and state")
    return bool(values["is_dummy"]) and bare_of_data


def _says_dummy(module: Any) -> bool:
    """Whether the release has a frame for it: its record then keeps what the frame said."""
    fields = module.TransferInfo.__dataclass_fields__
    return "is_dummy_rank" in fields or "is_dummy" in fields


# --- what the decoders made


def _read_registration(peer: LoadedRelease) -> Any:
    flat = not hasattr(peer.module(_MODULE), "pack_int_lists")

    def read(info: Any) -> Values:
        values = {name: getattr(info, name) for name in _REGISTRATION if hasattr(info, name)}
        if flat:
            values |= {f: as_components(values[f]) for f in _NESTED if f in values}
        if hasattr(info, "staging"):
            values |= _staging_scalars(info.staging)
        return values

    return read


def _staging_scalars(staging: Any) -> Values:
    """0.5.12 to 0.5.17 keep staging in a record of its own, or none where it is off."""
    if staging is None:
        return {"staging_base_ptr": 0, "staging_total_size": 0}
    return {"staging_base_ptr": staging.base_ptr, "staging_total_size": staging.total_size}


def _read_transfer(peer: LoadedRelease) -> Any:
    flat = not hasattr(peer.module(_MODULE), "pack_int_lists")

    def read(info: Any) -> Values:
        values = {name: getattr(info, name) for name in _TRANSFER if hasattr(info, name)}
        values["is_dummy"] = bool(info.is_dummy() if callable(info.is_dummy) else info.is_dummy)
        if hasattr(info, "dst_state_indices"):
            state = info.dst_state_indices
            values["dst_state_indices"] = as_components(state) if flat else state
        return values

    return read
