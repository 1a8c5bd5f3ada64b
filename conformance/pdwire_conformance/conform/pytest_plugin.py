"""The suite as pytest items: ``pytest --pdwire-target=python:my.backend:make``.

Without the option this module adds its options and nothing else; what it needs is imported
(:mod:`.pytest_items`) when a target is named. The other options without a target are wrong
usage: they would choose from nothing.
"""

from __future__ import annotations

from typing import Final

import pytest

__all__ = ["pytest_addoption", "pytest_configure"]

_CHOOSING: Final = {
    "case": "Only cases of this slug or glob.",
    "level": "Only MUST, SHOULD or MAY.",
    "role": "codec (default), prefill, decode, bootstrap, all.",
    "backend": "Only this backend.",
    "release": "Only at this release; default: the newest that fits.",
    "message": "Only cases about this message.",
    "known": "A list of known failures (TOML): they are strict xfails.",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options; those that filter may be given several times."""
    group = parser.getgroup("pdwire", "wire conformance of a KV-transfer backend")
    group.addoption("--pdwire-target", help="Test this backend: python:my.backend:make, cmd:… …")
    for name, what in _CHOOSING.items():
        group.addoption(f"--pdwire-{name}", action="append", default=[], help=what)


def pytest_configure(config: pytest.Config) -> None:
    """Bring the items in, when there is whom to test."""
    if config.getoption("--pdwire-target"):
        config.pluginmanager.import_plugin("pdwire_conformance.conform.pytest_items")
        return
    for name in _CHOOSING:
        if config.getoption(f"--pdwire-{name}"):
            raise pytest.UsageError(
                f"--pdwire-{name} needs --pdwire-target=…, for instance python:my.backend:make; "
                "a test class chooses with its own attributes"
            )
