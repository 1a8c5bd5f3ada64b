"""The suite as a test class: subclass, say how to make the testee, run pytest.

::

    from pdwire_conformance.conform.base_class import BackendConformance


    class TestMyBackend(BackendConformance):
        level = ["MUST"]
        known = ["known.toml"]

        def make_testee(self) -> CodecTestee:
            return MyBackend()

Rules:

* Every case is a parametrised run of :meth:`BackendConformance.test_case`, its id is
  ``slug@release``, and what is known to fail is a strict xfail.
* The testee is made when tests are collected, lives for the session, and is made anew when
  it breaks.
* What cannot be is an error when tests are collected, and says what there is: a word that
  names nothing, an attribute that there is not, a list that is missing or is about other
  targets, no ``make_testee``. None of it ends in a green run that tests nothing.
* Attributes that are yours begin with an underscore; methods, fixtures and tests need not.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest

from pdwire.cli.console import did_you_mean
from pdwire_conformance.suite.case import Case
from pdwire_conformance.suite.load import cases as whole_suite
from pdwire_conformance.testees.codec import CodecTestee
from pdwire_conformance.testees.inprocess import InProcess
from pdwire_conformance.testees.protocol import Testee, TesteeError

from .asked import AskedError, filters_of
from .held import Held
from .known import KnownError, elsewhere, load
from .known_file import Entry
from .plan import Plan
from .select import Filters, Item
from .unclaimed import register, sentence

__all__ = ["BackendConformance"]

_CHOOSING: Final = ("case", "level", "backend", "release", "message")
_SETTINGS: Final = (*_CHOOSING, "known", "target")
_PYTEST: Final = ("pytestmark",)


class BackendConformance:
    """What a backend's own test class derives from; see the module's text.

    The class variables narrow what runs, as the options of ``pdwire conform`` do: each is a
    list of words, or one word.
    """

    __test__: ClassVar[bool] = False

    case: ClassVar[str | Sequence[str]] = ()
    """Slugs or globs."""
    level: ClassVar[str | Sequence[str]] = ()
    backend: ClassVar[str | Sequence[str]] = ()
    release: ClassVar[str | Sequence[str]] = ()
    message: ClassVar[str | Sequence[str]] = ()
    known: ClassVar[str | Path | Sequence[str | Path]] = ()
    """Lists of known failures (TOML), seen from the file of the class."""
    target: ClassVar[str] = ""
    """What lists call the testee in ``targets``; the name of the class, if not said."""

    def __init_subclass__(cls, **told: Any) -> None:  # noqa: ANN401
        """Let pytest collect a class that derives, unless it says otherwise itself."""
        super().__init_subclass__(**told)
        if "__test__" not in vars(cls):
            cls.__test__ = True

    def make_testee(self) -> CodecTestee | Testee:
        """A new testee: codecs of one's own, or anything that can be asked."""
        raise NotImplementedError

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """A run of ``test_case`` for each case that applies; pytest calls this."""
        if "pdwire_item" not in metafunc.fixturenames:
            return
        held = self._held(whole_suite())
        metafunc.config.add_cleanup(held.close)
        register(metafunc.config, held.plan.target, held.unclaimed)
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

    def _held(self, suite: tuple[Case, ...]) -> Held:
        _refuse(type(self), list(_faults(type(self))))
        try:
            held = Held(self._plan(suite))
        except TesteeError as fault:
            raise _refusal(type(self), [f"make_testee: it does not start: {fault}"]) from fault
        problems = held.problems()
        if not held.items:
            unclaimed = f"; {sentence(held.unclaimed)}" if held.unclaimed else ""
            problems.append(f"no case that meets the filters applies to the testee{unclaimed}")
        if problems:
            held.close()
        _refuse(type(self), problems)
        return held

    def _plan(self, suite: tuple[Case, ...]) -> Plan:
        return Plan(
            target=_target(type(self)),
            make=self._made,
            cases=suite,
            filters=_filters(type(self), suite),
            known=_known(type(self)),
        )

    def _made(self) -> Testee:
        made: object = self.make_testee()
        if isinstance(made, CodecTestee):
            return InProcess(_target(type(self)), lambda: made)
        if not all(hasattr(made, name) for name in ("__enter__", "hello", "ask")):
            came = type(made).__name__
            raise TesteeError(f"expected a CodecTestee or a Testee of it, came {came}")
        return made  # type: ignore[return-value]  # it has what the protocol asks for


_Class = type[BackendConformance]


def _refuse(cls: _Class, faults: list[str]) -> None:
    if faults:
        raise _refusal(cls, faults)


def _refusal(cls: _Class, faults: list[str]) -> pytest.Collector.CollectError:
    return pytest.Collector.CollectError(
        "\n".join(f"{cls.__qualname__}: {line}" for fault in faults for line in fault.split("\n"))
    )


def _faults(cls: _Class) -> Iterator[str]:
    """What is wrong with the class itself."""
    for name in _own_data(cls):
        hint = did_you_mean(name, _SETTINGS)
        yield (
            f"no attribute {name!r}{hint} (known: {', '.join(_SETTINGS)}; "
            "begin the name of one of your own with an underscore)"
        )
    for name in (*_CHOOSING, "known"):
        kinds = (str, Path) if name == "known" else (str,)
        if not all(isinstance(word, kinds) for word in _words(getattr(cls, name))):
            yield f"{name} is {getattr(cls, name)!r}, expected a list of texts"
    target: object = cls.target
    if not isinstance(target, str):
        yield f"target is {target!r}, expected a text"
    if cls.make_testee is BackendConformance.make_testee:
        yield "make_testee is missing: define it, and let it return your CodecTestee"


def _own_data(cls: _Class) -> Iterator[str]:
    """Public attributes that are no settings, no methods and no descriptors."""
    for base in cls.__mro__:
        if issubclass(base, BackendConformance) and base is not BackendConformance:
            for name, value in vars(base).items():
                is_code = callable(value) or hasattr(value, "__get__")
                if not (name.startswith("_") or is_code or name in (*_SETTINGS, *_PYTEST)):
                    yield name


def _words(told: object) -> tuple[Any, ...]:
    """A lone word is a list of one; what is no list at all is a word, and refused as one."""
    return tuple(told) if isinstance(told, list | tuple | set | frozenset) else (told,)


def _target(cls: _Class) -> str:
    return cls.target or cls.__qualname__


def _filters(cls: _Class, suite: Sequence[Case]) -> Filters:
    try:
        return filters_of({name: _words(getattr(cls, name)) for name in _CHOOSING}, suite)
    except AskedError as fault:
        raise _refusal(cls, [f"{fault.option}: {fault}"]) from fault


def _known(cls: _Class) -> tuple[Entry, ...]:
    folder = _folder(next(base for base in cls.__mro__ if "known" in vars(base)))
    try:
        entries = load(folder / path for path in _words(cls.known))
    except KnownError as fault:
        raise _refusal(cls, [f"known: {each}" for each in fault.faults]) from fault
    advice = "set the attribute target to what the list calls the testee"
    _refuse(cls, [f"known: {each}: {advice}" for each in elsewhere(entries, [_target(cls)])])
    return entries


def _folder(base: type) -> Path:
    """Where the class stands that says ``known``, as seen from here where that is below."""
    file = getattr(sys.modules.get(base.__module__), "__file__", None)
    folder = Path(file).resolve().parent if file else Path.cwd()
    here = Path.cwd().resolve()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder


def _marks(held: Held, item: Item) -> tuple[pytest.MarkDecorator, ...]:
    reason = held.expected_to_fail(item)
    return (pytest.mark.xfail(reason=reason, strict=True),) if reason else ()
