"""Every rule has a spec that breaks it, with the diagnostic inside, and one that does not.

A broken spec says what it must produce in comments of the form ``#! [rule] part of the
message``: the fault is at the next line that is not such a comment, or at the place that
stands before the bracket (``#! protocol/x.toml:1 [rule] …``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from pdwire_codegen.diagnostics import Fault, SpecError
from pdwire_codegen.load import load
from pdwire_codegen.rules import RULE_IDS

FIXTURES = Path(__file__).parent / "fixtures"
RULES = sorted(path.name for path in FIXTURES.iterdir())

_MARK = re.compile(r"\s*#! (?:(?P<file>\S+):(?P<line>\d+) )?\[(?P<rule>[a-z-]+)\] (?P<part>.+)")


@dataclass(frozen=True, order=True)
class Expected:
    file: str
    line: int
    rule: str
    part: str


def expected(protocol: Path) -> list[Expected]:
    """What the comments of a broken spec announce."""
    found: list[Expected] = []
    for path in sorted(protocol.rglob("*.*")):
        shown = f"protocol/{path.relative_to(protocol).as_posix()}"
        lines = path.read_text(encoding="utf-8").splitlines()
        for index, line in enumerate(lines):
            mark = _MARK.fullmatch(line)
            if mark is None:
                assert "#!" not in line
                continue
            below = index + 1
            while below < len(lines) and _MARK.fullmatch(lines[below]):
                below += 1
            place = (mark["file"], int(mark["line"])) if mark["file"] else (shown, below + 1)
            found.append(Expected(*place, mark["rule"], mark["part"]))
    return sorted(found)


def faults(protocol: Path) -> tuple[Fault, ...]:
    """What the compiler reports; a fixture without a lock is not held to one."""
    locked = (protocol / "released.lock").exists()
    try:
        load(protocol, allow_unlocked=not locked)
    except SpecError as error:
        return error.faults
    return ()


def test_every_rule_has_a_pair_of_fixtures() -> None:
    assert sorted(RULE_IDS) == RULES
    for rule in RULES:
        assert (FIXTURES / rule / "bad" / "protocol" / "protocol.toml").is_file()
        assert (FIXTURES / rule / "good" / "protocol" / "protocol.toml").is_file()


@pytest.mark.parametrize("rule", RULES)
def test_bad_spec_produces_exactly_its_diagnostics(rule: str) -> None:
    protocol = FIXTURES / rule / "bad" / "protocol"
    wanted = expected(protocol)
    found = sorted(faults(protocol))
    assert [(item.file, item.line, item.rule) for item in found] == [
        (item.file, item.line, item.rule) for item in wanted
    ], "\n".join(map(str, found))
    for fault, item in zip(found, wanted, strict=True):
        assert item.part in f"{fault.message} {fault.hint}"
    assert {item.rule for item in wanted} == {rule}


@pytest.mark.parametrize("rule", RULES)
def test_good_spec_has_no_faults(rule: str) -> None:
    assert faults(FIXTURES / rule / "good" / "protocol") == ()
