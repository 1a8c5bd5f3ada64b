"""One side that is a real manager of a real release.

Rules:

* Manager, sender, receiver and bootstrap server are the release's own classes, unmodified.
  The scheduler that drives them is ours: it makes them, polls them and clears them in the
  order in which the release's own scheduler does.
"""

from __future__ import annotations

import inspect
import time
from typing import Any

from pdwire_conformance.peers.loader import LoadedRelease

from .answers import Context
from .kv_args import kv_args
from .lines import Answer, Request
from .operations import Operations
from .options import Options
from .staging import Staging

_NAMES = {"mooncake": "Mooncake", "nixl": "Nixl"}
START_S = 20.0
"""Seconds that a bootstrap server has to listen."""


class Theirs(Operations):
    """The operations of a side whose manager is a release's."""

    def __init__(self, options: Options, peer: LoadedRelease, context: Context) -> None:
        super().__init__(options)
        self._peer = peer
        self._context = context
        self._manager: Any = None
        self._server: Any = None
        self._staging: Staging | None = None
        self._bootstrap = ""

    def hello(self, request: Request) -> Answer:
        """What this release says and listens to, read off its own sources."""
        common, backend = (
            inspect.getsource(self._peer.module(f"{name}.conn"))
            for name in ("common", self.options.backend)
        )
        return {
            "release": self.options.release,
            "backend": self.options.backend,
            "hears_abort": '"ABORT"' in backend or "ABORT_TAG" in backend,
            "tells_abort": 'b"ABORT"' in common,
            "hears_status": self.options.backend != "nixl" or 'b"KV_STATUS"' in backend,
            "awaits_release": self._awaits_release(),
        }

    def start(self, request: Request) -> Answer:
        """Make the manager, and the bootstrap server on the first prefill rank."""
        self._bootstrap = str(request.get("bootstrap") or "")
        self._serve_bootstrap()
        self._context.group.shared = request.get("shared")
        mode = self._peer.attribute("utils", "DisaggregationMode")
        made = self._class("Manager")(
            kv_args(self._peer, self.options, self.memory),
            mode(self.options.role),
            self._context.server_args,
            self.options.mla,
        )
        self._manager = made
        if self.options.staging:
            self._staging = Staging(self._peer, self.options, self.memory, made)
        shared = self._context.group.shared
        return {"bootstrap": self._bootstrap, "rank_port": made.rank_port, "shared": shared}

    def _serve_bootstrap(self) -> None:
        if not self.options.is_prefill:
            return
        if not self._bootstrap:
            self._server = self._class("BootstrapServer")("127.0.0.1", 0)
            self._bootstrap = f"127.0.0.1:{_listening_port(self._server)}"
        self._context.set_bootstrap(int(self._bootstrap.rpartition(":")[2]))

    def _class(self, kind: str) -> Any:
        name = f"{_NAMES[self.options.backend]}KV{kind}"
        return self._peer.attribute(f"{self.options.backend}.conn", name)

    def sender(self, number: int) -> Any:
        """The release's sender."""
        given: dict[str, Any] = {
            "mgr": self._manager,
            "bootstrap_addr": self._bootstrap,
            "bootstrap_room": number,
            "dest_tp_ranks": [self.options.tp_rank],
            "pp_rank": self.options.pp_rank,
        }
        return _called(self._class("Sender"), given)

    def receiver(
        self, number: int, bootstrap: str, metadata: dict[str, Any], prefix_len: int | None
    ) -> Any:
        """The release's receiver; up to 0.5.9 it connects when it is made, then by itself."""
        connected = getattr(self._manager, "try_ensure_parallel_info", None)
        if connected is not None and not connected(bootstrap):
            return None
        given = {
            "mgr": self._manager,
            "bootstrap_addr": bootstrap,
            "bootstrap_room": number,
            "prefill_dp_rank": 0,
        }
        made = _called(self._class("Receiver"), given)
        if hasattr(made, "send_metadata"):
            made.init(0)
            ask = made.send_metadata
        else:
            ask = made.init
        if self._staging is not None:
            self._staging.expect(number, made, metadata["kv_indices"], prefix_len or 0)
        ask(**metadata, **({} if prefix_len is None else {"decode_prefix_len": prefix_len}))
        return made

    def begin(self, number: int) -> None:
        """Ask for staging places."""
        if self._staging is not None:
            self._staging.ask_ahead(number)

    def push(self, end: Any, pages: Any, state: Any) -> None:
        """From 0.5.17 on with the number of tokens, which DCP relayout asks for."""
        tokens = len(pages) * self.options.page_size
        given = {"kv_indices": pages, "state_indices": state, "num_kv_tokens": tokens}
        _called(end.send, given)

    def ready(self, number: int) -> bool:
        """Staging places are known before the first chunk."""
        return self._staging is None or self._staging.ready(number)

    def cut(self, chunks: list[list[int]]) -> list[list[int]]:
        """With staging a scheduler sends whole grid cells only: one cell, one place."""
        if self._staging is None:
            return chunks
        pages = [page for chunk in chunks for page in chunk]
        size = self.options.chunk_pages
        return [pages[at : at + size] for at in range(0, len(pages), size)] or [[]]

    def status(self, number: int, end: Any) -> int:
        """A staged room is done when it is scattered."""
        status = super().status(number, end)
        return status if self._staging is None else self._staging.status(number, status)

    def clear(self, number: int, end: Any) -> None:
        """As the scheduler does it."""
        if self._staging is not None:
            self._staging.close(number)
        super().clear(number, end)

    def state_indices(self, rows: list[int] | None) -> Any:
        """Flat up to 0.5.11, one list per component from then on."""
        nested = self._peer.has_class("base.conn", "StateType")
        return super().state_indices(rows) if nested else rows

    def prefix_len(self, sender: Any) -> int:
        """None before 0.5.11."""
        ask = getattr(sender, "pop_decode_prefix_len", None)
        return 0 if ask is None else int(ask())

    def reason(self, number: int, end: Any) -> str:
        """What the manager has recorded."""
        return str(self._manager.failure_records.get(number, ""))

    def abort(self, number: int, end: Any) -> None:
        """As the scheduler does it."""
        # Up to 0.5.20 it is the scheduler that begins to count acknowledgements.
        if self._awaits_release() and not hasattr(end, "ensure_abort_notified"):
            self._manager.register_deferred_abort_room(number)
        if hasattr(end, "abort"):
            end.abort()

    def _awaits_release(self) -> bool:
        """Whether this decode side keeps an aborted room's pages until it is acknowledged."""
        on = getattr(self._manager, "enable_deferred_decode_kv_release", False)
        return bool(on) and not self.options.is_prefill

    def released(self, number: int, end: Any) -> bool:
        """Whether every prefill rank has acknowledged."""
        return bool(self._manager.is_abort_release_safe(number, len(end.bootstrap_infos)))

    def health(self, request: Request) -> Answer:
        """A release says nothing of itself."""
        return {}


def _called(function: Any, given: dict[str, Any]) -> Any:
    """Call with those of the arguments that this release's signature takes."""
    taken = inspect.signature(function).parameters
    return function(**{name: value for name, value in given.items() if name in taken})


def _listening_port(server: Any) -> int:
    """The port that a release's bootstrap server was given by the system."""
    ends = time.monotonic() + START_S
    while time.monotonic() < ends:
        runner = getattr(server, "_runner", None)
        if runner is not None and runner.addresses:
            return int(runner.addresses[0][1])
        time.sleep(0.01)
    raise TimeoutError(f"the bootstrap server does not listen after {START_S:g} s")
