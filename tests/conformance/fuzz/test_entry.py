"""Properties as functions of bytes, by hand and under a coverage-guided engine."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from pdwire.errors import UnknownLayoutError
from pdwire_conformance.fuzz.entry import fuzz_one_input
from pdwire_conformance.fuzz.findings import read_finding
from pdwire_conformance.fuzz.properties import PROPERTIES
from pdwire_conformance.fuzz.samples import Problem, Sample

PLANTED = "python:tests.conformance.fuzz.planted:make_guessed_dummy"
RNG = Random(3)  # noqa: S311  # repeatable, nothing secret
INPUTS = [RNG.randbytes(600) for _ in range(200)]


@pytest.mark.parametrize("prop", sorted(set(PROPERTIES) - {"against"}))
def test_each_property_takes_bytes(prop: str) -> None:
    check = fuzz_one_input(prop, "mooncake", "ABORT")
    examples = [check(data) for data in INPUTS[:40]]
    assert sum(each is not None for each in examples) > 20
    assert check(b"") is None


def test_bytes_that_break_a_property_raise_and_are_told() -> None:
    caught: list[Sample] = []
    check = fuzz_one_input(
        "round-trip",
        "nixl",
        "TransferInfo",
        target=PLANTED,
        caught=lambda sample, _: caught.append(sample),
    )

    def feed() -> None:
        for data in INPUTS:
            check(data)

    with pytest.raises(Problem, match="round trip is_dummy"):
        feed()
    assert len(caught) == 1
    assert caught[0].values is not None


def test_what_is_not_there_cannot_be_tried() -> None:
    with pytest.raises(KeyError, match="nothing"):
        fuzz_one_input("nothing", "nixl", "TransferInfo")
    with pytest.raises(UnknownLayoutError, match="did you mean 'TransferInfo'"):
        fuzz_one_input("refusal", "nixl", "TransferInf")


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pdwire_conformance.fuzz.coverage_guided", *words],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        cwd=Path(__file__).parents[3],
    )


HAS_ATHERIS = importlib.util.find_spec("atheris") is not None
needs_atheris = pytest.mark.skipif(
    not HAS_ATHERIS, reason="atheris is not installed: pip install atheris"
)


@pytest.mark.skipif(HAS_ATHERIS, reason="atheris is installed")
def test_without_atheris_the_runner_says_what_to_do() -> None:
    done = run("--seconds", "1")
    assert done.returncode == 2
    assert "pip install 'pdwire[atheris]'" in done.stderr


@needs_atheris
@pytest.mark.slow
def test_atheris_runs_a_property_for_as_long_as_it_is_told() -> None:
    done = run("--property", "differential", "--seconds", "20")
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Done " in done.stderr


@needs_atheris
@pytest.mark.slow
def test_atheris_finds_a_planted_fault(tmp_path: Path) -> None:
    words = ("--property", "round-trip", "--backend", "nixl", "--message", "TransferInfo")
    done = run(*words, "--target", PLANTED, "--seconds", "60", "--out", str(tmp_path))
    assert done.returncode == 1, done.stderr[-2000:]
    [path] = tmp_path.iterdir()
    assert done.stdout == f"pdwire replay {path}\n"
    assert read_finding(path).cause == "nixl.TransferInfo: round trip is_dummy"
