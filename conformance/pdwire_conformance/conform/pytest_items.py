"""pytest's side of the suite: an item a case and release, one testee for the session.

Rules:

* An item's id is ``pdwire::slug@release``; no test file is needed, and those that there are
  run as well.
* A known failure is a strict xfail. A list that is wrong is an item of its own that fails,
  so that it is seen whatever else is selected.
* The testee starts when items are collected and ends with the session.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Self

import pytest

from pdwire_conformance.suite.load import cases as whole_suite
from pdwire_conformance.testees.find import find_testee
from pdwire_conformance.testees.protocol import TesteeError

from .asked import OPTIONS, AskedError, filters_of
from .held import Held
from .known import KnownError, elsewhere, load, packaged
from .plan import Plan
from .select import Item
from .unclaimed import register, sentence

__all__ = [
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_report_header",
    "pytest_unconfigure",
]

_PLAN = pytest.StashKey[Plan]()
_UNUSED = pytest.StashKey[list[str]]()
_HELD = pytest.StashKey[Held]()
_NAME = "pdwire"


def pytest_configure(config: pytest.Config) -> None:
    """Read the options; what cannot be is a usage error."""
    config.addinivalue_line("markers", "pdwire: a case of the wire's conformance suite")
    target: str = config.getoption("--pdwire-target")
    suite = whole_suite()
    asked = {option: config.getoption(f"--pdwire-{option}") for option in OPTIONS}
    try:
        find_testee(target)
        filters = filters_of(asked, suite)
        added = load(map(Path, config.getoption("--pdwire-known")))
    except AskedError as fault:
        raise pytest.UsageError(f"--pdwire-{fault.option}: {fault}") from fault
    except (TesteeError, KnownError) as fault:
        raise pytest.UsageError(f"--pdwire: {fault}") from fault
    config.stash[_UNUSED] = elsewhere(added, [target])
    config.stash[_PLAN] = Plan(
        target=target,
        make=partial(find_testee, target),
        cases=suite,
        filters=filters,
        known=(*packaged(), *added),
    )


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Name the lists that are about others."""
    return [f"pdwire: --pdwire-known: {unused}" for unused in config.stash[_UNUSED]]


@pytest.hookimpl(tryfirst=True)  # before -k and -m deselect
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the suite's items to those of the session."""
    try:
        held = Held(config.stash[_PLAN])
    except TesteeError as fault:
        raise pytest.UsageError(f"--pdwire-target: it does not start: {fault}") from fault
    config.stash[_HELD] = held
    if not held.items:
        nothing = "--pdwire-target: no case that meets the filters applies to it"
        unclaimed = f"; {sentence(held.unclaimed)}" if held.unclaimed else ""
        raise pytest.UsageError(nothing + unclaimed)
    register(config, held.plan.target, held.unclaimed)
    suite: Suite = Suite.from_parent(session, name=_NAME, nodeid=_NAME)
    suite.held = held
    items.extend(session.genitems(suite))


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the testee."""
    if (held := config.stash.get(_HELD, None)) is not None:
        held.close()


class Suite(pytest.Collector):
    """All items."""

    held: Held

    def collect(self) -> Iterator[pytest.Item]:
        """One item a case, and one for faults of the lists where there are any."""
        if problems := self.held.problems():
            listed: ListItem = ListItem.from_parent(self, name="known-lists")
            listed.problems = problems
            yield listed
        for item in self.held.items:
            yield CaseItem.of(self, item)


class _Item(pytest.Item):
    def reportinfo(self) -> tuple[Path, None, str]:
        """No file, and a headline that does not end as the id does: pytest would split that."""
        return self.config.rootpath / _NAME, None, self.name.replace("@", " at ")


class CaseItem(_Item):
    """One case at one release."""

    item: Item
    held: Held

    @classmethod
    def of(cls, suite: Suite, item: Item) -> Self:
        """The item of a case."""
        made: Self = cls.from_parent(suite, name=item.id)
        made.item, made.held = item, suite.held
        made.add_marker(pytest.mark.pdwire)
        made.user_properties += [
            ("level", str(item.case.level)),
            ("clauses", " ".join(item.case.clauses)),
        ]
        if reason := suite.held.expected_to_fail(item):
            made.add_marker(pytest.mark.xfail(reason=reason, strict=True))
        return made

    def runtest(self) -> None:
        """Ask; the test ends as the case does."""
        self.held.test(self.item)


class ListItem(_Item):
    """Fails, with what is wrong in the lists of known failures."""

    problems: list[str]

    def runtest(self) -> None:
        """Fail."""
        pytest.fail("\n".join(self.problems), pytrace=False)
