"""``pdwire report``: streams in, reports out, faults named."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pdwire.cli.app import app
from pdwire_conformance.reports import RENDERERS

from .conftest import CASE, FAILED, lines_of, run_of

runner = CliRunner()


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    path = tmp_path / "pdwire.jsonl"
    path.write_text("\n".join(lines_of(run_of(CASE))) + "\n", encoding="utf-8")
    return path


def test_the_terminal_report_is_the_default(stream: Path) -> None:
    done = runner.invoke(app, ["report", str(stream)])
    assert done.exit_code == 0
    assert done.stdout.endswith("Clean: 1 passed.\n")


def test_streams_are_merged_and_one_that_failed_exits_1(stream: Path) -> None:
    other = "\n".join(lines_of(run_of(FAILED, target="cmd:./mine")))
    done = runner.invoke(app, ["report", str(stream), "-"], input=other)
    assert done.exit_code == 1
    assert done.stdout.endswith("Not clean: 1 passed, 1 failed by 2 testees.\n")


def test_every_form_is_written_where_it_is_asked_for(stream: Path, tmp_path: Path) -> None:
    forms = sorted(set(RENDERERS) - {"terminal"})
    paths = {form: tmp_path / f"out.{form}" for form in forms}
    options = [word for form in forms for word in (f"--{form}", str(paths[form]))]
    done = runner.invoke(app, ["report", str(stream), *options])
    assert done.exit_code == 0
    assert done.stdout == ""
    begins = {form: path.read_text(encoding="utf-8").split("\n")[0] for form, path in paths.items()}
    assert begins["html"] == "<!doctype html>"
    assert begins["junit"] == '<?xml version="1.0" encoding="UTF-8"?>'
    assert begins["markdown"] == "# pdwire conform"
    assert begins["badge"].startswith("<svg ")
    assert json.loads(paths["json"].read_text(encoding="utf-8"))["clean"] is True


def test_json_on_stdout(stream: Path) -> None:
    done = runner.invoke(app, ["report", str(stream), "--format", "json"])
    assert json.loads(done.stdout)["summary"] == "Clean: 1 passed."


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("no json", "is no pdwire.conform/1 event"),
        ('{"event":"other"}', "KeyError('other')"),
        ('{"event":"start","schema":"pdwire.conform/9"}', "schema 'pdwire.conform/9'"),
        ('{"event":"end","target":"x","counts":{}}', "seconds"),
    ],
)
def test_a_line_that_is_no_event_is_named_by_file_and_line(
    stream: Path, line: str, told: str
) -> None:
    with stream.open("a", encoding="utf-8") as text:
        text.write(line + "\n")
    done = runner.invoke(app, ["report", str(stream)])
    assert done.exit_code == 2
    assert f"pdwire: {stream}:4: the line is no pdwire.conform/1 event" in done.stderr
    assert told in done.stderr


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\xff\xfe\x00")
    done = runner.invoke(app, ["report", str(path)])
    assert done.exit_code == 2
    assert f"pdwire: {path}: " in done.stderr


def test_a_missing_stream_says_how_to_get_one(tmp_path: Path) -> None:
    done = runner.invoke(app, ["report", str(tmp_path / "none.jsonl")])
    assert done.exit_code == 2
    assert "No such file or directory; keep one with --events PATH" in done.stderr


def test_a_stream_named_twice_is_refused(stream: Path) -> None:
    done = runner.invoke(app, ["report", str(stream), str(stream)])
    assert done.exit_code == 2
    assert "counted twice" in done.stderr


def test_without_jinja2_the_page_names_the_extra(
    stream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    done = runner.invoke(app, ["report", str(stream), "--html", str(tmp_path / "x.html")])
    assert done.exit_code == 2
    assert "the HTML report needs Jinja2: pip install 'pdwire[conform]'" in done.stderr


def test_a_report_that_cannot_be_written_says_why(stream: Path, tmp_path: Path) -> None:
    done = runner.invoke(app, ["report", str(stream), "--badge", str(tmp_path)])
    assert done.exit_code == 2
    assert "cannot write" in done.stderr
