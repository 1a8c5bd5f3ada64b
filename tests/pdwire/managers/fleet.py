"""Live managers for tests: memory, managers on one fabric, and peers that are driven by hand.

A :class:`Fleet` makes managers of any backend on loopback engines of one fabric and closes
them all at the end. An :class:`Ear` is the other end of a real socket: it pushes whatever
frames a test wants at a manager's port and hears what the manager says. Nothing here sleeps
for a fixed time: :func:`wait_until` polls a condition until it holds or its deadline passes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import count
from threading import Event
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
import zmq
from numpy.typing import NDArray

from pdwire.bootstrap.client import BootstrapClient
from pdwire.bootstrap.server import BootstrapServer
from pdwire.codec import Message
from pdwire.engines import Fabric, LoopbackEngine, Region
from pdwire.frames import I32Array
from pdwire.managers.ascend import AscendKVManager
from pdwire.managers.base import BaseKVReceiver, BaseKVSender
from pdwire.managers.config import DisaggregationMode, KVArgs, ManagerConfig, ParallelInfo
from pdwire.managers.mooncake import MooncakeKVManager
from pdwire.managers.mori import MoriKVManager
from pdwire.managers.nixl import NixlKVManager
from pdwire.managers.receiver import CommonKVReceiver
from pdwire.managers.sender import CommonKVSender
from pdwire.managers.sockets import Endpoint, tcp
from pdwire.rooms import KVPoll, RoomLimits
from pdwire.wire import recognise
from pdwire.wire.bootstrap import RoutePut

T = TypeVar("T")
Bytes: TypeAlias = NDArray[np.uint8]
Manager: TypeAlias = MooncakeKVManager | NixlKVManager | MoriKVManager

MANAGERS: dict[str, type[Manager]] = {
    "mooncake": MooncakeKVManager,
    "nixl": NixlKVManager,
    "ascend": AscendKVManager,
    "mori": MoriKVManager,
}
FINAL = frozenset({KVPoll.Success, KVPoll.Failed})
PATIENCE_S = 20.0
"""How long a test waits for what must happen; it happens in milliseconds on an idle machine."""

LIMITS = RoomLimits(bootstrap_s=60, waiting_s=60, write_s=60, unopened_s=60, abort_release_s=60)
_NAP = Event()


def wait_until(condition: Callable[[], T], what: str = "", patience_s: float = PATIENCE_S) -> T:
    """Poll until ``condition`` gives something true, and give that; fail after the patience."""
    ends = time.monotonic() + patience_s
    while not (found := condition()):
        if time.monotonic() > ends:
            raise AssertionError(f"not within {patience_s:g} s: {what or condition}")
        _NAP.wait(0.0005)
    return found


def pages(*numbers: int) -> I32Array:
    """Page indices."""
    return np.array(numbers, np.int32)


# ---------------------------------------------------------------------- memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One rank's memory with the arrays behind it, a row per page, item or request."""

    kv: list[Bytes]
    aux: list[Bytes]
    state: list[list[Bytes]]
    args: KVArgs

    def copy(self) -> list[Bytes]:
        """What all of it holds now."""
        return [part.copy() for part in self.everything()]

    def everything(self) -> list[Bytes]:
        """All arrays."""
        return [*self.kv, *self.aux, *(region for part in self.state for region in part)]

    def changed(self, before: list[Bytes]) -> bool:
        """Whether one byte is not what it was."""
        return any((a != b).any() for a, b in zip(self.everything(), before, strict=True))


def memory(
    seed: int,
    *,
    layers: int = 2,
    slots: int = 32,
    item: int = 256,
    aux: Sequence[int] = (16, 64),
    rows: int = 8,
    state: Sequence[tuple[int, int, int]] = (),
    mla: bool = False,
    **facts: Any,  # noqa: ANN401
) -> Memory:
    """Random memory of one rank.

    Args:
        seed: unlike the other side's, so that a missing copy is seen.
        layers: K and V of each have a region; with ``mla`` there is one region per layer.
        slots: pages per region.
        item: bytes of a page.
        aux: bytes of a row of each auxiliary buffer.
        rows: rows of each.
        state: regions, items and bytes of an item of each state component.
        mla: the layout of the pool.
        facts: of :class:`KVArgs`, as they are.
    """
    rng = np.random.default_rng(seed)

    def region(items: int, size: int) -> Bytes:
        return rng.integers(0, 256, (items, size), dtype=np.uint8)

    kv = [region(slots, item) for _ in range(layers if mla else 2 * layers)]
    rows_of = [region(rows, size) for size in aux]
    parts = [[region(items, size) for _ in range(n)] for n, items, size in state]
    args = KVArgs(
        kv_data_ptrs=_ptrs(kv),
        kv_data_lens=_lens(kv),
        kv_item_lens=(item,) * len(kv),
        aux_data_ptrs=_ptrs(rows_of),
        aux_data_lens=_lens(rows_of),
        aux_item_lens=tuple(aux),
        state_types=tuple(f"state{n}" for n in range(len(state))),
        state_data_ptrs=tuple(_ptrs(part) for part in parts),
        state_data_lens=tuple(_lens(part) for part in parts),
        state_item_lens=tuple((size,) * n for n, _, size in state),
        state_dim_per_tensor=tuple((1,) * n for n, _, _ in state),
        page_size=4,
    )
    return Memory(kv=kv, aux=rows_of, state=parts, args=replace(args, **facts))


def _ptrs(regions: Sequence[Bytes]) -> tuple[int, ...]:
    return tuple(region.ctypes.data for region in regions)


def _lens(regions: Sequence[Bytes]) -> tuple[int, ...]:
    return tuple(region.nbytes for region in regions)


# --------------------------------------------------------------------- managers


def loopback(manager: Manager) -> LoopbackEngine:
    """The manager's engine, which can hold and fail writes."""
    assert isinstance(manager.engine, LoopbackEngine)
    return manager.engine


def place(**sizes: int) -> ParallelInfo:
    """A rank among the ranks: ``tp=(size, rank)`` spelled ``tp=2, tp_rank=1`` and so on."""
    names = {"tp": "attn_tp_size", "tp_rank": "attn_tp_rank", "pp": "pp_size"}
    return ParallelInfo(
        **{
            names.get(name, name if name in ParallelInfo.__slots__ else f"{name}_size"): size
            for name, size in sizes.items()
        }
    )


@dataclass
class Fleet:
    """Makes managers on one fabric, and closes what it has made, last first."""

    fabric: Fabric = field(default_factory=Fabric)
    _stack: ExitStack = field(default_factory=ExitStack)
    _ears: ExitStack = field(default_factory=ExitStack)
    _kept: list[Memory] = field(default_factory=list)
    _names: count[int] = field(default_factory=lambda: count(20_000))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        with self._ears:  # last, so that nobody's last words wait for a listener
            self._stack.close()

    def engine(self, backend: str) -> LoopbackEngine:
        """An engine of the fabric with a name that the backend's wire can carry."""
        n = next(self._names)
        name = f"127.0.0.1:{n}" if backend in {"mooncake", "ascend"} else f"{backend}-{n}"
        return LoopbackEngine(name, fabric=self.fabric)

    def prefill(
        self,
        backend: str,
        mem: Memory,
        *,
        bootstrap: BootstrapServer | None = None,
        engine: LoopbackEngine | None = None,
        **config: Any,  # noqa: ANN401
    ) -> Manager:
        """A live prefill manager; ``config`` are fields of :class:`ManagerConfig`."""
        return self._make(backend, DisaggregationMode.PREFILL, mem, engine, bootstrap, config)

    def decode(
        self,
        backend: str,
        mem: Memory,
        *,
        engine: LoopbackEngine | None = None,
        **config: Any,  # noqa: ANN401
    ) -> Manager:
        """A live decode manager."""
        return self._make(backend, DisaggregationMode.DECODE, mem, engine, None, config)

    def _make(
        self,
        backend: str,
        mode: DisaggregationMode,
        mem: Memory,
        engine: LoopbackEngine | None,
        bootstrap: BootstrapServer | None,
        config: dict[str, Any],
    ) -> Manager:
        self._kept.append(mem)  # managers know addresses; somebody has to hold the arrays
        defaults: dict[str, Any] = {
            "limits": LIMITS,
            "transfer_threads": 2,
            "heartbeat_s": 60.0,
            "http_timeout_s": 5.0,
            "send_timeout_s": 0.5,  # also what closing may wait for peers that are gone
        }
        manager = MANAGERS[backend](
            mem.args,
            mode,
            ManagerConfig(**(defaults | config)),
            engine=engine or self.engine(backend),
            bootstrap=bootstrap,
        )
        self._stack.callback(manager.close)
        return manager

    def server(self) -> BootstrapServer:
        """A bootstrap server that belongs to no manager."""
        server = BootstrapServer("127.0.0.1", 0)
        self._stack.callback(server.close)
        return server

    def ear(self) -> Ear:
        """A socket of a peer that the test plays."""
        ear = Ear()
        self._ears.callback(ear.close)
        return ear

    def played_decode(self, prefill: Manager, **config: Any) -> PlayedDecode:  # noqa: ANN401
        """A decode rank that the test plays, with memory in the fabric."""
        mem = memory(next(self._names), item=prefill.args.kv_item_lens[0])
        engine = self.engine(prefill.backend)
        engine.register([Region(address=a, length=n) for a, n in mem.args.regions()])
        script = self.decode(prefill.backend, mem, engine=self.engine(prefill.backend), **config)
        return PlayedDecode(prefill=prefill, ear=self.ear(), memory=mem, engine=engine, _as=script)

    def played_prefill(self, decode: Manager, ranks: int = 1) -> list[PlayedPrefill]:
        """Prefill ranks that the test plays, registered with a server of their own."""
        server = self.server()
        played = [
            PlayedPrefill(decode=decode, ear=self.ear(), server=server, rank=rank)
            for rank in range(ranks)
        ]
        for each in played:
            each.register(ranks)
        return played


def holds(manager: Manager, writes: int) -> None:
    """Wait until a held engine has so many writes."""
    engine = loopback(manager)
    wait_until(lambda: len(engine._held or ()) >= writes, f"{writes} writes are held")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A prefill and a decode manager that can hand over to each other."""

    fleet: Fleet
    prefill: Manager
    decode: Manager
    source: Memory
    target: Memory


# ------------------------------------------------------- peers played by a test


class Ear:
    """A bound PULL socket and PUSH sockets to wherever a test talks to."""

    def __init__(self) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._pull = self._context.socket(zmq.PULL)
        self._pull.setsockopt(zmq.LINGER, 0)
        self.endpoint: Endpoint = "127.0.0.1", self._pull.bind_to_random_port("tcp://127.0.0.1")
        self._push: dict[Endpoint, zmq.Socket[bytes]] = {}

    def say(self, endpoint: Endpoint, frames: Sequence[bytes]) -> None:
        """Push one message, whatever is in it."""
        socket = self._push.get(endpoint)
        if socket is None:
            socket = self._push[endpoint] = self._context.socket(zmq.PUSH)
            socket.setsockopt(zmq.LINGER, 0)
            socket.setsockopt(zmq.SNDTIMEO, int(PATIENCE_S * 1000))
            socket.connect(tcp(endpoint))
        socket.send_multipart(frames)

    def hear(self, patience_s: float = PATIENCE_S) -> list[bytes]:
        """The next message."""
        if not self._pull.poll(int(patience_s * 1000)):
            raise AssertionError(f"nothing was heard within {patience_s:g} s")
        return self._pull.recv_multipart()

    def is_silent(self) -> bool:
        """Whether nothing waits to be heard."""
        return not self._pull.poll(0)

    def close(self) -> None:
        """Close every socket."""
        self._context.destroy(linger=0)


@dataclass(kw_only=True)
class PlayedDecode:
    """A decode rank whose messages a test sends one by one; its engine and memory are real."""

    prefill: Manager
    ear: Ear
    memory: Memory
    engine: LoopbackEngine
    _as: Manager

    def say(self, *frames: bytes) -> None:
        """Push one message at the prefill's port."""
        self.ear.say(self.prefill.endpoint, frames)

    def registration(self, **facts: object) -> list[bytes]:
        """Frames of this rank's registration; ``facts`` replace fields."""
        mine = self._as.registration_facts() | self._names() | facts
        return self._as.build("KVArgsRegisterInfo", mine, self._as.config.release)

    def register(self, **facts: object) -> None:
        """Register, and wait until the prefill knows it."""
        before = self.prefill.counters.count("messages", "KVArgsRegisterInfo")
        self.say(*self.registration(**facts))
        wait_until(
            lambda: (
                self.prefill.counters.count("messages", "KVArgsRegisterInfo") > before
                and self.engine.session_id in self.prefill.prefill_side().peers
            ),
            "the registration",
        )

    def metadata(self, room: int, kv: I32Array, aux: int | None = 0, **facts: Any) -> list[bytes]:  # noqa: ANN401
        """Frames of one room's metadata; ``facts`` replace fields."""
        asked: dict[str, object] = {
            "dst_kv_indices": kv,
            "dst_aux_index": aux,
            "dst_state_indices": (),
            "decode_prefix_len": 0,
        }
        if self._as.backend == "mori":
            asked |= {"dst_aux_index": -1 if aux is None else aux, "decode_prefix_len": None}
        required = int(facts.pop("required_dst_info_num", 1))
        told = asked | self._as.metadata_facts(room, required, is_dummy=False) | self._names()
        return self._as.build("TransferInfo", told | {"is_dummy": False} | facts, self.release)

    def ask(self, room: int, kv: I32Array, aux: int | None = 0, **facts: Any) -> None:  # noqa: ANN401
        """Send one room's metadata."""
        self.say(*self.metadata(room, kv, aux, **facts))

    @property
    def release(self) -> str:
        """The release that it speaks."""
        return self._as.config.release

    @property
    def name(self) -> str:
        """Session id, agent name or engine key."""
        return self.engine.session_id

    def _names(self) -> dict[str, object]:
        host, port = self.ear.endpoint
        facts: dict[str, object] = {"endpoint": host, "dst_port": port}
        if self._as.backend == "mori":
            desc = self._as.registration_facts()["engine_desc"]
            assert isinstance(desc, bytes)
            mine = desc.replace(self._as.engine.session_id.encode(), self.name.encode())
            return facts | {"engine_desc": mine, "engine_key": self.name}
        if self._as.backend == "nixl":
            return facts | {"agent_name": self.name, "agent_metadata": self.engine.metadata}
        return facts | {"mooncake_session_id": self.name}

    def hear(self, patience_s: float = PATIENCE_S) -> Any:  # noqa: ANN401
        """The next message, decoded."""
        return understood(self.ear.hear(patience_s), self.prefill.wire_backend)


@dataclass(kw_only=True)
class PlayedPrefill:
    """A prefill rank whose messages a test sends one by one."""

    decode: Manager
    ear: Ear
    server: BootstrapServer
    rank: int

    def register(self, ranks: int) -> None:
        """Enter this rank in the bootstrap server."""
        host, port = self.ear.endpoint
        entry = RoutePut(
            attn_tp_size=ranks,
            attn_tp_rank=self.rank,
            attn_cp_size=1,
            attn_cp_rank=0,
            attn_dp_size=1,
            attn_dp_rank=0,
            pp_size=1,
            pp_rank=0,
            system_dp_size=1,
            system_dp_rank=0,
            rank_ip=host,
            rank_port=port,
            page_size=self.decode.args.page_size,
            kv_cache_dtype="auto",
        )
        BootstrapClient().register(self.server.address, entry)

    @property
    def address(self) -> str:
        """Where its bootstrap server is."""
        return self.server.address

    def say(self, *frames: bytes) -> None:
        """Push one message at the decode's port."""
        self.ear.say(self.decode.endpoint, frames)

    def tell(self, message: str, **facts: object) -> None:
        """Push one message of the decode's backend and release."""
        self.say(*self.decode.build(message, facts, self.decode.config.release))

    def status(
        self, room: int, status: KVPoll, reason: str | None = None, rank: int | None = None
    ) -> None:
        """Push one verdict."""
        number = self.rank if rank is None else rank
        facts = {"room": room, "status": int(status), "failure_reason": reason}
        self.tell("KV_STATUS", prefill_rank=number, **facts)

    def hear(self, patience_s: float = PATIENCE_S) -> Any:  # noqa: ANN401
        """The next message, decoded."""
        return understood(self.ear.hear(patience_s), self.decode.wire_backend)

    def hear_until(self, kind: str) -> Any:  # noqa: ANN401
        """The next message of a class, by name; others are skipped."""
        while type(found := self.hear()).__name__ != kind:
            pass
        return found


def understood(frames: list[bytes], backend: str) -> Message:
    """The message that frames are."""
    message: Message = recognise(frames, backend=backend).codec.decode(frames)
    return message


# --------------------------------------------------------------------- requests


def settled(*ends: BaseKVSender | BaseKVReceiver) -> list[KVPoll]:
    """How every end stands once all are done."""
    wait_until(lambda: all(end.poll() in FINAL for end in ends), "the rooms are done")
    return [end.poll() for end in ends]


def ready(sender: CommonKVSender) -> None:
    """Wait until the sender may send."""
    wait_until(lambda: sender.poll() is not KVPoll.Bootstrapping, "metadata")


def found(receiver: BaseKVReceiver) -> None:
    """Wait until the receiver's prefill ranks are found: then what was said is on its way."""
    wait_until(lambda: receiver.poll() is not KVPoll.Bootstrapping, "the ranks are found")


def begin(
    prefill: Manager,
    decode: Manager,
    room: int,
    dst: I32Array,
    *,
    num_pages: int | None = None,
    aux: tuple[int, int] | None = (1, 2),
    address: str = "",
    **asked: Any,  # noqa: ANN401
) -> tuple[CommonKVSender, CommonKVReceiver]:
    """Open a room on both sides and wait until prefill may send."""
    receiver = decode.receiver(address or prefill.bootstrap_address, room)
    receiver.init()
    sender = prefill.sender(room)
    source, target = aux or (None, None)
    sender.init(len(dst) if num_pages is None else num_pages, aux_index=source)
    receiver.send_metadata(dst, aux_index=target, **asked)
    ready(sender)
    return sender, receiver


def hand_over(
    prefill: Manager,
    decode: Manager,
    room: int,
    src: I32Array,
    dst: I32Array,
    **asked: Any,  # noqa: ANN401
) -> None:
    """One room from opening to clearing; both sides succeed."""
    sender, receiver = begin(prefill, decode, room, dst, **asked)
    sender.send(src)
    ends = settled(sender, receiver)
    reasons = sender.failure_reason, receiver.failure_reason
    assert ends == [KVPoll.Success, KVPoll.Success], reasons
    sender.clear()
    receiver.clear()


def with_limits(**limits: Any) -> RoomLimits:  # noqa: ANN401
    """The tests' limits with some replaced."""
    return replace(LIMITS, **limits)


def counter(manager: Manager, family: str, name: str | None = None) -> int:
    """One count of a manager's health, or the sum of a family."""
    counters = manager.health()["counters"]
    assert isinstance(counters, dict)
    found: dict[str, int] = counters.get(family, {})
    return sum(found.values()) if name is None else found.get(name, 0)


def alive(manager: Manager) -> bool:
    """Whether the manager's loop runs, as its health says."""
    loop = manager.health()["loop"]
    assert isinstance(loop, dict)
    return bool(loop["alive"]) and loop["dead"] is None
