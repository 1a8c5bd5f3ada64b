"""What a release does not have, so that it is not asked for it.

Rules:

* An entry is a fact about the release's own code, seen in a run of both sides of that
  release, or read off the spec; it says what is missing, in a sentence.
* Nothing is listed because ours fails at it.
"""

from __future__ import annotations

from collections.abc import Mapping

from pdwire.wire import layout
from pdwire.wire.table import ORDER

_TOPOLOGIES: Mapping[tuple[str, str], tuple[str, str]] = {}
"""(backend, topology) -> first release that has it, and what the ones before lack."""


def lacks_topology(release: str, backend: str, topology: str) -> str:
    """Why the release cannot do the topology; empty when it can."""
    since, why = _TOPOLOGIES.get((backend, topology), (ORDER[0], ""))
    return why if ORDER.index(release) < ORDER.index(since) else ""


def lacks_case(release: str, backend: str, case: str) -> str:
    """Why the release cannot do the case; empty when it can."""
    known = layout(backend, "TransferInfo", release=release).fields
    if case == "prefix" and "decode_prefix_len" not in known:
        return "the release's metadata has no decode prefix length"
    return ""
