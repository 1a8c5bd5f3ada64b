"""A fault in any valid spec is found by its own rule, whatever else the spec says."""

from __future__ import annotations

import tempfile
import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.codegen.strategies.faults import FAULTS
from tests.codegen.strategies.specs import Files, protocols
from tests.codegen.strategies.toml import document

from pdwire_codegen.diagnostics import SpecError
from pdwire_codegen.generate import lock
from pdwire_codegen.load import load

drawn = settings(
    max_examples=settings().max_examples // 4,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
    ],
)


def rules_broken(protocol: Path, *, allow_unlocked: bool = True) -> set[str]:
    try:
        load(protocol, allow_unlocked=allow_unlocked)
    except SpecError as error:
        return {fault.rule for fault in error.faults}
    return set()


@pytest.mark.parametrize("rule", sorted(FAULTS))
@drawn
@given(files=protocols(), data=st.data())
def test_a_fault_in_a_valid_spec_is_found(rule: str, files: Files, data: st.DataObject) -> None:
    parsed = {path: tomllib.loads(text) for path, text in files.texts.items()}
    for tables in parsed.values():
        for table in ("field", "derived", "absent"):
            tables.setdefault(table, {})
    for root in ("protocol.toml", "concepts.toml"):
        parsed[root] = {name: table for name, table in parsed[root].items() if table}
    assume(FAULTS[rule](data.draw, parsed))
    wrong = Files({path: document(tables) for path, tables in parsed.items()})
    with tempfile.TemporaryDirectory() as folder:
        assert rule in rules_broken(wrong.write(Path(folder) / "protocol"))


@drawn
@given(files=protocols(), data=st.data())
def test_a_lock_that_was_cut_off_anywhere_holds_nothing_back(
    files: Files, data: st.DataObject
) -> None:
    """Whatever is left of it, layouts that it lost are not taken for new ones."""
    with tempfile.TemporaryDirectory() as folder:
        protocol = files.write(Path(folder) / "protocol")
        assert "missing-lock" in rules_broken(protocol, allow_unlocked=False)
        lock(load(protocol, allow_unlocked=True), protocol)
        assert rules_broken(protocol, allow_unlocked=False) == set()
        path = protocol / "released.lock"
        text = path.read_text(encoding="utf-8")
        path.write_text(text[: data.draw(st.integers(0, len(text) - 1))], encoding="utf-8")
        broken = rules_broken(protocol, allow_unlocked=False)
        assert broken & {"lock-form", "missing-lock"}
        assert "unlocked-layout" not in broken
        if len(path.read_text(encoding="utf-8").splitlines()) > 1:
            assert "lock-form" in rules_broken(protocol)
