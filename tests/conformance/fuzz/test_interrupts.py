"""Ctrl-C at a testee that swallows whatever is raised, as a garbage collector's callback does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest
from tests.conformance.fuzz.planted import FAULTS, Planted
from tests.conformance.fuzz.test_verb import ONE, run, shape

from pdwire_conformance.fuzz.interrupts import interrupts

AFTER: Final = 300
_ONCE: Final = "PDWIRE_TEST_ONCE"
"""Names the file that the first testee to get there makes; no other sends anything then."""


def swallowed(act: Callable[[], object]) -> None:
    with suppress(BaseException):
        act()


class Deaf(Planted):
    """A fault, and one SIGINT after so many questions behind it."""

    def __init__(self) -> None:
        super().__init__(FAULTS["guessed_dummy"])
        self._asked = 0

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        self._asked += 1
        if self._asked == AFTER:
            swallowed(self.interrupt)
        return super().answer(request)

    def interrupt(self) -> None:
        signal.raise_signal(signal.SIGINT)


class Stuck(Deaf):
    """It never answers the question during which the signal comes."""

    def interrupt(self) -> None:
        swallowed(super().interrupt)
        begun = time.monotonic()
        while time.monotonic() - begun < 30:
            pass


class Twice(Deaf):
    def interrupt(self) -> None:
        swallowed(super().interrupt)
        swallowed(super().interrupt)


class OfParts(Deaf):
    """One of several processes interrupts the one that started them."""

    def interrupt(self) -> None:
        with Path(os.environ[_ONCE]).open("x", encoding="utf-8"):
            os.kill(os.getppid(), signal.SIGINT)


def words(name: str, out: Path) -> list[str]:
    target = f"python:{__name__}:{name}"
    chosen = ["--release", "0.5.23", "--property", "round-trip", "--property", "differential"]
    return ["fuzz", target, *ONE[:-1], "40s", *chosen, "--format", "json", "--out", str(out)]


@pytest.mark.parametrize("name", ["Deaf", "Stuck"])
def test_the_first_sigint_ends_the_run_and_tells_what_was_found(tmp_path: Path, name: str) -> None:
    begun = time.monotonic()
    done = run(*words(name, tmp_path))
    took = time.monotonic() - begun
    told = json.loads(done.stdout)
    jsonschema.validate(told, shape("fuzz"))
    assert told["interrupted"]
    assert done.exit_code == 1
    assert told["findings"][0]["cause"].startswith("nixl.TransferInfo: ")
    assert took < 15  # some two seconds; what was asked for is forty
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_table_says_that_a_run_was_interrupted(tmp_path: Path) -> None:
    done = run(*words("Deaf", tmp_path), "--format", "table")
    assert "Interrupted; until then: " in done.stdout


def test_the_second_sigint_ends_the_process_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pdwire.cli", *words("Twice", tmp_path)]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGINT


def test_interrupted_parts_tell_what_they_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(_ONCE, str(tmp_path / "once"))
    begun = time.monotonic()
    done = run(*words("OfParts", tmp_path / "out"), "--jobs", "2")
    told = json.loads(done.stdout)
    assert told["interrupted"]
    assert done.exit_code == 1
    assert told["findings"]
    assert time.monotonic() - begun < 30


def test_handlers_are_put_back_and_a_later_signal_is_the_callers() -> None:
    told: list[str] = []
    with interrupts(lambda: told.append("first"), lambda: told.append("second")) as interrupted:
        assert not interrupted()
        signal.raise_signal(signal.SIGINT)
        assert interrupted()
        signal.raise_signal(signal.SIGINT)
    assert told == ["first", "second"]
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
