"""What real senders derive, so that most drawn values are ones that they can send.

None of this is a rule of the wire: one value in ten is left as it was drawn, and an
encoder that cannot send a value says so and gets another. It only saves drawing a
hundred registrations for one in which a length happens to repeat.
"""

from __future__ import annotations

from random import Random
from typing import Any

__all__ = ["as_sent"]

Values = dict[str, Any]


def as_sent(values: Values, carried: set[str], rng: Random) -> None:
    """Change drawn values in place into ones that senders produce, nine times in ten."""
    if rng.random() < 0.1:
        return
    if {"dst_kv_item_len", "dst_kv_item_lens"} <= carried:
        _first_length(values, rng)
    if "role" in carried:
        values["role"] = "Prefill"
    if "is_dummy" in carried and values["is_dummy"]:
        values |= {"dst_kv_indices": [], "dst_state_indices": []}
    if "decode_prefix_len" in carried and values["decode_prefix_len"] is None:
        values["decode_prefix_len"] = 0


def _first_length(values: Values, rng: Random) -> None:
    """Every sender gives the first of its item lengths as the one length, 0 for none."""
    lengths = values["dst_kv_item_lens"]
    if lengths:
        lengths[0] = rng.choice((1, 8448, 1 << 20, 1 << 31))
    values["dst_kv_item_len"] = lengths[0] if lengths else 0
