"""Every release's wire, spoken by both of our sides; and several of them at one prefill rank."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.pdwire.managers.fleet import (
    Fleet,
    Memory,
    begin,
    counter,
    hand_over,
    memory,
    pages,
    settled,
)

from pdwire.rooms import KVPoll
from pdwire.wire import layout, releases

SPOKEN = [
    (backend, release)
    for backend in ("mooncake", "nixl", "mori", "ascend")
    for release in releases(backend)
]
STATE = ((1, 8, 32),)
"""One component: what every release can carry."""
NIXL_SAYS_KINDS = "0.5.15"
"""From here on NIXL says what kind of memory its regions are; before, all of it is VRAM."""


STATE_FROM = {"nixl": "0.5.9", "mori": "0.5.12"}
"""Before that these backends hand over no state."""


def is_before(backend: str, release: str, other: str) -> bool:
    order = releases(backend)
    return order.index(release) < order.index(other)


def kind(backend: str, release: str) -> dict[str, Any]:
    old = backend == "nixl" and is_before(backend, release, NIXL_SAYS_KINDS)
    return {"mem_kind": "VRAM"} if old else {}


@pytest.mark.parametrize(("backend", "release"), SPOKEN)
def test_a_decode_of_any_release_is_served(fleet: Fleet, backend: str, release: str) -> None:
    facts = kind(backend, release)
    stateless = is_before(backend, release, STATE_FROM.get(backend, release))
    state = () if stateless else STATE
    moved, place = ([], []) if stateless else ([pages(3)], [pages(5)])
    source, target = memory(1, state=state), memory(2, state=state, **facts)
    # Registrations of some releases read two ways: then the prefill has to be told.
    prefill = fleet.prefill(backend, source, release=release)
    decode = fleet.decode(backend, target, release=release)
    src, dst = pages(1, 2, 7), pages(4, 5, 6)

    sender, receiver = begin(prefill, decode, 7, dst, state_indices=place)
    sender.send(src[:2])
    sender.send(src[2:], moved)

    assert settled(sender, receiver) == [KVPoll.Success] * 2, sender.failure_reason
    for a, b in zip(source.kv, target.kv, strict=True):
        np.testing.assert_array_equal(a[src], b[dst])
    for a, b in zip(source.aux, target.aux, strict=True):
        np.testing.assert_array_equal(a[1], b[2])
    if not stateless:
        np.testing.assert_array_equal(source.state[0][0][3], target.state[0][0][5])
    assert counter(prefill, "dropped") == 0
    # NIXL of the releases in between says it twice, by notifications and by a status.
    twice = ("status-done-room", "arrived-room-not-transferring")
    assert counter(decode, "dropped") == sum(counter(decode, "dropped", k) for k in twice)
    if speaks(backend, "KV_STATUS", release):
        assert counter(prefill, "unsaid") == 0


@pytest.mark.parametrize(("backend", "release"), SPOKEN)
def test_a_room_of_any_release_fails_on_both_sides(
    fleet: Fleet, backend: str, release: str
) -> None:
    """Where a release hears no ABORT, prefill learns nothing of it; the other way always works."""
    facts = kind(backend, release)
    prefill = fleet.prefill(backend, memory(1), release=release)
    decode = fleet.decode(backend, memory(2, **facts), release=release)
    sender, receiver = begin(prefill, decode, 7, pages(4, 5))
    if speaks(backend, "KV_STATUS", release):
        sender.abort("no memory left")
        assert settled(sender, receiver) == [KVPoll.Failed, KVPoll.Failed]
    if speaks(backend, "ABORT", release) and release not in decode.ended_by_abort:
        sender, receiver = begin(prefill, decode, 8, pages(4, 5))
        receiver.abort()
        assert settled(sender, receiver) == [KVPoll.Failed, KVPoll.Failed]


def speaks(backend: str, message: str, release: str) -> bool:
    try:
        layout(backend, message, release=release)
    except LookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("backend", "fleet_of"),
    [
        ("mooncake", ("0.5.9", "0.5.13", "0.5.16", "0.5.18", "0.5.19", "0.5.23")),
        ("nixl", ("0.5.16", "0.5.19", "0.5.21", "0.5.22", "0.5.23")),
        ("mori", ("0.5.14", "0.5.19", "0.5.23")),
    ],
)
def test_one_prefill_rank_serves_a_mixed_fleet_at_once(
    fleet: Fleet, backend: str, fleet_of: tuple[str, ...]
) -> None:
    source = memory(1)
    prefill = fleet.prefill(backend, source)
    targets: list[Memory] = [memory(9) for _ in fleet_of]
    decodes = [
        fleet.decode(backend, target, release=release)
        for target, release in zip(targets, fleet_of, strict=True)
    ]
    ends = [begin(prefill, decode, n, pages(4, 5)) for n, decode in enumerate(decodes)]
    for n, (sender, _) in enumerate(ends):
        sender.send(pages(2 * n, 2 * n + 1))
    flat = [end for both in ends for end in both]
    assert settled(*flat) == [KVPoll.Success] * len(flat)
    for n, target in enumerate(targets):
        for a, b in zip(source.kv, target.kv, strict=True):
            np.testing.assert_array_equal(a[2 * n : 2 * n + 2], b[4:6])
    for release, peer in zip(fleet_of, prefill.prefill_side().peers.values(), strict=True):
        assert release in peer.releases


@pytest.mark.parametrize("told", ["0.5.23", "0.5.12", "0.5.11"])
def test_a_registration_that_frames_alone_read_two_ways_is_served_whatever_prefill_was_told(
    fleet: Fleet, told: str
) -> None:
    """Field reports V2, P12: read as the flat lists of 0.5.11, it has a length too many."""
    state = ((1, 8, 1),)
    decode = fleet.decode("mooncake", memory(2, state=state), release="0.5.12")
    prefill = fleet.prefill("mooncake", memory(1, state=state), release=told)
    hand_over(prefill, decode, 8, pages(1, 2), pages(4, 5))
    [peer] = prefill.prefill_side().peers.values()
    assert "0.5.12" in peer.releases


@pytest.mark.parametrize("release", ["0.5.12", "0.5.14"])
@pytest.mark.parametrize("regions", [2, 3])
def test_p12_lists_of_one_length_decide_between_two_readings(
    fleet: Fleet, release: str, regions: int
) -> None:
    """Read flat, the same frames are as many pointers and one length more."""
    state = ((regions, 8, 1),)
    source, target = memory(1, state=state), memory(2, state=state)
    prefill = fleet.prefill("mooncake", source)
    decode = fleet.decode("mooncake", target, release=release)
    sender, receiver = begin(prefill, decode, 7, pages(4, 5), state_indices=[pages(3)])
    sender.send(pages(1, 2), [pages(6)])
    assert settled(sender, receiver) == [KVPoll.Success, KVPoll.Success], sender.failure_reason
    for found, sent in zip(target.state[0], source.state[0], strict=True):
        np.testing.assert_array_equal(found[3], sent[6])


def test_what_a_release_cannot_say_fails_the_room_with_the_reason(
    fleet: Fleet, backend: str
) -> None:
    """Two state components before 0.5.12, a prefix before it had a frame: refused, not lost."""
    facts = kind(backend, "0.5.8")
    prefill = fleet.prefill(backend, memory(1), release="0.5.8")
    two = fleet.decode(backend, memory(2, state=(*STATE, *STATE), **facts), release="0.5.8")
    receiver = two.receiver(prefill.bootstrap_address, 7)
    receiver.init()
    assert settled(receiver) == [KVPoll.Failed]
    assert "KVArgsRegisterInfo" in str(receiver.failure_reason)

    one = fleet.decode(backend, memory(2, **facts), release="0.5.8")
    receiver = one.receiver(prefill.bootstrap_address, 8)
    receiver.init()
    receiver.send_metadata(pages(4, 5), aux_index=2, decode_prefix_len=8)
    assert receiver.poll() is KVPoll.Failed
    assert "decode_prefix_len" in str(receiver.failure_reason)


def test_a_nixl_release_that_takes_all_memory_for_vram_is_not_told_of_dram(fleet: Fleet) -> None:
    prefill = fleet.prefill("nixl", memory(1))
    decode = fleet.decode("nixl", memory(2), release="0.5.12")
    receiver = decode.receiver(prefill.bootstrap_address, 7)
    receiver.init()
    assert settled(receiver) == [KVPoll.Failed]
    assert "dst_kv_mem_kinds" in str(receiver.failure_reason)
