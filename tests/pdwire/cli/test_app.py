from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint

import pytest
import typer
from typer.testing import Result

import pdwire
from pdwire.cli import plugins

Run = Callable[..., Result]


def entry(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, plugins.GROUP)


def hello(word: str = "world") -> None:
    """Say hello."""
    typer.echo(f"hello {word}")
    raise typer.Exit(1)


app = typer.Typer()
app.command()(hello)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    # Found by name while the command line runs: an entry point knows modules only by name.
    monkeypatch.setitem(sys.modules, "pdwire_test_verbs", sys.modules[__name__])
    verbs = {
        "hello": entry("hello", "pdwire_test_verbs:hello"),
        "again": entry("again", "pdwire_test_verbs:app"),
        "broken": entry("broken", "pdwire_no_such_module:command"),
        "show": entry("show", "pdwire_no_such_module:command"),
    }
    monkeypatch.setattr(plugins, "found", lambda: verbs)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("verb", ["hello", "again"])
def test_a_verb_from_elsewhere(run: Run, verb: str) -> None:
    result = run(verb, "--word", "there")
    assert (result.exit_code, result.stdout) == (1, "hello there\n")


@pytest.mark.usefixtures("installed")
def test_a_verb_that_cannot_be_loaded_says_why(run: Run) -> None:
    result = run("broken")
    assert result.exit_code == 2
    assert "broken is not available" in result.stderr
    assert "pdwire_no_such_module" in result.stderr


@pytest.mark.usefixtures("installed")
def test_our_own_verbs_come_first_and_all_are_listed(run: Run) -> None:
    assert run("show").exit_code == 0
    listed = run("--help").stdout
    for verb in ("show", "explain", "hello", "again", "broken", "Not available"):
        assert verb in listed


def test_an_unknown_verb(run: Run) -> None:
    assert run("sing").exit_code == 2


def test_the_version(run: Run) -> None:
    assert run("--version").stdout == f"pdwire {pdwire.__version__}\n"


def on_a_terminal(extra: dict[str, str]) -> str:
    """What ``explain`` prints to a terminal about one bad frame."""
    ours, theirs = os.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **extra}
    command = [sys.executable, "-m", "pdwire.cli", "explain", "-m", "KV_STATUS"]
    try:
        done = subprocess.run(
            command, input=b"37\n39\n30\n", stdout=theirs, env=environment, timeout=120, check=False
        )
    finally:
        os.close(theirs)
    assert done.returncode == 1
    with os.fdopen(ours, "rb") as terminal:
        return terminal.read1(65536).decode()


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    red = re.compile(r"\x1b\[[0-9;]*31m")
    assert red.search(on_a_terminal({}))
    plain = on_a_terminal({"NO_COLOR": "1"})
    assert re.search(r"\x1b\[[0-9;]*3[0-9]m", plain) is None
    assert "expected a canonical decimal 0..4" in plain


def test_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pdwire.cli", "explain", "-"],
        input=b"37\n34\n30\n",
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"KV_STATUS" in done.stdout
