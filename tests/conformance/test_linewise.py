"""Processes in lines, held against small programs that behave badly."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

import pytest

from pdwire_conformance.linewise import LineProcess, LostError

_ECHO = "import sys\nfor line in sys.stdin: print(line.strip().upper(), flush=True)"


@pytest.fixture
def started(request: pytest.FixtureRequest) -> Iterator[LineProcess]:
    """The program that the test is parametrised with (default: an echo), running."""
    program = getattr(request, "param", _ECHO)
    process = LineProcess([sys.executable, "-c", program], longest=100_000)
    process.start()
    yield process
    process.close()


def test_lines_are_answered_in_order_and_ahead_of_each_other(started: LineProcess) -> None:
    lines = [f"line {n}\n".encode() for n in range(500)]
    told = list(started.exchange(lines, limit_s=30, ahead=64))
    assert told == [f"LINE {n}".encode() for n in range(500)]


_COUNTS = """
import os, select, sys
seen = b""
while True:
    while select.select([0], [], [], 0.2)[0]:
        more = os.read(0, 1 << 16)
        if not more:
            sys.exit()
        seen += more
    print(seen.count(b"\\n"), flush=True)
    seen = seen.split(b"\\n", 1)[1]
"""


@pytest.mark.parametrize("started", [_COUNTS], indirect=True)
def test_no_more_requests_are_under_way_than_allowed(started: LineProcess) -> None:
    told = list(started.exchange([b"x\n"] * 5, limit_s=30, ahead=3))
    assert max(map(int, told)) == 3


_FULL = """
import sys
for line in sys.stdin: sys.stdout.write(line); sys.stdout.flush()
"""


@pytest.mark.parametrize("started", [_FULL], indirect=True)
def test_full_pipes_both_ways_stop_nobody(started: LineProcess) -> None:
    line = b"x" * 90_000 + b"\n"
    assert list(started.exchange([line] * 40, limit_s=30, ahead=40)) == [line[:-1]] * 40


_BAD = {
    "import time; time.sleep(60)": r"no answer within 0\.3 s",
    "print('half', end='', flush=True); import time; time.sleep(60)": "no answer",
    "raise SystemExit('out of tea')": r"ended with status 1 \(out of tea\)",
    "print('x' * 200_000, flush=True); input()": "line of more than 100000 bytes",
    "import os, time; os.close(1); time.sleep(60)": "closed its standard output",
}


@pytest.mark.parametrize(("started", "told"), _BAD.items(), indirect=["started"])
def test_a_process_that_does_not_answer_is_lost(started: LineProcess, told: str) -> None:
    before = time.monotonic()
    with pytest.raises(LostError, match=told):
        started.ask(b"hello\n", 0.3 if "sleep" in told or "no answer" in told else 30)
    assert time.monotonic() - before < 20
    assert not started.alive
    with pytest.raises(LostError, match="not running"):
        started.ask(b"again\n", 1)


def test_a_lost_process_is_gone_and_starts_anew(started: LineProcess) -> None:
    pid = started.pid
    assert pid is not None
    with pytest.raises(LostError):
        raise started.lost("was of no use")
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    started.start()
    assert started.ask(b"again\n", 30) == b"AGAIN"


def test_a_line_that_nobody_asked_for_is_told(started: LineProcess) -> None:
    # One line from here is two there: the second answers nothing.
    assert started.ask(b"one\ntwo\n", 30) == b"ONE"
    assert started.read(30) == b"TWO"
    assert started.read(0) is None


def test_the_end_of_its_input_ends_it_and_what_it_still_says_is_kept(
    started: LineProcess,
) -> None:
    assert started.ask(b"one\ntwo\n", 30) == b"ONE"
    assert started.finish(30) == (0, b"TWO\n")


@pytest.mark.parametrize("started", ["import time; time.sleep(60)"], indirect=True)
def test_a_process_that_stays_is_ended(started: LineProcess) -> None:
    assert started.finish(0.2) == (None, b"")
    assert not started.alive


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(LostError, match=r"cannot be started.*no-such-program"):
        LineProcess(["/no-such-program"]).start()
