"""Running the command line inside the test, and holding what it prints to its schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner, Result

from pdwire.cli.app import app

SCHEMAS = Path(__file__).resolve().parents[3] / "docs" / "schema"

Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """``run("show", "ABORT", stdin=b"…")``, off a terminal, 100 columns wide."""
    monkeypatch.delenv("COLUMNS", raising=False)
    runner = CliRunner()

    def call(*arguments: str, stdin: bytes | None = None) -> Result:
        return runner.invoke(app, arguments, input=stdin)

    return call


@pytest.fixture
def run_json(run: Run) -> Callable[..., Any]:
    """The same with ``--format json``: the parsed output, held to the named schema."""

    def call(schema: str, *arguments: str, stdin: bytes | None = None, code: int = 0) -> Any:  # noqa: ANN401
        result = run(*arguments, "--format", "json", stdin=stdin)
        assert result.exit_code == code, result.output
        value = json.loads(result.stdout)
        told = json.loads((SCHEMAS / f"{schema}.schema.json").read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(told)
        jsonschema.validate(value, told, cls=jsonschema.Draft202012Validator)
        return value

    return call
