"""What is emitted for drawn specs is formatted, and passes the lint and the type check.

The tools run over many trees at once, each under a root of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from tests.codegen.imported import write_tree
from tests.codegen.strategies import words
from tests.codegen.strategies.specs import Files, protocols

from pdwire_codegen.emit_python import emit
from pdwire_codegen.load import load

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "pyproject.toml"
WIRE = "src/pdwire/wire"
SAID = ["E741", "N801", "E501"]
"""Lint rules about what a spec says: names as they are, and literals that nobody may cut."""


def emitted(docs: st.SearchStrategy[str], count: int) -> list[dict[str, str]]:
    """The Python files of some drawn specs, the same ones every time."""
    found: list[dict[str, str]] = []

    @seed(20)
    @settings(
        max_examples=count,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(files=protocols(docs))
    def draw(files: Files) -> None:
        with tempfile.TemporaryDirectory() as folder:
            spec = load(files.write(Path(folder) / "protocol"), allow_unlocked=True)
        found.append(emit(spec))

    draw()
    return found


def run(*command: str | Path, cwd: Path, **environment: str) -> None:
    """Run a tool of the environment; the test fails with what it finds."""
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.parametrize("docs", [words.plain_docs, words.docs], ids=["plain", "odd"])
def test_drawn_codecs_are_formatted(docs: st.SearchStrategy[str], tmp_path: Path) -> None:
    for number, files in enumerate(emitted(docs, 30)):
        write_tree(files, tmp_path / f"tree_{number}")
    run("ruff", "format", "--no-cache", "--diff", "--config", CONFIG, ".", cwd=tmp_path)


def test_drawn_codecs_pass_the_lint(tmp_path: Path) -> None:
    for number, files in enumerate(emitted(words.plain_docs, 30)):
        write_tree(files, tmp_path / f"tree_{number}")
    settings_ = tomllib.loads(CONFIG.read_text(encoding="utf-8"))["tool"]["ruff"]["lint"]
    ignored = [*settings_["per-file-ignores"][f"{WIRE}/**"], *SAID]
    override = f"lint.per-file-ignores = {{'**/{WIRE}/**' = {json.dumps(ignored)}}}"
    run("ruff", "check", "--no-cache", "--config", CONFIG, "--config", override, ".", cwd=tmp_path)


@pytest.mark.slow
def test_drawn_codecs_pass_the_type_check(tmp_path: Path) -> None:
    """Each tree is a package of its own name, so that one run checks them all."""
    for number, files in enumerate(emitted(words.docs, 60)):
        name = f"drawn_{number}"
        texts = {
            path.replace(WIRE, name): text.replace("pdwire.wire", name)
            for path, text in files.items()
        }
        write_tree(texts, tmp_path)
    cache = tmp_path / ".cache"
    options = ("--config-file", CONFIG, "--cache-dir", cache)
    run("mypy", *options, ".", cwd=tmp_path, MYPYPATH=str(ROOT / "src"))
