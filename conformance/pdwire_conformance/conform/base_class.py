"""The suite as a test class: subclass, say how to make the testee, run pytest.

::

    from pdwire_conformance.conform.base_class import BackendConformance


    class TestMyBackend(BackendConformance):
        def make_testee(self) -> CodecTestee:
            return MyBackend()

Rules:

* Every case is a parametrised run of :meth:`BackendConformance.test_case`, its id is
  ``slug@release``, and what is known to fail is a strict xfail.
* The testee is made when tests are collected, lives for the session, and is made anew when
  it breaks.
"""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from pdwire_conformance.suite.case import Role
from pdwire_conformance.suite.load import cases as whole_suite
from pdwire_conformance.testees.codec import CodecTestee
from pdwire_conformance.testees.inprocess import InProcess
from pdwire_conformance.testees.protocol import Testee

from .held import Held
from .known import load
from .plan import Plan
from .select import Filters, Item

__all__ = ["BackendConformance"]


class BackendConformance(ABC):
    """What a backend's own test class derives from; see the module's text.

    The class variables narrow what runs, as the options of ``pdwire conform`` do.
    """

    known: ClassVar[Sequence[str | Path]] = ()
    """Lists of known failures (TOML)."""
    case: ClassVar[Sequence[str]] = ()
    """Slugs or globs."""
    level: ClassVar[Sequence[str]] = ()
    backend: ClassVar[Sequence[str]] = ()
    release: ClassVar[Sequence[str]] = ()

    @abstractmethod
    def make_testee(self) -> CodecTestee | Testee:
        """A new testee: codecs of one's own, or anything that can be asked."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """A run of ``test_case`` for each case that applies; pytest calls this."""
        if "pdwire_item" not in metafunc.fixturenames:
            return
        held = Held(self._plan())
        metafunc.config.add_cleanup(held.close)
        if problems := held.problems():
            held.close()
            raise pytest.UsageError("\n".join(problems))
        metafunc.parametrize(
            ("pdwire_held", "pdwire_item"),
            [pytest.param(held, item, id=item.id, marks=_marks(held, item)) for item in held.items],
        )

    def test_case(
        self, pdwire_held: Held, pdwire_item: Item, request: pytest.FixtureRequest
    ) -> None:
        """One case of the suite."""
        __tracebackhide__ = True
        pdwire_held.test(pdwire_item, rerun=shlex.join(["pytest", request.node.nodeid]))

    def _plan(self) -> Plan:
        return Plan(
            target=type(self).__qualname__,
            make=self._made,
            cases=whole_suite(),
            filters=Filters(
                cases=tuple(self.case),
                levels=tuple(self.level),
                roles=(Role.CODEC,),
                backends=tuple(self.backend),
                releases=tuple(self.release),
            ),
            known=load(map(Path, self.known)),
        )

    def _made(self) -> Testee:
        made = self.make_testee()
        if isinstance(made, CodecTestee):
            return InProcess(type(self).__qualname__, lambda: made)
        return made


def _marks(held: Held, item: Item) -> tuple[pytest.MarkDecorator, ...]:
    reason = held.expected_to_fail(item)
    return (pytest.mark.xfail(reason=reason, strict=True),) if reason else ()
