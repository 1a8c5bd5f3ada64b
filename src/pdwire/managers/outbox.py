"""All sends of a manager: nothing blocks, and nothing is lost without a count.

Peers and strangers share nothing: anybody can name an endpoint in a message that is answered,
so such answers go by sockets, a context and a thread of their own, to numeric addresses only,
and a newer one takes an older one's place (field reports A1, A3).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import zmq

from pdwire.managers.endpoints import Endpoint, SendError, is_host, tcp
from pdwire.managers.files import affordable
from pdwire.managers.health import Counters
from pdwire.managers.lines import Letter
from pdwire.managers.post import Post
from pdwire.managers.resolver import Lookup, Resolver, Unknown, addresses_of

__all__ = ["Outbox", "Undelivered"]

Undelivered: TypeAlias = Callable[[Endpoint, str, Sequence[bytes], str], None]
"""Told of a message that will not be sent: endpoint, kind, frames, reason."""

_LOG: Final = logging.getLogger("pdwire.managers")
_QUEUED: Final = 1_500
"""Messages that wait for one endpoint: half as many again as rooms that a rank has in flight."""
_QUEUED_BYTES: Final = 64 << 20
"""Bytes of them: as much as the largest frame; four times that for all endpoints together."""
_COURTESY_S: Final = 5.0
"""A stranger that does not listen by then has no use for the answer."""
_COURTESIES: Final = 64
_COURTESY_BYTES: Final = 1 << 20


class Outbox:
    """Sends messages to endpoints, at once or as soon as they are taken.

    Args:
        counters: gets ``sent`` (taken by a connection), ``undelivered`` (accepted and given up)
            and ``send_errors`` (refused), each by kind of message.
        deadline_s: what closing, and forgetting an endpoint, may take for last words.
        most: sockets kept for peers; fewer where the process may not have so many files. More
            peers than that take turns.
        strangers: endpoints of strangers that are answered at a time.
        patience_s: how long a message waits to be taken, where ``send`` does not say.
        on_undelivered: told of each message that is given up, on the thread that gives it up.
        lookup: what names are asked of; by default the system's resolver.
        name: of the threads: ``…``, ``…-strangers`` and ``…-names-0``. Each starts when there is
            something to do for it.

    ``watch``, where it is set, is told of each message that was accepted: endpoint and frames.
    """

    def __init__(
        self,
        counters: Counters,
        *,
        deadline_s: float = 1.0,
        most: int = 4096,
        strangers: int = 64,
        patience_s: float = 300.0,
        on_undelivered: Undelivered | None = None,
        lookup: Lookup = addresses_of,
        name: str = "pdwire-outbox",
    ) -> None:
        self.watch: Callable[[Endpoint, Sequence[bytes]], None] | None = None
        self.on_undelivered = on_undelivered
        self._counters = counters
        self._deadline_s = deadline_s
        self._patience_s = patience_s
        self._names = Resolver(f"{name}-names", self._on_name, lookup=lookup)
        most = min(most, affordable())
        self._peers = Post(
            name,
            counters,
            most=most,
            queued=_QUEUED,
            queued_bytes=_QUEUED_BYTES,
            linger_s=deadline_s,
            resolve=self._names.ask,
            lost=self._lose,
        )
        self._strangers = Post(
            f"{name}-strangers",
            counters,
            most=min(strangers, max(1, most // 4)),
            queued=_COURTESIES,
            queued_bytes=_COURTESY_BYTES,
            linger_s=deadline_s,
            resolve=self._known,
            lost=self._lose,
            forgetful=True,
        )

    @property
    def _context(self) -> zmq.Context[zmq.Socket[bytes]]:
        return self._peers.context

    def send(
        self,
        endpoint: Endpoint,
        frames: Sequence[bytes],
        kind: str,
        *,
        courtesy: bool = False,
        patience_s: float | None = None,
    ) -> None:
        """Send one message, or have it wait until it is taken; never blocks.

        Args:
            endpoint: where to. Its name, if it is one, is asked for elsewhere.
            frames: the message.
            kind: names it in the counters.
            courtesy: an answer to a stranger. One that gives a name which is not known here
                already is not answered; that is counted.
            patience_s: how long there is a point in sending it.

        Raises:
            SendError: too much waits for the endpoint already, it is none, or the outbox is
                closed.
        """
        host, port = endpoint
        if not is_host(host) or not 0 < port < 1 << 16:
            self._counters.add("send_errors", kind)
            raise SendError(endpoint, "that is no host and port")
        post = self._peers
        if courtesy and endpoint not in self._peers.lines:
            post = self._strangers
            if self._names.known(host) is None:
                self._counters.add("undelivered", "stranger-name")
                return
            patience_s = _COURTESY_S
        patience_s = self._patience_s if patience_s is None else patience_s
        held = tuple(bytes(frame) for frame in frames)
        size = sum(map(len, held))
        try:
            post.take(endpoint, Letter(held, kind, size, time.monotonic() + patience_s))
        except SendError:
            self._counters.add("send_errors", kind)
            raise
        if self.watch is not None:
            self.watch(endpoint, frames)

    def waiting(self, endpoint: Endpoint) -> int:
        """Messages that wait for an endpoint: who says very much at once looks here first."""
        line = self._peers.lines.get(endpoint)
        return 0 if line is None else len(line.queue)

    def forget(self, endpoint: Endpoint) -> None:
        """Close the socket to an endpoint that is gone, once it is flushed, or soon."""
        self._peers.forget(endpoint)

    def close(self) -> None:
        """Say what waits, or give it up soon, and close; later sends raise ``SendError``.

        Raises:
            RuntimeError: a thread did not end in time.
        """
        ends = time.monotonic() + self._deadline_s
        self._peers.close_by(ends)
        self._strangers.close_by(ends)
        try:
            self._peers.close()
        finally:
            self._strangers.close()
            self._names.close(self._deadline_s)

    def _on_name(self, host: str) -> None:
        self._peers.on_name(host)

    def _known(self, host: str) -> str | Unknown:
        return self._names.known(host) or Unknown(f"the name {host} is a stranger's")

    def _lose(self, endpoint: Endpoint, letters: Sequence[Letter], reason: str) -> None:
        for letter in letters:
            if self._counters.add("undelivered", letter.kind) == 1:
                _LOG.warning("%s for %s was given up: %s", letter.kind, tcp(endpoint), reason)
            if self.on_undelivered is None:
                continue
            try:
                self.on_undelivered(endpoint, letter.kind, letter.frames, reason)
            except Exception:  # noqa: BLE001  # a listener's fault is not the sender's
                self._counters.add("loop_errors", "on_undelivered")
                _LOG.exception("%s was given up, and that could not be told", letter.kind)
