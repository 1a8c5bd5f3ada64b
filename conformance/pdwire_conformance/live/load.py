"""The live cases from their files: ``suite/files/live-*.toml``.

Rules:

* A table ``[[case]]`` holds ``slug``, ``level``, ``roles`` (or ``role``), ``purpose``,
  ``expectation`` and ``steps``; it may hold ``backends`` (default: all that run live),
  ``releases`` (``"0.5.13.."``, ``"0.5.13..0.5.18"``, or a list), ``messages`` (that the
  backend must have beside those of the steps), ``clauses``, ``reports``, ``needs``, ``tags``.
* A case is right for the releases whose backend has every message that it names, and of
  these for those that ``releases`` allows.
* One table is one case per backend and role: the slug says which, ``family/subject`` with
  ``/backend`` behind it, and ``-role`` where there are several.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from pdwire.wire import layouts
from pdwire.wire.table import ORDER
from pdwire_conformance.interop.options import BACKENDS
from pdwire_conformance.suite.case import Case, Level, Live, Role

from .script import StepError, check_steps, messages_of

__all__ = ["FILES", "live_cases", "read_cases"]

FILES: Final = Path(__file__).parent.parent / "suite" / "files"
_KEYS: Final = {
    *("slug", "level", "role", "roles", "purpose", "expectation", "steps", "backends"),
    *("releases", "messages", "clauses", "reports", "needs", "tags"),
}
_NEEDED: Final = ("slug", "level", "purpose", "expectation", "steps")


@cache
def live_cases() -> tuple[Case, ...]:
    """Every live case, in the order of the files; ``StepError`` when one is wrong."""
    files = sorted(FILES.glob("live-*.toml"))
    return tuple(case for path in files for case in read_cases(path))


def read_cases(path: Path) -> Iterator[Case]:
    """The cases of one file; ``StepError`` names the file, the case and the fault."""
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise StepError(f"{path.name}: {error}") from error
    for table in told.get("case", ()):
        try:
            yield from _cases(table, path.name)
        except (KeyError, ValueError) as error:
            raise StepError(f"{path.name}, {table.get('slug', 'a case')}: {error}") from error


def _cases(table: Mapping[str, Any], origin: str) -> Iterator[Case]:
    if unknown := set(table) - _KEYS:
        raise StepError(f"no key {min(unknown)!r}; keys: {', '.join(sorted(_KEYS))}")
    if missing := [key for key in _NEEDED if key not in table]:
        raise StepError(f"{missing[0]!r} is missing")
    check_steps(table["slug"], table["steps"])
    roles = table.get("roles", [table.get("role", "")])
    for backend in table.get("backends", BACKENDS):
        releases = _releases(table, backend)
        for role in roles if releases else ():
            yield _case(table, backend, Role(role), releases, origin, several=len(roles) > 1)


def _case(
    table: Mapping[str, Any],
    backend: str,
    role: Role,
    releases: Sequence[str],
    origin: str,
    *,
    several: bool,
) -> Case:
    return Case(
        slug=f"{table['slug']}{f'-{role}' if several else ''}/{backend}",
        level=Level(table["level"]),
        role=role,
        backend=backend,
        releases=tuple(releases),
        purpose=table["purpose"],
        expectation=table["expectation"],
        check=Live(steps=tuple(table["steps"]), needs=tuple(table.get("needs", ()))),
        clauses=tuple(table.get("clauses", ())),
        reports=tuple(table.get("reports", ())),
        origin=origin,
        tags=tuple(table.get("tags", ())),
    )


def _releases(table: Mapping[str, Any], backend: str) -> list[str]:
    """Those that have every message, and that the case allows; oldest first."""
    allowed = _allowed(table.get("releases", ".."))
    spoken = [
        {release for each in layouts(backend, name) for release in each.releases}
        for name in {*messages_of(table["steps"]), *table.get("messages", ())}
    ]
    return [each for each in ORDER if each in allowed and all(each in had for had in spoken)]


def _allowed(told: str | Sequence[str]) -> set[str]:
    if not isinstance(told, str):
        unknown = set(told) - set(ORDER)
        if unknown:
            raise StepError(f"no release {min(unknown)!r} in the spec")
        return set(told)
    first, dots, last = told.partition("..")
    if not dots:
        raise StepError(f"releases {told!r}: a list, or a range such as '0.5.13..'")
    ends = [first or ORDER[0], last or ORDER[-1]]
    if unknown := set(ends) - set(ORDER):
        raise StepError(f"no release {min(unknown)!r} in the spec")
    begin, end = map(ORDER.index, ends)
    return set(ORDER[begin : end + 1])
