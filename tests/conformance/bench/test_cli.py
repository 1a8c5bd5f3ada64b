"""The verb as a user meets it, and a real release beside it. Nothing here looks at a time."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import jsonschema
import pytest
from typer.testing import CliRunner, Result

from pdwire_conformance.bench import cli
from pdwire_conformance.bench import run as module
from pdwire_conformance.bench.cases import CASES
from pdwire_conformance.bench.measure import Plan
from pdwire_conformance.bench.run import measure
from pdwire_conformance.peers.errors import PeerUnavailable

SCHEMA = json.loads(
    (Path(__file__).parents[3] / "docs" / "schema" / "bench-codec.schema.json").read_text("utf-8")
)
SHORT = Plan(turns=1, seconds=1e-5)
FEW = tuple(case for case in CASES if case.name != "metadata-131072")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """One turn of a moment for every row but the one that takes seconds by itself."""
    monkeypatch.setattr(cli, "_QUICK", SHORT)
    monkeypatch.setattr(cli, "measure", partial(measure, cases=FEW))


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(release: str) -> NoReturn:
        raise PeerUnavailable(f"{release} cannot be fetched here")

    monkeypatch.setattr(module, "fetch", fetch)


def verb(*arguments: str) -> Result:
    return CliRunner().invoke(cli.command, list(arguments), env={"COLUMNS": "100"})


def document(*arguments: str) -> dict[str, Any]:
    result = verb("codec", "--quick", "--format", "json", *arguments)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    jsonschema.validate(found, SCHEMA)
    return found


@pytest.mark.usefixtures("offline")
def test_without_the_release_the_others_are_measured_all_the_same() -> None:
    found = document()
    assert found["peer_reason"] == "0.5.19 cannot be fetched here"
    assert found["verdict"] == "No peer to compare with: 0.5.19 cannot be fetched here."
    assert len(found["rows"]) == 26
    names = {side["name"] for row in found["rows"] for side in row["sides"]}
    assert names == {"pdwire", "construct", "msgpack", "msgpack-raw"}
    assert [(each["backend"], each["case"]) for each in found["skipped"]] == [("nixl", "status")]


@pytest.mark.usefixtures("offline")
def test_a_table_ends_with_the_verdict() -> None:
    result = verb("codec", "--quick")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1].startswith("No peer to compare with")
    assert result.stderr == ""


def test_an_unknown_release_is_wrong_usage() -> None:
    result = verb("codec", "--release", "0.5.91")
    assert result.exit_code == 2
    assert "no release '0.5.91'" in result.stderr


def test_a_verb_alone_lists_what_can_be_measured() -> None:
    assert "codec" in verb("--help").stdout


@pytest.mark.live
@pytest.mark.parametrize(("release", "rows"), [("0.5.19", 26), ("0.5.23", 28)])
def test_a_real_release_takes_part_in_every_row(release: str, rows: int) -> None:
    found = document("--release", release)
    if found["peer_reason"]:
        pytest.skip(found["peer_reason"])
    assert len(found["rows"]) == rows
    for row in found["rows"]:
        assert [side["name"] for side in row["sides"]][-1] == "sglang"
        assert row["same_frames"] is True
        assert row["peer_runs"]
    assert found["wheel_sha256"]
