"""The verbs as one types them: what they print, what they keep, how they end."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.console import Console
from tests.conformance.fuzz.planted import FAULTS, Planted
from typer.testing import CliRunner, Result

from pdwire.cli.app import app
from pdwire_conformance.fuzz import verb
from pdwire_conformance.fuzz.findings import Finding, check_folder, save, schema
from pdwire_conformance.fuzz.report import merge, show
from pdwire_conformance.fuzz.run import fuzz
from pdwire_conformance.fuzz.samples import Sample
from pdwire_conformance.fuzz.verb import seconds_of
from pdwire_conformance.testees.protocol import Hello, Skipped

SCHEMAS = Path(__file__).parents[3] / "docs" / "schema"
PLANTED = "python:tests.conformance.fuzz.planted:make_guessed_dummy"
ONE = ["--backend", "nixl", "--message", "TransferInfo", "--time", "60s"]


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def shape(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8")
    )
    return found


def test_a_clean_run_finds_nothing_and_writes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run("fuzz", "pdwire", *ONE, "--examples", "20", "--format", "json", "--out", out)
    told = json.loads(done.stdout)
    jsonschema.validate(told, shape("fuzz"))
    assert done.exit_code == 0
    assert told["findings"] == []
    assert not out.exists()
    tried = {each["name"]: each["examples"] for each in told["properties"]}
    assert set(tried) == {"round-trip", "differential", "refusal", "mutations", "recognise"}
    assert min(tried.values()) >= 5 * 20  # five layouts
    assert [each["name"] for each in told["messages"]] == ["nixl.TransferInfo"]


def test_the_same_seed_is_the_same_run(tmp_path: Path) -> None:
    words = ["fuzz", PLANTED, *ONE, "--examples", "10", "--format", "json", "--seed", "7"]
    runs = [json.loads(run(*words, "--out", tmp_path / name).stdout) for name in ("a", "b")]
    for told in runs:
        for each in told["findings"]:
            each["file"] = Path(each["file"]).name
            del each["replay"], each["found_s"]
    assert runs[0]["findings"] == runs[1]["findings"]
    assert [each["examples"] for each in runs[0]["properties"]] == [
        each["examples"] for each in runs[1]["properties"]
    ]


def test_a_finding_is_told_kept_and_replayed(tmp_path: Path) -> None:
    done = run("fuzz", PLANTED, *ONE, "--fail-fast", "--out", tmp_path)
    assert done.exit_code == 1
    [kept] = tmp_path.iterdir()
    jsonschema.validate(json.loads(kept.read_text(encoding="utf-8")), shape("finding"))
    assert "round-trip: nixl.TransferInfo: round trip is_dummy" in done.stdout
    assert f"pdwire replay {kept}" in done.stdout.replace("\n", "")

    again = run("replay", kept)
    assert again.exit_code == 1
    assert again.stdout.startswith(f"FAILED {kept}")
    fixed = run("replay", kept, "--target", "pdwire", "--format", "json")
    assert fixed.exit_code == 0
    told = json.loads(fixed.stdout)
    jsonschema.validate(told, shape("replay"))
    assert told["replayed"][0]["verdict"] == "FIXED"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "Expecting property name"),
        ("{}", "'schema' is a required property"),
        ("", "Expecting value"),
    ],
)
def test_a_file_that_is_no_finding_is_an_error(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "no.json"
    path.write_text(text, encoding="utf-8")
    done = run("replay", path)
    assert done.exit_code == 2
    assert done.stdout.startswith("ERROR")
    assert said in done.stdout


def test_a_missing_file_and_a_missing_target_are_errors(tmp_path: Path) -> None:
    assert run("replay", tmp_path / "none.json").exit_code == 2
    run("fuzz", PLANTED, *ONE, "--fail-fast", "--out", tmp_path)
    [kept] = tmp_path.iterdir()
    done = run("replay", kept, "--target", "python:nowhere:make")
    assert done.exit_code == 2
    assert "nowhere cannot be imported" in done.stdout.replace("\n", " ")


class Few(Planted):
    """Right codecs of one message; a subclass says which, and of which releases."""

    message = "ABORT"
    releases = ("0.5.23",)

    def __init__(self) -> None:
        super().__init__(FAULTS["guessed_dummy"])

    def hello(self) -> Hello:
        return replace(
            super().hello(),
            releases={"nixl": self.releases},
            messages={"nixl": {self.message: ("decode", "encode")}},
        )


class Older(Few):
    message = "TransferInfo"
    releases = ("0.5.6",)


class Skips(Few):
    """It claims the message and cannot be asked all the same."""

    message = "TransferInfo"

    def encode(self, *_: object) -> list[bytes]:
        raise Skipped("no encoder today")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Few", "does not decode nixl TransferInfo of release 0.5.23"),
        ("Older", "has no nixl TransferInfo of release 0.5.23; its nixl releases: 0.5.6"),
        ("Skips", "was not asked: no encoder today"),
    ],
)
def test_what_the_target_cannot_be_asked_is_never_fixed(
    tmp_path: Path, name: str, said: str
) -> None:
    run("fuzz", PLANTED, *ONE, "--release", "0.5.23", "--fail-fast", "--out", tmp_path)
    [kept] = tmp_path.iterdir()
    done = run("replay", kept, "--target", f"python:{__name__}:{name}")
    assert done.exit_code == 2
    assert done.stdout.startswith("ERROR")
    assert said in done.stdout


def test_a_script_is_replayed_on_our_own_managers_only(tmp_path: Path) -> None:
    script = Finding(
        prop="rooms", target="pdwire", backend="nixl", message="", layout="", release="",
        cause="", expected="", came="", seed=0, version="", sample=Sample(steps=({"do": "open"},)),
    )  # fmt: skip
    done = run("replay", save(script, tmp_path), "--target", "sglang==0.5.23")
    assert done.exit_code == 2
    assert "only the target pdwire has; came 'sglang==0.5.23'" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nonsense"], "no testee 'nonsense'"),
        (["pdwire", "--time", "soon"], "say 90s, 10m or 2h"),
        (["pdwire", "--backend", "moncake"], "did you mean 'mooncake'?"),
        (["pdwire", "--property", "round"], "did you mean 'round-trip'?"),
        (["pdwire", "--message", "TransferInfos"], "did you mean 'TransferInfo'?"),
        (["pdwire", "--property", "against"], "name it with --against"),
        (["pdwire", "--part", "2/2"], "is no part"),
    ],
)
def test_wrong_usage_says_what_would_be_right(words: list[str], said: str) -> None:
    done = run("fuzz", *words)
    assert done.exit_code == 2
    assert said in done.stderr


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_where_findings_cannot_be_kept_nothing_is_run(tmp_path: Path, jobs: str) -> None:
    file = tmp_path / "k.toml"
    file.write_text("mine", encoding="utf-8")
    for out, said in ((file, "File exists"), (Path("/proc/nope"), "No such file"),
                      (file / "in", "Not a directory")):  # fmt: skip
        done = run("fuzz", "nonsense", "--jobs", jobs, "--out", out)
        assert done.exit_code == 2
        assert f"--out: findings cannot be kept in {out}: {said}" in done.stderr
        assert "testee" not in done.stderr
    assert file.read_text(encoding="utf-8") == "mine"


def test_looking_whether_findings_can_be_kept_leaves_nothing(tmp_path: Path) -> None:
    check_folder(tmp_path / "a" / "b")
    assert not list(tmp_path.iterdir())


def test_a_finding_that_cannot_be_written_is_told_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(verb, "save", full)
    done = run("fuzz", PLANTED, *ONE, "--fail-fast", "--out", tmp_path)
    assert done.exit_code == 1
    assert "1 finding." in done.stdout
    assert "could not be written: No space left on device" in done.stderr


def short(*words: str) -> list[str]:
    """A run that has time for its first turn only."""
    chosen = ["--property", "round-trip", "--property", "rooms", "--release", "0.5.23"]
    return ["fuzz", "pdwire", "--backend", "nixl", *chosen, "--time", "0.000001s", *words]


def test_what_a_short_run_did_not_reach_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = iter((0.0, 0.0))  # begun, the first turn's; time is up then
    shortened = partial(fuzz, clock=lambda: next(ticks, 9.0))
    monkeypatch.setattr(verb, "fuzz", shortened)
    told = json.loads(run(*short("--format", "json", "--out", str(tmp_path))).stdout)
    jsonschema.validate(told, shape("fuzz"))
    tried = {each["name"]: (each["examples"], each["places"]) for each in told["properties"]}
    assert tried["rooms"] == (0, 1)
    assert tried["round-trip"][0] > 0
    missed = {each["property"]: each["places"] for each in told["not_reached"]}
    assert missed["rooms"] == ["nixl"]
    assert len(missed["round-trip"]) == tried["round-trip"][1] - 1


def test_a_short_run_does_not_say_just_that_nothing_was_found(tmp_path: Path) -> None:
    done = run(*short("--out", str(tmp_path)))
    assert "Nothing found in what was reached." in done.stdout
    assert "Not reached: rooms; round-trip." in done.stdout
    whole = run("fuzz", "pdwire", *ONE, "--property", "recognise", "--examples", "1")
    assert whole.stdout.endswith("\nNothing found.\n")


def test_parts_did_not_reach_what_each_of_them_did_not() -> None:
    def part(name: str, missed: list[str], examples: int) -> dict[str, Any]:
        row = {"name": name, "examples": examples, "wall_s": 1.0, "check_s": 1.0, "places": 2}
        return {
            "schema": "", "target": "mine", "seed": 0, "seconds": 1.0, "cells": 2, "turns": 1,
            "interrupted": False, "messages": [], "findings": [], "properties": [row],
            "not_reached": [{"property": name, "places": missed}] if missed else [],
        }  # fmt: skip

    merged = merge([part("rooms", ["b", "c"], 0), part("rooms", [], 5), part("refusal", ["a"], 1)])
    assert merged["not_reached"] == [
        {"property": "refusal", "places": ["a"]},
        {"property": "rooms", "places": ["b", "c"]},
    ]
    to = Console(file=io.StringIO(), width=100)
    show(merged, to)
    said = to.file.getvalue()  # type: ignore[attr-defined] # it is the file above
    assert "Not reached: refusal at 1 of 2 (a); rooms at 2 of 4 (b, c)." in said


def test_jobs_deal_the_cells_out_and_merge_what_they_found(tmp_path: Path) -> None:
    words = ["fuzz", PLANTED, *ONE, "--examples", "10", "--format", "json"]
    one = json.loads(run(*words, "--out", tmp_path / "one").stdout)
    done = run(*words, "--jobs", "2", "--out", tmp_path / "two")
    two = json.loads(done.stdout)
    assert done.exit_code == 1
    assert two["cells"] == one["cells"]
    assert {each["cause"] for each in two["findings"]} == {
        each["cause"] for each in one["findings"]
    }
    assert {each["name"]: each["examples"] for each in two["properties"]} == {
        each["name"]: each["examples"] for each in one["properties"]
    }


def test_times_are_read_in_every_unit() -> None:
    assert [seconds_of(word) for word in ("90", "90s", "10m", "2h", "0.5m")] == [
        90, 90, 600, 7200, 30,
    ]  # fmt: skip


def test_the_published_schema_is_the_one_in_use() -> None:
    assert shape("finding") == json.loads(json.dumps(schema()))


def test_every_planted_fault_is_a_target() -> None:
    assert "guessed_dummy" in FAULTS


@pytest.mark.slow
def test_two_minutes_against_our_own_codecs_and_managers_find_nothing(tmp_path: Path) -> None:
    done = run("fuzz", "pdwire", "--time", "2m", "--format", "json", "--out", tmp_path)
    told = json.loads(done.stdout)
    assert done.exit_code == 0, told["findings"]
    rates = {each["name"]: each["checks_per_s"] for each in told["messages"]}
    assert rates["mooncake.KVArgsRegisterInfo"] > 1000  # 3,000 and more on an idle core
