"""Which live target some words name: ``pdwire``, ``sglang==…``, ``cmd:…`` or ``live:…``."""

from __future__ import annotations

from pdwire.wire.table import ORDER
from pdwire_conformance.interop.options import BACKENDS
from pdwire_conformance.suite.case import Role
from pdwire_conformance.testees.protocol import TesteeError

from .commanded import Commanded
from .driven import LiveTarget
from .outside import Outside

__all__ = ["open_live"]


def open_live(target: str, role: str, backend: str, release: str) -> LiveTarget:
    """The live target that these words name; it is started when a case needs it.

    Raises:
        TesteeError: no such target, or it does not play the role, or not over the backend.
    """
    try:
        played = Role(role)
    except ValueError:
        raise TesteeError(f"no role {role!r}; live roles: prefill, decode, bootstrap") from None
    if played is Role.CODEC:
        raise TesteeError("codec is no live role")
    if backend not in BACKENDS:
        raise TesteeError(f"{backend} is not run live; live backends: {', '.join(BACKENDS)}")
    if release not in ORDER:
        raise TesteeError(f"no release {release!r} in the spec")
    if target.startswith(("live:", "cmd:")):
        kind = Outside if target.startswith("live:") else Commanded
        return kind(target, played, backend, release)
    if target in {"pdwire", f"sglang=={release}"}:
        return LiveTarget(target, played, backend, release)
    if target.startswith("sglang=="):
        raise TesteeError(f"{target} speaks its own release, not {release}")
    raise TesteeError(
        f"no live target {target!r}; one of pdwire, sglang==RELEASE, cmd:./mine --flag, "
        "live:ROLE@HOST:PORT"
    )
