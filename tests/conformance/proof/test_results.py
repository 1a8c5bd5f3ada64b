"""The results file and the page that is written from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pdwire_conformance.proof.page import page
from pdwire_conformance.proof.results import Proof, Result, read_proof, write_proof


def _result(release: str, direction: str) -> Result:
    return Result(
        release=release, backend="nixl", message="ABORT", layout="r1", direction=direction
    )


GOOD = replace(_result("0.5.19", "peer-to-ours"), values=200)
BAD = replace(_result("0.5.20", "ours-to-peer"), values=200, failed=3)
NONE = replace(_result("0.5.20", "peer-to-ours"), reason="nobody sends it")
ORDER = ["0.5.19", "0.5.20", "0.5.21"]


def _proof() -> Proof:
    proof = Proof()
    proof.replace("0.5.20", [BAD, NONE], "bb" * 32)
    proof.replace("0.5.19", [GOOD], "aa" * 32)
    return proof


def test_results_survive_the_file(tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    write_proof(path, _proof(), ORDER)
    again = read_proof(path)
    assert again.results == [GOOD, BAD, NONE]
    assert again.wheels == {"0.5.19": "aa" * 32, "0.5.20": "bb" * 32}
    assert again.failed == 3


def test_new_results_replace_those_of_the_release_alone(tmp_path: Path) -> None:
    proof = _proof()
    proof.replace("0.5.20", [NONE], "cc" * 32)
    assert proof.results == [GOOD, NONE]
    assert read_proof(tmp_path / "missing.json").results == []


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    path.write_text('{"schema": "other"}')
    with pytest.raises(ValueError, match=r"not pdwire\.proof/1"):
        read_proof(path)


def test_the_page_says_what_differs_what_is_missing_and_why() -> None:
    text = page(_proof(), ORDER)
    assert "| 0.5.19 | r1 | 200 | - |" in text
    assert "| 0.5.20 | r1 | - | 200, **3 differ** |" in text
    assert "* peer → ours: nobody sends it (0.5.20)" in text
    assert "| 0.5.21 | not run | | |" in text
