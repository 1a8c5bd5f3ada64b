"""How many cases are about what a testee does not claim: one line, wherever a run is told.

Such cases are no items of a run: of a testee that claims one message, thousands of them
would bury what was judged.
"""

from __future__ import annotations

from typing import Final

import pytest

__all__ = ["register", "sentence"]

_NAME: Final = "pdwire-unclaimed"


def sentence(number: int) -> str:
    """``3 cases are about what it does not claim``."""
    what = "1 case is" if number == 1 else f"{number:,} cases are"
    return f"{what} about what it does not claim (a backend, message, operation or role)"


class _Told:
    """The lines, printed when all tests are collected."""

    def __init__(self) -> None:
        self.lines = list[str]()

    def pytest_report_collectionfinish(self) -> list[str]:
        """For pytest to print."""
        return self.lines


def register(config: pytest.Config, target: str, number: int) -> None:
    """Say so in the report of a test session, if there are any."""
    told = config.pluginmanager.get_plugin(_NAME)
    if told is None:
        told = _Told()
        config.pluginmanager.register(told, _NAME)
    if number:
        told.lines.append(f"pdwire: {target}: {sentence(number)}")
