"""From the words of a command line to a testee: :func:`find_testee`.

Rules:

* The form decides; nothing is guessed. A target that cannot be says which forms there are.
* Finding starts nothing: a testee is started when it is entered.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import partial
from typing import Final

from pdwire_conformance.proof.spec import load_spec

from .endpoint import Endpoint
from .inprocess import InProcess
from .module import make
from .ours import Generated
from .peer import Release
from .protocol import Testee, TesteeError
from .reading import Interpreted
from .stdio import Process

__all__ = ["DEADLINE_S", "FORMS", "find_testee"]

DEADLINE_S: Final = 30.0
"""How long a testee may take for one request."""

FORMS: Final[dict[str, str]] = {
    "pdwire": "the generated codecs and the managers of this package",
    "pdwire:reading": "the second reading of the spec, interpreted",
    "sglang==0.5.23": "a published SGLang release, fetched and run unmodified",
    "python:module:factory": "a CodecTestee of your own, in this process",
    "cmd:./mine --flag": "any program that speaks the testee protocol",
    "live:prefill@host:port": "a rank that runs somewhere: prefill, decode or bootstrap",
}
"""What a target looks like, and what it is."""

_IN_PROCESS: Final[dict[str, Callable[[], Generated | Interpreted]]] = {
    "pdwire": Generated,
    "pdwire:reading": Interpreted,
}


def find_testee(target: str, *, deadline_s: float = DEADLINE_S) -> Testee:
    """The testee that a target names.

    ``deadline_s`` is what a process of its own may take for a request, ``hello`` included (a
    published release is fetched and started in its own time); one in this process
    takes what it takes, unless its caller watches it.

    Raises:
        TesteeError: it has none of the forms, or there is no such release.
    """
    if target in _IN_PROCESS:
        return InProcess(target, _IN_PROCESS[target])
    for start, found in _STARTS.items():
        if target.startswith(start) and target != start:
            return found(target, target.removeprefix(start), deadline_s)
    forms = "; ".join(f"{form} ({what})" for form, what in FORMS.items())
    raise TesteeError(f"no testee {target!r}. A target is one of: {forms}")


def _release(target: str, release: str, deadline_s: float) -> Testee:
    known = load_spec()["releases"]
    if release not in known:
        raise TesteeError(f"{target}: no such release (known: {', '.join(known)})")
    return Release(release, deadline_s=deadline_s)


def _module(target: str, rest: str, _: float) -> Testee:
    if not all(rest.partition(":")):
        raise TesteeError(f"{target}: expected python:module:factory")
    return InProcess(target, partial(make, rest))


def _command(target: str, rest: str, deadline_s: float) -> Testee:
    try:
        words = shlex.split(rest)
    except ValueError as fault:
        raise TesteeError(f"{target}: {fault}") from fault
    if not words:
        raise TesteeError(f"{target}: expected a command behind cmd:")
    return Process(words, target=target, start_deadline_s=deadline_s, deadline_s=deadline_s)


_STARTS: Final[dict[str, Callable[[str, str, float], Testee]]] = {
    "sglang==": _release,
    "python:": _module,
    "cmd:": _command,
    "live:": lambda target, *_: Endpoint(target),
}
