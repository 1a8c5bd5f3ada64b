"""Scripts against live managers: right managers survive them, wrong ones are found."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import Phase, find, settings

from pdwire.managers.prefill_side import PrefillSide
from pdwire.rooms.decode import DecodeRooms
from pdwire_conformance.fuzz.hunt import hunt
from pdwire_conformance.fuzz.machines import machines
from pdwire_conformance.fuzz.pair import Pair
from pdwire_conformance.fuzz.plan import Cell
from pdwire_conformance.fuzz.samples import Problem, Sample

BACKENDS = ["mooncake", "nixl", "mori"]
LIFE = (
    {"do": "open", "room": 0},
    {"do": "send", "room": 0},
    {"do": "open", "room": 1},
    {"do": "abort", "room": 1, "side": "decode"},
    {"do": "say", "to": "prefill", "frames": ["4e6f6e65"]},
    {"do": "say", "to": "decode", "frames": ["ff", ""]},
    {"do": "close", "room": 0},
    {"do": "open", "room": 0},
)


def play(backend: str, *steps: dict[str, Any], prop: str = "rooms") -> None:
    machines().check(Cell(prop=prop, backend=backend), Sample(steps=steps))


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_ordinary_life_leaves_nothing_behind(backend: str) -> None:
    before = set(threading.enumerate())
    play(backend, *LIFE)
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("prop", ["rooms", "abort", "staging"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_drawn_scripts_find_nothing(backend: str, prop: str) -> None:
    cell = Cell(prop=prop, backend=backend)
    tally, caught = hunt(
        machines().samples(cell), lambda s: machines().check(cell, s), seed=11, examples=4
    )
    assert caught is None, caught
    assert tally.examples >= 4


QUIET = settings(max_examples=500, database=None, derandomize=True, phases=[Phase.generate])


def reached(cell: Cell, wanted: Callable[[Mapping[str, Any]], bool]) -> Sample:
    """A script with such a step; not made simpler."""

    def has(sample: Sample) -> bool:
        return any(map(wanted, sample.steps))

    return find(machines().samples(cell), has, settings=QUIET)


@pytest.mark.parametrize("do", ["open", "send", "abort", "close", "say"])
def test_scripts_have_every_step(do: str) -> None:
    assert reached(Cell(prop="rooms", backend="nixl"), lambda step: step["do"] == do).steps


@pytest.mark.parametrize("to", ["prefill", "decode"])
def test_messages_about_rooms_of_the_script_go_to_both_sides(to: str) -> None:
    about = [b"ABORT".hex(), b"1".hex()]
    script = reached(
        Cell(prop="abort", backend="nixl"),
        lambda step: step.get("to") == to and step["frames"][:2] == about,
    )
    assert script.steps


def cause(backend: str, *steps: dict[str, Any]) -> str:
    with pytest.raises(Problem) as caught:
        play(backend, *steps)
    return caught.value.cause


def test_a_handler_that_stumbles_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = PrefillSide.handle

    def handle(self: PrefillSide, frames: list[bytes]) -> None:
        if frames == [b"None"]:
            raise KeyError("no such message")
        right(self, frames)

    monkeypatch.setattr(PrefillSide, "handle", handle)
    assert cause("mooncake", *LIFE) == "rooms mooncake: prefill's loop stumbled"


def test_a_room_that_stays_in_the_books_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DecodeRooms, "close", lambda _self, _room, _now: [])
    told = cause("nixl", {"do": "open", "room": 0}, {"do": "send", "room": 0})
    assert told == "rooms nixl: decode keeps rooms"


def test_a_page_outside_is_found() -> None:
    with Pair(name="rooms mori", backend="mori") as pair:
        pair.do({"do": "open", "room": 0})
        pair._target.kv[0][15, 3] ^= 1
        with pytest.raises(Problem, match="a page of no room is written"):
            pair.finish()


def test_a_call_that_raises_is_found() -> None:
    def broken(*_: object) -> None:
        raise ValueError("not now")

    with Pair(name="rooms nixl", backend="nixl") as pair:
        pair.do({"do": "open", "room": 0})
        pair._rooms[0].sender.abort = broken  # type: ignore[method-assign, assignment]
        with pytest.raises(Problem, match="abort raises ValueError: expected no exception"):
            pair.do({"do": "abort", "room": 0, "side": "prefill"})
        del pair._rooms[0].sender.abort
        pair.finish()
