"""The step language refuses what it does not know, and every case of ours is written in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pdwire.wire.table import ORDER
from pdwire_conformance.live.driven import FEATURES
from pdwire_conformance.live.load import live_cases, read_cases
from pdwire_conformance.live.script import STEPS, StepError, check_steps
from pdwire_conformance.live.steps import _DO
from pdwire_conformance.live.targets import open_live
from pdwire_conformance.suite.case import Live
from pdwire_conformance.testees.protocol import TesteeError

TABLE = """
[[case]]
slug = "loop/one"
level = "MUST"
role = "prefill"
purpose = "p"
expectation = "e"
steps = [{ do = "send", message = "ABORT", room = "a" }, { do = "alive" }]
"""


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ({"do": "sleep"}, "no step 'sleep'"),
        ({"room": "a"}, "no step None"),
        ({"do": "alive", "room": "a"}, "alive takes no 'room'"),
        ({"do": "status", "room": "a"}, "status needs 'is'"),
        ({"do": "status", "room": "a", "is": ["Done"]}, "'is' names 'Done'"),
        ({"do": "open", "room": 7}, "'room' is str, not 7"),
        ({"do": "open", "room": "a", "hold": True}, "'hold' is int, not True"),
        ({"do": "open", "room": "a", "ends": "all"}, "'ends' is both or target or player"),
        ({"do": "frames", "frames": ["hex:0"]}, "no frame 'hex:0'"),
    ],
)
def test_a_wrong_step_is_named_with_its_place(step: dict[str, object], told: str) -> None:
    with pytest.raises(StepError, match=f"loop/x, step 2: {told}"):
        check_steps("loop/x", [{"do": "alive"}, step])


def test_a_case_without_steps_is_none() -> None:
    with pytest.raises(StepError, match="loop/x: no steps"):
        check_steps("loop/x", [])


def test_every_step_is_done_by_something() -> None:
    assert set(STEPS) == set(_DO)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("role =", "rule ="), "no key 'rule'"),
        (('level = "MUST"', ""), "'level' is missing"),
        (('"MUST"', '"PERHAPS"'), "PERHAPS"),
        (('"prefill"', '"router"'), "router"),
        (('do = "alive"', 'do = "live"'), "no step 'live'"),
        (("steps = [", "steps = [["), "live-x.toml"),
        (('role = "prefill"', 'role = "prefill"\nreleases = "0.1.0.."'), "no release '0.1.0'"),
    ],
)
def test_a_file_that_is_wrong_says_where(
    change: tuple[str, str], told: str, tmp_path: Path
) -> None:
    path = tmp_path / "live-x.toml"
    path.write_text(TABLE.replace(*change))
    with pytest.raises(StepError, match=told):
        list(read_cases(path))


def test_a_case_is_for_the_releases_that_have_its_messages(tmp_path: Path) -> None:
    path = tmp_path / "live-x.toml"
    path.write_text(TABLE)
    found = {case.slug: case.releases for case in read_cases(path)}
    assert set(found) == {"loop/one/mooncake", "loop/one/nixl"}
    assert found["loop/one/nixl"] == ORDER[ORDER.index("0.5.13") :]


def test_every_row_about_running_ranks_has_a_case() -> None:
    told = {row for case in live_cases() for row in case.reports}
    rows = {
        *("L1", "L2", "L3", "L5"),  # L4 is Mori's, which runs in no engine of ours
        *(f"R{n}" for n in range(1, 11)),
        *(f"A{n}" for n in range(1, 4)),
        *(f"S{n}" for n in range(1, 8)),
        *(f"M{n}" for n in range(1, 4)),
        *("V4", "V5", "V6", "E1", "F2", "F14"),
    }
    assert rows <= told


def test_every_need_is_something_that_a_target_can_be() -> None:
    needs = {
        need for case in live_cases() if isinstance(case.check, Live) for need in case.check.needs
    }
    assert needs <= set(FEATURES)


def test_slugs_are_unique_and_name_their_backend() -> None:
    cases = live_cases()
    assert len({case.slug for case in cases}) == len(cases)
    assert all(case.slug.endswith(f"/{case.backend}") for case in cases)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("mine", "prefill", "mooncake", "0.5.23"), "no live target 'mine'"),
        (("pdwire", "router", "mooncake", "0.5.23"), "no role 'router'"),
        (("pdwire", "codec", "mooncake", "0.5.23"), "no live role"),
        (("pdwire", "prefill", "mori", "0.5.23"), "mori is not run live"),
        (("pdwire", "prefill", "mooncake", "9.9"), "no release '9.9'"),
        (("sglang==0.5.19", "prefill", "mooncake", "0.5.23"), "speaks its own release"),
        (("live:prefill@host", "prefill", "mooncake", "0.5.23"), "live:prefill@HOST:PORT"),
        (("live:decode@h:1", "prefill", "mooncake", "0.5.23"), "does not play the role prefill"),
    ],
)
def test_a_target_that_cannot_be_says_why(words: tuple[str, str, str, str], told: str) -> None:
    with pytest.raises(TesteeError, match=told):
        open_live(*words)
