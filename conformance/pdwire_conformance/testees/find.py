"""From the words of a command line to a testee: :func:`find_testee`.

Rules:

* The form decides; nothing is guessed. A target that cannot be says which forms there are.
* Finding starts nothing: a testee is started when it is entered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .inprocess import InProcess
from .ours import Generated
from .peer import Release
from .protocol import Testee, TesteeError
from .reading import Interpreted

__all__ = ["FORMS", "find_testee"]

FORMS: Final[dict[str, str]] = {
    "pdwire": "the generated codecs and the managers of this package",
    "pdwire:reading": "the second reading of the spec, interpreted",
    "sglang==0.5.23": "a published SGLang release, fetched and run unmodified",
}
"""What a target looks like, and what it is."""

_IN_PROCESS: Final[dict[str, Callable[[], Generated | Interpreted]]] = {
    "pdwire": Generated,
    "pdwire:reading": Interpreted,
}


def find_testee(target: str) -> Testee:
    """The testee that a target names.

    Raises:
        TesteeError: it has none of the forms, or there is no such release.
    """
    if target in _IN_PROCESS:
        return InProcess(target, _IN_PROCESS[target])
    form, _, rest = target.partition("==")
    if form == "sglang" and rest:
        return Release(rest)
    raise TesteeError(f"no testee {target!r}; a target is one of {', '.join(FORMS)}")
