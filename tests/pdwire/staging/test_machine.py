"""Both sides of staging in one world whose network loses, doubles, reorders and delays messages.

Two prefill engines of two ranks each stage into one decode rank. Memory is modelled byte by byte: a
write touches its bytes when it begins and when it ends, and a scatter must find in every byte what
the writer of that part of that chunk of that life of the room put there.

Taken for granted, as documented: a room number is used again only when no message of its last life
is under way, and nobody writes longer than ``late_write_s`` after a room was closed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pdwire.staging import (
    ChunkGrid,
    DecodeStaging,
    Drop,
    Effect,
    Endpoint,
    Oversized,
    Place,
    PrefillRank,
    PrefillStaging,
    Ready,
    Scatter,
    SendStagingReq,
    SendStagingRsp,
    SendWatermark,
    StagingLayout,
    StagingLimits,
)
from pdwire.wire.common import ChunkReady, StagingReq, StagingRsp, Watermark

LAYOUT = StagingLayout(
    prefill_tp=2,
    decode_tp=1,
    decode_rank=0,
    total_kv_heads=2,
    page_size=1,
    head_bytes=1,
    layers=1,
)  # four bytes a page, two of each writer
RING = 40
DECODE: Endpoint = ("decode", 1)
LIMITS = StagingLimits(
    parked=20, parked_s=30.0, late_write_s=50.0, ask_again_s=5.0, remind_s=1.0, remembered=50
)
Wire = StagingReq | StagingRsp | Watermark | ChunkReady
Token = tuple[int, int, int, int]
DICE = st.integers(0, 7)
"""Most restarts do not happen, or no history would be long."""


@dataclass(eq=False)
class Life:
    """One life of a room number."""

    room: int
    number: int
    engine: int
    grid: ChunkGrid
    is_open: bool = False
    over: bool = False
    crippled: bool = False
    stopped: set[int] = field(default_factory=set)
    written: set[tuple[int, int]] = field(default_factory=set)
    scattered: set[int] = field(default_factory=set)


@dataclass(eq=False)
class Write:
    """A write of one rank in flight."""

    life: Life
    chunk_idx: int
    rank: int
    place: Place


class StagingMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.lives: list[Life] = []
        self.network: list[tuple[Endpoint, Wire]] = []
        self.writes: list[Write] = []
        self.scatters: list[Scatter] = []
        self.session = 0
        self.boots = [0, 0]
        self.prefills: dict[Endpoint, PrefillStaging] = {}
        for engine in range(2):
            self.boot(engine)
        self.begin_decode()

    # ------------------------------------------------------------ the world

    def begin_decode(self) -> None:
        self.session += 1
        self.decode = DecodeStaging(RING, f"d:{self.session}", LIMITS)
        self.memory: list[Token | None] = [None] * RING
        self.mark = (0, 0)

    def boot(self, engine: int) -> None:
        """An engine starts: new ports, nothing remembered."""
        self.boots[engine] += 1
        for rank in range(2):
            self.prefills.pop(self.port(engine, rank, self.boots[engine] - 1), None)
            self.prefills[self.port(engine, rank)] = PrefillStaging(LIMITS)

    def port(self, engine: int, rank: int, boot: int | None = None) -> Endpoint:
        return (f"prefill{engine}", 10 * (boot or self.boots[engine]) + rank)

    def run(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case SendStagingReq() | SendStagingRsp() | SendWatermark():
                    self.network.append((effect.endpoint, effect.message))
                case Scatter():
                    self.scatters.append(effect)
                case Drop():
                    pass
                case _:
                    raise AssertionError(effect)

    def arrive(self, to: Endpoint, message: Wire) -> None:
        prefill = self.prefills.get(to)
        match message:
            case StagingReq():
                self.run(self.decode.on_staging_req(message, self.now))
            case ChunkReady():
                self.run(self.decode.on_chunk_ready(message, self.now))
            case StagingRsp() if prefill is not None:
                self.run(prefill.on_staging_rsp(message, self.now))
            case Watermark() if prefill is not None:
                self.run(prefill.on_watermark(message, self.now))

    def lives_now(self) -> list[Life]:
        return [life for life in self.lives if not life.over]

    def of(self, room: int) -> Life | None:
        return next((life for life in self.lives_now() if life.room == room), None)

    def ask(self, life: Life, rank: int) -> None:
        self.run(
            self.prefills[self.port(life.engine, rank)].want(
                life.room,
                self.decode.session,
                DECODE,
                grid=life.grid,
                layout=LAYOUT,
                ring_size=RING,
                now=self.now,
            )
        )

    def open_life(self, life: Life) -> None:
        life.is_open = True
        self.run(
            self.decode.open_room(
                life.room,
                prefill=f"p{life.engine}",
                ranks=[PrefillRank(self.port(life.engine, rank)) for rank in range(2)],
                layout=LAYOUT,
                pages=list(range(life.grid.total_pages)),
                writers=2,
                now=self.now,
            )
        )

    def touch(self, write: Write) -> None:
        """Put the writer's mark into its part of the chunk's place."""
        pages = len(write.life.grid.pages(write.chunk_idx))
        token = (write.life.room, write.life.number, write.chunk_idx, write.rank)
        for _, start, size in LAYOUT.writes(write.rank, pages):
            for at in range(write.place.offset + start, write.place.offset + start + size):
                self.memory[at] = token

    def writable(self) -> list[tuple[Life, int, int, Place]]:
        """Every write that some rank may begin."""
        busy = {(write.life, write.chunk_idx, write.rank) for write in self.writes}
        found = []
        for life in self.lives:
            for rank in {0, 1} - life.stopped:
                prefill = self.prefills[self.port(life.engine, rank)]
                for chunk_idx in range(len(life.grid)):
                    if (chunk_idx, rank) in life.written or (life, chunk_idx, rank) in busy:
                        continue
                    state = prefill.state(life.room, chunk_idx, self.decode.session)
                    if isinstance(state, Ready):
                        found.append((life, chunk_idx, rank, state.place))
        return found

    def begin(self, life: Life, chunk_idx: int, rank: int, place: Place) -> None:
        write = Write(life, chunk_idx, rank, place)
        self.touch(write)
        self.writes.append(write)

    def end(self, write: Write) -> None:
        self.writes.remove(write)
        self.touch(write)
        write.life.written.add((write.chunk_idx, write.rank))
        pages = write.life.grid.pages(write.chunk_idx)
        message = ChunkReady(
            room=write.life.room,
            chunk_idx=write.chunk_idx,
            page_start=pages.start,
            num_pages=len(pages),
            writer_id=self.decode.session,
            prefill_rank=write.rank,
        )
        self.network.append((DECODE, message))
        self.maybe_quiet(write.life)

    def copy_out(self, effect: Scatter) -> None:
        self.scatters.remove(effect)
        life = max(
            (life for life in self.lives if life.room == effect.room),
            key=lambda life: life.number,
        )
        pages = len(effect.pages)
        for rank in range(2):
            token = (life.room, life.number, effect.chunk_idx, rank)
            for _, start, size in LAYOUT.writes(rank, pages):
                at = effect.offset + start
                assert self.memory[at : at + size] == [token] * size
        assert effect.chunk_idx not in life.scattered
        life.scattered.add(effect.chunk_idx)
        self.run(self.decode.scattered(effect, self.now))

    def stop(self, life: Life, rank: int) -> None:
        """The abort reaches a rank: no new write."""
        life.stopped.add(rank)
        self.prefills[self.port(life.engine, rank)].close_room(life.room)
        self.maybe_quiet(life)

    def maybe_quiet(self, life: Life) -> None:
        """Both ranks have stopped and drained: the decode side hears of it."""
        if life.over and life.stopped == {0, 1} and not self.in_flight(life):
            self.run(self.decode.writers_quiet(life.room, self.now))

    def in_flight(self, life: Life) -> bool:
        return any(write.life is life for write in self.writes)

    def oversized(self, life: Life) -> set[int]:
        size = LAYOUT.chunk_bytes
        return {i for i in range(len(life.grid)) if size(len(life.grid.pages(i))) > RING}

    def is_done(self, life: Life) -> bool:
        chunks = set(range(len(life.grid))) - self.oversized(life)
        return life.scattered == chunks and self.decode.complete(life.room)

    def finish(self, life: Life) -> None:
        life.over = True
        life.stopped = {0, 1}
        for rank in range(2):
            self.prefills[self.port(life.engine, rank)].close_room(life.room)
        self.run(self.decode.close_room(life.room, self.now, quiet=True))

    # ---------------------------------------------------------------- rules

    @rule(
        engine=st.integers(0, 1),
        total=st.integers(1, 24),
        chunk=st.integers(1, 12),
        reuse=st.integers(0, 1000),
        early=st.booleans(),
    )
    def new_room(self, engine: int, total: int, chunk: int, reuse: int, early: bool) -> None:
        busy = {message.room for _, message in self.network if not isinstance(message, Watermark)}
        busy |= {life.room for life in self.lives if not life.over or life.stopped != {0, 1}}
        busy |= {write.life.room for write in self.writes} | {s.room for s in self.scatters}
        free = sorted({life.room for life in self.lives} - busy)
        room = free[reuse % len(free)] if free and reuse % 3 == 0 else len(self.lives) + 100
        life = Life(room, len(self.lives), engine, ChunkGrid(total, chunk))
        self.lives.append(life)
        if early:
            self.ask(life, 0)
        else:
            self.open_life(life)

    @precondition(lambda self: any(not life.is_open for life in self.lives_now()))
    @rule()
    def open_late(self) -> None:
        self.open_life(next(life for life in self.lives_now() if not life.is_open))

    @precondition(lambda self: self.lives_now())
    @rule(pick=st.integers(0, 1000), rank=st.integers(0, 1))
    def ask_ahead(self, pick: int, rank: int) -> None:
        lives = self.lives_now()
        life = lives[pick % len(lives)]
        if rank not in life.stopped:
            self.ask(life, rank)

    @precondition(lambda self: self.network)
    @rule(pick=st.integers(0, 1000), count=st.integers(1, 6))
    def deliver(self, pick: int, count: int) -> None:
        for _ in range(min(count, len(self.network))):
            self.arrive(*self.network.pop(pick % len(self.network)))

    @precondition(lambda self: self.network or self.writes or self.scatters or self.writable())
    @rule(rounds=st.integers(1, 4))
    def all_goes_well(self, rounds: int) -> None:
        """For a while nothing is lost, and everybody does what can be done."""
        for _ in range(rounds):
            self.step()

    @precondition(lambda self: self.network)
    @rule(pick=st.integers(0, 1000))
    def double(self, pick: int) -> None:
        self.arrive(*self.network[pick % len(self.network)])

    @precondition(lambda self: self.network)
    @rule(pick=st.integers(0, 1000))
    def lose(self, pick: int) -> None:
        _, message = self.network.pop(pick % len(self.network))
        if isinstance(message, ChunkReady) and (life := self.of(message.room)) is not None:
            life.crippled = True

    @precondition(lambda self: self.writable())
    @rule(pick=st.integers(0, 1000))
    def begin_write(self, pick: int) -> None:
        choices = self.writable()
        self.begin(*choices[pick % len(choices)])

    @precondition(lambda self: self.writes)
    @rule(pick=st.integers(0, 1000))
    def end_write(self, pick: int) -> None:
        self.end(self.writes[pick % len(self.writes)])

    @precondition(lambda self: self.scatters)
    @rule(pick=st.integers(0, 1000))
    def scatter(self, pick: int) -> None:
        self.copy_out(self.scatters[pick % len(self.scatters)])

    @precondition(lambda self: self.lives_now())
    @rule(pick=st.integers(0, 1000))
    def fail(self, pick: int) -> None:
        """The decode side gives a room up; the prefill ranks do not know yet."""
        lives = self.lives_now()
        self.fail_now(lives[pick % len(lives)])

    def fail_now(self, life: Life) -> None:
        life.over = True
        self.run(self.decode.close_room(life.room, self.now, quiet=False))

    @precondition(lambda self: any(life.over and life.stopped != {0, 1} for life in self.lives))
    @rule(pick=st.integers(0, 1000))
    def abort_arrives(self, pick: int) -> None:
        waiting = [life for life in self.lives if life.over and life.stopped != {0, 1}]
        life = waiting[pick % len(waiting)]
        self.stop(life, min({0, 1} - life.stopped))

    @rule()
    def success(self) -> None:
        for life in self.lives_now():
            if life.is_open and self.is_done(life):
                self.finish(life)

    @rule(seconds=st.sampled_from([0.5, 2.0, 6.0, 60.0]))
    def time_passes(self, seconds: float) -> None:
        unsettled = [life for life in self.lives if life.over and life.stopped != {0, 1}]
        unsettled += [write.life for write in self.writes if write.life.over]
        self.now += min(seconds, 1.0) if unsettled else seconds
        self.tick()

    def tick(self) -> None:
        self.run(self.decode.tick(self.now))
        for prefill in self.prefills.values():
            self.run(prefill.tick(self.now))

    @precondition(lambda self: sum(self.boots) < 4)
    @rule(engine=st.integers(0, 1), dice=DICE)
    def restart_prefill(self, engine: int, dice: int) -> None:
        if dice:
            return
        self.writes = [write for write in self.writes if write.life.engine != engine]
        for life in self.lives:
            if life.engine == engine and not (life.over and life.stopped == {0, 1}):
                life.stopped = {0, 1}
                life.over = True
                self.run(self.decode.close_room(life.room, self.now, quiet=True))
                self.run(self.decode.writers_quiet(life.room, self.now))
        self.decode.forget_prefill(f"p{engine}")
        self.boot(engine)

    @precondition(lambda self: self.session < 3)
    @rule(dice=DICE)
    def restart_decode(self, dice: int) -> None:
        if dice:
            return
        old = self.decode.session
        self.scatters.clear()
        self.writes.clear()  # the engine refuses writes to a session that is gone
        for life in self.lives:
            life.over = True
            life.stopped = {0, 1}
        self.begin_decode()
        for prefill in self.prefills.values():
            prefill.forget(old)

    # ----------------------------------------------------------- invariants

    @invariant()
    def every_place_belongs_to_somebody(self) -> None:
        counts = self.decode.counts()
        owners = counts["chunks-awaited"] + counts["scattering"] + counts["held"]
        assert counts["ring-places"] == owners
        assert counts["scattering"] == len(self.scatters)

    @invariant()
    def the_watermark_only_grows_and_nobody_is_ahead_of_it(self) -> None:
        assert self.decode.ring.watermark >= self.mark
        self.mark = self.decode.ring.watermark
        for prefill in self.prefills.values():
            assert (prefill.watermark(self.decode.session) or (0, 0)) <= self.mark

    @invariant()
    def nothing_grows_without_bound(self) -> None:
        counts = self.decode.counts()
        assert counts["parked"] <= LIMITS.parked
        assert counts["rooms"] == sum(life.is_open for life in self.lives_now())

    @invariant()
    def a_writer_that_may_write_has_a_place_that_is_taken(self) -> None:
        for _, _, _, place in self.writable():
            assert place in self.decode.ring

    # ------------------------------------------------------------- the end

    def teardown(self) -> None:
        """Without further mishaps everything ends, and the ring is empty."""
        for life in self.lives_now():
            if life.crippled:  # what a deadline of the room does
                self.fail_now(life)
        for life in self.lives_now():
            if not life.is_open:
                self.open_life(life)
            for rank in {0, 1} - life.stopped:
                self.ask(life, rank)
        for _ in range(40 + 20 * len(self.lives)):
            self.drain()
            self.stop_all()
            if not self.lives_now():
                break
            self.now += 6.0
            self.tick()
        assert self.lives_now() == []
        assert self.decode.ring.drained()
        assert self.decode.counts()["rooms"] == 0

    def drain(self) -> None:
        while self.network or self.writes or self.scatters or self.writable():
            self.step()
        self.success()

    def step(self) -> None:
        while self.network:
            self.arrive(*self.network.pop(0))
        for choice in self.writable():
            self.begin(*choice)
        for write in list(self.writes):
            self.end(write)
        for effect in list(self.scatters):
            self.copy_out(effect)

    def stop_all(self) -> None:
        for life in self.lives:
            for rank in {0, 1} - life.stopped:
                if life.over:
                    self.stop(life, rank)


TestStaging = StagingMachine.TestCase
TestStaging.settings = settings(stateful_step_count=60)


def test_an_oversized_chunk_is_not_asked_for() -> None:
    prefill = PrefillStaging(LIMITS)
    grid = ChunkGrid(23, 11)
    asks = prefill.want(7, "d:1", DECODE, grid=grid, layout=LAYOUT, ring_size=RING, now=0.0)
    assert [a.message.chunk_idx for a in asks if isinstance(a, SendStagingReq)] == [2]
    assert prefill.state(7, 0, "d:1") == Oversized()
