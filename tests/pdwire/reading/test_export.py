from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from pdwire.reading import load_spec, spec_from_json
from pdwire.reading.spec import REQUIRED, Given, Repeat


def test_meanings(small: dict[str, Any]) -> None:
    register = spec_from_json(small).messages[0]
    fields = {field.name: field for field in register.fields}
    assert fields["endpoint"].empty is REQUIRED
    assert fields["reason"].absent == Given(value=None)
    assert fields["kinds"].absent == Repeat(like="ptrs", word="VRAM")
    assert fields["item_lens"].empty == Repeat(like="ptrs", from_field="item_len")


def test_bytes_are_hex_in_json(small: dict[str, Any]) -> None:
    data = copy.deepcopy(small)
    blob = next(each for each in data["messages"][0]["fields"] if each["name"] == "blob")
    blob["absent"] = {"value": {"hex": "00ff"}}
    field = spec_from_json(data).messages[0].field("blob")
    assert field is not None
    assert field.absent == Given(value=b"\x00\xff")


def test_another_document_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "spec.json"
    path.write_text('{"schema": "pdwire.proof/1"}', encoding="utf-8")
    with pytest.raises(ValueError, match=r"not a pdwire.spec/1 document"):
        load_spec(path)


def test_who_speaks_what(small: dict[str, Any]) -> None:
    spec = spec_from_json(small)
    data = next(message for message in spec.messages if message.name == "DATA")
    assert data.spoken("beta", "1.0") is None
    spoken = data.spoken("gamma", "1.2")
    assert spoken is not None
    assert spoken.id == "r1"
    assert data.absent == {"beta": (("1.0",), "beta had no data then")}
