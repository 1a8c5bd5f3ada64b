from __future__ import annotations

import pytest

from pdwire.staging import Mark, Place, Ring, is_writable


def given(ring: Ring, size: int) -> Place:
    place = ring.assign(size)
    assert place is not None
    return place


def test_an_empty_ring_begins_a_new_round_that_may_be_written_at_once() -> None:  # S3
    ring = Ring(100)
    ring.free(given(ring, 60))
    place = given(ring, 70)
    assert (place.offset, place.round) == (0, 1)
    assert is_writable(place, ring.watermark)


def test_places_follow_each_other_without_alignment_and_never_wrap() -> None:
    ring = Ring(100)
    assert [given(ring, 33), given(ring, 33), given(ring, 33), given(ring, 2)] == [
        Place(0, 0, 33),
        Place(0, 33, 66),
        Place(0, 66, 99),
        Place(1, 0, 2),
    ]


def test_a_place_that_fits_exactly_stays_in_its_round() -> None:
    ring = Ring(100)
    given(ring, 60)
    assert given(ring, 40) == Place(0, 60, 100)
    assert given(ring, 1) == Place(1, 0, 1)


def test_giving_never_waits_but_writing_does() -> None:
    ring = Ring(100)
    first, second = given(ring, 60), given(ring, 40)
    over = given(ring, 50)
    assert ring.used == 150
    assert not is_writable(over, ring.watermark)
    ring.free(first)
    assert ring.watermark == (0, 60)
    assert is_writable(over, ring.watermark)
    assert not is_writable(given(ring, 50), ring.watermark)
    ring.free(second)
    assert ring.watermark == (1, 0)


def test_the_watermark_passes_freed_places_in_order_only() -> None:
    ring = Ring(100)
    places = [given(ring, 10) for _ in range(4)]
    assert ring.free(places[2]) is False
    assert ring.free(places[1]) is False
    assert ring.watermark == Mark(0, 0)
    assert ring.free(places[0]) is True
    assert ring.watermark == Mark(0, 30)
    assert places[3] in ring
    assert places[0] not in ring
    assert len(ring) == 1


@pytest.mark.parametrize(
    ("place", "mark", "may"),
    [
        (Place(0, 0, 100), (0, 0), True),
        (Place(1, 0, 50), (0, 49), False),
        (Place(1, 0, 50), (0, 50), True),
        (Place(1, 60, 100), (1, 0), True),
        (Place(2, 0, 1), (0, 100), False),
        (Place(2, 0, 1), (1, 0), False),
        (Place(2, 0, 1), (1, 1), True),
    ],
)
def test_what_may_be_written(place: Place, mark: tuple[int, int], may: bool) -> None:
    assert is_writable(place, mark) is may


def test_a_place_larger_than_the_ring_is_none_and_changes_nothing() -> None:  # S6
    ring = Ring(100)
    assert ring.assign(101) is None
    assert ring.drained()
    assert given(ring, 100) == Place(0, 0, 100)


def test_what_makes_no_sense_is_an_error() -> None:
    with pytest.raises(ValueError, match="0 bytes"):
        Ring(0)
    ring = Ring(1)
    with pytest.raises(ValueError, match="0 bytes"):
        ring.assign(0)
    place = given(ring, 1)
    ring.free(place)
    with pytest.raises(KeyError):
        ring.free(place)
