"""The decode side of a manager: where the prefill ranks are, and what they say.

A decode rank registers once with each prefill rank and keeps the answer. Nothing that a scheduler
calls waits for that: :mod:`finding` asks, and a room's metadata is kept until its ranks are found.
A bootstrap server or a rank that stops answering (:mod:`heartbeat`) takes its rooms down with a
reason and its registrations with it, so that the next room finds the restarted one.

Locks, outermost first: ``_turn`` (a room is connected while nobody closes it), the locks of the
backend's hooks, ``lock``. None of them is held while anything is sent or asked.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from pdwire.bootstrap.asker import Asker
from pdwire.bootstrap.mapping import Sizes, map_ranks
from pdwire.errors import WireError
from pdwire.managers.agreement import disagreement
from pdwire.managers.announced import Announced
from pdwire.managers.connection import Connection, Line, Metadata, ranks_of
from pdwire.managers.finding import Ask, Finder, Found
from pdwire.managers.heartbeat import Heart
from pdwire.managers.lengths import LengthError
from pdwire.managers.memory import OutOfBounds
from pdwire.managers.sockets import Endpoint, SendError
from pdwire.plan import OutsideRequest
from pdwire.rooms import DecodeRooms, Drop, Effect, KVPoll, RoomError
from pdwire.rooms.holds import first_generation
from pdwire.wire import layout, recognise
from pdwire.wire.bootstrap import RouteServerInfo
from pdwire.wire.common import AbortAck, AuxData

if TYPE_CHECKING:
    from pdwire.managers.common import CommonKVManager

__all__ = ["DecodeSide"]

_LOG: Final = logging.getLogger("pdwire.managers")
_INBOUND: Final = "prefill -> decode"
_HANDS: Final = 4
"""Threads that send what was found: a send may wait for an endpoint whose queue is full."""
_SIDES: Final = 1024
"""Prefill sides that are remembered; the one found longest ago makes place."""


class DecodeSide:
    """State and heartbeats of the decode side; ``core`` lends sockets, engine and dialect."""

    def __init__(self, core: CommonKVManager) -> None:
        self.core = core
        self.lock = threading.RLock()
        self.rooms = DecodeRooms(
            core.config.limits,
            first_generation=first_generation(time.time(), secrets.randbits(32)),
        )
        self._known: OrderedDict[str, Found] = OrderedDict()
        self._connections: dict[int, Connection] = {}
        self._linked: dict[int, int] = {}
        """Room -> life, once its backend's hooks know of the connection too."""
        self._kept: dict[int, tuple[int, Metadata]] = {}
        """Room -> life and metadata that was sent before the ranks were found."""
        self._announced: dict[int, tuple[int, Announced]] = {}
        """Room -> life, and what it may be written: the first answer that a scheduler gave."""
        self._lines: dict[tuple[str, int], tuple[Line, ...]] = {}
        self._prefills: set[str] = set()
        self._shut: str | None = None
        self._stopped = False
        self._turn = threading.Lock()
        config = core.config
        self.asker = Asker(
            f"pdwire-{core.backend}-heartbeat",
            release=config.release,
            timeout_s=config.http_timeout_s,
        )
        self._hands = ThreadPoolExecutor(
            _HANDS, thread_name_prefix=f"pdwire-{core.backend}-connect"
        )
        self._heart = Heart(self)
        self._finder = Finder(self)
        core.counters.gauge("connect", self._finder.counts)
        self.asker.start()

    # --------------------------------------------------------------- messages

    def handle(self, frames: list[bytes]) -> None:
        """One multipart message; whatever it is, nothing worse than a count happens."""
        try:
            found = recognise(frames, backend=self.core.wire_backend, direction=_INBOUND)
            codec = found.codec
            message: Any = codec.decode(frames)
        except WireError as error:
            self.core.dropped(error)
            return
        self.core.counters.add("messages", codec.message)
        if isinstance(message, AbortAck):
            self.apply(lambda now: self.rooms.on_abort_ack(message, now))
        elif isinstance(message, AuxData):
            self._take_aux(message)
        elif codec.message == "KV_STATUS":
            with self.lock:
                is_asked = self.rooms.is_asked(message.room, message.prefill_rank)
            if is_asked:
                self.core.before_status(message.room, message.prefill_rank, message.status)
            self.apply(lambda now: self.rooms.on_status(message, now))
            if is_asked and message.status == KVPoll.Failed:
                self._doubt(message.room)
        elif not self.core.on_staging_message(message):
            self.core.counters.add("dropped", f"{codec.message} not served")

    def _doubt(self, room: int) -> None:
        """A rank that fails a room may have forgotten this one, or given it up (R8, R10).

        The next room asks where the ranks are and registers again, which changes nothing
        where they know this rank.
        """
        with self.lock:
            found = self._connections.get(room)
            if found is not None:
                for key in [key for key in self._lines if key[0] == found.prefill]:
                    del self._lines[key]

    def _take_aux(self, message: AuxData) -> None:
        """Write a row that came over the control plane: an active room's own, nothing else."""
        reason = None
        with self.lock:  # while it is written the room cannot end, nor its row be given away
            if self.rooms.status(message.room) is not KVPoll.Transferring:
                self.core.counters.add("dropped", "aux-room-not-active")
                return
            announced = self.announced(message.room)
            if announced is None or message.aux_index != announced.aux_index:
                self.core.counters.add("dropped", "aux-foreign-row")  # another room's, perhaps
                return
            try:
                memory = self.core.aux_memory
                memory.write_row(message.buffer_index, message.aux_index, message.data)
            except OutOfBounds as error:
                reason = f"AUX_DATA refused: {error}"
        if reason is None:
            self.apply(lambda now: self.rooms.on_row(message.room, message.buffer_index, now))
            return
        if self.core.counters.add("dropped", "aux-out-of-bounds") == 1:
            _LOG.warning("room %s: %s", message.room, reason)
        self.apply(lambda now: self.rooms.on_row_refused(message.room, reason, now))

    def tick(self) -> None:
        """Let deadlines pass, and take what the engine has to say."""
        self.core.poll_engine()
        self.apply(self.rooms.tick)
        self.core.tick_staging()

    def apply(self, change: Callable[[float], list[Effect]]) -> None:
        """Change the rooms under their lock and do what they ask for."""
        with self.lock:
            effects = change(time.monotonic())
        self.core.run(effects)

    # ------------------------------------------------------------------ rooms

    def open(self, room: int, prefill: str) -> int:
        """A receiver was made; gives the number of this life of the room.

        Raises:
            RoomError: the room is open already, or nothing can begin any more.
        """
        with self.lock:
            if self._shut is not None:
                raise RoomError(f"room {room} cannot be opened: {self._shut}")
            return self.rooms.open(room, prefill, time.monotonic())

    def status(self, room: int) -> KVPoll | None:
        """How a room stands; ``None`` if it is not open."""
        with self.lock:
            return self.rooms.status(room)

    def reason(self, room: int) -> str | None:
        """Why a room failed."""
        with self.lock:
            return self.rooms.reason(room)

    def connection(self, room: int) -> Connection | None:
        """What a room's receiver found; ``None`` before it did and after the room is closed."""
        with self.lock:
            return self._connections.get(room)

    def quiet(self, room: int) -> bool:
        """Whether no prefill rank can write for a room any more, whichever life of it."""
        with self.lock:
            return self.rooms.pages_released(room)

    def connect(self, room: int, life: int, prefill: str, dp_rank: int | None) -> None:
        """Find a room's prefill ranks and register with those that do not know this rank.

        At once where all of them are known; otherwise the room waits for what is asked.
        """
        with self.lock:
            found = self._known.get(prefill)
            dp = None if found is None else found.dp_of(room, dp_rank)
            lines = None if dp is None else self._lines.get((prefill, dp))
        ask = self._ask(room, life, dp_rank)
        if found is None or lines is None:
            self._finder.want(prefill, ask)
        else:
            self._link(ask, found, lines)

    def announced(self, room: int) -> Announced | None:
        """What the open life of a room may be written; ``None`` before its scheduler said it."""
        with self.lock:
            life, announced = self._announced.get(room, (0, None))
            return announced if life == self.rooms.life_of(room) else None

    def tell_late(self, room: int, life: int, prefill: str) -> None:
        """A room is over that never asked for its ranks: they are told, as soon as possible."""
        self._finder.want(prefill, self._ask(room, life, None))

    def _ask(self, room: int, life: int, dp_rank: int | None) -> Ask:
        # Prefill waits for so long for the room, and decode may open it so much later.
        patience_s = 2 * self.core.config.limits.bootstrap_s
        return Ask(room, life, dp_rank, time.monotonic() + patience_s)

    def send_metadata(self, room: int, life: int, metadata: Metadata) -> None:
        """Publish a room's metadata, now or as soon as its ranks are found.

        What cannot be said, or may not be asked for, fails the room with the reason: here, before
        anybody is found.
        """
        try:
            announced = self.core.announce(
                metadata.kv_indices, metadata.aux_index, metadata.state_indices
            )
            with self.lock:
                is_linked = self._linked.get(room) == life
                if self._announced.get(room, (None,))[0] != life:
                    self._announced[room] = life, announced
            if not is_linked:
                self.core.metadata(room, 1, metadata.facts, is_dummy=False)
        except (OutsideRequest, LengthError, WireError) as error:
            self.abort(room, str(error), life)
            return
        with self.lock:
            is_linked = self._linked.get(room) == life
            # Not only while its ranks are awaited: they may be known, and the hooks not told yet.
            if not is_linked and self.rooms.is_active(room, life):
                kept_by, _ = self._kept.get(room, (None, None))
                if kept_by != life:  # the first word counts; another life's never went out
                    self._kept[room] = life, metadata
        if is_linked:
            self._publish(room, life, metadata)

    def _link(self, ask: Ask, found: Found, lines: tuple[Line, ...]) -> None:
        """A room's ranks are known; metadata that was kept for them goes out."""
        if found.mapping is None:
            raise TypeError(found)
        link = Connection(
            prefill=found.prefill, sizes=found.sizes, mapping=found.mapping, lines=lines
        )
        endpoints = [line.endpoint for line in lines]
        expected = found.mapping.required_prefill_response_num
        with self._turn:
            with self.lock:
                if not self.rooms.awaits(ask.room, ask.life):
                    return
                self._connections[ask.room] = link
                targets = link.mapping.targets
                self.rooms.resolved(
                    ask.room,
                    endpoints,
                    expected,
                    time.monotonic(),
                    asked=ranks_of(link.sizes, targets),
                    answering=ranks_of(link.sizes, [t for t in targets if not t.is_dummy]),
                )
            self.core.on_room_connected(ask.room, expected)
            with self.lock:
                self._linked[ask.room] = ask.life
                life, metadata = self._kept.pop(ask.room, (0, None))
        if metadata is not None and life == ask.life:
            self._publish(ask.room, life, metadata)

    def _publish(self, room: int, life: int, metadata: Metadata) -> None:
        """Send metadata to every prefill rank of a room; what goes wrong fails the room."""
        with self.lock:
            link = self._connections.get(room)
            if link is None or not self.rooms.is_active(room, life):
                return
        required = link.mapping.required_dst_info_num
        try:
            self.core.on_metadata(room, metadata.kv_indices, metadata.state_indices)
            said = {
                is_dummy: self.core.metadata(room, required, metadata.facts, is_dummy=is_dummy)
                for is_dummy in {line.is_dummy for line in link.lines}
            }
            sizes, parallel = self.core.aux_memory.sizes, self.core.config.parallel
            # The last stage of prefill sends the row, and a stage here hears from its own only.
            is_last_stage = parallel.pp_rank == parallel.pp_size - 1
            over_tcp = self.core.config.aux_over_tcp and is_last_stage
            with self.lock:
                if self.rooms.life_of(room) != life:
                    return
                taken = self.rooms.lend_row(room, metadata.aux_index, sizes, over_tcp=over_tcp)
                wanted = taken is None and self.rooms.sent_metadata(room, time.monotonic())
            if taken is not None:
                self.abort(room, taken, life)
            if not wanted:
                return
            for line in link.lines:
                self.core.outbox.send(line.endpoint, said[line.is_dummy], "TransferInfo")
        except (SendError, WireError) as error:
            self.abort(room, str(error), life)

    def abort(self, room: int, reason: str, life: int | None = None) -> None:
        """Give a room up, if that life of it is open."""
        with self._turn, self.lock:
            if life is not None and self.rooms.life_of(room) != life:
                return
            effects = self.rooms.abort(room, reason, time.monotonic())
            self._kept.pop(room, None)
        self.core.run(effects)
        self.core.on_room_closed(room)

    def close(self, room: int, life: int | None = None) -> None:
        """A receiver was cleared; one of a life that is over changes nothing."""
        with self._turn, self.lock:
            if life is not None and self.rooms.life_of(room) not in {None, life}:
                return
            effects = self.rooms.close(room, time.monotonic())
            for shelf in (self._kept, self._connections, self._linked, self._announced):
                shelf.pop(room, None)
        self.core.run(effects)
        self.core.on_room_closed(room)

    def pages_released(self, room: int, life: int) -> bool:
        """Whether no prefill rank can write into the room's pages any more."""
        with self.lock:
            return self.rooms.pages_released(room, life)

    # ------------------------------------------------ what the finder asks and says

    async def by_hand(self, work: Callable[[], None]) -> None:
        """Do something that sends, on a thread that may wait; nothing once the side has ended."""
        await asyncio.get_running_loop().run_in_executor(self._hands, self._unless_stopped, work)

    def _unless_stopped(self, work: Callable[[], None]) -> None:
        if not self._stopped:
            work()

    def known(self, prefill: str) -> Found | None:
        """What a prefill side said of itself, if it is remembered."""
        with self.lock:
            return self._known.get(prefill)

    def judge(self, prefill: str, info: RouteServerInfo) -> Found:
        """What a prefill side's answer means for this rank; remembered if they go together."""
        config, parallel = self.core.config, self.core.config.parallel
        sizes = Sizes(
            attn_tp_size=info.attn_tp_size,
            attn_cp_size=info.attn_cp_size,
            attn_dp_size=info.dp_size,
            pp_size=info.pp_size,
            all_cp_ranks=info.enable_dsa_cache_layer_split or info.enable_kv_cache_sharding,
            kv_sharding=info.enable_kv_cache_sharding,
        )
        carried = layout("mooncake", "ROUTE_SERVER_INFO", release=config.release).fields
        refusal = disagreement(info, self.core.args, config, prefill, carried)
        mapping = None
        try:
            mapping = map_ranks(
                sizes,
                tp_size=parallel.attn_tp_size,
                tp_rank=parallel.attn_tp_rank,
                pp_size=parallel.pp_size,
                pp_rank=parallel.pp_rank,
                is_mla=config.is_mla,
            )
        except ValueError as error:
            refusal = refusal or str(error)
        found = Found(prefill=prefill, info=info, sizes=sizes, mapping=mapping, refusal=refusal)
        if refusal is not None:
            self.core.counters.add("bootstrap", "disagrees")
            return found
        with self.lock:
            self._known[prefill] = found
            self._known.move_to_end(prefill)
            self._prefills.add(prefill)
            if len(self._known) > _SIDES:
                self._forget(next(iter(self._known)))
        self._heart.watch(prefill)
        return found

    def lines(self, prefill: str, dp: int) -> tuple[Line, ...] | None:
        """The ranks of a DP group, if this rank is registered with them."""
        with self.lock:
            return self._lines.get((prefill, dp))

    def found(
        self, found: Found, dp: int, endpoints: Sequence[Endpoint], asks: Sequence[Ask]
    ) -> None:
        """The ranks of a DP group listen there: register, connect rooms, tell of those that end."""
        waiting, orphans = self.sorted_out(asks)
        if orphans and self.lines(found.prefill, dp) is None:
            self._introduce(endpoints)
        for ask in orphans:
            self._tell(ask, endpoints)
        if not waiting or found.refusal is not None:
            return
        try:
            lines = self.lines(found.prefill, dp) or self._register(found, dp, endpoints)
        except (SendError, WireError) as error:
            for ask in waiting:
                self.give_up(ask, str(error))
            return
        for ask in waiting:
            self._link(ask, found, lines)

    def _register(self, found: Found, dp: int, endpoints: Sequence[Endpoint]) -> tuple[Line, ...]:
        """Announce this rank's memory to every rank of a DP group.

        Raises:
            WireError: the release cannot say what this rank has to.
            SendError: a prefill rank takes no messages.
        """
        frames = self.core.registration()
        lines = tuple(
            Line(endpoint=endpoint, pp_rank=t.pp_rank, is_dummy=t.is_dummy, target=t)
            for t, endpoint in zip(found.targets, endpoints, strict=True)
        )
        for line in lines:
            self.core.outbox.send(line.endpoint, frames, "KVArgsRegisterInfo")
        with self.lock:
            if self._known.get(found.prefill) is found:  # not lost while it was registered with
                self._lines[found.prefill, dp] = lines
        return lines

    def sorted_out(self, asks: Iterable[Ask]) -> tuple[list[Ask], list[Ask]]:
        """Rooms that wait for their ranks, and rooms that ended before those were found."""
        waiting, orphans = [], []
        with self.lock:
            for ask in asks:
                life = self.rooms.life_of(ask.room)
                if self.rooms.awaits(ask.room, ask.life):
                    waiting.append(ask)
                elif life is None or (
                    life == ask.life and not self.rooms.is_active(ask.room, life)
                ):
                    orphans.append(ask)
        return waiting, orphans

    def give_up(self, ask: Ask, reason: str) -> None:
        """The ranks of a room cannot be found: it fails, if it still waits for them."""
        with self._turn, self.lock:
            if not self.rooms.awaits(ask.room, ask.life):
                return
            self.rooms.abort(ask.room, reason, time.monotonic())  # nobody is known to be told
            self._kept.pop(ask.room, None)
        self.core.on_room_closed(ask.room)

    def not_found_for(self, ask: Ask, why: str) -> None:
        """What stands in the way of a room that goes on waiting."""
        with self.lock:
            self.rooms.not_found_for(ask.room, ask.life, why)

    def _introduce(self, endpoints: Sequence[Endpoint]) -> None:
        """Register before words about rooms: prefill does not end a room on a stranger's."""
        try:
            frames = self.core.registration()
            for endpoint in dict.fromkeys(endpoints):
                self.core.outbox.send(endpoint, frames, "KVArgsRegisterInfo")
        except (SendError, WireError):  # the release cannot say what this rank has: only the word
            self.core.counters.add("unsaid", "KVArgsRegisterInfo")

    def _tell(self, ask: Ask, endpoints: Sequence[Endpoint]) -> None:
        """A room was over before its ranks were found: they are told now."""
        with self.lock:
            if self.rooms.life_of(ask.room) not in {None, ask.life}:
                return  # the number is used again: the word would end that life
            effects = self.rooms.tell(ask.room, endpoints)
        self.core.counters.add("bootstrap", "told-late")
        self.core.run(effects)

    # -------------------------------------------------------------- heartbeats

    def is_known(self, prefill: str) -> bool:
        """Whether anything is known of a prefill side that may end."""
        with self.lock:
            return prefill in self._prefills

    def registered(self, prefill: str) -> list[tuple[int, Line]]:
        """DP rank and line of every rank of a prefill side that matters here."""
        with self.lock:
            lines = {
                (dp, line)
                for (name, dp), found in self._lines.items()
                if name == prefill
                for line in found
            }
            # Registrations may be forgotten while rooms of theirs are under way.
            lines |= {
                (-1, line)
                for link in self._connections.values()
                if link.prefill == prefill
                for line in link.lines
            }
        return list({line.endpoint: (dp, line) for dp, line in sorted(lines, key=_by_dp)}.values())

    def forget_lines(self, prefill: str, endpoint: Endpoint) -> None:
        """A rank listens elsewhere, or not at all: the next room asks again."""
        with self.lock:
            self._known.pop(prefill, None)
            for key in [key for key in self._lines if key[0] == prefill]:
                if any(line.endpoint == endpoint for line in self._lines[key]):
                    del self._lines[key]

    def rank_lost(self, prefill: str, endpoint: Endpoint, reason: str) -> None:
        """One rank is gone: its rooms fail, those of other ranks go on."""
        self.forget_lines(prefill, endpoint)
        with self.lock:
            rooms = [
                room
                for room, link in self._connections.items()
                if link.prefill == prefill and any(x.endpoint == endpoint for x in link.lines)
            ]
        self.core.counters.add("bootstrap", "ranks-lost")
        for room in rooms:
            with self.lock:
                effects = self.rooms.abort(room, reason, time.monotonic())
            self.core.run([e for e in effects if not isinstance(e, Drop)])  # some are done
        self.core.outbox.forget(endpoint)

    def lost(self, prefill: str, reason: str) -> None:
        """Forget a prefill side: its rooms fail, and the next room asks again."""
        with self.lock:
            endpoints = self._forget(prefill)
        self.core.counters.add("bootstrap", "sides-lost")
        self.core.on_prefill_lost(prefill)
        self.apply(lambda now: self.rooms.prefill_down(prefill, reason, now))
        for endpoint in endpoints:  # after the aborts, which are flushed if anybody takes them
            self.core.outbox.forget(endpoint)

    def unreachable(self, endpoint: Endpoint, room: int | None, reason: str) -> None:
        """A prefill rank did not take what it was told: the room that it was about fails.

        The rank may not know this one, so the next room registers again.
        """
        with self.lock:
            for key, lines in list(self._lines.items()):
                if endpoint in {line.endpoint for line in lines}:
                    del self._lines[key]
            status = None if room is None else self.rooms.status(room)
        if room is not None and status not in {None, KVPoll.Failed, KVPoll.Success}:
            self.abort(room, reason)

    def _forget(self, prefill: str) -> list[Endpoint]:
        """Under the lock: nothing is known of a prefill side any more; where its ranks were."""
        self._prefills.discard(prefill)
        self._known.pop(prefill, None)
        keys = [key for key in self._lines if key[0] == prefill]
        return [line.endpoint for key in keys for line in self._lines.pop(key)]

    # -------------------------------------------------------------------- end

    def counts(self) -> dict[str, int]:
        """Rooms, drops and held pages."""
        with self.lock:
            return self.rooms.counts()

    def shut(self, reason: str) -> None:
        """Nobody listens any more: no room can go on or begin. Prefill is told."""
        with self.lock:
            self._shut = reason
        self.apply(lambda now: self.rooms.fail_all(reason, now))

    def stop(self, deadline_s: float = 10.0) -> None:
        """End the heartbeats and whatever is asked; ``RuntimeError`` if that takes too long."""
        self._stopped = True
        try:
            self.asker.close(deadline_s)
        finally:
            # Each of them ends with the send that it is at.
            self._hands.shutdown(wait=True, cancel_futures=True)


def _by_dp(entry: tuple[int, Line]) -> int:
    return entry[0]
