"""Values are made simpler for as long as they show the fault, and never anything else."""

from __future__ import annotations

from typing import Any

import pytest

from pdwire.strategies.drawn import Example
from pdwire.strategies.simpler import simpler, simpler_example
from pdwire.strategies.subjects import subject
from pdwire.strategies.sweeps import edge_examples, simplest


@pytest.mark.parametrize(
    ("value", "shows", "expected"),
    [
        (2**63 - 2, lambda n: int(float(n)) != n, 2**53 + 1),
        (10**6, lambda n: n >= 1000, 1000),
        (-(2**31), lambda n: n < -5, -6),
        (12345, lambda n: n == 12345, 12345),
        (7, lambda _: True, 0),
        ("x" * 500, lambda text: len(text) > 63, "x" * 64),
        (b"ab\x00cd", lambda raw: b"\x00" in raw, b"ab\x00"),
        ([9, 9, 9, 9], lambda items: len(items) > 2, [0, 0, 0]),
        ([5, 2**40, 6], lambda items: any(n >= 2**32 for n in items), [2**32]),
        ([[1], [2, 3]], lambda parts: any(len(part) > 1 for part in parts), [[0, 0]]),
        (True, lambda _: True, False),
        (None, lambda _: True, None),
        ({"a": 1}, lambda _: True, {"a": 1}),
    ],
)
def test_the_simplest_that_shows_it(value: Any, shows: Any, expected: Any) -> None:  # noqa: ANN401
    seen: list[Any] = []

    def told(tried: Any) -> bool:  # noqa: ANN401
        seen.append(tried)
        return bool(shows(tried))

    assert simpler(value, told) == expected
    assert len(seen) < 300


def test_a_field_is_tried_in_messages_that_the_layout_carries() -> None:
    chosen = subject("nixl", "TransferInfo")
    base = simplest(chosen)
    tried: list[Example] = []

    def shows(example: Example) -> bool:
        tried.append(example)
        return int(example.values["dst_port"]) >= 2000

    found = simpler_example(chosen, {**base.values, "dst_port": 65535, "room": 3}, shows)
    assert found is not None
    assert dict(found.values) == {**base.values, "dst_port": 2000}
    for example in tried:
        assert chosen.codec.decode(example.spelled) == example.message()
    assert simpler_example(chosen, base.values, lambda _: False) is None


def test_where_no_field_is_enough_alone_each_is_made_simpler() -> None:
    chosen = subject("nixl", "TransferInfo")
    base = simplest(chosen)

    def shows(example: Example) -> bool:
        values = example.values
        return bool(values["dst_port"] >= 2000 and values["room"] >= 5)

    both = {**base.values, "dst_port": 65535, "room": 2**62, "required_dst_info_num": 3}
    found = simpler_example(chosen, both, shows)
    assert found is not None
    assert dict(found.values) == {**base.values, "dst_port": 2000, "room": 5}


def test_what_a_field_needs_may_need_more() -> None:
    """An ABORT's generation needs an address, and its host needs a port."""
    abort = subject("mooncake", "ABORT", revision="r2")
    listed = [each.values["generation"] for each in edge_examples(abort)]
    assert 2**63 - 1 in listed
    values = {**simplest(abort).values, "decode_ip": "h", "decode_port": 1, "generation": 2**62}
    found = simpler_example(abort, values, lambda each: (each.values["generation"] or 0) > 9)
    assert found is not None
    assert found.values["generation"] == 10
