"""Refused registrations are remembered for a while, and not without bound."""

from __future__ import annotations

from pdwire.rooms.refusals import Refusals

PLACE = ("10.0.0.2", 5000)


def test_it_is_known_by_id_or_by_endpoint_until_it_is_lifted_or_old() -> None:
    refusals = Refusals(10.0)
    refusals.put("a", PLACE, "why", 0.0)
    assert refusals.why("a", ("10.0.0.3", 1), 1.0) == "why"
    assert refusals.why("b", PLACE, 1.0) == "why"
    assert refusals.why("b", ("10.0.0.3", 1), 1.0) is None
    assert refusals.why("a", PLACE, 10.0) is None
    refusals.lift("a", PLACE)
    assert refusals.why("a", PLACE, 1.0) is None


def test_an_id_that_cannot_be_read_is_known_by_its_endpoint() -> None:
    refusals = Refusals(10.0)
    refusals.put(None, PLACE, "why", 0.0)
    assert refusals.why("a", PLACE, 1.0) == "why"


def test_strangers_cannot_fill_the_memory() -> None:
    refusals = Refusals(10.0)
    for n in range(5_000):
        refusals.put(f"s{n}", ("10.0.0.2", n), "why", 0.0)
    assert len(refusals._known) == 2_000
    assert refusals.why("s4999", PLACE, 1.0) == "why"
    assert refusals.why("s0", PLACE, 1.0) is None
