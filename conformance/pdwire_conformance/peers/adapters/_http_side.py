"""The two ends of the bootstrap server's HTTP, as the releases' own code has them.

* A client call runs through the real ``requests``; only the adapter that would open a
  connection is ours. It keeps the prepared request and answers with given bytes.
* A handler of the real server runs on a request whose query and body are parsed as
  ``aiohttp`` parses them; the mapping notes which keys the handler reads.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from pdwire_conformance.peers.errors import DroppedError, Unavailable
from pdwire_conformance.peers.loader import LoadedRelease
from pdwire_conformance.peers.standins import StandIn, bare

PREFIXES = {"mooncake": "Mooncake", "nixl": "Nixl", "mori": "Mori", "ascend": "Ascend"}
ADDRESS = "127.0.0.1:1"
"""Where the clients believe the server is; nothing is ever opened."""


class RefusedError(DroppedError):
    """The release answered with another status than 200, or would have; the text says why."""


class ReadKeys(dict[str, Any]):
    """A mapping that notes what is read from it, defaults included."""

    def __init__(self, items: Mapping[str, Any]) -> None:
        super().__init__(items)
        self.read: dict[str, Any] = {}

    def __getitem__(self, key: str) -> Any:
        if key not in self:
            raise RefusedError(f"the handler demands the key {key!r}")
        value = self.read[key] = super().__getitem__(key)
        return value

    def get(self, key: str, default: Any = None) -> Any:
        value = self.read[key] = super().get(key, default)
        return value


class Equal:
    """Equal to everything: a decode side that agrees with whatever the server says."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return 0


class Http:
    """One backend's bootstrap classes of one release.

    Raises :class:`Unavailable` where the release has no such backend, or where the HTTP
    packages are not installed.
    """

    def __init__(self, peer: LoadedRelease, backend: str) -> None:
        for package in ("aiohttp", "requests", "yarl"):
            if not _is_installed(package):
                raise Unavailable(f"{package} is not installed")
        self.peer = peer
        self.module: ModuleType = peer.module("common.conn")
        self._own = f"{backend}.conn"
        peer.module(self._own)
        self._prefix = PREFIXES[backend]

    def manager(self, **attributes: Any) -> Any:
        return self._bare("KVManager", attributes)

    def sender(self, **attributes: Any) -> Any:
        return self._bare("KVSender", attributes)

    def receiver(self, **attributes: Any) -> Any:
        return self._bare("KVReceiver", {"bootstrap_addr": ADDRESS} | attributes)

    @property
    def knows_dp_ranks(self) -> bool:
        """Whether the server can tell which DP rank serves a room (0.5.10 on)."""
        return hasattr(self.module.CommonKVBootstrapServer, "_handle_query_dp_ranks")

    def server(self, **attributes: Any) -> Any:
        """A server that nobody has registered with and that listens nowhere."""
        empty = dict.fromkeys(
            (
                *("attn_tp_size", "attn_cp_size", "dp_size", "pp_size", "page_size"),
                *("kv_cache_dtype", "kv_layout", "dsv41_spec_layout", "follow_bootstrap_room"),
                *("enable_dsa_cache_layer_split", "enable_kv_cache_sharding"),
                "prefill_http_port",
            )
        )
        state = {"_registered_count": 0, "decode_allocation_policy": "early"}
        tables: dict[str, Any] = {"prefill_port_table": {}, "room_to_dp_rank": {}}
        given = empty | state | tables | {"lock": asyncio.Lock()} | attributes
        return self._bare("KVBootstrapServer", given)

    def _bare(self, suffix: str, attributes: Mapping[str, Any]) -> Any:
        return bare(self.peer.attribute(self._own, self._prefix + suffix), **attributes)

    def sent(self, client: Callable[[], Any]) -> Any:
        """The request that a client call sends; it is answered 200 with no body."""
        requests, _ = self._exchange(client, b"{}")
        if len(requests) != 1:
            raise LookupError(f"the peer sent {len(requests)} requests, not one")
        return requests[0]

    def answered(self, client: Callable[[], Any], body: bytes) -> Any:
        """What a client call makes of the answer."""
        return self._exchange(client, body)[1]

    def _exchange(self, client: Callable[[], Any], body: bytes) -> tuple[list[Any], Any]:
        requests: list[Any] = []
        with _answering(body, requests):
            result = client()
        return requests, result

    @contextlib.contextmanager
    def globals(self, **replaced: Any) -> Iterator[None]:
        """Answer the release's module-level getters for the time being."""
        space = vars(self.module)
        before = {name: space[name] for name in replaced if name in space}
        space.update({name: replaced[name] for name in before})
        try:
            yield
        finally:
            space.update(before)


@contextlib.contextmanager
def _answering(body: bytes, requests: list[Any]) -> Iterator[None]:
    import requests as client

    def send(_: object, request: Any, **__: Any) -> Any:
        requests.append(request)
        answer = client.Response()
        answer.status_code = 200
        answer._content = body
        answer.request = request
        answer.url = request.url
        return answer

    before = client.adapters.HTTPAdapter.send
    client.adapters.HTTPAdapter.send = send  # type: ignore[assignment]
    try:
        yield
    finally:
        client.adapters.HTTPAdapter.send = before  # type: ignore[method-assign]


def query_of(request: Any) -> bytes:
    """The query string of a prepared request."""
    url: str = request.url
    return urlsplit(url).query.encode("ascii")


def body_of(request: Any) -> bytes:
    """The body of a prepared request."""
    body: bytes | str = request.body
    return body if isinstance(body, bytes) else body.encode()


def json_request(method: str, body: bytes) -> tuple[StandIn, ReadKeys]:
    """A request with a JSON body, and the mapping that its handler will read."""
    keys = ReadKeys(json.loads(body.decode()))

    async def parsed() -> ReadKeys:
        return keys

    return StandIn(method=method, json=parsed), keys


def query_request(query: bytes) -> StandIn:
    """A GET request with a query, parsed as aiohttp does."""
    from yarl import URL

    url = URL.build(path="/route", query_string=query.decode("ascii"), encoded=True)
    return StandIn(method="GET", query=url.query)


def handled(handler: Callable[[Any], Any], request: Any) -> bytes:
    """The body of a real handler's answer; :class:`RefusedError` unless it is 200."""
    answer = asyncio.run(handler(request))
    if answer.status != 200:
        raise RefusedError(f"{answer.status}: {answer.text}")
    return bytes(answer.body)


def _is_installed(package: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(package) is not None
