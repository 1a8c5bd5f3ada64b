from __future__ import annotations

import threading

import pytest

from pdwire_conformance.peers.backends import mentions
from pdwire_conformance.peers.errors import DroppedError, StandInGapError
from pdwire_conformance.peers.standins import (
    CaptureSocket,
    FeedSocket,
    Peek,
    ReceiveLoop,
    StandIn,
    bare,
    replaced,
)


class _Manager:
    """Shaped like a release's: a loop in a thread, one message parsed in place."""

    def __init__(self) -> None:
        raise AssertionError("a bare instance is never constructed")

    def start(self) -> None:
        def loop() -> None:
            while True:
                frames = self.socket.recv_multipart()  # type: ignore[attr-defined]
                room, status = frames
                room = int(room)
                if status == b"0":
                    continue
                self.note(room)  # type: ignore[attr-defined]

        threading.Thread(target=loop).start()


@pytest.fixture
def feed() -> FeedSocket:
    return FeedSocket()


def test_a_loop_runs_here_and_shows_what_it_parsed(feed: FeedSocket) -> None:
    noted: list[int] = []
    manager = bare(_Manager, socket=feed, note=noted.append)
    loop = ReceiveLoop(manager.start, feed)
    variables = loop.run([[b"7", b"1"], [b"8", b"0"]])
    assert noted == [7]
    assert (variables["room"], variables["status"]) == (8, b"0")
    assert loop.run([[b"9", b"1"]])["room"] == 9


def test_what_a_loop_raises_reaches_the_caller(feed: FeedSocket) -> None:
    loop = ReceiveLoop(bare(_Manager, socket=feed).start, feed)
    with pytest.raises(ValueError, match="not enough values"):
        loop.run([[b"7"]])


def test_starting_a_loop_leaves_threading_as_it_was(feed: FeedSocket) -> None:
    before = threading.active_count()
    ReceiveLoop(bare(_Manager, socket=feed).start, feed)
    assert threading.Thread.__module__ == "threading"
    assert threading.active_count() == before


def test_a_gap_in_a_stand_in_is_named_and_defaults_still_work() -> None:
    holder = StandIn(given=1)
    assert getattr(holder, "absent", 5) == 5
    with pytest.raises(StandInGapError, match="'absent'"):
        _ = holder.absent
    with pytest.raises(StandInGapError, match="bare _Manager"):
        _ = bare(_Manager).absent


def test_a_peek_keeps_the_variables_of_the_first_who_asked() -> None:
    rooms = Peek()

    def handler(frames: list[bytes]) -> None:
        room = int(frames[0])
        if room in rooms:
            return
        rooms.get(room)

    handler([b"7"])
    assert rooms.take("message")["room"] == 7
    with pytest.raises(DroppedError, match="ignored the message"):
        rooms.take("message")


def test_a_socket_gives_back_the_one_message_that_was_sent() -> None:
    socket = CaptureSocket()
    with pytest.raises(DroppedError, match="sent nothing"):
        socket.take()
    socket.send_multipart([b"a", b"b"])
    assert socket.take() == [b"a", b"b"]
    socket.send_multipart([b"a"])
    socket.send_multipart([b"b"])
    with pytest.raises(LookupError, match="2 messages"):
        socket.take()


def _asks() -> int:
    return int(helper()) + len([1])  # type: ignore[name-defined]  # noqa: F821


def test_replaced_names_come_and_go() -> None:
    with replaced(_asks, helper=lambda: 1, len=lambda _: 10):
        assert _asks() == 11
    with pytest.raises(NameError):
        _asks()
    assert "len" not in globals()


def test_words_are_found_in_nested_functions() -> None:
    assert mentions(_Manager.start, "recv_multipart")
    assert mentions(_Manager.start, "0")
    assert not mentions(_Manager.start, "ABORT")
