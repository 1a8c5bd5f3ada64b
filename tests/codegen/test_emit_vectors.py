from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pdwire_codegen.emit_vectors import emit
from pdwire_codegen.emit_vectors.cases import PROFILES
from pdwire_codegen.model import Spec


@pytest.fixture(scope="session")
def vectors(whole: Spec) -> dict[tuple[str, str], dict[str, Any]]:
    files = [json.loads(text) for text in emit(whole).values()]
    return {
        (f"{file['group']}.{file['message']}", layout["layout"]): layout
        for file in files
        for layout in file["layouts"]
    }


def test_every_layout_has_vectors(
    whole: Spec, vectors: dict[tuple[str, str], dict[str, Any]]
) -> None:
    """A profile may coincide with an earlier one, but none may fail to be a message."""
    for message in whole.messages:
        for layout in message.layouts:
            cases = vectors[f"{message.group}.{message.name}", layout.id]["cases"]
            names = [case["name"] for case in cases]
            assert names[:3] == list(PROFILES[:3])
            for case in cases:
                assert set(case["values"]) == {field.name for field in message.fields}
                if message.transport == "zmq":
                    count = len(case["frames"]) - (message.guard is not None)
                    assert count in layout.counts


def test_boundary_values_are_included(vectors: dict[tuple[str, str], dict[str, Any]]) -> None:
    layout = vectors["mooncake.KVArgsRegisterInfo", "r8"]
    by_name = {case["name"]: case["values"] for case in layout["cases"]}
    assert by_name["most"]["dst_kv_ptrs"][0] >= 2**63
    assert by_name["least"]["dst_kv_ptrs"] == []
    assert by_name["most"]["dst_port"] == 65535
    assert by_name["most"]["endpoint"] == "fe80::1%eth0"
    rooms = {
        case["name"]: case["values"]["room"]
        for case in vectors["mooncake.TransferInfo", "r3"]["cases"]
    }
    assert (rooms["least"], rooms["most"]) == (0, 2**63 - 1)


def test_vectors_stay_small() -> None:
    folder = Path(__file__).parents[1] / "vectors" / "spec"
    sizes = [path.stat().st_size for path in folder.rglob("*.json")]
    assert max(sizes) < 64 * 1024
    assert sum(sizes) < 512 * 1024


def test_a_small_spec_in_full(small: Spec) -> None:
    (text,) = emit(small).values()
    layouts = json.loads(text)["layouts"]
    assert layouts[1] == {
        "layout": "r2",
        "speakers": {"alpha": "1.2"},
        "cases": [
            {
                "name": "typical",
                "values": {"room": 1, "data": [2, 3, 4]},
                "frames": ["50494e47", "31", "020000000000000003000000000000000400000000000000"],
            },
            {
                "name": "least",
                "values": {"room": 0, "data": []},
                "frames": ["50494e47", "30", ""],
            },
            {
                "name": "most",
                "values": {"room": 2**63 - 1, "data": [0, 2**64 - 2]},
                "frames": [
                    "50494e47",
                    b"9223372036854775807".hex(),
                    "0000000000000000feffffffffffffff",
                ],
            },
            {
                "name": "bare",
                "values": {"room": 1, "data": []},
                "frames": ["50494e47", "31", ""],
            },
        ],
    }
