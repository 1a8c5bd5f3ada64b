"""What runs on the peer's side of each row, and what of it is ours.

Rules: the release's own code is timed inside its process. Where a message has a function
of its own there (``from_zmq``, ``parse_kv_status_message``, a builder), that is all that
runs. Where it is parsed or built inside something larger, the larger thing runs with
stand-ins that do nothing else; what the stand-ins cost is measured alone, on our side, and
taken off. What the release itself does besides, an address or a lookup, stays in and is
said in ``what``.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from pdwire.wire import releases
from pdwire_conformance.bench.measure import Run, repeat
from pdwire_conformance.peers.standins import (
    CaptureSocket,
    EndOfFeedError,
    FeedSocket,
    StandIn,
    sending,
)

__all__ = ["Work", "work"]

Frames = Sequence[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What the peer runs for one row; ``empty(frames)`` runs its stand-ins alone."""

    what: str
    empty: Callable[[Frames], Run]


def work(backend: str, message: str, direction: str, release: str) -> Work:
    """The row's work; a key with the backend goes before one without."""
    if direction == "encode" and backend == "nixl" and _since(release, "0.5.23"):
        built = _BUILT.get(message)
        if built is not None:
            return built
    own = _WORK.get((backend, message, direction))
    return own if own is not None else _WORK["", message, direction]


def _since(release: str, first: str) -> bool:
    order = releases("nixl")
    return release in order and order.index(release) >= order.index(first)


def _plain(_: Frames) -> Run:
    """A call of a closure and nothing in it."""
    return repeat(lambda: None)


def _looped(frames: Frames, then: Callable[[], Any] | None = None) -> Run:
    """Receiving in a loop; ``then`` is what the release calls of ours for each message."""

    def run(number: int) -> float:
        _drain([frames], then)
        started = time.perf_counter()
        _drain([frames] * number, then)
        return time.perf_counter() - started

    return run


def _drain(messages: list[Frames], then: Callable[[], Any] | None) -> None:
    feed = FeedSocket()
    feed.give(messages)
    try:
        while True:
            feed.recv_multipart()
            if then is not None:
                then()
    except EndOfFeedError:
        return


def _watched(frames: Frames) -> Run:
    """The loop, the lock around the table of watermarks, the table's stand-in."""
    marks: dict[str, tuple[int, int]] = {}
    lock = nullcontext()

    def then() -> None:
        with lock:
            marks.get("")
            _nothing()

    return _looped(frames, then)


def _sent(frames: Frames) -> Run:
    """A receiver that connects, takes the lock and sends; the socket gives what it kept."""
    socket = CaptureSocket()
    connect = sending(socket)["_connect_to_bootstrap_server"]

    def call() -> object:
        sock, lock = connect(None)
        with lock:
            sock.send_multipart(frames)
        return socket.take()

    return repeat(call)


def _watermark_sent(frames: Frames) -> Run:
    """The same behind an allocator that frees nothing."""
    send = _sent(frames)
    free = repeat(_nothing)
    return lambda number: send(number) + 2 * free(number)


def _status_sent(frames: Frames) -> Run:
    """A manager that sends under the lock of an address that is no address."""
    socket = CaptureSocket()
    ours = sending(socket)
    connect, locks = ours["_connect"], ours["_socket_send_locks"]
    address = StandIn(to_tcp=lambda: "", is_ipv6=False)
    resolve: Callable[..., Any] = lambda *_: address  # noqa: E731  # as the adapter has it

    def call() -> None:
        to = resolve("", 1)
        sock = connect(to.to_tcp(), is_ipv6=to.is_ipv6)
        with locks[""]:
            sock.send_multipart(frames)

    return repeat(call)


def _kept(frames: Frames) -> Run:
    """A locked send that only keeps the frames."""
    socket = CaptureSocket()
    locks: dict[str, Any] = defaultdict(nullcontext)

    def call() -> object:
        _nothing(locks)
        socket.send_multipart(frames)
        return socket.take()

    return repeat(call)


def _requested(frames: Frames) -> Run:
    """A set that is cleared, a range of one, a socket for every endpoint."""
    socket, asked, sockets = CaptureSocket(), set[Any](), defaultdict[str, Any](lambda: socket)

    def call() -> None:
        asked.clear()
        _nothing()
        sockets[""].send_multipart(frames)

    return repeat(call)


def _warned(_: Frames) -> Run:
    """A log that is no log."""
    handler = StandIn(warning=_nothing)
    return repeat(lambda: handler.warning("", 0, 0))


def _nothing(*_: object) -> None:
    """What most stand-ins do."""


_WORK: dict[tuple[str, str, str], Work] = {
    ("", "KVArgsRegisterInfo", "decode"): Work(
        what="KVArgsRegisterInfo.from_zmq, nothing else", empty=_plain
    ),
    ("", "TransferInfo", "decode"): Work(what="TransferInfo.from_zmq, nothing else", empty=_plain),
    ("", "KVArgsRegisterInfo", "encode"): Work(
        what="the receiver's _register_kv_args for one prefill rank, sending into a list",
        empty=_sent,
    ),
    ("", "TransferInfo", "encode"): Work(
        what="the receiver's send_metadata (init before 0.5.10) for one prefill rank, sending "
        "into a list",
        empty=_sent,
    ),
    ("mooncake", "KV_STATUS", "decode"): Work(
        what="the decode side's receive loop over one message again and again; until 0.5.19 the "
        "loop parses it in place, and what it does for a room that it does not know is in it",
        empty=_looped,
    ),
    ("nixl", "KV_STATUS", "decode"): Work(
        what="parse_kv_status_message, nothing else", empty=_plain
    ),
    ("mooncake", "KV_STATUS", "encode"): Work(
        what="sync_status_to_decode_endpoint (send_kv_status_message from 0.5.20), the address "
        "replaced, sending into a list",
        empty=_status_sent,
    ),
    ("nixl", "KV_STATUS", "encode"): Work(
        what="send_kv_status_message to one endpoint, whose address it formats, sending into a "
        "list",
        empty=_kept,
    ),
    ("", "STAGING_REQ", "decode"): Work(
        what="handle_staging_req without an allocator: it parses, logs to nothing and returns; "
        "the import statement in its body is in it",
        empty=_warned,
    ),
    ("", "STAGING_REQ", "encode"): Work(
        what="prefetch_staging_reqs for one chunk, sending into a list; the endpoint's address "
        "that it formats is in it, and is most of it",
        empty=_requested,
    ),
    ("", "WATERMARK", "decode"): Work(
        what="the prefill side's receive loop over one message again and again, its handler and "
        "the comparison with the mark before in it",
        empty=_watched,
    ),
    ("", "WATERMARK", "encode"): Work(
        what="_free_and_send_watermark to one prefill rank, with an allocator that frees "
        "nothing, sending into a list",
        empty=_watermark_sent,
    ),
}

_BUILT: dict[str, Work] = {
    "KVArgsRegisterInfo": Work(
        what="build_receiver_registration_message, nothing else", empty=_plain
    ),
    "TransferInfo": Work(what="build_receiver_metadata_message, nothing else", empty=_plain),
}
