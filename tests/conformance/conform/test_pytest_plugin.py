"""The suite as pytest items and as a test class, run by a pytest of its own in an empty folder."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from pdwire_conformance.conform import base_class, pytest_items
from pdwire_conformance.suite.load import cases

pytest_plugins = ["pytester"]

LOADED = (base_class, pytest_items, cases)
"""Here before the inner runs, which forget what they import: the suite is derived once."""

CASES = "mooncake/TransferInfo/r[23]/frame-3-no-[hp]o[rs]t"
FIRST = "mooncake/TransferInfo/r3/frame-3-no-host@0.5.23"
MINE = """
from dataclasses import replace
from pdwire_conformance.testees.ours import Generated
from pdwire_conformance.testees.protocol import Refused

class Right(Generated):
    closed = 0
    def close(self):
        print("closed", flush=True)

class One(Generated):
    def hello(self):
        messages = {"mooncake": {"TransferInfo": ("decode",)}}
        return replace(super().hello(), messages=messages, releases={"mooncake": ("0.5.23",)})

class Lenient(Generated):
    def decode(self, backend, release, message, frames):
        try:
            return super().decode(backend, release, message, frames)
        except Refused as refused:
            if frames[3] != b":5000":
                raise
            return {"room": 3}
"""
KNOWN = """
schema = "pdwire.known/1"
[[known]]
cases = ["*/TransferInfo/*/frame-3-no-host"]
reason = "it takes a session without a host"
"""

Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester) -> Run:
    """pytest in an empty folder but for ``mine.py``; the rest is its options."""
    assert len(LOADED) == 3
    pytester.makepyfile(mine=MINE)
    return lambda *options: pytester.runpytest_inprocess(
        "-p", "no:cacheprovider", "-p", "no:randomly", *options
    )


def test_cases_are_items_without_any_test_file(run: Run) -> None:
    result = run("--pdwire-target=python:mine:Right", f"--pdwire-case={CASES}", "-v")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines([f"pdwire::{FIRST} PASSED*"])
    result.stdout.fnmatch_lines(["closed"])


def test_a_failure_shows_frames_expectation_and_how_to_run_it_again(run: Run) -> None:
    result = run("--pdwire-target=python:mine:Lenient", f"--pdwire-case={CASES}")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        [
            "FAILED mooncake/TransferInfo/r3/frame-3-no-host  (MUST, mooncake, 0.5.23, codec)",
            '*3 mooncake_session_id   3a35303030 ":5000"',
            "*expected: an error frame-value at frame 3 (mooncake_session_id)",
            '*came:     {"room": 3}',
            "*rerun:    pdwire conform python:mine:Lenient --case mooncake/TransferInfo/r3/*",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")


def test_known_failures_are_strict_xfails(run: Run, pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("known.toml").write_text(KNOWN, encoding="utf-8")
    options = (f"--pdwire-case={CASES}", "--pdwire-known=known.toml")
    run("--pdwire-target=python:mine:Lenient", *options).assert_outcomes(passed=2, xfailed=2)
    result = run("--pdwire-target=python:mine:Right", *options)
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["*XPASS(strict)*it takes a session without a host"])


def test_a_list_about_others_is_named_in_the_header(run: Run, pytester: pytest.Pytester) -> None:
    text = KNOWN.replace("[[known]]", '[[known]]\ntargets = ["cmd:./mine"]')
    pytester.path.joinpath("known.toml").write_text(text, encoding="utf-8")
    target = "python:mine:Right"
    result = run(f"--pdwire-target={target}", f"--pdwire-case={CASES}", "--pdwire-known=known.toml")
    result.assert_outcomes(passed=4)
    about = f"no entry is about {target} (they are about cmd:./mine)"
    result.stdout.fnmatch_lines([f"pdwire: --pdwire-known: known.toml: {about}"])


def test_a_list_that_is_wrong_fails_as_an_item(run: Run, pytester: pytest.Pytester) -> None:
    text = KNOWN.replace("no-host", "no-hose")
    pytester.path.joinpath("known.toml").write_text(text, encoding="utf-8")
    result = run(
        "--pdwire-target=python:mine:Right", f"--pdwire-case={CASES}", "--pdwire-known=known.toml"
    )
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(["known.toml:4: no case is called *no-hose'"])


def test_what_the_testee_does_not_claim_is_one_line_and_no_item(run: Run) -> None:
    result = run("--pdwire-target=python:mine:One", "--pdwire-case=*/TransferInfo/*/count-0")
    claim = "* cases are about what it does not claim (a backend, *"
    result.stdout.fnmatch_lines([f"pdwire: python:mine:One: {claim}"])
    assert set(result.parseoutcomes()) == {"passed"}


def test_keywords_and_markers_select_items(run: Run) -> None:
    options = ("--pdwire-target=python:mine:Right", f"--pdwire-case={CASES}")
    result = run(*options, "-k", "r3 and host")
    result.assert_outcomes(passed=1, deselected=3)
    result.stdout.fnmatch_lines(["collected 4 items / 3 deselected / 1 selected"])
    run(*options, "-m", "not pdwire").assert_outcomes(deselected=4)


def test_items_run_beside_the_tests_of_the_folder(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_own():\n    pass\n")
    result = run("--pdwire-target=python:mine:Right", f"--pdwire-case={CASES}")
    result.assert_outcomes(passed=5)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--pdwire-target=nobody",), "*no testee 'nobody'*"),
        (("--pdwire-target=python:mine:Nobody",), "*it does not start*Nobody*"),
        (("--pdwire-target=pdwire", "--pdwire-case=nothing"), "*no case 'nothing'*--list *"),
        (
            ("--pdwire-target=pdwire", "--pdwire-level=MSUT"),
            "*--pdwire-level: no level 'MSUT'; did you mean 'MUST'? (known: MUST, SHOULD, MAY)",
        ),
        (
            ("--pdwire-target=pdwire", "--pdwire-backend=mori", "--pdwire-case=nixl/*"),
            "*no case that meets the filters*",
        ),
        (("--pdwire-case=mooncake/*",), "*--pdwire-case needs --pdwire-target=*"),
        (("--pdwire-known=none.toml",), "*--pdwire-known needs --pdwire-target=*"),
        (("--pdwire-target=pdwire", "--pdwire-known=none.toml"), "*none.toml: cannot be read*"),
    ],
)
def test_what_cannot_be_is_a_usage_error(run: Run, options: tuple[str, ...], told: str) -> None:
    result = run(*options)
    assert result.ret is pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([told])


def test_without_the_option_nothing_is_loaded_or_run(run: Run) -> None:
    assert run().ret is pytest.ExitCode.NO_TESTS_COLLECTED
    code = (
        "import sys; import pdwire_conformance.conform.pytest_plugin as plugin; "
        "print(*sorted(name for name in sys.modules if 'pdwire' in name))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.split() == [
        "pdwire_conformance",
        "pdwire_conformance.conform",
        "pdwire_conformance.conform.pytest_plugin",
    ]


CLASS = """
from mine import Lenient, Right
from pdwire_conformance.conform.base_class import BackendConformance

class TestMine(BackendConformance):
    case = ["CASES"]
    known = KNOWN

    def make_testee(self):
        return TESTEE()
"""


def a_class(testee: str, known: str = "[]") -> str:
    return CLASS.replace("CASES", CASES).replace("TESTEE", testee).replace("KNOWN", known)


def test_a_class_runs_every_case_as_a_parametrised_test(
    run: Run, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(a_class("Right"))
    result = run("-v")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines([f"*::TestMine::test_case[[]{FIRST}] PASSED*"])
    result.stdout.fnmatch_lines(["closed"])


def test_a_class_that_fails_says_which_test_to_run_again(
    run: Run, pytester: pytest.Pytester
) -> None:
    path = pytester.makepyfile(a_class("Lenient"))
    result = run()
    result.assert_outcomes(passed=2, failed=2)
    rerun = f"'{path.name}::TestMine::test_case[[]{FIRST}]'"
    result.stdout.fnmatch_lines(['*came:     {"room": 3}', f"*rerun:    pytest {rerun}"])


def test_a_class_has_known_failures(run: Run, pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("known.toml").write_text(KNOWN, encoding="utf-8")
    path = pytester.makepyfile(a_class("Lenient", '["known.toml"]'))
    run().assert_outcomes(passed=2, xfailed=2)
    path.write_text(a_class("Right", '["known.toml"]'), encoding="utf-8")
    run().assert_outcomes(passed=2, failed=2)  # strict: what passes has left the list to mend


def test_a_class_whose_list_is_wrong_is_not_collected(run: Run, pytester: pytest.Pytester) -> None:
    text = KNOWN.replace("no-host", "no-hose")
    pytester.path.joinpath("known.toml").write_text(text, encoding="utf-8")
    pytester.makepyfile(a_class("Right", '["known.toml"]'))
    result = run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*known.toml:4: no case is called *no-hose'"])


HEAD = """
from mine import Right
from pdwire_conformance.conform.base_class import BackendConformance

class TestMine(BackendConformance):
"""
MADE = "    def make_testee(self):\n        return Right()\n"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (f'level = ["MUTS"]\n{MADE}', "level: no level 'MUTS'; did you mean 'MUST'? (known: *"),
        (f'case = "nope*"\n{MADE}', "case: no case 'nope[*]'*"),
        (f'backend = ["moncake"]\n{MADE}', "*did you mean 'mooncake'? (known: *"),
        (f'release = "0.5.1x"\n{MADE}', "release: no release '0.5.1x'*"),
        (f"level = [1]\n{MADE}", "level is [[]1], expected a list of texts"),
        (f'cases = ["x"]\n{MADE}', "no attribute 'cases'; did you mean 'case'? (known: case, *"),
        ('level = ["MUST"]', "make_testee is missing: *"),
        ("def make_testee(self):\n        return 7", "*expected a CodecTestee or a Testee*int"),
        (f'known = ["none.toml"]\n{MADE}', "known: none.toml: cannot be read: *"),
        (f'known = "known.toml"\n{MADE}', "known: known.toml: no entry is about TestMine *"),
        (f'backend = "mori"\n    case = "mooncake/*"\n{MADE}', "no case that meets the filters *"),
    ],
)
def test_a_class_that_cannot_be_is_told_at_collection(
    body: str, told: str, run: Run, pytester: pytest.Pytester
) -> None:
    text = KNOWN.replace("[[known]]", '[[known]]\ntargets = ["python:mine:Right"]')
    pytester.path.joinpath("known.toml").write_text(text, encoding="utf-8")
    pytester.makepyfile(f"{HEAD}    {body}\n")
    result = run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*TestMine: {told}"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*base_class.py*")


def test_a_lone_word_of_a_class_is_a_list_of_one(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(f'{HEAD}    level = "must"\n    case = "{FIRST[:-7]}"\n{MADE}')
    run().assert_outcomes(passed=1)


def test_a_class_may_have_methods_and_names_of_its_own(run: Run, pytester: pytest.Pytester) -> None:
    own = "    _port = 7\n    def test_own(self):\n        assert self._port == 7\n"
    base = f'{HEAD}    __test__ = False\n    case = "{CASES}"\n{own}'
    pytester.makepyfile(f"{base}\nclass TestMore(TestMine):\n{MADE}")
    run().assert_outcomes(passed=5)


def test_a_list_stands_beside_the_class_and_may_call_the_testee_as_the_verb_does(
    run: Run, pytester: pytest.Pytester
) -> None:
    text = KNOWN.replace("[[known]]", '[[known]]\ntargets = ["python:mine:Lenient"]')
    pytester.mkdir("sub").joinpath("known.toml").write_text(text, encoding="utf-8")
    named = 'known = ["known.toml"]\n    target = "python:mine:Lenient"'
    body = a_class("Lenient").replace("known = []", named)
    pytester.path.joinpath("sub", "test_sub.py").write_text(body, encoding="utf-8")
    pytester.syspathinsert()
    run().assert_outcomes(passed=2, xfailed=2)


def test_a_class_says_how_much_its_testee_does_not_claim(
    run: Run, pytester: pytest.Pytester
) -> None:
    body = f'    case = "*/TransferInfo/*/count-0"\n{MADE}'
    pytester.makepyfile(f"{HEAD}{body}".replace("Right", "One"))
    result = run()
    result.stdout.fnmatch_lines(["pdwire: TestMine: * cases are about what it does not claim (*"])
    assert set(result.parseoutcomes()) == {"passed"}
