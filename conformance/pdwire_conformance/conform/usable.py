"""Whether a target can be started at all: asked before anything runs.

Rules:

* A program that is not there and a module or factory that is not there are wrong usage, not
  faults of a testee. Whether the testee then works is the run's to tell.
* A module is imported to look into it, in a thread and within the deadline; one that takes
  longer is left to the run, which has the same deadline.
"""

from __future__ import annotations

import shlex
import shutil
import threading
from typing import Final

from pdwire_conformance.testees.module import factory_of
from pdwire_conformance.testees.protocol import TesteeError

__all__ = ["unusable"]

_COMMAND: Final = "cmd:"
_MODULE: Final = "python:"


def unusable(target: str, deadline_s: float) -> str:
    """Why a target that has a right form cannot be started; empty when it may be."""
    if target.startswith(_COMMAND):
        program = shlex.split(target.removeprefix(_COMMAND))[0]
        there = shutil.which(program) is not None
        return "" if there else f"{target}: no program {program!r} that can be run"
    if target.startswith(_MODULE):
        return _missing(target, deadline_s)
    return ""


def _missing(target: str, deadline_s: float) -> str:
    faults = list[str]()

    def look() -> None:
        try:
            factory_of(target.removeprefix(_MODULE))
        except TesteeError as fault:
            faults.append(str(fault))
        except SystemExit as fault:  # the module's own
            faults.append(f"{target}: importing it leaves with status {fault.code}")

    thread = threading.Thread(target=look, name=f"look for {target}", daemon=True)
    thread.start()
    thread.join(deadline_s)
    return "".join(faults)
