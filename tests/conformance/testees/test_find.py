"""What a target's words come to."""

from __future__ import annotations

import shlex
import sys

import pytest

from pdwire_conformance.testees.find import find_testee
from pdwire_conformance.testees.protocol import TesteeError

SILENT = "import sys; sys.stdin.read()"


def test_the_deadline_holds_for_hello() -> None:
    target = f"cmd:{shlex.join([sys.executable, '-c', SILENT])}"
    testee = find_testee(target, deadline_s=0.3)
    with pytest.raises(TesteeError, match=r"asked to hello, .* within 0\.3 s"):
        testee.__enter__()
