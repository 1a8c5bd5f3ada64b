"""Messages with nothing in them but what a room looks at."""

from __future__ import annotations

import numpy as np
import pytest
from tests.pdwire.rooms.cases import LIMITS, PEER_A, PEER_B, A, B, MakeInfo, Rooms

from pdwire.rooms import PrefillRooms
from pdwire.wire.mooncake import TransferInfo


@pytest.fixture
def info() -> MakeInfo:
    """Make a TransferInfo: room, port of the decode rank, expected ranks, dummy, prefix."""

    def make(
        room: int = 7,
        *,
        port: int = 5000,
        expected: int = 1,
        dummy: bool = False,
        prefix: int | None = None,
        pages: tuple[int, ...] = (4, 5),
    ) -> TransferInfo:
        return TransferInfo(
            room=room,
            endpoint="10.0.0.2",
            dst_port=port,
            mooncake_session_id=f"10.0.0.2:{port + 12000}",
            dst_kv_indices=np.array([] if dummy else pages, np.int32),
            dst_aux_index=None if dummy else 3,
            dst_state_indices=(),
            required_dst_info_num=expected,
            decode_prefix_len=prefix,
            is_dummy=dummy,
        )

    return make


@pytest.fixture
def rooms() -> Rooms:
    made: Rooms = PrefillRooms(LIMITS)
    made.register_peer(PEER_A, A, 0)
    made.register_peer(PEER_B, B, 0)
    return made
