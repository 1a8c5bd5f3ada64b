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

_Since = Mapping[tuple[str, str], tuple[str, str]]

_TOPOLOGIES: _Since = {
    ("mooncake", "tp2-tp1-staged"): ("0.5.10", "the release has no staging"),
    ("mooncake", "tp1-tp2-staged"): ("0.5.10", "the release has no staging"),
    ("nixl", "tp2-tp1-staged"): ("0.5.12", "the release has no staging over NIXL"),
    ("nixl", "tp1-tp2-staged"): ("0.5.12", "the release has no staging over NIXL"),
    ("nixl", "tp2-tp1"): (
        "0.5.13",
        "a decode rank counts arrivals by pipeline stage, so two TP writers pass for one",
    ),
}
"""(backend, topology) -> first release that has it, and what the ones before lack."""

_CASES: _Since = {
    ("nixl", "abort by decode"): ("0.5.10", "the release's NIXL receiver cannot abort"),
    ("nixl", "abort by prefill"): ("0.5.10", "the release's NIXL sender cannot abort"),
}
"""(backend, case) -> the same, on any topology."""

_STAGED_CASES: _Since = {
    ("mooncake", "prefix"): (
        "0.5.18",
        "the release scatters staged chunks from the request's first page, prefix or not",
    ),
    ("mooncake", "again"): (
        "0.5.17",
        "the release asks for staging places of a room number only once",
    ),
}
"""(backend, case) -> the same, with staging."""


def lacks_topology(release: str, backend: str, topology: str) -> str:
    """Why the release cannot do the topology; empty when it can."""
    return _lacking(_TOPOLOGIES, release, (backend, topology))


def lacks_case(release: str, backend: str, case: str, *, staged: bool = False) -> str:
    """Why the release cannot do the case; empty when it can."""
    known = layout(backend, "TransferInfo", release=release).fields
    if case == "prefix" and "decode_prefix_len" not in known:
        return "the release's metadata has no decode prefix length"
    lack = _lacking(_CASES, release, (backend, case))
    return lack or (_lacking(_STAGED_CASES, release, (backend, case)) if staged else "")


def _lacking(table: _Since, release: str, key: tuple[str, str]) -> str:
    since, why = table.get(key, (ORDER[0], ""))
    return why if ORDER.index(release) < ORDER.index(since) else ""
