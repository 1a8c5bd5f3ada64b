"""What every test of live managers starts from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.pdwire.managers.fleet import Fleet, Pair, memory


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    """Managers that are closed when the test is over."""
    with Fleet() as made:
        yield made


@pytest.fixture(params=["mooncake", "nixl"])
def backend(request: pytest.FixtureRequest) -> str:
    """Each backend that has a real engine."""
    return str(request.param)


@pytest.fixture
def config() -> dict[str, Any]:
    """Fields of both managers' configuration; a test module or class overrides it."""
    return {}


@pytest.fixture
def pair(fleet: Fleet, backend: str, config: dict[str, Any]) -> Pair:
    """Two live managers with memory of the same shape and unlike content."""
    source, target = memory(1), memory(2)
    prefill = fleet.prefill(backend, source, **config)
    decode = fleet.decode(backend, target, **config)
    return Pair(fleet=fleet, prefill=prefill, decode=decode, source=source, target=target)
