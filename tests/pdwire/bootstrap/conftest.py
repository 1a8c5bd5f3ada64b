"""A running bootstrap server, and raw requests to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.pdwire.bootstrap.raw_http import Raw

from pdwire.bootstrap.client import BootstrapClient
from pdwire.bootstrap.server import BootstrapServer


@pytest.fixture
def server() -> Iterator[BootstrapServer]:
    running = BootstrapServer("127.0.0.1", 0)
    yield running
    running.close()


@pytest.fixture
def raw(server: BootstrapServer) -> Raw:
    """Requests of any content."""
    return Raw(server.port)


@pytest.fixture
def client() -> BootstrapClient:
    return BootstrapClient(timeout_s=5)
