"""A place to decode at and encode for, of any range and any words."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pdwire.frames import Layout, Place

LAYOUT = Layout("mooncake Ping", "r2", "0.5.17–0.5.18", (3,), {3: "0.5.17–0.5.18", 2: "0.5.16"})


@pytest.fixture
def at() -> Callable[..., Place]:
    def make(lo: int = 0, hi: int = 2**63 - 1, allowed: tuple[str, ...] = ()) -> Place:
        return Place(LAYOUT, 4, "thing", "a thing", lo, hi, allowed)

    return make
