"""The good message that derived cases start from: different everywhere, and the spec's own."""

from __future__ import annotations

import pytest

from pdwire_conformance.suite.derived.bench import Bench, native
from pdwire_conformance.suite.derived.shelf import shipped
from pdwire_conformance.suite.derived.values import INTEGERS, largest, smallest

BENCHES = shipped().benches
each = pytest.mark.parametrize("at", BENCHES, ids=lambda at: at.clause)


@each
def test_the_reading_reads_the_values_that_were_meant(at: Bench) -> None:
    assert at.read(at.frames) == {name: native(value) for name, value in at.values.items()}
    for make in (smallest, largest):
        values = make(at.message, at.layout)
        if values is not None:
            made = at.written(values)
            assert made is not None
            assert at.read(made[1]) == {name: native(value) for name, value in values.items()}


@each
def test_no_two_numbers_of_a_message_are_equal(at: Bench) -> None:
    numbers = [at.values[name] for name, slot in at.slots.items() if slot["type"] in INTEGERS]
    assert len(numbers) == len(set(numbers))


def test_a_changed_value_takes_along_those_that_are_tied_to_it() -> None:
    at = shipped().bench("mooncake", "KVArgsRegisterInfo", "r8")
    made = at.given({"dst_dcp_rank": 40})
    assert made is not None
    assert made[0]["dst_dcp_size"] > 40
    assert made[1][17] == b"40"
    assert at.given({"dst_dcp_rank": 9, "dst_dcp_size": 9}) is None
    shorter = at.given({"dst_kv_ptrs": [1]})
    assert shorter is not None
    assert len(shorter[0]["dst_kv_item_lens"]) == 1
    dummy = (
        shipped()
        .bench("mooncake", "TransferInfo", "r3")
        .given({"dst_kv_indices": [], "dst_aux_index": None})
    )
    assert dummy is not None
    assert dummy[0]["is_dummy"] is True
    assert dummy[0]["dst_state_indices"] == []


def test_a_value_that_the_layout_cannot_carry_has_no_frames() -> None:
    at = shipped().bench("mooncake", "KVArgsRegisterInfo", "r1")
    assert at.written({**at.values, "staging_base_ptr": 4096}) is None
