"""The suite as pytest items: ``pytest --pdwire-target=python:my.backend:make``.

Without the option this module adds its options and nothing else; what it needs is imported
(:mod:`.pytest_items`) when a target is named.
"""

from __future__ import annotations

import pytest

__all__ = ["pytest_addoption", "pytest_configure"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options; those that filter may be given several times."""
    group = parser.getgroup("pdwire", "wire conformance of a KV-transfer backend")
    group.addoption("--pdwire-target", help="Test this backend: python:my.backend:make, cmd:… …")
    for name, what in {
        "case": "Only cases of this slug or glob.",
        "level": "Only MUST, SHOULD or MAY.",
        "role": "codec (default), prefill, decode, bootstrap.",
        "backend": "Only this backend.",
        "release": "Only at this release; default: the newest that fits.",
        "known": "A list of known failures (TOML): they are strict xfails.",
    }.items():
        group.addoption(f"--pdwire-{name}", action="append", default=[], help=what)


def pytest_configure(config: pytest.Config) -> None:
    """Bring the items in, when there is whom to test."""
    if config.getoption("--pdwire-target"):
        config.pluginmanager.import_plugin("pdwire_conformance.conform.pytest_items")
