"""JUnit XML that a CI system opens."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

from pdwire_conformance.conform.events import Verdict
from pdwire_conformance.reports.junit import render

from .conftest import CASE, FAILED, run_of

KNOWN = replace(
    CASE, slug="k", verdict=Verdict.KNOWN, reason="int() reads spaces", link="https://x.test/1"
)


def test_every_verdict_has_its_element() -> None:
    cases = [
        CASE,
        replace(FAILED, slug="f"),
        replace(CASE, slug="e", verdict=Verdict.ERROR, reason="no answer in 5 s"),
        replace(CASE, slug="u", verdict=Verdict.UNEXPECTED),
        replace(CASE, slug="s", verdict=Verdict.SKIPPED, reason="it has no backend nixl"),
        KNOWN,
        replace(CASE, slug="y", verdict=Verdict.FLAKY),
    ]
    root = ET.fromstring(render(run_of(*cases)))  # noqa: S314 (ours)
    (suite,) = root
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "7",
        "failures": "2",
        "errors": "1",
        "skipped": "2",
    }
    assert (root.get("tests"), root.get("failures")) == ("7", "2")
    tests = {test.get("name"): test for test in suite.iter("testcase")}
    assert tests["f"].get("classname") == "registration"
    failure = tests["f"].find("failure")
    assert failure is not None
    assert failure.get("message", "").startswith("expected an error frame-value at frame 14")
    assert "2 staging_base_ptr         00000000000000" in (failure.text or "")
    assert "rerun: pdwire conform" in (failure.text or "")
    skipped = tests["k"].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "known to fail: int() reads spaces"
    assert skipped.text == "https://x.test/1"


def test_names_are_unique_where_a_case_ran_in_several_releases() -> None:
    older = replace(CASE, release="0.5.19")
    root = ET.fromstring(render(run_of(CASE, older, replace(CASE, slug="b"))))  # noqa: S314
    assert [test.get("name") for test in root.iter("testcase")] == [
        "registration/staging-frame-14-width [0.5.23]",
        "registration/staging-frame-14-width [0.5.19]",
        "b",
    ]


def test_characters_that_xml_cannot_hold_are_escaped() -> None:
    came = "a\x00\x1b\ufffe\ud800<b>&amp;"
    root = ET.fromstring(render(run_of(replace(FAILED, came=came))))  # noqa: S314
    failure = root.find("testsuite/testcase/failure")
    assert failure is not None
    assert failure.get("message", "").endswith("came a\\x00\\x1b\\ufffe\\ud800<b>&amp;")


def test_a_problem_is_an_error_of_the_run() -> None:
    root = ET.fromstring(render(run_of(CASE)[:-1]))  # noqa: S314
    (test,) = root.findall(".//testcase[@classname='run']")
    assert test.find("error") is not None
    assert root.get("errors") == "1"
