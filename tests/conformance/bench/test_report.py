"""What is told of a run: who was faster, what is undecided, and JSON by its schema."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import jsonschema
import pytest
from rich.console import Console

from pdwire_conformance.bench.cases import CASES, Case
from pdwire_conformance.bench.contenders import NAMES
from pdwire_conformance.bench.measure import Plan, Timing
from pdwire_conformance.bench.memory import Memory
from pdwire_conformance.bench.report import as_json, show, standing, verdict
from pdwire_conformance.bench.run import PEER, Bench, Row, Skipped

SCHEMA = Path(__file__).parents[3] / "docs" / "schema" / "bench-codec.schema.json"
FAST, SLOW = (10.0, 10.0, 10.0), (20.0, 20.0, 20.0)
MIXED = (9.0, 30.0, 30.0)  # the median says one thing, the best turn another


def row(case: Case, direction: str, ours: tuple[float, ...], theirs: tuple[float, ...]) -> Row:
    turns = dict.fromkeys(NAMES, SLOW) | {"pdwire": ours} | ({PEER: theirs} if theirs else {})
    return Row(
        case=case,
        backend="mooncake",
        layout="r7",
        direction=direction,
        frame_bytes=100,
        peer_runs="from_zmq" if theirs else "",
        same_frames=True if theirs else None,
        timings={
            name: Timing(name=name, calls=5, overhead=1.5, turns=each)
            for name, each in turns.items()
        },
    )


def run(
    *rows: Row,
    peer_reason: str = "",
    wheel_sha256: str = "ab" * 32,
    skipped: tuple[Skipped, ...] = (),
    memory: tuple[Memory, ...] = (),
) -> Bench:
    return Bench(
        release="0.5.19",
        peer_reason=peer_reason,
        wheel_sha256=wheel_sha256,
        plan=Plan(turns=3, seconds=0.001),
        rows=rows,
        skipped=skipped,
        memory=memory,
    )


@pytest.fixture
def bench() -> Bench:
    registration, status = CASES[0], CASES[5]
    return run(
        row(registration, "decode", FAST, SLOW),
        row(status, "decode", SLOW, FAST),
        row(status, "encode", FAST, MIXED),
        skipped=(Skipped(case="status", backend="nixl", reason="no such message"),),
        memory=(
            Memory(backend="mooncake", array_bytes=524_288, shares_memory=True, peak_bytes=356),
        ),
    )


def shown(bench: Bench) -> str:
    console = Console(file=StringIO(), width=100, color_system=None)
    show(bench, console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_a_row_is_won_only_where_median_and_best_agree(bench: Bench) -> None:
    found = {
        word: [(each.case.name, each.direction) for each in rows]
        for word, rows in standing(bench).items()
    }
    assert found == {
        "faster": [("registration-160", "decode")],
        "slower": [("status", "decode")],
        "undecided": [("status", "encode")],
    }


def test_the_verdict_names_what_was_lost(bench: Bench) -> None:
    assert verdict(bench) == (
        "Faster than SGLang 0.5.19 in 1 of 3 rows; slower in mooncake status decode; "
        "undecided in mooncake status encode; registration decoded: mooncake 2.0x."
    )


def test_without_a_peer_nothing_is_claimed() -> None:
    alone = run(row(CASES[0], "decode", FAST, ()), peer_reason="the index cannot be reached")
    assert verdict(alone) == "No peer to compare with: the index cannot be reached."
    assert "Without SGLang 0.5.19: the index cannot be reached." in shown(alone)


def test_the_table_has_every_row_and_what_it_stands_on(bench: Bench) -> None:
    lines = shown(bench).splitlines()
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if "│" in line]
    assert cells[1] == [
        *("registration, 160 KV", "0.01", "0.02", "2.00", "2.00–2.00", "2.00"),
        *("0.02", "0.02", "0.02"),
    ]
    assert "Left out: nixl status: no such message." in lines
    assert "131,072 decoded indices are a view of the frame" in shown(bench)


def test_json_keeps_to_its_schema(bench: Bench) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    for each in (bench, run(row(CASES[0], "decode", FAST, ()), wheel_sha256="")):
        jsonschema.validate(json.loads(json.dumps(as_json(each))), schema)
    document = as_json(bench)
    assert document["slower"] == ["mooncake status decode"]
    sides = {side["name"]: side for side in document["rows"][0]["sides"]}
    assert sides["sglang"]["ns"] == {"median": 20, "low": 20, "high": 20}
    assert sides["sglang"]["ratio"] == {"median": 2, "low": 2, "high": 2, "best": 2}
    assert sides["pdwire"]["overhead_ns"] == 1.5
