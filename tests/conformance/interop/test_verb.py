from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer
from typer.testing import CliRunner
from typer.testing import Result as Said

from pdwire_conformance.interop import verb as module
from pdwire_conformance.interop.results import Result
from pdwire_conformance.interop.run import Pair
from pdwire_conformance.interop.topologies import BY_NAME

SCHEMA = Path(__file__).resolve().parents[3] / "docs" / "schema" / "interop.schema.json"

app = typer.Typer()
app.command()(module.command)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Pair]:
    """No process is started; every pair passes, but those of 0.5.16 fail."""
    pairs: list[Pair] = []

    def fake(pair: Pair, cases: tuple[str, ...]) -> Iterator[Result]:
        pairs.append(pair)
        broken = "0.5.16" in {pair.prefill, *pair.decodes}
        for case in cases:
            told: dict[str, Any] = {"verdict": "passed", "bytes": 1024, "seconds": 0.5}
            if broken:
                told = {"verdict": "failed", "reason": "it hung"}
            yield Result(
                backend=pair.backend,
                prefill=pair.prefill,
                decode="+".join(pair.decodes),
                topology=pair.topology.name,
                case=case,
                **told,
            )

    monkeypatch.setattr(module, "run_pair", fake)
    return pairs


def verb(*arguments: str) -> Said:
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "100"})


def test_both_directions_over_both_engines(ran: list[Pair]) -> None:
    result = verb("sglang==0.5.19")
    assert result.exit_code == 0
    assert [(each.backend, each.prefill, each.decodes) for each in ran] == [
        ("mooncake", "0.5.19", ("ours",)),
        ("mooncake", "ours", ("0.5.19",)),
        ("nixl", "0.5.19", ("ours",)),
        ("nixl", "ours", ("0.5.19",)),
    ]
    last = result.stdout.splitlines()[-1]
    assert last == "20 cases passed, 20,480 bytes compared, all equal."


@pytest.mark.usefixtures("ran")
def test_a_failure_exits_1_and_says_why() -> None:
    result = verb("0.5.16", "--backend", "nixl", "--case", "rooms")
    assert result.exit_code == 1
    assert "nixl 0.5.16 → ours tp1-tp1, rooms: failed: it hung" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("2 failed")


@pytest.mark.usefixtures("ran")
def test_json_is_one_object_that_its_schema_describes() -> None:
    document = json.loads(verb("0.5.16", "0.5.19", "--format", "json").stdout)
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema, cls=jsonschema.Draft202012Validator)
    assert document["passed"] is False
    assert len(document["results"]) == 2 * 2 * 2 * 5


def test_theirs_is_the_release_with_itself(ran: list[Pair]) -> None:
    verb("0.5.19", "--theirs", "--backend", "mooncake", "--topology", "all")
    assert {(each.prefill, each.decodes) for each in ran} == {("0.5.19", ("0.5.19",))}
    assert {each.topology.name for each in ran} == set(BY_NAME)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("sglang==0.5.91",), "did you mean '0.5.9"),
        (("--backend", "mori"), "no backend 'mori'"),
        (("--topology", "tp3-tp1"), "no topology 'tp3-tp1'"),
        (("--case", "flight"), "no case 'flight'"),
        (("--fleet", "--theirs"), "--fleet has a prefill of ours"),
    ],
)
def test_wrong_usage_exits_2(ran: list[Pair], arguments: tuple[str, ...], said: str) -> None:
    result = verb(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert ran == []


def test_a_release_that_lacks_something_does_not_fail(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lacking(pair: Pair, _: tuple[str, ...]) -> Iterator[Result]:
        yield Result(
            backend=pair.backend,
            prefill=pair.prefill,
            decode=pair.decodes[0],
            topology="tp1-tp1",
            case="prefix",
            verdict="not run",
            reason="no such frame",
        )

    monkeypatch.setattr(module, "run_pair", lacking)
    result = verb("0.5.9", "--backend", "mooncake", "--case", "prefix")
    assert "not run: no such frame" in result.stdout
    assert result.exit_code == 0
