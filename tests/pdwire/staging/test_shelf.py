from __future__ import annotations

from pdwire.staging.shelf import Shelf


def test_items_of_a_room_are_taken_in_order_and_once() -> None:
    shelf: Shelf[str] = Shelf(5.0)
    for room, item in ((7, "a"), (8, "b"), (7, "c")):
        assert shelf.add(room, item, 0.0)
    assert shelf.take(7) == ["a", "c"]
    assert shelf.take(7) == []
    assert len(shelf) == 1
    assert shelf.expired(5.0) == ["b"]


def test_what_was_kept_long_enough_is_kept_no_longer() -> None:
    shelf: Shelf[str] = Shelf(5.0)
    shelf.add(7, "a", 0.0)
    shelf.add(7, "b", 1.0)
    assert shelf.expired(4.9) == []
    assert shelf.expired(5.0) == ["a"]
    assert shelf.take(7) == ["b"]
    assert shelf.expired(9.0) == []


def test_a_full_shelf_takes_nothing_until_there_is_room() -> None:
    shelf: Shelf[str] = Shelf(5.0, cap=1)
    assert shelf.add(7, "a", 0.0)
    assert not shelf.add(8, "b", 0.0)
    shelf.take(7)
    assert shelf.add(8, "b", 0.0)
