"""Hypothesis loads the strategies; whoever has Hypothesis but not our codecs pays nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

CHEAP = """
import sys
import hypothesis
assert "pdwire.strategies" in sys.modules, "the entry point loads it"
loaded = [name for name in sys.modules if name.startswith("pdwire.")]
assert loaded == ["pdwire.strategies"], loaded
assert "numpy" not in sys.modules and "construct" not in sys.modules
"""
SHOWN = """
from hypothesis import Phase, find, settings, strategies as st
from pdwire.wire import layouts
quiet = settings(max_examples=2, database=None, phases=[Phase.generate])
for cls in {codec.cls for codec in layouts()}:
    found = find(st.from_type(cls), lambda m: True, settings=quiet)
    assert type(found) is cls and type(found).newest.encode(found), cls
print("all")
"""


@pytest.mark.parametrize(
    "first", ["import hypothesis", "import pdwire.wire", "import pdwire.strategies"]
)
def test_every_generated_class_is_known_whatever_is_imported_first(first: str) -> None:
    assert run(f"{first}\n{SHOWN}") == "all\n"


def test_importing_hypothesis_loads_no_codec() -> None:
    assert run(CHEAP) == ""


def test_without_plugins_the_codecs_work_all_the_same() -> None:
    code = "import hypothesis, sys, pdwire.wire; print('pdwire.strategies' in sys.modules)"
    assert run(code, HYPOTHESIS_NO_PLUGINS="1") == "False\n"


def test_what_the_package_offers_is_there_and_nothing_else_is() -> None:
    import pdwire.strategies

    for name in pdwire.strategies.__all__:
        assert getattr(pdwire.strategies, name).__module__.startswith("pdwire.strategies.")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        pdwire.strategies.nothing  # noqa: B018


def run(code: str, **more: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={"PATH": "/usr/bin:/bin", **more},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
