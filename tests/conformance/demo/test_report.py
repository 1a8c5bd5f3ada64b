"""The report shows every frame, names what differs, and its JSON keeps to the schema."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.console import Console

from pdwire.wire import layout
from pdwire_conformance.demo.codecs import Generated
from pdwire_conformance.demo.exchange import Difference, Leg, Trial
from pdwire_conformance.demo.handover import Row, Shape
from pdwire_conformance.demo.moved import Moved
from pdwire_conformance.demo.report import Report, show, told
from pdwire_conformance.demo.samples import SAMPLES
from pdwire_conformance.demo.verb import whole_json

ROW = Row(backend="mooncake", layout="TP 1 → 1", requests=1, bytes=8, seconds=0.5, raw=1.0)

SCHEMA = Path(__file__).parents[3] / "docs" / "schema" / "demo.schema.json"


@pytest.fixture
def report() -> Report:
    codec = layout("nixl", "TransferInfo", release="0.5.23")
    values = SAMPLES["nixl", "TransferInfo"]
    frames = codec.encode(codec.cls(**values | {"dst_state_indices": ((9,),)}))
    good = Leg(compared=10)
    trial = Trial(
        codec=codec,
        frames=tuple(frames),
        values=values,
        peer_to_ours=good,
        ours_to_peer=good,
        same_bytes=True,
    )
    return Report(
        release="0.5.23",
        source="live",
        reason="",
        wheel_sha256="ab" * 32,
        generated=Generated(text="183 generated"),
        trials=(trial,),
    )


def shown(report: Report) -> str:
    console = Console(file=StringIO(), width=100, color_system=None)
    show(report, console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def with_leg(report: Report, leg: Leg) -> Report:
    return replace(report, trials=(replace(report.trials[0], ours_to_peer=leg),))


def test_every_frame_has_its_row_and_the_guard_has_no_number(report: Report) -> None:
    rows = [line.split("│")[1:-1] for line in shown(report).splitlines() if line.startswith("│")]
    cells = [[cell.strip() for cell in row] for row in rows]
    assert [row[0] for row in cells] == ["guard", *map(str, range(10))]
    assert cells[0][3] == "NixlMsgGuard"
    assert cells[5] == ["4", "dst_kv_indices", "24", "[4, 5, 6, 7, 32, 33]"]


def test_the_last_line_says_what_was_proved(report: Report) -> None:
    assert shown(report).splitlines()[-1] == (
        "Proved: 1 message, 20 fields compared in both directions, all equal, "
        "1 byte-identical; peer: SGLang 0.5.23."
    )


def test_a_difference_is_named_and_nothing_is_proved(report: Report) -> None:
    leg = Leg(compared=10, differences=(Difference(field="room", peer=1, ours=2),))
    text = shown(with_leg(report, leg))
    assert "✗ pdwire → SGLang 0.5.23: room: the peer says 1, we say 2" in text
    assert "Not proved: 1 message, 20 fields compared in both directions, 1 finding;" in text


@pytest.mark.parametrize(
    "broken",
    [
        {"trials": ()},
        {"generated": Generated(text="3 generated files differ", current=False)},
    ],
)
def test_nothing_tried_or_stale_codecs_prove_nothing(
    report: Report, broken: dict[str, Any]
) -> None:
    changed = replace(report, **broken)
    assert not changed.holds
    assert changed.verdict.startswith("Not proved: ")


def test_a_recording_is_called_one(report: Report) -> None:
    text = shown(replace(report, source="recorded", reason="the index cannot be reached"))
    assert "its recorded frames, because the index cannot be reached" in text
    assert text.splitlines()[-1].endswith("peer: SGLang 0.5.23 (recorded).")


def test_json_keeps_to_its_schema(report: Report) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    leg = Leg(compared=1, differences=(Difference(field="room", peer=None, ours=[2]),))
    for each in (report, with_leg(report, leg)):
        document = json.loads(json.dumps(whole_json(each, None)))
        jsonschema.validate(document, schema)
        assert document["codecs"]["holds"] is each.holds
        assert document["codecs"]["messages"][0]["frames"][0] == b"NixlMsgGuard".hex()
    moved = Moved(shape=Shape(), rows=(ROW,), missing={"nixl": "why"}, stories={"x": [("y", True)]})
    jsonschema.validate(json.loads(json.dumps(whole_json(None, moved))), schema)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"hex": "00" * 40}, f"{'00' * 12}… (40 bytes)"),
        ({"hex": "0aff"}, "0aff (2 bytes)"),
        ([[1, 2], []], "[[1, 2], []]"),
        (list(range(7)), "[0, 1, 2, 3, 4, 5, … 7 in all]"),
        (None, "none"),
        (True, "yes"),
        ("VRAM", "VRAM"),
    ],
)
def test_values_are_told_in_few_words(value: object, text: str) -> None:
    assert told(value) == text


def test_addresses_are_told_in_hexadecimal() -> None:
    assert told([[4096]], is_address=True) == "[[0x1000]]"
