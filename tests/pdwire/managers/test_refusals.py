"""A registration that a prefill rank refuses: who asks under it hears why (field report O3)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.pdwire.managers.fleet import (
    Fleet,
    Manager,
    PlayedDecode,
    counter,
    loopback,
    memory,
    pages,
    ready,
    settled,
    wait_until,
)

from pdwire.engines import EngineError
from pdwire.rooms import KVPoll


def refuse(decode: PlayedDecode, **facts: object) -> None:
    """Send a registration that is refused."""
    before = counter(decode.prefill, "dropped", "registration")
    decode.say(*decode.registration(**facts))
    wait_until(lambda: counter(decode.prefill, "dropped", "registration") > before)


def mixed(decode: PlayedDecode) -> dict[str, object]:
    count = len(decode.memory.args.kv_data_ptrs)
    return {"dst_kv_mem_kinds": ("DRAM",) * (count - 1) + ("VRAM",)}


MIXED = "registration refused: KV regions in several kinds of memory: DRAM, VRAM"


def no_peer(monkeypatch: pytest.MonkeyPatch, prefill: Manager) -> None:
    def fail(*_: object) -> None:
        raise EngineError("no files are left")

    monkeypatch.setattr(loopback(prefill), "add_peer", fail)


def test_o3_the_reason_reaches_decode_and_the_room_here(fleet: Fleet) -> None:
    prefill = fleet.prefill("nixl", memory(1))
    decode = fleet.played_decode(prefill)
    sender = prefill.sender(7)
    refuse(decode, **mixed(decode))
    decode.ask(7, pages(4, 5), 3)
    told = decode.hear()
    assert (told.room, told.status, told.failure_reason) == (7, KVPoll.Failed, MIXED)
    assert settled(sender) == [KVPoll.Failed]
    assert sender.failure_reason == MIXED


@pytest.mark.parametrize("backend", ["mooncake", "nixl", "mori"])
def test_o3_an_engine_that_does_not_take_the_peer_says_why(
    fleet: Fleet, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefill = fleet.prefill(backend, memory(1))
    decode = fleet.played_decode(prefill)
    sender = prefill.sender(7)
    no_peer(monkeypatch, prefill)
    refuse(decode)
    decode.ask(7, pages(4, 5), 3)
    assert settled(sender) == [KVPoll.Failed]
    assert sender.failure_reason == "registration refused: no files are left"
    told = decode.hear()
    assert told.status == KVPoll.Failed
    if backend != "mooncake":  # whose senders say no reason, in any release
        assert told.failure_reason == sender.failure_reason


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (lambda _: {"engine_desc": b"{"}, "engine description: "),
        (lambda d: {"dst_kv_mem_descs": (b"x",) * len(d.memory.args.kv_data_ptrs)}, "memory desc"),
    ],
)
def test_o3_descriptions_that_cannot_be_read(
    fleet: Fleet, facts: Callable[[PlayedDecode], dict[str, object]], reason: str
) -> None:
    prefill = fleet.prefill("mori", memory(1))
    decode = fleet.played_decode(prefill)
    refuse(decode, **facts(decode))
    decode.ask(7, pages(4, 5), 3)
    assert decode.hear().failure_reason.startswith(f"registration refused: {reason}")


def test_o3_a_registration_that_is_accepted_afterwards_serves(fleet: Fleet) -> None:
    prefill = fleet.prefill("nixl", memory(1))
    decode = fleet.played_decode(prefill)
    refuse(decode, **mixed(decode))
    decode.register()
    sender = prefill.sender(7)
    sender.init(2, aux_index=1)
    decode.ask(7, pages(4, 5), 3)
    ready(sender)
    sender.send(pages(1, 2))
    assert settled(sender) == [KVPoll.Success]


def test_o3_a_peer_that_registers_other_memory_which_is_refused_is_no_destination_any_more(
    fleet: Fleet,
) -> None:
    prefill = fleet.prefill("nixl", memory(1))
    decode = fleet.played_decode(prefill)
    decode.register()
    sender = prefill.sender(7)
    sender.init(2, aux_index=1)
    decode.ask(7, pages(4, 5), 3)
    ready(sender)
    before = decode.memory.copy()
    refuse(decode, **mixed(decode))
    assert settled(sender) == [KVPoll.Failed]
    assert sender.failure_reason == MIXED
    sender.send(pages(1, 2))
    wait_until(lambda: not prefill.prefill_side().peers)
    assert not decode.memory.changed(before)


def test_o3_somebody_else_is_still_unknown(fleet: Fleet) -> None:
    prefill = fleet.prefill("nixl", memory(1))
    one, other = fleet.played_decode(prefill), fleet.played_decode(prefill)
    refuse(one, **mixed(one))
    other.ask(7, pages(4, 5), 3)
    assert other.hear().failure_reason == f"unknown peer {other.name}"
