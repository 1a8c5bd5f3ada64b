"""Both sides' rooms in a hostile world, step by step; the rules hold after every one of them."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from tests.pdwire.rooms.world import FINAL, RANKS, Decode, Flight, Node, Plan, Prefill, World

from pdwire.rooms import KVPoll

PICKS = st.integers(0, 2**16)
INDEX = st.integers(0, RANKS - 1)
PAIRS = st.sets(st.tuples(INDEX, INDEX), max_size=2)
PARTIES = st.sampled_from([(0,), (1,), (0, 1)])


class Rooms(RuleBasedStateMachine):
    """What schedulers, engines, sockets and the clock may do, in any order.

    Rules that only help a request along do several steps at once, or most runs would end
    before anything was transferred.
    """

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.fresh = 1
        self.calm = False

    @initialize(calm=st.booleans())
    def everybody_knows_everybody(self, calm: bool) -> None:
        """In a calm world nothing dies and one request runs at a time: races get further."""
        self.calm = calm
        for decode in range(RANKS):
            for prefill in range(RANKS):
                self.world.register(decode, prefill)
        self.deliver_all()

    # --------------------------------------------------------------- requests

    @precondition(lambda self: not self.calm or all(map(self.world.is_clean, self.world.plans)))
    @rule(parties=PARTIES, dummies=PAIRS, absent=st.sets(st.integers(0, 2 * RANKS - 1)))
    def request(
        self, parties: tuple[int, ...], dummies: set[tuple[int, int]], absent: set[int]
    ) -> None:
        """A new request, known at once to every rank that is not absent."""
        self.begin(self.fresh, parties, dummies, absent)
        self.fresh += 1

    @precondition(lambda self: any(map(self.world.is_clean, self.world.plans)))
    @rule(pick=PICKS, parties=PARTIES, dummies=PAIRS, absent=st.sets(INDEX))
    def request_again(
        self, pick: int, parties: tuple[int, ...], dummies: set[tuple[int, int]], absent: set[int]
    ) -> None:
        """A new request under a number that has had a life."""
        clean = [room for room in self.world.plans if self.world.is_clean(room)]
        self.begin(clean[pick % len(clean)], parties, dummies, absent)

    def begin(
        self, room: int, parties: tuple[int, ...], dummies: set[tuple[int, int]], absent: set[int]
    ) -> None:
        plan = self.world.request(room, parties, _possible(dummies))
        for prefill in set(range(RANKS)) - absent:
            self.world.open_prefill(prefill, plan)
        for decode in parties:
            if decode + RANKS not in absent:
                self.world.open_decode(decode, plan)
                self.world.send_metadata(decode, plan)

    @precondition(lambda self: self.to_open())
    @rule()
    def come_late(self) -> None:
        for node, plan in self.to_open():
            if isinstance(node, Prefill):
                self.world.open_prefill(node.index, plan)
            else:
                self.world.open_decode(node.index, plan)

    # ----------------------------------------------------------------- decode

    @precondition(lambda self: self.open_at(Decode))
    @rule(pick=PICKS)
    def send_metadata(self, pick: int) -> None:
        node, room = self.pick_at(Decode, pick=pick)
        self.world.send_metadata(node.index, self.world.plans[room])

    @precondition(lambda self: self.open_at(Decode))
    @rule(pick=PICKS)
    def abort(self, pick: int) -> None:
        node, room = self.pick_at(Decode, pick=pick)
        assert isinstance(node, Decode)
        self.world.carry_out(node, node.rooms.abort(room, "the user went away", self.world.now))

    @precondition(lambda self: self.open_at(Decode))
    @rule(pick=PICKS, hold=st.booleans())
    def staging(self, pick: int, hold: bool) -> None:
        node, room = self.pick_at(Decode, pick=pick)
        assert isinstance(node, Decode)
        if hold:
            node.rooms.hold_success(room)
            node.held.add(room)
        else:
            node.held.discard(room)
            self.world.carry_out(node, node.rooms.release_success(room, self.world.now))

    # ---------------------------------------------------------------- prefill

    @precondition(lambda self: self.destinations())
    @rule()
    def begin_writes(self) -> None:
        for todo in self.destinations():
            self.world.begin_write(*todo)

    @precondition(lambda self: self.flights())
    @rule(pick=PICKS, outcome=st.sampled_from(["ok", "ok", "failed", "unsettled"]))
    def end_write(self, pick: int, outcome: str) -> None:
        flights = self.flights()
        node, flight = flights[pick % len(flights)]
        self.world.end_write(node.index, flight, ok=outcome == "ok", settled=outcome != "unsettled")

    @precondition(lambda self: self.destinations())
    @rule(pick=PICKS)
    def finish_peer(self, pick: int) -> None:
        todo = self.destinations()
        self.world.finish_peer(*todo[pick % len(todo)])

    @rule()
    def serve(self) -> None:
        """Every write that can be made is made, and everything is finished."""
        for todo in self.destinations():
            self.world.begin_write(*todo)
            self.world.finish_peer(*todo)
        for node, flight in self.flights():
            self.world.end_write(node.index, flight, ok=True, settled=True)

    # ------------------------------------------------------ network and clock

    @precondition(lambda self: self.world.letters)
    @rule(pick=PICKS, keep=st.booleans())
    def deliver(self, pick: int, keep: bool) -> None:
        self.world.deliver(self.world.letters[pick % len(self.world.letters)], keep=keep)

    @precondition(lambda self: self.world.letters)
    @rule(kind=st.sampled_from(["registration", "metadata", "abort", "ack", "status"]))
    def overtake(self, kind: str) -> None:
        """Letters of one kind arrive before all others."""
        for letter in [letter for letter in self.world.letters if letter.kind == kind]:
            self.world.deliver(letter, keep=False)

    @precondition(lambda self: self.world.letters)
    @rule()
    def deliver_all(self) -> None:
        """Everything arrives, and so do the answers, and the answers to those."""
        for _ in range(3):
            for letter in list(self.world.letters):
                self.world.deliver(letter, keep=False)

    @precondition(lambda self: self.world.letters and not self.calm)
    @rule(pick=PICKS)
    def lose(self, pick: int) -> None:
        self.world.lose(self.world.letters[pick % len(self.world.letters)])

    @precondition(lambda self: self.open_at(Prefill, Decode))
    @rule(pick=PICKS)
    def lie(self, pick: int) -> None:
        """A stranger gives a room up, and claims that it succeeded, failed, and was let go."""
        _, room = self.pick_at(Prefill, Decode, pick=pick)
        before = [(n, n.rooms.status(room)) for n in self.nodes()]
        self.world.lie(room)
        assert before == [(n, n.rooms.status(room)) for n in self.nodes()]

    @precondition(lambda self: not self.calm)
    @rule(seconds=st.sampled_from([0.0, 1.0, 30.0, 60.0]))
    def pass_time(self, seconds: float) -> None:
        self.world.pass_time(seconds)

    # --------------------------------------------------------- what goes wrong

    @precondition(lambda self: not self.calm)
    @rule(
        what=st.sampled_from(["prefill dies", "decode dies", "mark", "lift", "down", "fail"]),
        prefill=INDEX,
        decode=INDEX,
        pick=PICKS,
    )
    def disaster(self, what: str, prefill: int, decode: int, pick: int) -> None:
        """One rule for all of them, or there would be little else in a run."""
        world, now = self.world, self.world.now
        p, d = world.prefills[prefill], world.decodes[decode]
        match what:
            case "prefill dies":
                world.restart_prefill(prefill)
            case "decode dies":
                world.restart_decode(decode)
            case "mark":
                world.carry_out(p, p.rooms.mark_peer_failed(d.peer, "engine says no", now))
            case "lift":
                world.register(decode, prefill)
            case "down":
                world.carry_out(d, d.rooms.prefill_down("prefill:1", "no heartbeat", now))
            case _ if p.open:
                room = sorted(p.open)[pick % len(p.open)]
                world.carry_out(p, p.rooms.fail(room, "out of memory", now))

    @precondition(lambda self: self.open_at(Prefill, Decode))
    @rule(pick=PICKS)
    def close(self, pick: int) -> None:
        node, room = self.pick_at(Prefill, Decode, pick=pick)
        self.world.close(node, room)

    # -------------------------------------------------------------- the rules

    @invariant()
    def no_page_is_released_while_a_writer_may_write(self) -> None:
        """The scheduler frees pages at the first moment it may: the hardest case."""
        for decode in range(RANKS):
            self.world.take_pages(decode)
        for _, flight in self.flights(lost=True):
            assert flight.lease.dead or not flight.lease.released, flight

    @invariant()
    def no_room_is_lost_and_the_end_is_final(self) -> None:
        for node in self.nodes():
            for room in node.open:
                status = node.rooms.status(room)
                assert status is not None, f"room {room} was lost"
                assert node.ended.get(room, status) is status, f"room {room} left its end"
                if status in FINAL and room not in node.ended:
                    node.ended[room] = status
                    assert status is KVPoll.Failed or room not in node.held
                assert (node.rooms.reason(room) is None) == (status is not KVPoll.Failed)

    @invariant()
    def none_comes_back_from_the_dead(self) -> None:
        for node in self.nodes():
            for room in set(self.world.plans) - node.open:
                assert node.rooms.status(room) is None

    @invariant()
    def success_means_that_every_rank_has_served_these_pages(self) -> None:
        for decode in self.world.decodes:
            for lease in decode.leases:
                is_now = decode.lives.get(lease.room) == lease.life
                if is_now and decode.rooms.status(lease.room) is KVPoll.Success:
                    for p in lease.writers:
                        assert lease.serial in self.world.prefills[p].served

    @invariant()
    def numbers_add_up(self) -> None:
        for prefill in self.world.prefills:
            counts = prefill.rooms.counts()
            phases = [phase for phase in counts if phase.startswith("rooms-")]
            in_shelves = counts["rooms-parked"] + counts["rooms-doomed"]
            assert sum(counts[phase] for phase in phases) - in_shelves == len(prefill.open)
            assert counts["writing"] == sum(not flight.lost for flight in prefill.flights)

    def teardown(self) -> None:
        """Nothing hangs: when time passes and nobody does anything, everything ends."""
        for _ in range(6):
            self.world.pass_time(500)
        for node in self.nodes():
            assert {node.rooms.status(room) for room in node.open} <= set(FINAL)
        for prefill in self.world.prefills:
            counts = prefill.rooms.counts()
            assert counts["rooms-parked"] == counts["rooms-doomed"] == 0

    # ----------------------------------------------------------- what is there

    def nodes(self) -> list[Prefill | Decode]:
        return [*self.world.prefills, *self.world.decodes]

    def to_open(self) -> list[tuple[Node, Plan]]:
        plans = self.world.plans.values()
        found: list[tuple[Node, Plan]] = [
            (node, plan)
            for plan in plans
            for node in self.world.prefills
            if node.index not in plan.opened_by_prefill
        ]
        for plan in plans:
            found += [(self.world.decodes[d], plan) for d in plan.missing_decodes()]
        return found

    def open_at(self, *kinds: type[Node]) -> list[tuple[Node, int]]:
        nodes = [node for node in self.nodes() if isinstance(node, kinds)]
        return [(node, room) for node in nodes for room in sorted(node.open)]

    def pick_at(self, *kinds: type[Node], pick: int) -> tuple[Node, int]:
        todo = self.open_at(*kinds)
        return todo[pick % len(todo)]

    def destinations(self) -> list[tuple[int, int, str]]:
        return [
            (prefill.index, room, peer)
            for prefill in self.world.prefills
            for room in sorted(prefill.open)
            for peer, info in prefill.rooms.infos(room).items()
            if not info.is_dummy
            and prefill.rooms.status(room) in {KVPoll.WaitingForInput, KVPoll.Transferring}
        ]

    def flights(self, *, lost: bool = False) -> list[tuple[Prefill, Flight]]:
        return [
            (prefill, flight)
            for prefill in self.world.prefills
            for flight in prefill.flights
            if lost or not flight.lost
        ]


def _possible(dummies: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """A decode rank is a dummy for one prefill rank at most: somebody has to serve it."""
    return {
        (decode, prefill) for decode, prefill in dummies if (decode, 1 - prefill) not in dummies
    }


TestRooms = Rooms.TestCase
TestRooms.settings = settings(stateful_step_count=60)
