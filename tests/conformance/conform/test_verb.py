from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
import typer
from typer.testing import CliRunner, Result

from pdwire_conformance.conform import verb as module
from pdwire_conformance.conform.events import CaseEvent, EndEvent, StartEvent, read_events
from pdwire_conformance.conform.usable import unusable
from pdwire_conformance.suite.case import Case, Level, Live, Role
from pdwire_conformance.suite.coverage import CoverageReport
from pdwire_conformance.suite.load import cases
from pdwire_conformance.testees.protocol import Testee, TesteeError

MakeCase = Callable[..., Case]
SCHEMAS = Path(__file__).parents[3] / "docs" / "schema"

app = typer.Typer()
app.command()(module.command)


def conform(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "100"})


def as_json(schema: str, *arguments: str, code: int = 0) -> Any:  # noqa: ANN401
    result = conform(*arguments, "--format", "json")
    assert result.exit_code == code, result.output
    told = json.loads((SCHEMAS / f"{schema}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(told)
    document = json.loads(result.stdout)
    jsonschema.validate(document, told, cls=jsonschema.Draft202012Validator)
    return document


@pytest.fixture(autouse=True)
def suite(
    a_case: MakeCase,
    fake: Callable[..., Testee],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> tuple[Case, ...]:
    """A small suite, and testees ``fake`` and ``other`` in place of the real ones."""
    cases = (
        a_case("values/bad", "fail", level=Level.SHOULD),
        a_case("values/good", releases=("0.5.21", "0.5.22")),
        a_case("values/live", role=Role.PREFILL, check=Live(steps=())),
        a_case("values/skipped", "skip"),
    )

    def find(target: str, *, deadline_s: float = 30.0) -> Testee:
        if target not in {"fake", "other"} and not target.startswith(("cmd:", "python:")):
            raise TesteeError(f"no testee {target!r}, nor in {deadline_s:g} s")
        return fake()

    monkeypatch.setattr(module, "whole_suite", lambda: cases)
    monkeypatch.setattr(module, "find_testee", find)
    monkeypatch.setattr(module, "packaged", tuple)
    monkeypatch.chdir(tmp_path)
    return cases


def test_a_failure_exits_1_and_is_shown_with_its_frames() -> None:
    result = conform("fake")
    assert result.exit_code == 1
    assert "FAILED values/bad" in result.stdout
    assert '"fail values/bad"' in result.stdout
    assert "rerun:    pdwire conform fake --case values/bad --release 0.5.23" in result.stdout
    assert result.stdout.splitlines()[-1] == "Not clean: 1 passed, 1 failed, 1 skipped."
    assert result.stderr == ""


def test_a_clean_run_exits_0() -> None:
    result = conform("fake", "--level", "must")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == "Clean: 1 passed, 1 skipped."


def test_the_stream_and_the_reports_are_written(tmp_path: Path) -> None:
    stream, page = tmp_path / "events.jsonl", tmp_path / "conform.xml"
    result = conform("fake", "--events", str(stream), "--report", f"junit={page}")
    assert result.exit_code == 1
    assert "testsuite" in page.read_text(encoding="utf-8")
    with stream.open(encoding="utf-8") as lines:
        first, *cases, last = read_events(lines)
    assert isinstance(first, StartEvent)
    assert isinstance(last, EndEvent)
    assert [case.slug for case in cases if isinstance(case, CaseEvent)] == [
        "values/bad",
        "values/good",
        "values/skipped",
    ]


def test_a_module_that_leaves_python_is_no_target(tmp_path: Path) -> None:
    tmp_path.joinpath("leaves.py").write_text("raise SystemExit(3)", encoding="utf-8")
    assert "leaves with status 3" in unusable("python:leaves:make", 10.0)


def test_a_module_that_hangs_is_left_to_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    monkeypatch.setitem(sys.modules, "gate", SimpleNamespace(opened=gate))
    tmp_path.joinpath("hangs.py").write_text("import gate\ngate.opened.wait(30)")
    assert unusable("python:hangs:make", 0.05) == ""
    gate.set()
    for thread in threading.enumerate():
        if thread.name == "look for python:hangs:make":
            thread.join()


def test_what_the_testee_does_not_claim_is_one_line(
    a_case: MakeCase, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    others = [a_case(f"values/{n}", message="AbortRoom") for n in range(1200)]
    monkeypatch.setattr(module, "whole_suite", lambda: (a_case("values/good"), *others))
    result = conform("fake", "--events", str(tmp_path / "z"))
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == (
        "fake: 1,200 cases are about what it does not claim (a backend, message, operation or role)"
    )
    assert result.stdout.splitlines()[-1] == "Clean: 1 passed."
    with (tmp_path / "z").open(encoding="utf-8") as lines:
        first, *_ = map(json.loads, lines)
    told = json.loads((SCHEMAS / "conform-events.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(first, told, cls=jsonschema.Draft202012Validator)
    assert conform("--list", "fake").stdout.splitlines()[-1] == "1 case"


def test_several_targets_run_one_after_another() -> None:
    document = as_json("conform", "fake", "other", "fake", code=1)
    assert [testee["target"] for testee in document["testees"]] == ["fake", "other"]
    assert {len(case["results"]) for case in document["cases"]} == {2}


def test_fail_fast_ends_all_runs() -> None:
    document = as_json("conform", "fake", "other", "--fail-fast", code=1)
    assert [testee["target"] for testee in document["testees"]] == ["fake"]
    assert [case["slug"] for case in document["cases"]] == ["values/bad"]


def test_a_known_list_makes_the_run_clean_and_a_pass_an_error(tmp_path: Path) -> None:
    listed = tmp_path / "known.toml"
    text = 'schema = "pdwire.known/1"\n[[known]]\ncases = ["values/bad"]\nreason = "so"\n'
    listed.write_text(text, encoding="utf-8")
    assert conform("fake", "--known", str(listed)).exit_code == 0
    listed.write_text(text.replace("values/bad", "values/*"), encoding="utf-8")
    result = conform("fake", "--known", str(listed))
    assert result.exit_code == 1
    assert "UNEXPECTED values/good" in result.stdout


def test_a_list_about_other_targets_is_remarked_upon(tmp_path: Path) -> None:
    listed = tmp_path / "known.toml"
    text = 'schema = "pdwire.known/1"\n[[known]]\ntargets = ["cmd:./other"]\n'
    listed.write_text(f'{text}cases = ["values/bad"]\nreason = "so"\n', encoding="utf-8")
    about = "no entry is about fake (they are about cmd:./other)"
    assert conform("fake", "--known", str(listed)).stderr == f"--known: {listed}: {about}\n"


def test_a_filter_makes_no_entry_unmatched(tmp_path: Path) -> None:
    listed = tmp_path / "known.toml"
    listed.write_text(
        'schema = "pdwire.known/1"\n[[known]]\ncases = ["values/bad"]\nreason = "so"\n',
        encoding="utf-8",
    )
    assert conform("fake", "--known", str(listed), "--case", "values/good").exit_code == 0


def test_a_known_list_that_is_wrong_is_usage(tmp_path: Path) -> None:
    listed = tmp_path / "known.toml"
    listed.write_text("[[known]]\n", encoding="utf-8")
    result = conform("fake", "--known", str(listed))
    assert result.exit_code == 2
    assert f"{listed}:1: schema is None, expected 'pdwire.known/1'" in result.stderr


def test_what_failed_is_written_as_a_list_to_explain(tmp_path: Path) -> None:
    listed = tmp_path / "new.toml"
    assert conform("fake", "--write-known", str(listed)).exit_code == 1
    text = listed.read_text(encoding="utf-8")
    assert 'cases = ["values/bad"]\nreason = "TODO"' in text
    assert conform("fake", "--known", str(listed)).exit_code == 2
    listed.write_text(text.replace("TODO", "because"), encoding="utf-8")
    assert conform("fake", "--known", str(listed)).exit_code == 0


def test_a_list_that_is_there_is_never_written_over(tmp_path: Path, said: list[str]) -> None:
    listed = tmp_path / "known.toml"
    text = 'schema = "pdwire.known/1"\n[[known]]\ncases = ["values/bad"]\nreason = "so"\n'
    listed.write_text(text, encoding="utf-8")
    result = conform("fake", "--known", str(listed), "--write-known", str(listed))
    assert result.exit_code == 2
    assert f"--write-known: {listed} is there already" in result.stderr
    assert listed.read_text(encoding="utf-8") == text
    assert said == []


def test_reports_of_one_form_are_all_written(tmp_path: Path) -> None:
    paths = [tmp_path / "one.xml", tmp_path / "two.xml"]
    conform("fake", *(word for path in paths for word in ("--report", f"junit={path}")))
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_the_list_shows_codec_cases_and_runs_nothing(said: list[str]) -> None:
    result = conform("--list")
    assert result.exit_code == 0
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["case", "level", "role", "releases"],
        ["values/bad", "SHOULD", "codec", "0.5.22–0.5.23"],
        ["values/good", "MUST", "codec", "0.5.21–0.5.22"],
        ["values/skipped", "MUST", "codec", "0.5.22–0.5.23"],
        ["3", "cases"],
    ]
    assert said == []


def test_the_list_of_a_target_says_at_which_releases(said: list[str]) -> None:
    document = as_json("conform-list", "--list", "fake", "--role", "all", "--case", "values/[gl]*")
    assert {case["slug"]: case["runs"] for case in document["cases"]} == {
        "values/good": {"fake": ["0.5.22"]},
        "values/live": {"fake": ["0.5.23"]},
    }
    assert said == ["start", "end"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "whom to test? A target is one of: pdwire, "),
        (("nobody",), "no testee 'nobody', nor in 30 s"),
        (("fake", "cmd:./nofile --flag"), "cmd:./nofile --flag: no program './nofile' that can"),
        (("fake", "python:nomodule:make"), "nomodule cannot be imported: ModuleNotFoundError"),
        (("fake", "python:json:Nope"), "python:json:Nope: module 'json' has no attribute 'Nope'"),
        (("fake", "python:json:__name__"), "expected a callable, came str"),
        (("nobody", "--deadline", "2"), "no testee 'nobody', nor in 2 s"),
        (("fake", "--case", "values/god"), "no case 'values/god'; did you mean 'values/good'?"),
        (("fake", "--level", "must not"), "no level 'MUST NOT'"),
        (("fake", "--role", "codecs"), "no role 'codecs'; did you mean 'codec'?"),
        (("fake", "--backend", "moncake"), "no backend 'moncake'; did you mean 'mooncake'?"),
        (("fake", "--release", "0.5.24"), "no release '0.5.24'"),
        (("fake", "--message", "Info"), "no message 'Info'; did you mean 'TransferInfo'?"),
        (("fake", "--report", "conform.xml"), "expected FORM=PATH"),
        (("fake", "--report", "juni=x"), "no report form 'juni'; did you mean 'junit'?"),
        (("--coverage", "--list"), "whole suite and runs nothing: it goes without --list"),
        (("--coverage", "--level", "MUST"), "it goes without --level"),
        (("--coverage", "fake", "--role", "all"), "it goes without a target, --role"),
        (("--list", "--events", "z"), "--list runs nothing, so there is nothing to write: leave"),
        (("--list", "fake", "--report", "junit=z"), "leave --report"),
        (("fake", "--report", "json=z", "--report", "html=./z"), "--report json and --report html"),
        (("fake", "--events", "z", "--report", "html=z"), "write the same file z: give each"),
        (("fake", "--events", "/nowhere/at/all"), "cannot write /nowhere/at/all"),
        (("fake", "--known", "/nowhere/at/all"), "/nowhere/at/all: cannot be read"),
    ],
)
def test_wrong_usage_exits_2_and_says_what_is_right(
    arguments: tuple[str, ...], told: str, said: list[str]
) -> None:
    result = conform(*arguments)
    assert result.exit_code == 2
    assert told in result.stderr
    assert result.stdout == ""
    assert "start" not in said


def test_no_option_chooses_by_tags_because_no_case_has_any() -> None:
    assert not any(case.tags for case in cases())
    result = conform("fake", "--tag", "ints")
    assert result.exit_code == 2
    assert "No such option" in result.stderr


@pytest.mark.parametrize(("gaps", "code"), [((), 0), (("common/ABORT/r1/count",), 1)])
def test_coverage_exits_1_on_a_gap(
    gaps: tuple[str, ...], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cover(cases: tuple[Case, ...]) -> CoverageReport:
        number = len(cases)
        return CoverageReport(
            messages=(), clauses=9, exercised=8, cases=number, gaps=gaps, unknown=()
        )

    monkeypatch.setattr(module, "coverage_of", cover)
    document = as_json("conform-coverage", "--coverage", code=code)
    assert document["gaps"] == list(gaps)
    result = conform("--coverage")
    assert result.stdout.splitlines()[-1] == "8 of 9 clauses are exercised, by 4 cases."
    assert ("no case exercises common/ABORT/r1/count" in result.stdout) is bool(gaps)
