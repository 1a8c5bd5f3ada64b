from __future__ import annotations

from collections.abc import Callable
from datetime import date

import pytest

from pdwire_conformance.conform.events import CaseEvent, EndEvent, Event, StartEvent
from pdwire_conformance.conform.known_file import read
from pdwire_conformance.conform.select import Filters
from pdwire_conformance.suite.case import (
    Case,
    Encode,
    Level,
    Live,
    Recognise,
    Recognised,
    Role,
)
from pdwire_conformance.testees.protocol import Testee, TesteeError

MakeCase = Callable[..., Case]
Events = Callable[..., list[Event]]
Verdicts = Callable[..., dict[str, str]]

LIST = """
schema = "pdwire.known/1"
[[known]]
cases = ["x/bad", "x/good-now", "x/dies"]
reason = "it is so"
link = "https://example.org/1"
[[flaky]]
cases = ["x/slow*"]
repetitions = 3
reason = "a race"
"""


def cases_of(events: list[Event]) -> list[CaseEvent]:
    return [event for event in events if isinstance(event, CaseEvent)]


def test_each_verdict_is_told_for_what_it_is(a_case: MakeCase, verdicts: Verdicts) -> None:
    suite = [
        a_case("x/bad", "fail"),
        a_case("x/dies", "die"),
        a_case("x/good-now"),
        a_case("x/new-bad", "fail"),
        a_case("x/new-dead", "die"),
        a_case("x/passes"),
        a_case("x/skipped", "skip"),
        a_case("x/slow", "third"),
        a_case("x/slow-never", "fail"),
    ]
    assert verdicts(suite, known=read("list.toml", LIST)) == {
        "x/bad": "known",
        "x/dies": "known",
        "x/good-now": "unexpected",
        "x/new-bad": "failed",
        "x/new-dead": "error",
        "x/passes": "passed",
        "x/skipped": "skipped",
        "x/slow": "flaky",
        "x/slow-never": "failed",
    }


def test_a_failure_carries_frames_names_and_a_line_that_runs_it_again(
    a_case: MakeCase, events: Events
) -> None:
    (case,) = cases_of(events([a_case("x/bad", "fail")], deadline_s=2.5))
    assert (case.expected, case.came) == ('{"room": 7}', '{"room": 8}')
    sent, came = case.trace
    assert (sent.way, sent.frames, sent.names) == ("sent", (b"fail x/bad".hex(),), ("room",))
    assert (came.way, came.text) == ("came", '{"values": {"room": 8}}')
    assert case.rerun == "pdwire conform fake --case x/bad --release 0.5.23 --deadline 2.5"


def test_a_target_of_several_words_is_quoted_in_the_rerun_line(
    a_case: MakeCase, events: Events
) -> None:
    (case,) = cases_of(events([a_case("x/bad", "fail")], target="cmd:./mine --flag"))
    assert case.rerun.startswith("pdwire conform 'cmd:./mine --flag' --case x/bad")


def test_passed_cases_keep_no_frames_unless_asked(a_case: MakeCase, events: Events) -> None:
    assert cases_of(events([a_case("x/one")]))[0].trace == ()
    assert len(cases_of(events([a_case("x/one")], traces=True))[0].trace) == 2


def test_start_and_end_frame_the_cases(a_case: MakeCase, events: Events) -> None:
    first, *_, last = events(
        [a_case("x/one"), a_case("x/two", "fail")], filters=Filters(levels=("MUST",))
    )
    assert isinstance(first, StartEvent)
    assert (first.name, first.selected, first.backends) == ("fake", 2, ("mooncake", "nixl"))
    assert first.releases == ("0.5.21", "0.5.22", "0.5.23")
    assert first.filters == {"levels": ["MUST"]}
    assert isinstance(last, EndEvent)
    assert last.counts == {"passed": 1, "failed": 1}
    assert last.problems == ()


def test_a_testee_that_dies_mid_batch_costs_only_the_guilty_case(
    a_case: MakeCase, events: Events, said: list[str]
) -> None:
    suite = [a_case(f"x/{n}", "die" if n == 3 else "pass") for n in range(6)]
    ended = cases_of(events(suite))
    assert [case.slug for case in ended if case.verdict == "error"] == ["x/3"]
    assert ended[3].reason == "it ended at die"
    assert sum(case.verdict == "passed" for case in ended) == 5
    assert said == [
        *("start", "ask 6", "end"),  # three answers came before it broke
        *("start", "ask 1", "end"),  # the guilty one
        *("start", "ask 1", "ask 1", "end"),
    ]


def test_one_that_breaks_only_when_asked_ahead_is_a_problem(
    a_case: MakeCase, events: Events
) -> None:
    *_, last = events([a_case("x/one"), a_case("x/two", "crowd")])
    assert isinstance(last, EndEvent)
    assert last.counts == {"passed": 2}
    assert "\n".join(last.problems) == (
        "the testee broke when it was asked 2 requests ahead, and not when they were asked one "
        "by one: it ended at crowd"
    )


def test_a_testee_that_leaves_python_does_not_take_the_suite_along(
    a_case: MakeCase, events: Events
) -> None:
    one, two = cases_of(events([a_case("x/one", "exit"), a_case("x/two")]))
    assert (one.verdict, one.reason) == ("error", "the testee left with status 3")
    assert two.verdict == "passed"


def test_restarts_have_an_end(a_case: MakeCase, events: Events, said: list[str]) -> None:
    suite = [a_case(f"x/{n}", "die") for n in range(6)]
    *ended, last = events(suite, restarts=3, batch=1)
    assert said.count("start") == 4
    assert isinstance(last, EndEvent)
    assert last.counts == {"error": 6}
    assert last.problems[0].startswith("the testee broke more than 3 times")
    assert cases_of(ended)[-1].reason == "not asked: the testee was started anew 3 times"


def test_a_testee_that_never_starts_is_a_problem_not_a_crash(
    a_case: MakeCase, events: Events
) -> None:
    def make() -> Testee:
        raise TesteeError("no such program")

    first, last = events([a_case("x/one")], make=make)
    assert isinstance(first, StartEvent)
    assert isinstance(last, EndEvent)
    assert last.problems == ("the testee does not start: no such program",)


def test_a_run_of_nothing_is_a_problem(a_case: MakeCase, events: Events) -> None:
    _, last = events([a_case("x/one", backend="mori", releases=("0.5.23",))])
    assert isinstance(last, EndEvent)
    assert "\n".join(last.problems) == (
        "nothing was run: no case that meets the filters applies to this testee; 1 case is about "
        "what it does not claim (a backend, message, operation or role)"
    )


def test_fail_fast_ends_after_the_first_bad_case(a_case: MakeCase, events: Events) -> None:
    suite = [a_case("x/1"), a_case("x/2", "fail"), a_case("x/3")]
    _, *cases, last = events(suite, fail_fast=True)
    assert [case.slug for case in cases_of(cases)] == ["x/1", "x/2"]
    assert isinstance(last, EndEvent)
    assert last.counts == {"passed": 1, "failed": 1}


def test_jobs_change_neither_order_nor_verdicts(a_case: MakeCase, verdicts: Verdicts) -> None:
    does = ("pass", "fail", "die", "skip")
    suite = [a_case(f"x/{n:02}", does[n % 4]) for n in range(40)]
    alone = verdicts(suite, batch=3)
    assert list(alone) == [case.slug for case in suite]
    assert list(verdicts(suite, batch=3, jobs=4).items()) == list(alone.items())


def test_repeat_holds_a_case_to_every_time(a_case: MakeCase, events: Events) -> None:
    (case,) = cases_of(events([a_case("x/slow", "third")], repeat=5))
    assert (case.verdict, case.reason) == ("failed", "2 of 5 times")


@pytest.mark.parametrize(("does", "attempt"), [("second", 2), ("third", 3)])
def test_a_flaky_pass_says_at_which_attempt(
    does: str, attempt: int, a_case: MakeCase, events: Events
) -> None:
    (case,) = cases_of(events([a_case("x/slow", does)], known=read("list.toml", LIST)))
    assert (case.verdict, case.reason) == ("flaky", f"passed at attempt {attempt}: a race")


def test_a_known_failure_carries_reason_and_link(a_case: MakeCase, events: Events) -> None:
    (case,) = cases_of(events([a_case("x/bad", "fail")], known=read("list.toml", LIST)))
    assert (case.reason, case.link) == ("it is so", "https://example.org/1")


def test_faults_of_a_list_are_problems_of_the_run(a_case: MakeCase, events: Events) -> None:
    text = LIST.replace('reason = "it is so"', 'reason = "it is so"\nexpires = 2026-01-01')
    suite = [a_case("x/bad", "fail"), a_case("x/good-now"), a_case("x/slow")]
    *_, last = events(suite, known=read("list.toml", text), today=date(2026, 6, 1))
    assert isinstance(last, EndEvent)
    assert last.problems == (
        "list.toml:3: expired on 2026-01-01: look again, or move the date",
        "list.toml:4: no case is called 'x/dies'; did you mean 'x/bad'?",
    )


def test_every_release_runs_a_case_at_each(a_case: MakeCase, events: Events) -> None:
    case = a_case("x/one", releases=("0.5.20", "0.5.22", "0.5.23"))
    ran = cases_of(events([case], filters=Filters(every_release=True)))
    assert [each.release for each in ran] == ["0.5.22", "0.5.23"]


def test_what_the_testee_does_not_claim_is_counted_and_no_item(
    a_case: MakeCase, events: Events, fake: Callable[..., Testee]
) -> None:
    def make() -> Testee:
        return fake(roles=(Role.CODEC,))

    recognise = Recognise(frames=(b"x",), expect=Recognised(message="TransferInfo"))
    suite = [
        a_case("x/mine"),
        a_case("x/skipped", "skip"),
        a_case("x/message", message="AbortRoom"),
        a_case("x/operation", check=Encode(values={}, expect=())),
        a_case("x/feature", check=recognise),
        a_case("x/role", role=Role.PREFILL, check=Live(steps=())),
        a_case("x/backend", backend="mori", releases=("0.5.23",)),
        a_case("x/filtered", message="AbortRoom", level=Level.MAY),
    ]
    text = LIST.replace('"x/bad", "x/good-now", "x/dies"', '"x/message"')
    known = read("list.toml", text.partition("[[flaky]]")[0])
    start, *cases, end = events(suite, make=make, filters=Filters(levels=("MUST",)), known=known)
    assert isinstance(start, StartEvent)
    assert (start.selected, start.unclaimed) == (2, 5)
    assert {case.slug: case.verdict.value for case in cases_of(cases)} == {
        "x/mine": "passed",
        "x/skipped": "skipped",
    }
    assert isinstance(end, EndEvent)
    assert end.problems == ()
