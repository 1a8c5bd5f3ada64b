"""The verb as a user meets it: output, exit codes, and a live release when there is one."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from pdwire_conformance.demo import codecs
from pdwire_conformance.demo import verb as module
from pdwire_conformance.demo.run import record, run
from pdwire_conformance.peers.errors import PeerUnavailable

app = typer.Typer()
app.command()(module.command)


def verb(*arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--only", "codecs"], env={"COLUMNS": "100"})


def test_the_last_line_on_stdout_is_the_verdict() -> None:
    result = verb("--recorded", "--release", "0.5.16")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[1] == "Peer: SGLang 0.5.16, its recorded frames, because that was asked for."
    assert lines[-1] == (
        "Proved: 4 messages, 100 fields compared in both directions, all equal, "
        "4 byte-identical; peer: SGLang 0.5.16 (recorded)."
    )
    assert result.stderr == ""


def test_json_is_one_object_and_nothing_else() -> None:
    result = verb("--recorded", "--format", "json")
    document = json.loads(result.stdout)
    assert (document["schema"], document["handover"]) == ("pdwire.demo/2", None)
    document = document["codecs"]
    assert (document["schema"], document["holds"]) == ("pdwire.demo/1", True)
    assert [each["layout"] for each in document["messages"]] == ["r8", "r3", "r8", "r5"]


def test_an_unknown_release_is_wrong_usage() -> None:
    result = verb("--release", "0.5.32")
    assert result.exit_code == 2
    assert "did you mean '0.5." in result.stderr


def test_reading_and_recording_at_once_is_wrong_usage() -> None:
    assert verb("--recorded", "--record").exit_code == 2


def test_what_does_not_hold_exits_1(monkeypatch: pytest.MonkeyPatch) -> None:
    stale = codecs.Generated(text="1 generated files differ", current=False)
    report = replace(run("0.5.23", live=False), generated=stale)
    monkeypatch.setattr(module, "run", lambda *_, **__: report)
    result = verb("--recorded")
    assert result.exit_code == 1
    assert "Codecs: 1 generated files differ." in result.stdout


def test_neither_live_nor_recorded_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: str, **__: bool) -> None:
        raise PeerUnavailable("no recording")

    monkeypatch.setattr(module, "run", nothing)
    result = verb()
    assert result.exit_code == 2
    assert "SGLang 0.5.23 can neither be run nor was it recorded: no recording" in result.stderr


def test_the_codecs_in_use_are_generated_anew() -> None:
    found = codecs.generated()
    assert found.current
    assert found.text.endswith("equal to those in use")


def test_without_a_spec_beside_it_the_codecs_are_as_installed(tmp_path: Path) -> None:
    found = codecs.generated(tmp_path)
    assert found.current
    assert "as installed" in found.text


def test_codecs_that_are_not_what_the_spec_says_are_stale(tmp_path: Path) -> None:
    shutil.copytree(codecs.ROOT / "protocol", tmp_path / "protocol")
    found = codecs.generated(tmp_path)
    assert not found.current
    assert found.text.endswith("generated files differ from the spec; run: pdwire generate")


def test_a_faulty_spec_makes_no_codecs(tmp_path: Path) -> None:
    shutil.copytree(codecs.ROOT / "protocol", tmp_path / "protocol")
    (tmp_path / "protocol" / "mooncake" / "transfer_info.toml").write_text("[message]\n")
    found = codecs.generated(tmp_path)
    assert not found.current
    assert "faults in the spec" in found.text


@pytest.mark.live
@pytest.mark.parametrize("release", ["0.5.12", "0.5.23"])
def test_a_real_release_agrees(release: str, tmp_path: Path) -> None:
    report = run(release)
    if report.source == "recorded":
        pytest.skip(report.reason)
    assert report.holds
    assert len(report.trials) == 4
    assert record([release], lambda _: None, tmp_path / "demo.json") == []
    again = json.loads((tmp_path / "demo.json").read_text(encoding="utf-8"))
    assert again["wheels"] == {release: report.wheel_sha256}
