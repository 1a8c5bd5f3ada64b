"""The page about testees: its example runs, fails where it says, and keeps the protocol."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from pdwire_conformance.conform.judge import judge, request_of
from pdwire_conformance.suite.load import cases
from pdwire_conformance.testees.check import check
from pdwire_conformance.testees.checks import CHECKS
from pdwire_conformance.testees.find import FORMS, find_testee

_PAGE = (Path(__file__).parents[3] / "docs" / "testees.md").read_text("utf-8")
_CODE = re.findall(r"```python\n(.*?)```", _PAGE, re.DOTALL)


def test_the_class_fails_where_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine_of_the_page.py").write_text(_CODE[0], encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    suite = [
        each
        for each in cases()
        if each.slug.startswith("mooncake/WATERMARK/r2/") and "recognise" not in each.slug
    ]
    with find_testee("python:mine_of_the_page:Mine") as testee:
        answers = testee.ask([request_of(case, "0.5.23") for case in suite])
        hello = testee.hello()
    pairs = zip(suite, answers, strict=True)
    failed = {case.slug for case, answer in pairs if not judge(case, answer, hello).ok}
    ends = ("frame-1-below", "frame-1-above", "frame-3-blank")
    assert {f"mooncake/WATERMARK/r2/{end}" for end in ends} <= failed
    assert len(failed) < len(suite) / 4


def test_the_program_keeps_the_protocol(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text("\n".join(_CODE), encoding="utf-8")
    found = check([sys.executable, str(script)], start_s=60, deadline_s=60)
    assert [str(breach.fault) for each in found for breach in each.breaches] == []


def test_every_check_and_every_form_of_a_target_has_its_row() -> None:
    rows = set(re.findall(r"^\| `([^`]+)` \|", _PAGE, re.MULTILINE))
    assert {"hello", *(each.name for each in CHECKS)} | set(FORMS) == rows


def test_it_names_no_schema_that_is_not_there() -> None:
    folder = Path(__file__).parents[3] / "docs"
    linked = re.findall(r"\]\(([^)#]+)\)", _PAGE)
    assert linked
    assert not [link for link in linked if not (folder / link).exists()]
