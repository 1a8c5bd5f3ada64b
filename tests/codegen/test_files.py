"""Whatever lies in a protocol's directory is read or refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pdwire_codegen.diagnostics import SpecError
from pdwire_codegen.load import load


def strays(protocol: Path) -> list[tuple[str, str]]:
    """File and hint of every fault, all of which must be strays."""
    with pytest.raises(SpecError) as caught:
        load(protocol)
    assert {fault.rule for fault in caught.value.faults} == {"stray-file"}
    return [(fault.file.removeprefix("protocol/"), fault.hint) for fault in caught.value.faults]


@pytest.mark.parametrize(
    "name",
    [
        "notes.md", "common/notes.md", "common/bar.tml", "common/ping.TOML",
        "common/.ping.toml.swp", "common/ping.toml~", "common/ping", "ping.toml", "bar.lock",
        ".hidden", "common/a/b.toml",
        "common/a/b/c/notes.md", "common/.toml", "released.lock.orig", "common/README.md",
    ],
)  # fmt: skip
def test_a_file_that_is_not_expected_is_refused_with_what_is(protocol: Path, name: str) -> None:
    path = protocol / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x", encoding="utf-8")
    ((file, hint),) = strays(protocol)
    assert file == name
    assert ".toml" in hint


def test_a_misspelt_message_is_the_only_fault_of_what_it_hides(protocol: Path) -> None:
    """Its concepts and its locked layouts are not called unused and gone besides."""
    (protocol / "common" / "ping.toml").rename(protocol / "common" / "ping.tml")
    assert strays(protocol) == [("common/ping.tml", "rename it to ping.toml, or remove it")]


def test_what_is_no_plain_file_is_not_read(protocol: Path) -> None:
    os.mkfifo(protocol / "common" / "pipe.toml")  # reading it would wait for ever
    (protocol / "common" / "link.toml").symlink_to("nowhere")
    (protocol / "common" / "folder.toml").mkdir()
    found = [file for file, _ in strays(protocol)]
    assert found == ["common/folder.toml", "common/link.toml", "common/pipe.toml"]


def test_names_that_cannot_be_printed_are_shown_escaped(protocol: Path) -> None:
    Path(os.fsdecode(os.fsencode(protocol) + b"/common/a\xff\nb.md")).write_text("")
    ((file, _),) = strays(protocol)
    assert file == "common/a\\udcff\\nb.md"
    file.encode()


def test_readme_of_the_root_and_empty_groups_are_let_be(protocol: Path) -> None:
    (protocol / "README.md").write_text("Not a spec file.", encoding="utf-8")
    (protocol / "later").mkdir()
    load(protocol)
