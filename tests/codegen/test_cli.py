from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner, Result

from pdwire_codegen.cli import app
from pdwire_codegen.rules import RULE_IDS

Edit = Callable[[str, str, str], None]

SCHEMA = Path(__file__).parents[2] / "docs" / "schema" / "generate.schema.json"
SWAP = ('1 = "room"\n2 = "data"', '1 = "data"\n2 = "room"')


def run(*args: str) -> Result:
    return CliRunner().invoke(app, args)


def report(result: Result) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(result.stdout)
    jsonschema.validate(value, json.loads(SCHEMA.read_text(encoding="utf-8")))
    return value


@pytest.fixture
def root(protocol: Path) -> str:
    """The small project, generated."""
    assert run("generate", "--root", str(protocol.parent)).exit_code == 0
    return str(protocol.parent)


def test_generate_then_check_is_clean(root: str) -> None:
    result = run("generate", "--check", "--root", root)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "up to date" in result.stderr


def test_check_names_the_functions_that_a_swapped_frame_changes(root: str, edit: Edit) -> None:
    edit("common/ping.toml", *SWAP)
    result = run("generate", "--check", "--root", root)
    assert result.exit_code == 1
    assert "protocol/common/ping.toml:28: [changed-released-layout]" in result.stdout
    (line,) = [text for text in result.stdout.splitlines() if "ping/r2.py" in text]
    assert line.startswith("src/pdwire/wire/common/ping/r2.py: behaviour of decode, encode")


def test_check_reports_a_swapped_frame_as_json(root: str, edit: Edit) -> None:
    edit("common/ping.toml", *SWAP)
    result = run("generate", "--check", "--format", "json", "--root", root)
    value = report(result)
    assert result.exit_code == 1
    assert value["ok"] is False
    assert [fault["rule"] for fault in value["faults"]] == ["changed-released-layout"]
    codec = next(item for item in value["files"] if item["path"].endswith("ping/r2.py"))
    assert codec["state"] == "behaviour"
    assert codec["where"][:2] == ["decode", "encode"]


def test_faults_stop_generation_and_write_nothing(root: str, edit: Edit) -> None:
    codec = Path(root) / "src/pdwire/wire/common/ping/r2.py"
    before = codec.read_bytes()
    edit("common/ping.toml", *SWAP)
    result = run("generate", "--root", root)
    assert result.exit_code == 1
    assert "[changed-released-layout]" in result.stdout
    assert codec.read_bytes() == before


def test_faults_as_json(root: str, edit: Edit) -> None:
    edit("common/ping.toml", '2 = "data"', '3 = "data"')
    result = run("generate", "--format", "json", "--root", root)
    assert result.exit_code == 1
    assert [(item["line"], item["rule"]) for item in report(result)["faults"]] == [(34, "gap")]


def test_changes_as_json(root: str) -> None:
    page = Path(root) / "docs/reference/index.md"
    page.unlink()
    result = run("generate", "--format", "json", "--root", root)
    assert report(result)["files"] == [
        {"path": "docs/reference/index.md", "state": "written", "where": [], "diff": []}
    ]


def test_a_new_layout_is_generated_before_it_is_locked_and_checked_only_after(
    root: str, edit: Edit
) -> None:
    edit("common/ping.toml", '"1.1..1.2"', '"1.1"')
    edit(
        "common/ping.toml",
        '2 = "data"\n',
        '2 = "data"\n[layout.r3]\nreleases = ["1.2"]\ndoc = "Turned."\n[layout.r3.frames]\n'
        '0 = { const = "PING", name = "tag" }\n1 = "data"\n2 = "room"\n',
    )
    assert "[moved-release]" in run("generate", "--root", root).stdout
    lock = Path(root) / "protocol/released.lock"
    lines = lock.read_text(encoding="utf-8").splitlines(keepends=True)
    lock.write_text("".join(line for line in lines if " r2 " not in line), encoding="utf-8")
    assert run("generate", "--root", root).exit_code == 0
    result = run("generate", "--check", "--root", root)
    assert (result.exit_code, result.stdout.count("[unlocked-layout]")) == (1, 2)
    assert run("generate", "--lock", "--root", root).exit_code == 0
    assert run("generate", "--check", "--root", root).exit_code == 0
    assert len(lock.read_text(encoding="utf-8").splitlines()) == 5


def without_lock(root: str) -> Path:
    path = Path(root) / "protocol/released.lock"
    path.unlink()
    return path


def test_a_lock_that_was_deleted_is_missed_by_everything_but_an_explicit_first_one(
    root: str,
) -> None:
    path = without_lock(root)
    for verb in (("generate",), ("generate", "--check"), ("check",)):
        result = run(*verb, "--root", root)
        assert result.exit_code == 1
        assert result.stdout.count("[missing-lock]") == 1
        assert "[unlocked-layout]" not in result.stdout
    assert not path.exists()
    result = run("generate", "--lock", "--root", root)
    assert (result.exit_code, result.stdout) == (0, "protocol/released.lock: written\n")
    assert "1 files changed" in result.stderr
    assert run("generate", "--check", "--root", root).exit_code == 0


def test_a_first_lock_is_held_to_what_was_generated_last(root: str, edit: Edit) -> None:
    """Deleting the lock does not let a released layout change."""
    path = without_lock(root)
    edit("common/ping.toml", *SWAP)
    result = run("generate", "--lock", "--root", root)
    assert result.exit_code == 1
    assert "[changed-released-layout] layout r2 of PING is not as it was released" in result.stdout
    assert not path.exists()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (*SWAP, "frame 1 was room, is data; frame 2 was data, is room"),
        ('2 = "data"', '2 = { field = "data", type = "u32[]" }',
         'frame 2 (data): type was "u64[]", is "u32[]"'),
        ('2 = "data"', '2 = "data"\n3 = { const = "x", name = "end" }',
         "counts was [3], is [4]; frame 3 (end) is new"),
        ('doc      = "Lengths are added."', 'doc = "x"\ncounts = [2, 3]',
         'counts was [3], is [2, 3]; frame 2 (data): absent was null, is {"value": []}'),
        ('doc       = "Asks whether a room is alive."', 'doc = "x"\nguard = "G"',
         'guard was null, is "G"'),
    ],
)  # fmt: skip
def test_a_changed_layout_says_which_frame_changed_and_how(
    root: str, edit: Edit, old: str, new: str, told: str
) -> None:
    edit("common/ping.toml", old, new)
    result = run("generate", "--root", root)
    assert result.exit_code == 1
    assert f"of PING is not as it was released: {told}\n" in result.stdout


def test_the_root_is_found_from_a_folder_below_it(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(root) / "src/pdwire")
    result = run("generate", "--check")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "up to date" in result.stderr
    assert run("check").exit_code == 0


@pytest.mark.parametrize(
    "args",
    [
        ("generate", "--check", "--lock"),
        ("generate", "--format", "yaml"),
        ("generate", "--root", "/does/not/exist"),
        ("generate", "--protocol", "/does/not/exist"),
        ("check", "--nonsense"),
    ],
)
def test_wrong_usage_exits_2(args: tuple[str, ...]) -> None:
    assert run(*args).exit_code == 2


def test_a_root_without_a_protocol_is_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert run("generate", "--root", str(tmp_path / "empty")).exit_code == 2


def test_check_and_lock_verbs(root: str) -> None:
    assert run("check", "--root", root).exit_code == 0
    assert report(run("check", "--format", "json", "--root", root))["ok"] is True
    assert "up to date" in run("lock", "--root", root).stderr
    (Path(root) / "protocol/released.lock").unlink()
    assert run("check", "--root", root).exit_code == 1
    assert run("check", "--allow-unlocked", "--root", root).exit_code == 0
    assert "written" in run("lock", "--root", root).stderr
    assert run("check", "--root", root).exit_code == 0


def test_rules_are_listed() -> None:
    lines = run("rules").stdout.splitlines()
    assert [line.split()[0] for line in lines] == sorted(RULE_IDS)


def test_module_runs_as_a_program(root: str) -> None:
    command = [sys.executable, "-m", "pdwire_codegen", "check", "--root", root]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "1 messages, 2 layouts: no faults\n"


def test_the_projects_own_generated_files_are_up_to_date() -> None:
    root = Path(__file__).parents[2]
    result = run("generate", "--check", "--root", str(root))
    assert result.exit_code == 0, result.stdout
