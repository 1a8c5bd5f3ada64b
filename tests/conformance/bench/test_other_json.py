"""JSON of the benches that move memory, against the published schemas; nothing is moved here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from pdwire_conformance.bench import cli
from pdwire_conformance.bench.sick import Turn
from pdwire_conformance.bench.transfer import Case, Measured

SCHEMAS = Path(__file__).parents[3] / "docs" / "schema"


def document(name: str, *arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(cli.command, [name, "--format", "json", *arguments])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    jsonschema.validate(found, json.loads((SCHEMAS / f"bench-{name}.schema.json").read_text()))
    return found


def test_a_transfer_row_says_the_speed_of_its_median_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(page=4096, scattered=True, rooms=1, total=2_000_000_000)
    seconds = {"ours": [1.0, 2.0, 4.0], "SGLang 0.5.23": [4.0], "engine": [0.5]}
    made = Measured(case=case, seconds=seconds)
    monkeypatch.setattr(cli, "sizes", lambda **_: [case])
    monkeypatch.setattr(cli, "measure_case", lambda *_, **__: made)
    (row,) = document("transfer", "--backend", "nixl")["rows"]
    assert row["gb_per_s"] == {"ours": 1.0, "SGLang 0.5.23": 0.5, "engine": 4.0}
    assert row["case"] == {"page": 4096, "scattered": True, "rooms": 1, "total": 2_000_000_000}


def test_staging_says_the_seconds_of_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {"staging": [0.1], "slices": [0.4]}
    monkeypatch.setattr(cli, "measure_staging", lambda *_, **__: seconds)
    assert document("staging", "--backend", "mooncake")["seconds"] == {"mooncake": seconds}


def test_sick_says_what_is_kept_of_the_median_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    def turn(beside: float, p99: float) -> Turn:
        return Turn(rate=100, rate_beside_sick=beside, p99=0.1, p99_beside_sick=p99, failed=1)

    turns = [turn(90, 0.2), turn(95, 0.1), turn(20, 5.0)]
    monkeypatch.setattr(cli, "measure_sick", lambda *_, **__: turns)
    (row,) = document("sick", "--backend", "mooncake")["rows"]
    assert (row["rate_kept"], row["p99_kept"], row["failed"]) == (0.9, 0.5, 3)
