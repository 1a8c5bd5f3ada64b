"""One process per release for all tests of the adapters, started when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from pdwire_conformance.peers.client import Peer
from pdwire_conformance.peers.errors import PeerUnavailable


@pytest.fixture(scope="session")
def peer() -> Iterator[Callable[[str], Peer]]:
    """A release by its number; the test is skipped where its wheel cannot be had."""
    started: dict[str, Peer] = {}

    def ask(release: str) -> Peer:
        if release not in started:
            try:
                started[release] = stack.enter_context(Peer(release))
            except PeerUnavailable as error:
                pytest.skip(str(error))
        return started[release]

    with ExitStack() as stack:
        yield ask
