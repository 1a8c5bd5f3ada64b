from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest

from pdwire_codegen.emit_reference import emit
from pdwire_codegen.emit_reference.markdown import table
from pdwire_codegen.emit_reference.words import releases
from pdwire_codegen.model import Spec

LINK = re.compile(r"\]\(([^)]+)\)")


@pytest.fixture(scope="session")
def pages(whole: Spec) -> dict[str, str]:
    return emit(whole)


def test_one_page_per_message_and_an_index(whole: Spec, pages: dict[str, str]) -> None:
    expected = {f"docs/reference/{item.group}/{item.module}.md" for item in whole.messages}
    assert set(pages) == expected | {"docs/reference/index.md", "docs/reference/rules.md"}


def test_links_lead_somewhere(pages: dict[str, str]) -> None:
    others = {"docs/spec-language.md"}
    for path, text in pages.items():
        for target in LINK.findall(text):
            parts: list[str] = []
            for part in (PurePosixPath(path).parent / target).parts:
                parts = parts[:-1] if part == ".." else [*parts, part]
            assert "/".join(parts) in pages.keys() | others


def test_every_table_is_rectangular(pages: dict[str, str]) -> None:
    for text in pages.values():
        for block in text.split("\n\n"):
            rows = [line for line in block.splitlines() if line.startswith("|")]
            assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) <= 1


def test_a_page_shows_who_speaks_what_and_where_fields_move(pages: dict[str, str]) -> None:
    text = pages["docs/reference/mooncake/kv_args_register_info.md"]
    row = re.compile(r"^\| 0\.5\.17 – 0\.5\.18\s+\| r6\s+\| r6 \|$", re.MULTILINE)
    assert row.search(text)
    staging = next(line for line in text.splitlines() if line.startswith("| 14 "))
    assert "staging_base_ptr (12)" in staging  # r5 had it in frame 12
    sixteen = next(line for line in text.splitlines() if line.startswith("| 16 "))
    assert "**dst_dcp_size**" in sixteen


def test_a_page_says_what_the_spec_says(whole: Spec, pages: dict[str, str]) -> None:
    for message in whole.messages:
        text = pages[f"docs/reference/{message.group}/{message.module}.md"]
        flat = " ".join(text.split())
        assert " ".join(message.doc.split()) in flat
        for field in message.fields:
            assert f"| `{field.name}`" in text
        for layout in message.layouts:
            assert f"### {layout.id}\n" in text
            assert layout.fingerprint[:16] in text
        for invariant in message.invariants:
            assert f"`{invariant.id}`" in text


def test_small_page_in_full(small: Spec) -> None:
    text = emit(small)["docs/reference/common/ping.md"]
    assert text.splitlines()[:8] == [
        "<!-- GENERATED from protocol/common/ping.toml by pdwire generate. Do not edit. -->",
        "",
        "# PING (common)",
        "",
        "Asks whether a room is alive.",
        "",
        "|               | |",
        "| ------------- | --------------------------- |",
    ]
    assert "| 2     |          | **data** |" in text
    assert "| `data` | `u64[]` | bytes |           | empty   | data    | Lengths" in text


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (("1", "2", "3"), "1 – 3"),
        (("1", "3", "4"), "1, 3 – 4"),
        (("4",), "4"),
        ((), ""),
    ],
)
def test_releases_are_shown_as_ranges(names: tuple[str, ...], shown: str) -> None:
    assert releases(names, ("1", "2", "3", "4")) == shown


def test_table_drops_empty_columns_and_keeps_bars_in_cells() -> None:
    assert table(("a", "b", "c"), [("1", "", "x|y"), ("2", "", "z\nw")]) == [
        "| a   | c |",
        "| --- | ---- |",
        "| 1   | x\\|y |",
        "| 2   | z w |",
    ]
