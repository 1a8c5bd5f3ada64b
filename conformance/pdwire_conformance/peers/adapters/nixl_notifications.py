"""The texts that NIXL transfers carry, written and read by the releases' own code.

* Writing: the real ``add_transfer_request`` (up to 0.5.11) or ``transfer_worker``
  hands one chunk over for one receiver, down to an agent that keeps the notification
  of each transfer. Only a staged write stops short of its GPU gather.
* Reading: the real ``update_transfer_status`` takes the text from an agent, and what
  it then notes about the room is the decoded value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from pdwire_conformance.peers.errors import DroppedError, InexpressibleError, Unavailable
from pdwire_conformance.peers.loader import LoadedRelease
from pdwire_conformance.peers.registry import Decoder, Encoder, Values, decodes, encodes
from pdwire_conformance.peers.standins import StandIn, bare

from ._nixl_sender import Hand, Sender

Call = Callable[[], list[bytes]]

_AGENT = "agent-under-test"


def _manager(peer: LoadedRelease) -> Any:
    """The release's NIXL manager class; Unavailable where it writes no notifications."""
    manager = peer.attribute("nixl.conn", "NixlKVManager")
    if not hasattr(manager, "update_transfer_status"):
        raise Unavailable(f"{peer.release} writes without notifications")
    return manager


def _takes_parts(manager: Any) -> bool:
    return hasattr(manager, "send_kvcache_mixed")


def _with_state(peer: LoadedRelease) -> Any:
    manager = _manager(peer)
    if not hasattr(manager, "maybe_send_extra"):
        raise Unavailable(f"{peer.release} has no state transfer over NIXL")
    return manager


def _with_staging(peer: LoadedRelease) -> Any:
    manager = _manager(peer)
    if not hasattr(manager, "_handle_stg_notification"):
        raise Unavailable(f"{peer.release} has no staging over NIXL")
    return manager


# -- writing ----------------------------------------------------------------------------


@encodes("nixl", "NOTIF_KV")
def kv_encoder(peer: LoadedRelease) -> Encoder:
    """One chunk as one write, or cut into parts by a plan of that many segments."""
    manager = _manager(peer)
    sender = Sender(peer, manager)

    def prepare(values: Values) -> Call:
        parts = values.get("num_parts") if _takes_parts(manager) else None
        part = 0 if parts is None else values["part_idx"]
        hand = Hand(
            room=values["room"],
            chunk_id=values["chunk_id"],
            is_last=values["is_last"],
            rank=values.get("pp_rank", 0),
            parts=parts,
        )
        return _nth(sender.hand_over(hand), part)

    return Encoder(prepare=prepare)


@encodes("nixl", "NOTIF_AUX")
def aux_encoder(peer: LoadedRelease) -> Encoder:
    """A last chunk; without KV pages where the values name the rank that had none."""
    manager = _manager(peer)
    sender = Sender(peer, manager)
    has_state = hasattr(manager, "maybe_send_extra")

    def prepare(values: Values) -> Call:
        rank = values.get("pp_rank")
        if rank is None and values.get("expected"):
            raise InexpressibleError("a count of chunks goes with a rank")
        hand = Hand(
            room=values["room"],
            chunk_id=values.get("expected", 0),
            is_last=True,
            rank=rank or 0,
            pages=1 if rank is None else 0,
            # 0.5.12 sends the auxiliary row only along with state.
            components=1 if has_state else None,
        )
        return _nth(sender.hand_over(hand), -1)

    return Encoder(prepare=prepare)


@encodes("nixl", "NOTIF_STATE")
def state_encoder(peer: LoadedRelease) -> Encoder:
    """A last chunk whose state is in the named component, the ones before it empty."""
    sender = Sender(peer, _with_state(peer))

    def prepare(values: Values) -> Call:
        hand = Hand(
            room=values["room"],
            chunk_id=0,
            is_last=True,
            rank=values["pp_rank"],
            components=(values.get("component") or 0) + 1,
        )
        return _nth(sender.hand_over(hand), -2)

    return Encoder(prepare=prepare)


@encodes("nixl", "NOTIF_STG")
def stg_encoder(peer: LoadedRelease) -> Encoder:
    """One staged chunk, up to the point where the bytes would be gathered on the GPU."""
    sender = Sender(peer, _with_staging(peer))

    def prepare(values: Values) -> Call:
        hand = Hand(
            room=values["room"],
            chunk_id=values["chunk_id"],
            is_last=values["is_last"],
            rank=values["pp_rank"],
            pages=values["num_pages"],
            page_start=values["page_start"],
            agent_name=values["agent_name"],
        )
        return _nth(sender.stage(hand, values["chunk_idx"]), 0)

    return Encoder(prepare=prepare)


def _nth(send: Callable[[], list[bytes]], index: int) -> Call:
    def call() -> list[bytes]:
        return [send()[index]]

    return call


# -- reading ----------------------------------------------------------------------------


def _reader(
    peer: LoadedRelease, manager: Any, read: Callable[[int, Any, Mapping[str, Any]], Values]
) -> Decoder:
    """``read`` gets the room, its real status object and the captured calls."""
    status_class = peer.attribute("nixl.conn", "TransferStatus")

    def prepare(frames: list[bytes]) -> Callable[[], Any]:
        calls: dict[str, Any] = {}
        statuses: dict[int, Any] = defaultdict(status_class)
        reader = bare(
            manager,
            agent=StandIn(get_new_notifs=lambda: {_AGENT: [frames[0]]}),
            transfer_statuses=statuses,
            required_prefill_response_num_table={},
            enable_staging=False,
            _staging_handler=None,
            _handle_staging_chunk_arrived=_capture(calls, "staged"),
        )
        if hasattr(manager, "_track_kv_arrival"):
            reader.__dict__["_track_kv_arrival"] = _capture(calls, "kv")
        if hasattr(manager, "_track_kv_part_arrival"):
            reader.__dict__["_track_kv_part_arrival"] = _capture(calls, "part")

        def call() -> tuple[dict[int, Any], dict[str, Any]]:
            reader.update_transfer_status()
            return statuses, calls

        return call

    def values(result: tuple[dict[int, Any], dict[str, Any]]) -> Values:
        statuses, calls = result
        if not statuses and not calls:
            raise DroppedError("the reader took no notice of the text")
        room = next(iter(statuses)) if statuses else next(iter(calls.values()))[0]
        return {"room": room} | read(room, statuses.get(room), calls)

    return Decoder(prepare=prepare, read=values)


def _capture(calls: dict[str, Any], name: str) -> Callable[..., None]:
    def capture(*arguments: Any) -> None:
        calls[name] = arguments

    return capture


@decodes("nixl", "NOTIF_KV")
def kv_decoder(peer: LoadedRelease) -> Decoder:
    """The chunk that the reader noted, from its own counters or its tracker's arguments."""
    manager = _manager(peer)

    def read(room: int, status: Any, calls: Mapping[str, Any]) -> Values:
        if not calls:
            return _counted(status)
        arrival = calls.get("part") or calls["kv"]
        values = dict(zip(("chunk_id", "is_last", "pp_rank"), arrival[1:4], strict=True))
        if _takes_parts(manager):
            part_idx, num_parts = arrival[4:] or (None, None)
            values |= {"part_idx": part_idx, "num_parts": num_parts}
        return values

    return _reader(peer, manager, read)


def _counted(status: Any) -> Values:
    """A chunk from the status of a room that knows no other."""
    if hasattr(status, "received_kvs"):
        (chunk_id,) = status.received_kvs
        return {"chunk_id": chunk_id, "is_last": status.num_kvs_expected is not None}
    ((rank, chunks),) = status.received_kvs_per_pp.items()
    (chunk_id,) = chunks
    last = rank in status.expected_kvs_per_pp
    return {"chunk_id": chunk_id, "is_last": last, "pp_rank": rank}


@decodes("nixl", "NOTIF_AUX")
def aux_decoder(peer: LoadedRelease) -> Decoder:
    """Whose KV chunks the reader expects after an auxiliary row, and how many."""

    def read(room: int, status: Any, calls: Mapping[str, Any]) -> Values:
        assert status.received_aux
        expected = getattr(status, "expected_kvs_per_pp", {})
        rank, count = next(iter(expected.items()), (None, 0))
        return {"pp_rank": rank, "expected": count}

    return _reader(peer, _manager(peer), read)


@decodes("nixl", "NOTIF_STATE")
def state_decoder(peer: LoadedRelease) -> Decoder:
    """Which rank's state the reader noted; it does not look at the component."""

    def read(room: int, status: Any, calls: Mapping[str, Any]) -> Values:
        (rank,) = status.received_state_per_pp
        return {"pp_rank": rank}

    return _reader(peer, _with_state(peer), read)


@decodes("nixl", "NOTIF_STG")
def stg_decoder(peer: LoadedRelease) -> Decoder:
    """The chunk and its place in the staging grid, as the reader hands them on."""

    def read(room: int, status: Any, calls: Mapping[str, Any]) -> Values:
        chunk = zip(("chunk_id", "is_last", "pp_rank"), calls["kv"][1:], strict=True)
        place = ("chunk_idx", "page_start", "num_pages", "agent_name")
        return dict(chunk) | dict(zip(place, calls["staged"][1:], strict=True))

    return _reader(peer, _with_staging(peer), read)
