"""What says that a request is whole: NIXL's notifications, a status, and who says which.

Up to 0.5.22 decode counts notifications of every prefill rank; a rank without pages to write
has its word with the auxiliary row, whoever sends that.
"""

from __future__ import annotations

import pytest
from tests.pdwire.managers.fleet import (
    Fleet,
    counter,
    found,
    hand_over,
    memory,
    pages,
    place,
    settled,
    wait_until,
)

from pdwire.rooms import KVPoll
from pdwire.wire import layout
from pdwire.wire.nixl import NotifAux

COUNTED = "0.5.19"


def test_a_pipeline_stage_without_pages_says_so(fleet: Fleet) -> None:
    decode = fleet.decode("nixl", memory(seed=2, layers=4), release=COUNTED)
    server = fleet.server()
    stages = [
        fleet.prefill(
            "nixl",
            memory(seed=1, prefill_start_layer=2 * stage),
            release=COUNTED,
            bootstrap=server,
            parallel=place(pp=2, pp_rank=stage),
        )
        for stage in (0, 1)
    ]
    receiver = decode.receiver(server.address, 7)
    senders = [manager.sender(7) for manager in stages]
    for sender in senders:
        sender.init(0, aux_index=1)
    receiver.init()
    receiver.send_metadata(pages(), aux_index=2, decode_prefix_len=64)
    wait_until(lambda: all(s.poll() is not KVPoll.Bootstrapping for s in senders), "metadata")
    for sender in senders:
        sender.send(pages())
    assert settled(*senders, receiver) == [KVPoll.Success] * 3


def test_state_without_rows_is_not_waited_for(fleet: Fleet) -> None:
    decode = fleet.decode("nixl", memory(seed=2, state=((1, 8, 32),)), release=COUNTED)
    [rank] = fleet.played_prefill(decode)
    receiver = decode.receiver(rank.address, 7)
    receiver.init()
    receiver.send_metadata(pages(), aux_index=2, state_indices=[pages()], decode_prefix_len=64)
    found(receiver)
    text = NotifAux(room=7, pp_rank=0, expected=0)
    [frame] = layout("nixl", "NOTIF_AUX", release=COUNTED).encode(text)
    engine = fleet.engine("nixl")
    engine.add_peer(decode.engine.session_id)
    engine.notify(decode.engine.session_id, frame)
    assert settled(receiver) == [KVPoll.Success]


@pytest.mark.parametrize(("release", "statuses"), [("0.5.20", 0), ("0.5.22", 0), ("0.5.23", 1)])
def test_success_is_a_status_only_where_nothing_else_says_it(
    fleet: Fleet, release: str, statuses: int
) -> None:
    """A status that overtakes notifications ends the counting of 0.5.20 to 0.5.22 too early."""
    prefill = fleet.prefill("nixl", memory(seed=1), release=release)
    decode = fleet.decode("nixl", memory(seed=2), release=release)
    hand_over(prefill, decode, 7, pages(1, 2), pages(3, 4))
    assert counter(prefill, "sent", "KV_STATUS") == statuses
