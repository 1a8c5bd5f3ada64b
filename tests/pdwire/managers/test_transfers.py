"""Lanes and threads by themselves: order, waking, and one end for every job."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from tests.pdwire.managers.fleet import wait_until

from pdwire.engines import DONE, EngineError, Failed
from pdwire.managers.transfers import LATER, Refused, Steps, Transfers


@dataclass
class Held:
    """A transfer that is over when told."""

    is_over: bool = False
    progress: int = 0

    def poll(self) -> bool:
        return self.is_over

    def release(self) -> None:
        """Nothing is kept."""


@dataclass
class Log:
    """What jobs did, in order."""

    did: list[object] = field(default_factory=list)
    ends: dict[int, list[Exception | None]] = field(default_factory=dict)
    late: list[int] = field(default_factory=list)


@dataclass
class Work:
    """A job whose steps a test gives."""

    log: Log
    peer: str
    serial: int
    make: Callable[[], Steps]
    moot: bool = False

    def steps(self) -> Steps:
        self.log.did.append(self.serial)
        return (yield from self.make())

    def end(self, error: Exception | None) -> None:
        self.log.ends.setdefault(self.serial, []).append(error)

    def late(self, reason: str) -> None:
        assert reason == f"peer {self.peer} took nothing for 0.2 s"
        self.log.late.append(self.serial)

    def is_moot(self) -> bool:
        return self.moot


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def transfers() -> Iterator[Transfers]:
    made = Transfers("pdwire-test", threads=2, patience_s=0.2)
    yield made
    made.stop("the test is over", 5)
    assert not [t for t in threading.enumerate() if t.name.startswith("pdwire-test")]


def writes(*transfers: object) -> Callable[[], Steps]:
    def steps() -> Steps:
        yield from transfers  # type: ignore[misc]

    return steps


def ended(log: Log, *serials: int) -> None:
    wait_until(lambda: all(serial in log.ends for serial in serials), f"{serials} have ended")


def test_jobs_of_a_peer_go_in_their_order_one_at_a_time(transfers: Transfers, log: Log) -> None:
    held = [Held() for _ in range(20)]
    for serial, transfer in enumerate(held):
        transfers.put(Work(log, "a", serial, writes(transfer, DONE)))
    for serial, transfer in enumerate(held):
        wait_until(lambda n=serial: len(log.did) == n + 1)  # type: ignore[misc]
        transfer.is_over = True
        ended(log, serial)
    assert log.did == list(range(20))
    assert log.ends == {serial: [None] for serial in range(20)}


def test_a_failure_is_the_jobs_and_the_next_one_goes_on(transfers: Transfers, log: Log) -> None:
    seen: list[str] = []

    def catches() -> Steps:
        try:
            yield Failed("the link is down")
        except EngineError as error:
            seen.append(str(error))
        yield DONE

    transfers.put(Work(log, "a", 1, writes(Failed("gone"))))
    transfers.put(Work(log, "a", 2, catches))
    ended(log, 1, 2)
    assert [str(error) for error in log.ends[1]] == ["gone"]
    assert log.ends[2] == [None]
    assert seen == ["the link is down"]


def test_a_job_that_cannot_go_on_lets_the_others_pass_until_it_is_woken(
    transfers: Transfers, log: Log
) -> None:
    there = threading.Event()

    def waits() -> Steps:
        while not there.is_set():
            yield LATER
        yield DONE

    transfers.put(Work(log, "a", 1, waits))
    transfers.put(Work(log, "a", 2, writes(DONE)))
    ended(log, 2)
    assert 1 not in log.ends
    wait_until(lambda: transfers.counts()["set-aside"] == 1)
    there.set()
    transfers.wake([1, 77])
    ended(log, 1)
    assert log.ends[1] == [None]


def test_what_is_woken_while_it_says_that_it_cannot_go_on_is_looked_at_again(
    transfers: Transfers, log: Log
) -> None:
    looked: list[bool] = []

    def wakes_itself() -> Steps:
        if not looked:
            looked.append(True)
            transfers.wake([1])  # between looking and being set aside
            yield LATER
        yield DONE

    transfers.put(Work(log, "a", 1, wakes_itself))
    ended(log, 1)


def test_a_moot_job_is_woken_to_end(transfers: Transfers, log: Log) -> None:
    def waits() -> Steps:
        yield LATER

    job = Work(log, "a", 1, waits)
    transfers.put(job)
    wait_until(lambda: transfers.counts()["set-aside"] == 1)
    transfers.tick()
    assert 1 not in log.ends
    job.moot = True
    transfers.tick()
    ended(log, 1)


def test_a_lane_that_stands_still_is_left_alone_until_its_transfer_is_over(
    transfers: Transfers, log: Log
) -> None:
    held = Held()
    transfers.put(Work(log, "a", 1, writes(held)))
    transfers.put(Work(log, "a", 2, writes(DONE)))

    def is_given_up() -> bool:
        transfers.tick()
        return 2 in log.ends

    wait_until(is_given_up)
    assert isinstance(log.ends[2][0], Refused)
    assert log.late == [1]
    assert 1 not in log.ends
    transfers.put(Work(log, "b", 3, writes(DONE)))
    ended(log, 3)
    held.is_over = True
    ended(log, 1)
    assert log.ends[1] == [None]
    wait_until(lambda: not transfers.counts()["peers-left-alone"])
    transfers.put(Work(log, "a", 4, writes(DONE)))
    ended(log, 4)
    assert log.ends[4] == [None]


def test_progress_keeps_a_slow_peer_from_being_left_alone(transfers: Transfers, log: Log) -> None:
    held = Held()
    transfers.put(Work(log, "a", 1, writes(held)))

    def moves() -> bool:
        held.progress += 1
        transfers.tick()
        return held.progress > 800  # at half a millisecond each: twice the patience

    wait_until(moves)
    assert log.late == []
    held.is_over = True
    ended(log, 1)


def test_every_job_ends_once_when_all_is_over() -> None:
    log = Log()
    transfers = Transfers("pdwire-test", threads=2, patience_s=60)

    def waits() -> Steps:
        yield LATER

    for serial in range(1, 4):
        transfers.put(Work(log, "a", serial, writes(Held())))
    transfers.put(Work(log, "b", 4, waits))
    wait_until(lambda: transfers.counts()["under-way"] and transfers.counts()["set-aside"])
    transfers.stop("it was closed", 5)
    transfers.put(Work(log, "a", 5, writes(DONE)))
    assert {serial: len(ends) for serial, ends in log.ends.items()} == dict.fromkeys(range(1, 6), 1)
    assert str(log.ends[1][0]) == "it was closed while it was written"
    assert {type(log.ends[serial][0]) for serial in range(2, 6)} == {Refused}
