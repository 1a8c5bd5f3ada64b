"""What a release does not have, so that it is not asked for it.

Rules:

* An entry is a fact about the release's own code, seen in a run of both sides of that
  release or read there; it says what is missing, in a sentence.
* Nothing is listed because ours fails at it.
"""

from __future__ import annotations

from collections.abc import Mapping

from pdwire.wire.table import ORDER

_Since = Mapping[tuple[str, str], tuple[str, str]]

_TOPOLOGIES: _Since = {}
"""(backend, topology) -> first release that has it, and what the ones before lack."""

_CASES: _Since = {
    ("mooncake", "prefix"): ("0.5.11", "metadata has no decode prefix length before 0.5.11"),
    ("nixl", "prefix"): ("0.5.11", "metadata has no decode prefix length before 0.5.11"),
}


def lacks_topology(release: str, backend: str, topology: str) -> str:
    """Why the release cannot do the topology; empty when it can."""
    return _lacking(_TOPOLOGIES, release, backend, topology)


def lacks_case(release: str, backend: str, case: str) -> str:
    """Why the release cannot do the case; empty when it can."""
    return _lacking(_CASES, release, backend, case)


def _lacking(table: _Since, release: str, backend: str, name: str) -> str:
    since, why = table.get((backend, name), (ORDER[0], ""))
    return why if ORDER.index(release) < ORDER.index(since) else ""
