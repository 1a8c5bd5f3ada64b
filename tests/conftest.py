"""How every test runs: Hypothesis profiles by environment.

``HYPOTHESIS_PROFILE`` picks one of ``dev`` (quick, remembers failures; the default), ``ci``
(derandomised: the same on every machine; the default where ``CI`` is set) and ``nightly``
(long, ``HYPOTHESIS_EXAMPLES`` of everything: as long as one likes).
pytest-randomly shuffles the order and prints its seed;
``pytest --randomly-seed=N`` replays it.
"""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

from pdwire_conformance.suite.load import cases

# No deadline anywhere: two busy cores must not turn a slow example into a failure.
settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile(
    "ci",
    max_examples=100,
    deadline=None,
    database=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "nightly",
    max_examples=int(os.environ.get("HYPOTHESIS_EXAMPLES", "2000")),
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
_DEFAULT = "ci" if os.environ.get("CI") else "dev"
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", _DEFAULT))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Set aside what lives as long as the session, so that no collection walks through it.

    Some seven thousand items and thirty thousand cases make each one take half a second, and
    measurements collect before every row.
    """
    if any("conformance" in item.path.parts for item in session.items):
        cases()
    gc.collect()
    gc.freeze()
