"""How one property is hunted: the simplest sample, one cause, an end to shrinking."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import strategies as st

from pdwire.strategies.subjects import subjects
from pdwire_conformance.fuzz.hunt import hunt, sweep
from pdwire_conformance.fuzz.plan import Cell, Choice, cells, seed_of
from pdwire_conformance.fuzz.samples import Problem, Sample, read_sample
from pdwire_conformance.testees.find import find_testee

NUMBERS = st.integers(0, 10**6).map(lambda n: Sample(values={"n": n}))


def number(sample: Sample) -> int:
    return int((sample.values or {})["n"])


def too_big(sample: Sample) -> None:
    if number(sample) >= 1000:
        raise Problem("big", expected="less", came=str(number(sample)))


def test_the_simplest_sample_is_kept_and_the_first_one_too() -> None:
    tally, caught = hunt(NUMBERS, too_big, seed=1, examples=100)
    assert caught is not None
    assert number(caught.sample) == 1000
    assert caught.problem.came == "1000"
    assert number(caught.first) >= 1000
    assert tally.examples > 1
    assert 0 < tally.seconds < tally.wall_s


def test_the_same_seed_tries_the_same_samples() -> None:
    tried: list[list[int]] = [[], [], []]
    for seen, seed in zip(tried, (5, 5, 6), strict=True):
        hunt(NUMBERS, lambda s, seen=seen: seen.append(number(s)), seed=seed, examples=20)  # type: ignore[misc]
    assert tried[0] == tried[1] != tried[2]


def test_a_known_cause_is_passed_over_and_another_is_found() -> None:
    def two(sample: Sample) -> None:
        too_big(sample)
        if number(sample) >= 10:
            raise Problem("ten", expected="less", came="more")

    _, caught = hunt(NUMBERS, two, seed=1, examples=200, known={"big"})
    assert caught is not None
    assert caught.problem.cause == "ten"
    assert number(caught.sample) == 10


def test_a_finding_does_not_slip_into_another_while_it_shrinks() -> None:
    def slippery(sample: Sample) -> None:
        if number(sample) >= 1000:
            raise Problem("big", expected="less", came="more")
        if number(sample) >= 10:
            raise Problem("small", expected="less", came="more")

    _, caught = hunt(NUMBERS, slippery, seed=1, examples=100, known={"small"})
    assert caught is not None
    assert number(caught.sample) == 1000


def test_shrinking_ends_when_its_time_is_up() -> None:
    now = [0.0]

    def slow(sample: Sample) -> None:
        now[0] += 1.0
        too_big(sample)

    _, caught = hunt(NUMBERS, slow, seed=1, examples=50, shrink_s=3.0, clock=lambda: now[0])
    assert caught is not None
    assert number(caught.sample) > 1000
    assert now[0] < 60


def test_a_sweep_tells_each_cause_once() -> None:
    samples = [Sample(values={"n": n}) for n in (1, 1500, 2000)]
    tally, caught = sweep(samples, too_big)
    assert tally.examples == 3
    assert [number(each.sample) for each in caught] == [1500]
    assert sweep(samples, too_big, known={"big"})[1] == []


def test_a_fault_of_the_check_itself_is_raised() -> None:
    def broken(_: Sample) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        hunt(NUMBERS, broken, seed=1, examples=5)


def test_samples_survive_their_file() -> None:
    sample = Sample(
        values={"a": [1, [2]], "b": b"\x00\xff", "c": None, "d": [b"x", None]},
        frames=(b"", b"\x01"),
        canonical=(b"1",),
        label="range",
        kind="frame-value",
        frame=0,
        field="room",
        steps=({"do": "open", "room": 1},),
    )
    assert read_sample(sample.as_json()) == sample
    assert replace(sample, prepared=object()) == sample


def test_every_layout_is_tried_once_and_by_every_property_that_fits() -> None:
    with find_testee("pdwire") as testee:
        found = cells(testee.hello(), Choice())
        ascend = cells(testee.hello(), Choice(backend="ascend"))
    layouts = {(each.message.key, each.layout.id) for each in subjects()}
    for prop in ("round-trip", "differential", "refusal", "mutations"):
        mine = [each.subject for each in found if each.prop == prop]
        assert len(mine) == len(layouts)
        assert {(s.message.key, s.layout.id) for s in mine if s is not None} == layouts
    assert {each.backend for each in found} == {"mooncake", "nixl", "mori"}
    assert {each.backend for each in ascend} == {"ascend"}
    assert not [each for each in found if each.prop == "against"]


def test_a_release_and_a_message_choose_cells() -> None:
    with find_testee("pdwire") as testee:
        choice = Choice(release="0.5.19", message="TransferInfo", properties=("refusal",))
        found = cells(testee.hello(), choice)
    assert {each.name for each in found} == {
        "refusal mooncake/TransferInfo/r3",
        "refusal nixl/TransferInfo/r5",
        "refusal mori/TransferInfo/r4",
    }
    assert {each.release for each in found} == {"0.5.19"}


def test_the_seed_of_a_cell_follows_from_its_name_alone() -> None:
    one, other = Cell(prop="rooms", backend="nixl"), Cell(prop="rooms", backend="mori")
    assert seed_of(1, one, 0) == seed_of(1, one, 0)
    assert (
        len({seed_of(1, one, 0), seed_of(2, one, 0), seed_of(1, other, 0), seed_of(1, one, 1)}) == 4
    )
