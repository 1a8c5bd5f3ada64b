from __future__ import annotations

from itertools import chain, repeat
from typing import Any, cast

import pytest

from pdwire_conformance.interop import process
from pdwire_conformance.interop.handover import Room, _different
from pdwire_conformance.interop.process import Side, settle

DIGESTS: dict[str, dict[str, Any]] = {
    "kv": {"0.0": ["a", "b"], "0.1": ["c", "d"]},
    "aux": {"row": ["x"]},
    "state": {},
}


class Told:
    """A side that answers polls from a list, the last one again and again."""

    name = "0.5.19 decode"

    def __init__(self, *statuses: str) -> None:
        self._statuses = chain(statuses, repeat(statuses[-1]))

    def poll(self, *rooms: int) -> dict[int, tuple[str, str]]:
        status = next(self._statuses)
        return dict.fromkeys(rooms, (status, "why" if status == "Failed" else ""))


def settled(*sides: Told, deadline_s: float) -> list[Any]:
    asked = {cast("Side", side): [7] for side in sides}
    return [rooms[7] for rooms in settle(asked, deadline_s).values()]


def test_a_room_settles_when_every_side_has_settled() -> None:
    ends = settled(Told("Success"), Told("Transferring", "Transferring", "Success"), deadline_s=5)
    assert ends == [("Success", ""), ("Success", "")]


def test_a_deadline_says_what_every_side_waits_in() -> None:
    with pytest.raises(TimeoutError, match=r"0\.5\.19 decode.*7.*WaitingForInput"):
        settled(Told("WaitingForInput"), deadline_s=0)


def test_after_a_failure_the_others_get_their_grace_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "GRACE_S", 0.0)
    ends = settled(Told("Failed"), Told("Bootstrapping"), deadline_s=60)
    assert ends == [("Failed", "why"), ("Bootstrapping", "")]


def test_equal_digests_are_no_difference() -> None:
    assert list(_different(DIGESTS, [DIGESTS])) == []


def test_two_writers_of_different_heads_are_each_compared_with_theirs() -> None:
    parts = [{**DIGESTS, "kv": {key: DIGESTS["kv"][key]}} for key in ("0.0", "0.1")]
    assert list(_different(DIGESTS, parts)) == []


def test_a_difference_names_part_head_and_position() -> None:
    sent = {**DIGESTS, "kv": {**DIGESTS["kv"], "0.1": ["c", "z"]}}
    assert list(_different(DIGESTS, [sent])) == ["kv 0.1 differs at positions [1] of 2"]


def test_a_missing_page_is_a_difference() -> None:
    sent: dict[str, dict[str, Any]] = {**DIGESTS, "aux": {"row": []}}
    assert list(_different(DIGESTS, [sent])) == ["aux row differs at positions [] of 0"]


def test_what_nobody_sent_is_a_difference() -> None:
    sent = {**DIGESTS, "kv": {"0.0": ["a", "b"]}}
    assert list(_different(DIGESTS, [sent])) == ["kv 0.1 is held by no prefill rank"]


def test_pages_of_the_prefix_are_not_compared() -> None:
    room = Room(number=1, chunks=((1, 2), (3,)), pages=(9,), prefix=2)
    assert room.sent == [3]
