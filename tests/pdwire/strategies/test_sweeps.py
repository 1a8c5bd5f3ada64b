"""Listed edges and faults: valid ones are, bad ones are not, and both reach where they must."""

from __future__ import annotations

from typing import Any

import pytest
from tests.pdwire.strategies.conftest import layouts

from pdwire.errors import WireError
from pdwire.reading import Reading
from pdwire.strategies.subjects import Subject, subject
from pdwire.strategies.sweeps import edge_examples, listed_faults, simplest

REGISTRATION = subject("mooncake", "KVArgsRegisterInfo")


@pytest.mark.parametrize("chosen", layouts()[::5], ids=lambda each: each.name)
def test_what_is_listed_is_what_it_is_said_to_be(chosen: Subject, reading: Reading) -> None:
    key, layout = chosen.message.key, chosen.layout.id
    for example in edge_examples(chosen):
        assert chosen.codec.decode(example.canonical) == example.message()
    for fault in listed_faults(chosen):
        with pytest.raises(WireError) as caught:
            chosen.codec.decode(fault.frames)
        assert caught.value.frame == fault.frame
    assert reading.decode(key, layout, simplest(chosen).canonical) == simplest(chosen).values


def values_of(name: str) -> list[Any]:
    return [example.values[name] for example in edge_examples(REGISTRATION)]


def test_one_field_at_a_time_is_at_its_edges() -> None:
    base = simplest(REGISTRATION).values
    assert {0, 1, 2**31, 2**32, 2**63, 2**64 - 1} <= set(values_of("staging_base_ptr"))
    assert {1, 65535} <= set(values_of("dst_port"))
    assert [1, 2, 3] in values_of("dst_kv_ptrs")
    for example in edge_examples(REGISTRATION):
        changed = {name for name, value in example.values.items() if value != base[name]}
        related = {"dst_dcp_size", "dst_dcp_rank"}
        assert len(changed) <= 1 or changed <= related or "dst_kv_ptrs" in changed


def test_every_frame_has_its_faults() -> None:
    told = {(fault.frame, fault.label) for fault in listed_faults(REGISTRATION)}
    assert {(2, "range"), (2, "spelling"), (2, "empty"), (4, "width"), (6, "nested")} <= told
    assert {(None, "count"), (None, "invariant")} <= told
    for slot in REGISTRATION.layout.frames[1:]:
        assert any(frame == slot.position for frame, _ in told)
