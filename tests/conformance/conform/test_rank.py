"""Live cases: what becomes of them, whatever becomes of the rank."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self

import pytest

from pdwire_conformance.conform import rank as module
from pdwire_conformance.conform.events import CaseEvent, Event, TraceLine
from pdwire_conformance.conform.held import Held
from pdwire_conformance.conform.judge import Judgement
from pdwire_conformance.conform.known_file import read
from pdwire_conformance.conform.plan import Plan
from pdwire_conformance.live.script import StepError
from pdwire_conformance.suite.case import Case, Live, Role
from pdwire_conformance.testees.protocol import Testee, TesteeError

MakeCase = Callable[..., Case]
Events = Callable[..., list[Event]]


class FakeRank:
    """Knows when it was opened and closed."""

    def __init__(self, said: list[str], name: str) -> None:
        self.said, self.name, self.stale = said, name, False

    def __enter__(self) -> Self:
        self.said.append(f"open {self.name}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.said.append(f"close {self.name}")


@pytest.fixture(autouse=True)
def ranks(said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """No process: a case does what the last part of its slug says."""
    times: dict[str, int] = {}

    def open_live(target: str, role: str, backend: str, release: str) -> FakeRank:
        if backend == "mori":
            raise TesteeError(f"{backend} is not run live")
        return FakeRank(said, f"{target} {role} {backend} {release}")

    def run_script(case: Case, _: FakeRank) -> tuple[Judgement, tuple[TraceLine, ...]]:
        said.append(case.slug)
        times[case.slug] = times.get(case.slug, 0) + 1
        match case.slug.rpartition("/")[2]:
            case "fail":
                told = Judgement(ok=False, expected="step 2: alive", came="nothing")
                return told, (TraceLine(way="sent", frames=("37",)),)
            case "skip":
                return Judgement(ok=False, skip="it is not driven"), ()
            case "third":
                return Judgement(ok=times[case.slug] >= 3), ()
            case "hang":
                raise TimeoutError("no answer in 12 s")
            case "wrong":
                raise StepError("step 1: no step 'dnace'")
        return Judgement(ok=True), ()

    monkeypatch.setattr(module, "open_live", open_live)
    monkeypatch.setattr(module, "run_script", run_script)
    spec = f"{module.__name__}.find_spec"
    monkeypatch.setattr(spec, lambda name: name if name == "mooncake" else None)


@pytest.fixture
def live(a_case: MakeCase) -> MakeCase:
    """A live case of a prefill rank."""

    def make(slug: str, needs: tuple[str, ...] = (), **told: object) -> Case:
        return a_case(slug, **{"role": Role.PREFILL, "check": Live(steps=(), needs=needs), **told})

    return make


def told(events: list[Event]) -> dict[str, tuple[str, str]]:
    found = [event for event in events if isinstance(event, CaseEvent)]
    return {event.slug: (event.verdict.value, event.reason) for event in found}


def test_verdicts_of_live_cases(live: MakeCase, a_case: MakeCase, events: Events) -> None:
    suite = [live(f"x/{name}") for name in ("fail", "pass", "skip", "wrong")]
    assert told(events([*suite, a_case("y")])) == {
        "y": ("passed", ""),
        "x/fail": ("failed", ""),
        "x/pass": ("passed", ""),
        "x/skip": ("skipped", "it is not driven"),
        "x/wrong": ("error", "the case itself is wrong: step 1: no step 'dnace'"),
    }


def test_a_failure_has_the_scripts_trace_and_a_rerun_with_its_role(
    live: MakeCase, events: Events
) -> None:
    _, case, _ = events([live("x/fail")])
    assert isinstance(case, CaseEvent)
    assert case.trace == (TraceLine(way="sent", frames=("37",)),)
    assert case.rerun == "pdwire conform fake --case x/fail --release 0.5.23 --role prefill"


def test_a_rank_is_opened_once_for_all_its_cases(
    live: MakeCase, events: Events, said: list[str]
) -> None:
    suite = [
        live("a"),
        live("b", role=Role.DECODE),
        live("c", needs=("staging",)),
        live("d"),
    ]
    events(suite)
    assert [line for line in said if line not in {"start", "end"}] == [
        "open fake prefill mooncake 0.5.23",
        *("a", "d", "c"),
        "close fake prefill mooncake 0.5.23",
        "open fake decode mooncake 0.5.23",
        "b",
        "close fake decode mooncake 0.5.23",
    ]


def test_what_cannot_be_run_here_is_skipped_with_the_reason(
    live: MakeCase, events: Events, fake: Callable[..., Testee]
) -> None:
    def make() -> Testee:
        return fake(releases={"mori": ("0.5.23",), "nixl": ("0.5.23",)})

    suite = [live("x/1", backend="mori"), live("x/2", backend="nixl")]
    assert told(events(suite, make=make)) == {
        "x/1": ("skipped", "mori is not run live"),
        "x/2": ("skipped", "the engine is not installed: pip install 'pdwire[nixl]'"),
    }


def test_a_rank_that_twice_does_not_answer_is_not_tried_again(
    live: MakeCase, events: Events, said: list[str]
) -> None:
    suite = [live(f"{n}/hang") for n in range(3)] + [live("x/pass", needs=("staging",))]
    ended = told(events(suite))
    why = "TimeoutError: no answer in 12 s"
    assert ended == {
        "0/hang": ("error", why),
        "1/hang": ("error", why),
        "2/hang": ("error", f"not run: {why}"),
        "x/pass": ("passed", ""),  # another make of the rank
    }
    assert "2/hang" not in said


def test_lists_and_repetitions_hold_for_live_cases_too(live: MakeCase, events: Events) -> None:
    listed = read(
        "list.toml",
        'schema = "pdwire.known/1"\n'
        '[[known]]\ncases = ["x/fail"]\nreason = "so"\n'
        '[[flaky]]\ncases = ["x/third"]\nreason = "a race"\nrepetitions = 3\n',
    )
    suite = [live("x/fail"), live("x/third")]
    assert told(events(suite, known=listed)) == {
        "x/fail": ("known", "so"),
        "x/third": ("flaky", "passed at attempt 3: a race"),
    }
    assert told(events([live("y/third")], repeat=4)) == {"y/third": ("failed", "2 of 4 times")}


def test_a_test_session_keeps_every_rank(
    live: MakeCase, fake: Callable[..., Testee], said: list[str]
) -> None:
    suite = (live("a"), live("b", role=Role.DECODE), live("x/fail"))
    held = Held(Plan(target="fake", make=fake, cases=suite))
    prefill, fails, decode = held.items
    for item in (prefill, decode, prefill):
        held.test(item)
    with pytest.raises(pytest.fail.Exception, match="expected: step 2: alive"):
        held.test(fails)
    held.close()
    assert sum(line.startswith("open") for line in said) == 2
    assert sum(line.startswith("close") for line in said) == 2
