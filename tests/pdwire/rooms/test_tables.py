"""The tables say what may happen; the page says what the tables say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pdwire.rooms.drawing import draw
from pdwire.rooms.tables import ACTIVE, DECODE, MEANING, POLL, PREFILL, Event, Phase, step

PAGE = Path(__file__).resolve().parents[3] / "docs" / "rooms.md"
TABLES = {"prefill": PREFILL, "decode": DECODE}
BOTH = pytest.mark.parametrize("role", sorted(TABLES))


@BOTH
def test_every_phase_can_be_reached_and_left(role: str) -> None:
    table = TABLES[role]
    reached = {target for after in table.values() for target in after.values()}
    assert reached == set(table)
    assert all(table.values())


@BOTH
def test_the_end_is_final(role: str) -> None:
    for phase in (Phase.SUCCESS, Phase.FAILED):
        assert set(TABLES[role][phase]) == {Event.CLOSE}


@BOTH
def test_every_active_phase_can_fail_and_be_closed(role: str) -> None:
    table = TABLES[role]
    assert {phase for phase, after in table.items() if Event.FAIL in after} == ACTIVE
    assert all(table[phase][Event.CLOSE] is Phase.ABSENT for phase in ACTIVE)


@BOTH
def test_success_comes_only_from_a_room_that_may_be_written(role: str) -> None:
    assert Event.FINISH in TABLES[role][Phase.TRANSFERRING]
    assert Event.FINISH not in TABLES[role][Phase.BOOTSTRAPPING]


@BOTH
def test_every_event_of_a_role_has_a_meaning(role: str) -> None:
    events = {event for after in TABLES[role].values() for event in after}
    assert set(MEANING[role]) == events


def test_every_phase_of_an_open_room_has_a_poll() -> None:
    assert set(POLL) == set(Phase) - {Phase.ABSENT, Phase.PARKED}
    assert len(set(POLL.values())) == len(POLL)


def test_what_a_table_does_not_list_is_no_step() -> None:
    assert step(PREFILL, Phase.FAILED, Event.FINISH) is None
    assert step(PREFILL, Phase.WAITING, Event.WRITE) is Phase.TRANSFERRING


def test_a_drawing_shows_every_step_once() -> None:
    text = draw("prefill")
    arrows = re.findall(r"^    (\S+) --> (\S+): (\S+)$", text, flags=re.MULTILINE)
    assert len(arrows) == len(set(arrows)) == sum(map(len, PREFILL.values()))
    assert ("[*]", "bootstrapping", "open") in arrows


@BOTH
def test_the_page_is_drawn_from_the_tables(role: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    drawn = re.search(rf"<!-- drawn: {role} -->\n(.*?)<!-- end -->", page, flags=re.DOTALL)
    assert drawn is not None
    assert drawn[1] == draw(role), "python -m pdwire.rooms.drawing prints what belongs there"


def test_the_module_prints_both_drawings() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pdwire.rooms.drawing"], capture_output=True, text=True, check=True
    )
    assert done.stdout == draw("prefill") + "\n" + draw("decode")
