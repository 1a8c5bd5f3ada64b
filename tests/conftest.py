"""How every test runs: Hypothesis profiles by environment.

``HYPOTHESIS_PROFILE`` picks one of ``dev`` (quick, remembers failures; the default), ``ci``
(derandomised: the same on every machine; the default where ``CI`` is set) and ``nightly``
(long).
pytest-randomly shuffles the order and prints its seed;
``pytest --randomly-seed=N`` replays it.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

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
    max_examples=2_000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
_DEFAULT = "ci" if os.environ.get("CI") else "dev"
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", _DEFAULT))
