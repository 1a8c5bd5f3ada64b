from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pdwire_conformance.interop.lines import Answer, Request
from pdwire_conformance.interop.operations import Operations, _without
from pdwire_conformance.interop.options import Options


class End:
    """A sender or receiver that notes what it is asked."""

    def __init__(self) -> None:
        self.status = 1
        self.calls: list[Any] = []

    def poll(self) -> int:
        return self.status

    def init(self, pages: int, aux: int) -> None:
        self.calls.append(("init", pages, aux))

    def send(self, pages: NDArray[np.int32], state: object) -> None:
        self.calls.append(("send", pages.tolist(), state))

    def clear(self) -> None:
        self.calls.append("clear")


class Fake(Operations):
    """A side whose manager is a note pad."""

    prefix = 0

    def __init__(self) -> None:
        super().__init__(Options(release="ours", backend="mooncake", role="prefill"))
        self.end = End()

    def hello(self, _: Request) -> Answer:
        return {}

    def start(self, _: Request) -> Answer:
        return {}

    def health(self, _: Request) -> Answer:
        return {}

    def sender(self, _: int) -> End:
        return self.end

    def receiver(
        self, _: int, bootstrap: str, metadata: dict[str, Any], prefix_len: int | None
    ) -> End | None:
        self.end.calls.append((bootstrap, metadata["kv_indices"].dtype.str, prefix_len))
        return self.end if bootstrap else None

    def prefix_len(self, _: object) -> int:
        return self.prefix

    def reason(self, _: int, __: object) -> str:
        return "because"

    def abort(self, _: int, end: End) -> None:
        end.status = 0

    def released(self, _: int, __: object) -> bool:
        return True

    def do(self, op: str, **request: object) -> Answer:
        return self.operations()[op](request)


def sending(**more: object) -> Fake:
    side = Fake()
    side.do("send", room=7, chunks=[[1, 2, 3], [4]], aux_index=5, state=[9], **more)
    return side


def test_nothing_is_sent_before_the_decode_side_has_asked() -> None:
    side = sending()
    assert side.do("poll", rooms=[7]) == {"rooms": {"7": ["Bootstrapping", ""]}}
    assert side.end.calls == []


def test_chunks_go_in_order_and_state_goes_with_the_last() -> None:
    side = sending()
    side.end.status = 2
    side.do("poll", rooms=[7])
    assert side.end.calls == [("init", 4, 5), ("send", [1, 2, 3], None), ("send", [4], [[9]])]
    side.do("poll", rooms=[7])
    assert len(side.end.calls) == 3


def test_a_held_chunk_waits_for_release() -> None:
    side = sending(hold=1)
    side.end.status = 2
    side.do("poll", rooms=[7])
    assert side.end.calls[-1] == ("send", [1, 2, 3], None)
    side.do("release", room=7)
    side.do("poll", rooms=[7])
    assert side.end.calls[-1] == ("send", [4], [[9]])


def test_what_the_decode_side_has_is_not_sent() -> None:
    side = sending()
    side.prefix, side.end.status = 3 * 16, 3
    side.do("poll", rooms=[7])
    assert side.end.calls == [("init", 1, 5), ("send", [4], [[9]])]


@pytest.mark.parametrize(
    ("skipped", "left"),
    [
        (0, [[1, 2, 3], [4, 5], [6]]),
        (2, [[3], [4, 5], [6]]),
        (4, [[5], [6]]),
        (6, [[]]),
    ],
)
def test_the_last_chunk_is_sent_even_when_it_is_empty(skipped: int, left: list[list[int]]) -> None:
    assert _without([[1, 2, 3], [4, 5], [6]], skipped) == left


def test_a_failure_has_its_reason_and_nothing_else_has() -> None:
    side = sending()
    side.do("abort", room=7)
    assert side.do("poll", rooms=[7]) == {"rooms": {"7": ["Failed", "because"]}}


def test_a_receiver_that_is_not_connected_is_no_room() -> None:
    side = Fake()
    given = {"pages": [1, 2], "aux_index": 0}
    assert side.do("receive", room=7, bootstrap="", **given) == {"connected": False}
    assert side.rooms == {}
    told = side.do("receive", room=7, bootstrap="h:1", decode_prefix_len=32, **given)
    assert told == {"connected": True}
    assert side.end.calls[-1] == ("h:1", "<i4", 32)


def test_a_cleared_room_is_gone() -> None:
    side = sending()
    side.do("clear", room=7)
    assert side.end.calls == ["clear"]
    assert side.rooms == {}
