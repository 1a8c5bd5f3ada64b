from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pdwire_codegen import emitters, generate
from pdwire_codegen.emitters import MANIFEST_PATH, emit_all
from pdwire_codegen.model import Spec

PAGE = "docs/reference/common/ping.md"
CODEC = "src/pdwire/wire/common/ping/r2.py"


def snapshot(root: Path) -> dict[str, tuple[bytes, int]]:
    return {
        path.relative_to(root).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in root.rglob("*")
        if path.is_file()
    }


def renamed(spec: Spec) -> Spec:
    """The same spec with its message in another module."""
    message = replace(spec.messages[0], module="pung")
    return replace(spec, messages=(message,))


def test_every_emitter_contributes(small: Spec) -> None:
    files = emit_all(small)
    assert {CODEC, PAGE, "src/pdwire/wire/spec.json", "tests/vectors/spec/common/ping.json"} <= set(
        files
    )
    assert files[MANIFEST_PATH].splitlines() == sorted(set(files) - {MANIFEST_PATH})


def test_unchanged_input_changes_nothing(small: Spec, tmp_path: Path) -> None:
    first = generate.generate(small, tmp_path)
    before = snapshot(tmp_path)
    assert {item.path for item in first} == set(before)
    assert generate.generate(small, tmp_path) == []
    assert snapshot(tmp_path) == before  # not even touched
    assert generate.check(small, tmp_path) == []


def test_only_what_differs_is_written(small: Spec, tmp_path: Path) -> None:
    generate.generate(small, tmp_path)
    (tmp_path / PAGE).write_text("edited by hand\n", encoding="utf-8")
    assert [(item.path, item.state) for item in generate.generate(small, tmp_path)] == [
        (PAGE, "written")
    ]


def test_files_no_longer_produced_are_deleted_with_their_folders(
    small: Spec, tmp_path: Path
) -> None:
    generate.generate(small, tmp_path)
    folder = (tmp_path / CODEC).parent
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "r2.pyc").write_bytes(b"")
    mine = tmp_path / "docs/reference/common/mine.md"
    mine.write_text("not generated\n", encoding="utf-8")
    states = {item.path: item.state for item in generate.generate(renamed(small), tmp_path)}
    assert (states[CODEC], states[PAGE]) == ("deleted", "deleted")
    assert states["src/pdwire/wire/common/pung/r2.py"] == "written"
    assert not folder.exists()
    assert mine.exists()


def test_the_manifest_cannot_delete_outside_the_root(small: Spec, tmp_path: Path) -> None:
    root = tmp_path / "root"
    generate.generate(small, root)
    outside = tmp_path / "outside.txt"
    outside.write_text("keep", encoding="utf-8")
    manifest = root / MANIFEST_PATH
    lines = f"../outside.txt\n{outside}\n\n"
    manifest.write_text(manifest.read_text(encoding="utf-8") + lines, encoding="utf-8")
    generate.generate(small, root)
    assert outside.read_text(encoding="utf-8") == "keep"


def test_check_writes_nothing_and_says_what_differs(small: Spec, tmp_path: Path) -> None:
    generate.generate(small, tmp_path)
    codec = tmp_path / CODEC
    codec.write_text("# a comment\n" + codec.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / PAGE).unlink()
    stale = "docs/reference/old.md"
    (tmp_path / stale).write_text("old\n", encoding="utf-8")
    manifest = tmp_path / MANIFEST_PATH
    manifest.write_text(manifest.read_text(encoding="utf-8") + f"{stale}\n", encoding="utf-8")
    before = snapshot(tmp_path)
    found = {item.path: item.state for item in generate.check(small, tmp_path)}
    assert found == {CODEC: "text", PAGE: "missing", stale: "stale", MANIFEST_PATH: "content"}
    assert snapshot(tmp_path) == before


def test_undecodable_bytes_on_disk_are_a_difference(small: Spec, tmp_path: Path) -> None:
    generate.generate(small, tmp_path)
    (tmp_path / CODEC).write_bytes(b"\xff\xfe")
    (item,) = generate.check(small, tmp_path)
    assert (item.path, item.state) == (CODEC, "behaviour")


def test_two_emitters_may_not_produce_one_file(
    small: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    twice = (emitters.EMITTERS[0], emitters.EMITTERS[0])
    monkeypatch.setattr(emitters, "EMITTERS", twice)
    with pytest.raises(ValueError, match="two emitters produce"):
        emit_all(small)
