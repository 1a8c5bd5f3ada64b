"""Against real releases: they and our codecs agree about whatever is valid."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from pdwire_conformance.fuzz.plan import Choice
from pdwire_conformance.fuzz.run import fuzz, open_sides
from pdwire_conformance.testees.protocol import TesteeError

pytestmark = pytest.mark.live


@pytest.mark.parametrize("release", ["0.5.19", "0.5.23"])
def test_a_release_agrees_about_valid_messages(release: str) -> None:
    peer = f"sglang=={release}"
    ours = Choice(backend="nixl", release=release, properties=("against",), against=peer)
    theirs = Choice(backend="nixl", release=release, properties=("round-trip",))
    with ExitStack() as stack:
        try:
            sides = open_sides(stack, "pdwire", peer)
            other = open_sides(stack, peer)
        except TesteeError as fault:
            pytest.skip(str(fault))
        compared = fuzz(sides, ours, seed=1, time_s=60, examples=5, listed=False)
        alone = fuzz(other, theirs, seed=1, time_s=60, examples=5, listed=False)
    assert compared.findings == alone.findings == []
    assert compared.tallies["against"].examples >= 5 * compared.cells > 0
    assert alone.tallies["round-trip"].examples >= 5 * alone.cells > 0
